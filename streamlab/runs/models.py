"""What is kept of a run: its identity and its choices. The state is never stored; it is replayed."""

import secrets
from typing import Any

from django.conf import settings
from django.db import models


def random_name() -> str:
    """96 unguessable bits, for addresses: whoever has one may look."""
    return secrets.token_urlsafe(12)


class Bundle(models.Model):
    """A lab folder as it was when a run first needed it, so that a run outlives edits of its lab."""

    digest = models.CharField(primary_key=True, max_length=64)  # SHA-256 of the folder
    lab = models.SlugField(max_length=100)
    archive = models.BinaryField()  # zip of the folder
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.lab} {self.digest[:12]}"


class Run(models.Model):
    """run = (engine version, bundle, parameters, policy, seed, mutant, log of choices).

    A branch copies nothing: its log is its parent's up to `fork_step`, then its own entries. `root` is
    the run at the top of the family, null for that run itself.
    """

    id = models.CharField(primary_key=True, max_length=32, default=random_name, editable=False)
    title = models.CharField(max_length=200, blank=True)
    lab = models.SlugField(max_length=100)
    bundle = models.ForeignKey(Bundle, on_delete=models.PROTECT, related_name="runs")
    engine = models.PositiveIntegerField(help_text="ENGINE_VERSION that made the run")
    parameters: Any = models.JSONField(default=dict, blank=True)
    policy = models.CharField(max_length=32)
    quantum = models.PositiveIntegerField(default=1)
    seed = models.BigIntegerField()
    mutant = models.CharField(
        max_length=40,
        blank=True,
        help_text="wrong protocol, by its name in the engine; empty: the right one",
    )

    root = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="family"
    )
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="branches"
    )
    fork_step = models.PositiveIntegerField(default=0)

    # Who may drive: the account where there is one, else the visitor whose session holds this name.
    visitor = models.CharField(max_length=32, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )

    head = models.PositiveIntegerField(
        default=0, help_text="steps in the log, the parent's included"
    )
    position = models.PositiveIntegerField(default=0, help_text="step that is shown")
    digests: Any = models.JSONField(default=list, help_text="of the trace, one per 1,000 steps")

    fingerprint: Any = models.JSONField(
        null=True, help_text="[step, digest] of what was shown last: short runs have no other"
    )

    invariants: Any = models.JSONField(
        default=list, help_text="names of those that are switched on"
    )

    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    expires = models.DateTimeField(null=True, blank=True, help_text="null: kept")

    class Meta:
        indexes = [
            models.Index(fields=["visitor", "lab", "-updated"]),
            models.Index(fields=["expires"]),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(position__lte=models.F("head")), name="run_position_within_head"
            ),
            models.CheckConstraint(
                condition=models.Q(fork_step__lte=models.F("head")), name="run_fork_within_head"
            ),
        ]

    def __str__(self) -> str:
        return self.title or f"{self.lab} {self.id}"


class LogEntry(models.Model):
    """A choice: "policy" n times, an "action" by id, or a "command". See logs.py."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="entries")
    index = models.PositiveIntegerField()
    kind = models.CharField(max_length=16)
    payload: Any = models.JSONField(null=True)
    n = models.PositiveIntegerField(default=1, help_text="steps")

    class Meta:
        ordering = ["run", "index"]
        verbose_name_plural = "log entries"
        constraints = [
            models.UniqueConstraint(fields=["run", "index"], name="log_entry_once"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}[{self.index}] {self.kind}"


class Lease(models.Model):
    """The process that drives a live run at present. It renews `expires` as long as it lives.

    Safety does not rest on it: every write names the head it expects, so of two drivers one loses.
    """

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.CASCADE)
    holder = models.CharField(max_length=100, db_index=True)  # host/process id/random
    expires = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.run_id} by {self.holder}"


class ShareLink(models.Model):
    """Opens a copy of a run as it was at `step`; what came later is not shown."""

    token = models.CharField(primary_key=True, max_length=32, default=random_name, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="links")
    step = models.PositiveIntegerField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "step"], name="share_link_once"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} at step {self.step}"
