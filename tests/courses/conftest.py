"""Two courses and who is in them.

world    Streams is taught by ines, with the students sam and sue; Other is taught by otto, with the student olga
scores   what the students earned, until a grader fills it in
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from courses import accounts, rates, services
from courses import scores as registry
from courses.late import LatePolicy
from courses.models import Account, Course, Enrolment, Extension, Release
from courses.scores import Attempts

PASSWORD = "gate-window-17"
LAB = "flights"


class ScoresInMemory:
    def __init__(self) -> None:
        self.full: dict[str, int] = {}
        self.attempts: dict[int, dict[str, list[Any]]] = {}

    def points(self, *, lab: str, version: str) -> Mapping[str, int]:
        return self.full if lab == LAB else {}

    def earned(self, *, lab: str, users: Collection[int]) -> Mapping[int, Attempts]:
        return {one: self.attempts[one] for one in users if one in self.attempts}


@pytest.fixture
def scores() -> Iterator[ScoresInMemory]:
    fake = ScoresInMemory()
    before = registry.use(fake)
    yield fake
    registry.use(before)


@pytest.fixture(autouse=True)
def _fresh_rates() -> None:
    for rate in rates.ALL:
        rate.buckets.clear()


def release_fields(**changed: Any) -> dict[str, Any]:
    return {
        "opens": None,
        "due": None,
        "closes": None,
        "policy": LatePolicy(),
        "feedback": Release.Feedback.MESSAGE,
        "feedback_from": None,
        **changed,
    }


@dataclass
class World:
    course: Course
    other: Course
    users: dict[str, User] = field(default_factory=dict)

    def client(self, name: str | None, **kwargs: Any) -> Client:
        client = Client(**kwargs)
        if name is not None:
            client.force_login(self.users[name])
        return client

    def enrolment(self, name: str) -> Enrolment:
        return Enrolment.objects.get(user=self.users[name], state=Enrolment.State.ACTIVE)

    @property
    def release(self) -> Release:
        return Release.objects.get(course=self.course, lab=LAB)

    @property
    def extension(self) -> Extension:
        return Extension.objects.get(release=self.release)


@pytest.fixture
def world(db: None) -> World:
    users = {
        name: accounts.account_create(
            name=name,
            shown_as=name.title(),
            password=PASSWORD,
            email=f"{name}@example.edu",
            role=Account.Role.INSTRUCTOR if name in ("ines", "otto") else Account.Role.STUDENT,
        )
        for name in ("ines", "sam", "sue", "otto", "olga")
    }
    course = services.course_create(title="Streams", time_zone="Europe/Berlin", by=users["ines"])
    other = services.course_create(title="Other", time_zone="UTC", by=users["otto"])
    for name, where in (("sam", course), ("sue", course), ("olga", other)):
        services.course_join(code=where.join_code, user=users[name])
    services.release_create(course=course, lab=LAB, **release_fields())
    return World(course, other, users)
