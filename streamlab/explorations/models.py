"""What is kept of an exploration: what was asked, from where, and what came out."""

from typing import Any

from django.conf import settings
from django.db import models

from streamlab.runs.models import Bundle, Run, random_name

WAITING, RUNNING = "waiting", "running"
ACTIVE = (WAITING, RUNNING)
VIOLATED, EXHAUSTED, BOUND_REACHED = RESULTS = ("violated", "exhausted", "bound reached")
FAILED = "failed"
"""It came to no result: the job cannot be explored, or the process that searched has ended."""


class Exploration(models.Model):
    """A search from one step of a run, or from the start of a lab's job.

    The choices that lead to that step are copied, so that it outlives the run.
    """

    id = models.CharField(primary_key=True, max_length=32, default=random_name, editable=False)
    lab = models.SlugField(max_length=100)
    bundle = models.ForeignKey(Bundle, on_delete=models.PROTECT, related_name="explorations")
    parameters: Any = models.JSONField(default=dict)
    policy = models.CharField(max_length=32)
    quantum = models.PositiveIntegerField(default=1)
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="explorations")
    step = models.PositiveIntegerField(default=0, help_text="where the search starts")
    log: Any = models.JSONField(default=list, help_text="the choices up to that step")
    request: Any = models.JSONField(help_text="engine.explore.request.Request in JSON")

    visitor = models.CharField(max_length=32)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )

    state = models.CharField(max_length=16, default=WAITING)
    holder = models.CharField(max_length=100, help_text="the server process that searches")
    looked_at = models.DateTimeField(
        null=True, help_text="by a page that another server process serves"
    )
    stop_wanted = models.BooleanField(default=False)
    counts: Any = models.JSONField(null=True, help_text="states, transitions, terminal, depth")
    seconds = models.FloatField(default=0, help_text="searched so far")
    outcome: Any = models.JSONField(null=True)
    error: Any = models.JSONField(null=True, help_text="sentence and mend, where it failed")
    opened = models.ForeignKey(
        Run, null=True, on_delete=models.SET_NULL, related_name="+", help_text="the trace as a run"
    )

    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    expires = models.DateTimeField(null=True, blank=True, help_text="null: kept")

    class Meta:
        indexes = [
            models.Index(fields=["visitor", "lab", "-created"]),
            models.Index(fields=["expires"]),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["visitor"],
                condition=models.Q(state__in=ACTIVE),
                name="exploration_one_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.lab} {self.id}: {self.state}"
