"""Who somebody is, and what a course is made of."""

import secrets
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from streamlab.runs.models import Bundle

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # nothing that looks like something else
USER = settings.AUTH_USER_MODEL


def new_join_code() -> str:
    """60 unguessable bits, written XXXX-XXXX-XXXX."""
    groups = ["".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(3)]
    return "-".join(groups)


class Account(models.Model):
    """What StreamLab knows of a user beyond the sign-in.

    `is_staff` of the user opens Django's admin and nothing here; an instructor may make courses.
    """

    class Role(models.TextChoices):
        STUDENT = "student"
        INSTRUCTOR = "instructor"

    user = models.OneToOneField(
        USER, primary_key=True, on_delete=models.CASCADE, related_name="account"
    )
    name = models.CharField(max_length=100)
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.STUDENT)

    def __str__(self) -> str:
        return self.name


class OneTimeLink(models.Model):
    """Lets whoever has it choose the password of an account, once. Only the digest of its token is kept."""

    digest = models.CharField(primary_key=True, max_length=64)  # SHA-256 of the token
    user = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="links")
    by = models.ForeignKey(
        USER, null=True, on_delete=models.SET_NULL, related_name="+", help_text="null: the operator"
    )
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"for {self.user_id} until {self.expires:%Y-%m-%d %H:%M}"


class Course(models.Model):
    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    time_zone = models.CharField(max_length=64, default="UTC", help_text="IANA name, for all dates")
    join_code = models.CharField(max_length=14, unique=True, default=new_join_code)
    joinable = models.BooleanField(default=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["title", "pk"]

    def __str__(self) -> str:
        return self.title


class Enrolment(models.Model):
    """A person in a course. `invited`: on the roster, but the person has not agreed yet."""

    class Role(models.TextChoices):
        STUDENT = "student"
        INSTRUCTOR = "instructor"

    class State(models.TextChoices):
        INVITED = "invited"
        ACTIVE = "active"

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="enrolments")
    user = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="enrolments")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.STUDENT)
    state = models.CharField(max_length=8, choices=State.choices, default=State.ACTIVE)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["course", "user"], name="enrolment_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.course_id} as {self.role}"


class Release(models.Model):
    """A lab as a course offers it. Null dates: open at once, never due, never closed."""

    class Feedback(models.TextChoices):
        HIDDEN = "hidden", "points only"
        MESSAGE = "message", "points and messages"
        FULL = "full", "everything"

    course = models.ForeignKey(Course, on_delete=models.CASCADE, related_name="releases")
    lab = models.SlugField(max_length=100)
    version = models.ForeignKey(Bundle, on_delete=models.PROTECT, related_name="+")
    opens = models.DateTimeField(null=True, blank=True)
    due = models.DateTimeField(null=True, blank=True)
    closes = models.DateTimeField(null=True, blank=True)
    late_policy: Any = models.JSONField(default=dict, help_text="see late.LatePolicy")
    feedback = models.CharField(max_length=8, choices=Feedback.choices, default=Feedback.MESSAGE)
    feedback_from = models.DateTimeField(null=True, blank=True, help_text="null: at once")

    class Meta:
        ordering = ["due", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["course", "lab"], name="release_once"),
            models.CheckConstraint(
                condition=Q(due=None) | Q(closes=None) | Q(due__lte=models.F("closes")),
                name="release_due_before_closes",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.lab} in {self.course_id}"


class Extension(models.Model):
    """Later dates for one student. It never makes a date earlier."""

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="extensions")
    user = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="extensions")
    due = models.DateTimeField()
    closes = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    by = models.ForeignKey(USER, null=True, on_delete=models.SET_NULL, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["release", "user"], name="extension_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} until {self.due:%Y-%m-%d %H:%M}"


class Override(models.Model):
    """Points that an instructor has set by hand. The rows are the log: the newest counts, none is changed.

    points: hundredths of a point; null takes an earlier override back.
    """

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="overrides")
    user = models.ForeignKey(USER, on_delete=models.CASCADE, related_name="overrides")
    points = models.PositiveIntegerField(null=True)
    before = models.PositiveIntegerField(null=True, help_text="what counted until then")
    reason = models.CharField(max_length=300)
    by = models.ForeignKey(USER, null=True, on_delete=models.SET_NULL, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.points} for {self.user_id}"
