"""What is kept of the teaching side: variants of questions, submissions, and hints that were taken.

Owners are those of runs: the account where there is one, else the visitor whose session holds the name.
"""

from typing import Any

from django.conf import settings
from django.db import models

from streamlab.runs.models import Bundle, Run, random_name


class Owned(models.Model):
    """A row of a visitor or of an account."""

    visitor = models.CharField(max_length=32, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )

    class Meta:
        abstract = True


class Variant(Owned):
    """A question as one person has it: drawn once, the same at every reload. `number` counts them from 0."""

    id = models.CharField(primary_key=True, max_length=32, default=random_name, editable=False)
    lab = models.SlugField(max_length=100)
    bundle = models.ForeignKey(Bundle, on_delete=models.PROTECT, related_name="+")
    question = models.SlugField(max_length=60)
    number = models.PositiveIntegerField()

    seed = models.BigIntegerField(help_text="what it was drawn with")
    generator = models.PositiveIntegerField(help_text="version of what drew it")
    engine = models.PositiveIntegerField(help_text="ENGINE_VERSION that drew it")

    run_seed = models.BigIntegerField()
    parameters: Any = models.JSONField(default=dict)
    step = models.PositiveIntegerField(default=0)
    mutant = models.CharField(max_length=40, blank=True)
    invariant = models.CharField(max_length=60, blank=True)
    asked: Any = models.JSONField(default=dict, help_text="what is shown; nothing of the key")

    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(null=True, blank=True, help_text="null: kept")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "lab", "question", "number"],
                condition=models.Q(user__isnull=False),
                name="variant_once_per_user",
            ),
            models.UniqueConstraint(
                fields=["visitor", "lab", "question", "number"],
                condition=models.Q(user__isnull=True),
                name="variant_once_per_visitor",
            ),
        ]
        indexes = [models.Index(fields=["expires"])]

    def __str__(self) -> str:
        return f"{self.lab} {self.question} {self.number}"


STORED, GRADED, FAILED = "stored", "graded", "failed"


class Submission(Owned):
    """An answer, stored before it is judged. An attempt is a submission that counts.

    key: what the page sent with it: a double click sends the same one. attempt: its number, 0 where it does not count.
    points: what it has earned, after what later attempts and hints take off.
    """

    id = models.CharField(primary_key=True, max_length=32, default=random_name, editable=False)
    variant = models.ForeignKey(Variant, on_delete=models.CASCADE, related_name="submissions")
    lab = models.SlugField(max_length=100)
    question = models.SlugField(max_length=60)
    key = models.CharField(max_length=64)
    answer: Any = models.JSONField()
    state = models.CharField(max_length=16, default=STORED)
    practice = models.BooleanField(default=False, help_text="after the last attempt that counts")
    attempt = models.PositiveIntegerField(default=0)
    points = models.PositiveIntegerField(default=0)
    of = models.PositiveIntegerField(default=0)
    report: Any = models.JSONField(null=True)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["variant", "key"], name="submission_once"),
        ]
        indexes = [
            models.Index(fields=["visitor", "lab", "question"]),
            models.Index(fields=["user", "lab", "question"]),
        ]

    def __str__(self) -> str:
        return f"{self.lab} {self.question}: {self.points} of {self.of}"


class HintTaken(Owned):
    """A hint that somebody has read. `number` counts the hints to a question from 0."""

    lab = models.SlugField(max_length=100)
    question = models.SlugField(max_length=60)
    number = models.PositiveIntegerField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["visitor", "lab", "question"]),
            models.Index(fields=["user", "lab", "question"]),
        ]

    def __str__(self) -> str:
        return f"{self.lab} {self.question}: hint {self.number}"
