"""Who may see and do what: every address of the app, as everybody, by GET and by POST.

An address that is missing from the table fails the test.
"""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from courses import accounts, rates, services
from courses.models import Course, Enrolment, Extension, Override, Release
from courses.urls import urlpatterns
from tests.courses.conftest import PASSWORD, World

# nobody signed in; a student elsewhere; a student of the course; an instructor elsewhere; its instructor
PEOPLE = (None, "olga", "sam", "otto", "ines")
SIGN_IN, OK, NO, NOT_SO, DONE, FORM = "sign-in", 200, 404, 405, 302, 200
ALL_OK = (OK,) * 5
ALL_NOT_SO = (NOT_SO,) * 5
SIGNED_IN = (SIGN_IN, OK, OK, OK, OK)
MEMBERS = (SIGN_IN, NO, OK, NO, OK)
TEACHER = (SIGN_IN, NO, NO, NO, OK)
TEACHER_DOES = (SIGN_IN, NO, NO, NO, DONE)


@dataclass(frozen=True)
class Address:
    get: tuple[Any, ...]
    post: tuple[Any, ...]
    data: dict[str, Any]


def at(get: tuple[Any, ...], post: tuple[Any, ...], **data: Any) -> Address:
    return Address(get, post, data)


DATES = {"grace_minutes": 0, "at_once": 0, "per_day": 0, "at_most": 100, "feedback": "full"}

TABLE = {
    # own account: everybody has one alone
    "sign-up": at((OK, DONE, DONE, DONE, DONE), (FORM, DONE, DONE, DONE, DONE), login="x"),
    "sign-in": at((OK, DONE, DONE, DONE, DONE), (400, 400, 400, 400, 400), login="sam", password="no"),
    "sign-out": at(ALL_NOT_SO, (DONE,) * 5),
    "reset": at(ALL_OK, ALL_OK, login="sam"),
    "password-link": at(ALL_OK, ALL_OK, password="1"),
    "account": at(SIGNED_IN, (SIGN_IN, DONE, DONE, DONE, DONE), name="New"),
    "password": at(SIGNED_IN, SIGNED_IN, old="no", new="no"),
    "account-export": at(ALL_NOT_SO, SIGNED_IN),
    "account-delete": at(SIGNED_IN, SIGNED_IN, old="no"),
    # courses in general
    "courses": at(SIGNED_IN, ALL_NOT_SO),
    "join": at(SIGNED_IN, (SIGN_IN, 400, 400, 400, 400), code="2222-2222-2222"),
    "new-course": at((SIGN_IN, NO, NO, OK, OK), (SIGN_IN, NO, NO, DONE, DONE), title="T", time_zone="UTC"),
    "accept": at(ALL_NOT_SO, (SIGN_IN, NO, NO, NO, NO)),
    # one course
    "course": at(MEMBERS, ALL_NOT_SO),
    "course-settings": at(TEACHER, TEACHER_DOES, title="T", time_zone="UTC"),
    "join-code": at(ALL_NOT_SO, TEACHER_DOES),
    "as-student": at(TEACHER, ALL_NOT_SO),
    "as-one-student": at(TEACHER, ALL_NOT_SO),
    "roster": at(TEACHER, TEACHER),
    "roster-csv": at(TEACHER, ALL_NOT_SO),
    "person-link": at(ALL_NOT_SO, TEACHER),
    "person-remove": at(ALL_NOT_SO, TEACHER_DOES),
    "person-role": at(ALL_NOT_SO, TEACHER_DOES, role="instructor"),
    "new-release": at(TEACHER, TEACHER_DOES, lab="token-ring", **DATES),
    "release": at(TEACHER, TEACHER_DOES, **DATES),
    "publish": at(ALL_NOT_SO, TEACHER_DOES),
    "withdraw": at(ALL_NOT_SO, TEACHER_DOES),
    "extensions": at(TEACHER, TEACHER_DOES, due="2030-01-01T10:00"),
    "extension-remove": at(ALL_NOT_SO, TEACHER_DOES),
    "gradebook": at(TEACHER, ALL_NOT_SO),
    "gradebook-csv": at(TEACHER, ALL_NOT_SO),
    "student-scores": at(TEACHER, ALL_NOT_SO),
    "override": at(ALL_NOT_SO, TEACHER_DOES, points="0", reason="because"),
}  # fmt: skip


def test_every_address_is_in_the_table() -> None:
    assert {pattern.name for pattern in urlpatterns} == set(TABLE)


@pytest.fixture
def told(world: World) -> World:
    services.extension_give(
        release=world.release,
        enrolment_id=world.enrolment("sue").pk,
        due=datetime(2030, 1, 1, tzinfo=UTC),
        closes=None,
        reason="",
        by=world.users["ines"],
    )
    return world


def address_of(name: str, world: World) -> str:
    values: dict[str, Any] = {
        "slug": world.course.slug,
        "release_id": world.release.pk,
        "extension_id": world.extension.pk,
        "enrolment_id": world.enrolment("sue").pk,
    }
    if name == "password-link":
        values["token"] = accounts.link_make(user=world.users["sue"])
    pattern = next(one for one in urlpatterns if one.name == name)
    return reverse(name, kwargs={key: values[key] for key in pattern.pattern.converters})


def data_of(name: str, world: World) -> dict[str, Any]:
    data = dict(TABLE[name].data)
    if name == "extensions":
        data["student"] = world.enrolment("sam").pk
    if name == "override":
        data["release"] = world.release.pk
    return data


def outcome(response: Any) -> Any:
    where = response.headers.get("Location", "")
    return SIGN_IN if where.startswith("/account/sign-in/?next=") else response.status_code


@contextlib.contextmanager
def undone() -> Iterator[None]:
    """What happens within has not happened."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    for rate in rates.ALL:
        rate.buckets.clear()


@pytest.mark.parametrize("place", range(5), ids=[str(one) for one in PEOPLE])
def test_by_get(told: World, place: int) -> None:
    client = told.client(PEOPLE[place])
    found = {name: outcome(client.get(address_of(name, told))) for name in TABLE}
    assert found == {name: address.get[place] for name, address in TABLE.items()}


def test_looking_changes_nothing_and_head_is_as_get(told: World) -> None:
    client = told.client("ines")
    before = everything()
    for name in TABLE:
        address = address_of(name, told)
        got, head, options = client.get(address), client.head(address), client.options(address)
        assert (head.status_code, head.content) == (got.status_code, b""), name
        assert options.status_code in (200, 405), name
        for strange in (client.put, client.delete, client.patch):
            assert strange(address).status_code == 405, name
        assert everything() == before, name


@pytest.mark.parametrize("place", range(5), ids=[str(one) for one in PEOPLE])
def test_by_post(told: World, place: int) -> None:
    before = everything()
    found = {}
    for name in TABLE:
        with undone():
            client = told.client(PEOPLE[place])
            response = client.post(address_of(name, told), data_of(name, told))
            found[name] = outcome(response)
            if found[name] in (SIGN_IN, NO, NOT_SO):
                assert everything() == before, name
    assert found == {name: address.post[place] for name, address in TABLE.items()}


def test_no_post_without_its_token(told: World) -> None:
    client = told.client("ines", enforce_csrf_checks=True)
    before = everything()
    for name in TABLE:
        response = client.post(address_of(name, told), data_of(name, told))
        assert response.status_code == 403, name
    assert everything() == before


def everything() -> Any:
    """All that a request of this app could change."""
    return [
        list(model.objects.order_by("pk").values())
        for model in (Course, Enrolment, Release, Extension, Override)
    ]


def test_what_belongs_to_another_course_is_not_found_through_ones_own(told: World) -> None:
    """Otto teaches Other; names of things in Streams do not open there."""
    client = told.client("otto")
    own = {"slug": told.other.slug}
    sam, release = told.enrolment("sam").pk, told.release.pk
    for name, values in {
        "as-one-student": {"enrolment_id": sam},
        "student-scores": {"enrolment_id": sam},
        "release": {"release_id": release},
        "extensions": {"release_id": release},
    }.items():
        assert client.get(reverse(name, kwargs={**own, **values})).status_code == 404
    before = everything()
    for name, values in {
        "person-link": {"enrolment_id": sam},
        "person-remove": {"enrolment_id": sam},
        "person-role": {"enrolment_id": sam},
        "override": {"enrolment_id": sam},
        "release": {"release_id": release},
        "publish": {"release_id": release},
        "withdraw": {"release_id": release},
        "extension-remove": {"release_id": release, "extension_id": told.extension.pk},
    }.items():
        data = {"role": "student", "release": release, "points": 0, "reason": "x", **DATES}
        assert client.post(reverse(name, kwargs={**own, **values}), data).status_code == 404
    # A release of Streams, for a student of Other.
    olga = told.enrolment("olga").pk
    data = {"release": release, "points": 0, "reason": "x"}
    address = reverse("override", kwargs={**own, "enrolment_id": olga})
    assert client.post(address, data).status_code == 404
    assert everything() == before


def without_token(response: Any) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response.content.decode())


def test_a_course_that_is_not_ones_own_looks_like_one_that_does_not_exist(told: World) -> None:
    client = told.client("olga")
    there = client.get(reverse("course", kwargs={"slug": told.course.slug}))
    nowhere = client.get(reverse("course", kwargs={"slug": "nowhere"}))
    assert there.status_code == nowhere.status_code == 404
    assert without_token(there) == without_token(nowhere)
    anonymous = Client()
    for slug in (told.course.slug, "nowhere"):
        assert anonymous.get(f"/courses/{slug}/").headers["Location"] == (
            f"/account/sign-in/?next=/courses/{slug}/"
        )


def test_an_invitation_opens_nothing_until_it_is_accepted(told: World) -> None:
    Enrolment.objects.create(
        course=told.course, user=told.users["olga"], state=Enrolment.State.INVITED
    )
    client = told.client("olga")
    assert client.get(f"/courses/{told.course.slug}/").status_code == 404
    page = client.get("/courses/").content.decode()
    assert "You are on the roster of <b>Streams</b>" in page
    invitation = Enrolment.objects.get(course=told.course, user=told.users["olga"])
    assert told.client("sam").post(f"/courses/invitations/{invitation.pk}/").status_code == 404
    assert client.post(f"/courses/invitations/{invitation.pk}/").status_code == 302
    assert client.get(f"/courses/{told.course.slug}/").status_code == 200


def test_pages_of_accounts_are_kept_by_no_browser(told: World) -> None:
    for name in ("courses", "course", "gradebook", "roster-csv", "account"):
        answer = told.client("ines").get(address_of(name, told))
        assert "no-store" in answer.headers["Cache-Control"]


def test_names_are_text_on_every_page(told: World) -> None:
    evil = '<script>alert(1)</script>"><img src=x onerror=1>'
    accounts.account_change(user=told.users["sue"], shown_as=evil, email="")
    accounts.account_change(user=told.users["ines"], shown_as=evil, email="")
    services.course_change(course=told.course, title=evil, time_zone="UTC", joinable=True)
    services.score_override(
        release=told.release, enrolment_id=told.enrolment("sue").pk, points=None, reason=evil, by=told.users["ines"],
    )  # fmt: skip
    told.release.extensions.update(reason=evil)
    client = told.client("ines")
    for name in TABLE:
        if TABLE[name].get == ALL_NOT_SO:
            continue
        for page in (client, told.client("sue")):
            body = page.get(address_of(name, told)).content.decode()
            if not name.endswith("csv"):
                assert "<script>alert" not in body
                assert "<img" not in body


def test_only_the_fields_of_a_form_are_taken(told: World) -> None:
    client = told.client("sam")
    client.post(
        "/account/",
        {"name": "Sam", "email": "", "role": "instructor", "is_staff": "1", "username": "ines2"},
    )
    sam = told.users["sam"]
    sam.refresh_from_db()
    assert (sam.is_staff, sam.is_superuser, sam.username) == (False, False, "sam")
    assert sam.account.role == "student"
    stranger = Client()
    stranger.post(
        "/account/sign-up/",
        {
            "login": "newone",
            "name": "N",
            "password": PASSWORD,
            "role": "instructor",
            "is_staff": "on",
        },
    )
    assert stranger.get("/courses/new/").status_code == 404


def test_done_says_only_what_is_known(told: World) -> None:
    page = told.client("sam").get("/courses/?done=<b>hacked</b>").content.decode()
    assert "hacked" not in page
