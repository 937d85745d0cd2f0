"""What changes courses, and who is in them."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any
from zoneinfo import available_timezones

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.text import slugify

from courses import accounts, selectors
from courses.errors import CourseError
from courses.late import LatePolicy
from courses.models import (
    Course,
    Enrolment,
    Extension,
    Override,
    Release,
    new_join_code,
)
from courses.roster import Entry
from courses.selectors import ACTIVE, INSTRUCTOR, INVITED
from labs.catalog import find_lab
from streamlab.runs.bundles import bundle_archive

DEFAULT_SLUG = "streamlab"

# ---- courses -------------------------------------------------------------------------------------


def course_default() -> Course:
    """The course that every installation begins with; made where there is none at all."""
    found = Course.objects.order_by("pk").first()
    if found is not None:
        return found
    return Course.objects.get_or_create(slug=DEFAULT_SLUG, defaults={"title": "StreamLab"})[0]


def default_course_teach(*, course: Course, user: User) -> None:
    """A new instructor has a course at once: the default one, as long as nobody teaches it."""
    if not selectors.instructors(course=course).exists():
        Enrolment.objects.update_or_create(
            course=course, user=user, defaults={"role": INSTRUCTOR, "state": ACTIVE}
        )


def course_create(*, title: str, time_zone: str, by: User) -> Course:
    """With its maker as the instructor. Raises CourseError not_found for who may not make courses."""
    if not selectors.may_make_courses(user=by):
        raise CourseError("not_found")
    slug = slugify(title)[:40] or "course"
    with transaction.atomic():
        if Course.objects.filter(slug=slug).exists() or slug in ("join", "new", "invitations"):
            slug = f"{slug}-{secrets.token_hex(4)}"
        course = Course.objects.create(slug=slug, title=title, time_zone=known_zone(time_zone))
        Enrolment.objects.create(course=course, user=by, role=INSTRUCTOR)
    return course


def course_change(*, course: Course, title: str, time_zone: str, joinable: bool) -> None:
    course.title, course.time_zone, course.joinable = title, known_zone(time_zone), joinable
    course.save(update_fields=["title", "time_zone", "joinable"])


def known_zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"{name!r} is no time zone")
    return name


def join_code_renew(*, course: Course) -> str:
    course.join_code = new_join_code()
    course.save(update_fields=["join_code"])
    return course.join_code


# ---- who is in a course --------------------------------------------------------------------------


def course_by_code(*, code: str) -> Course:
    """However it is written. Raises CourseError unknown_join_code."""
    plain = "".join(one for one in code.upper() if one.isascii() and one.isalnum())
    written = "-".join(plain[at : at + 4] for at in range(0, 12, 4))
    course = Course.objects.filter(join_code=written, joinable=True).first()
    if course is None:
        raise CourseError("unknown_join_code", place="code")
    return course


def course_join(*, code: str, user: User) -> Course:
    """As a student; who is in it already stays what they are. Raises CourseError unknown_join_code."""
    course = course_by_code(code=code)
    enrolment, made = Enrolment.objects.get_or_create(course=course, user=user)
    if not made and enrolment.state == INVITED:
        enrolment_accept(enrolment=enrolment)
    return course


def enrolment_accept(*, enrolment: Enrolment) -> None:
    enrolment.state = ACTIVE
    enrolment.save(update_fields=["state"])


def invitation_accept(*, user: User, enrolment_id: int) -> Course:
    """Raises CourseError not_found."""
    found = Enrolment.objects.filter(pk=enrolment_id, user=user, state=INVITED).first()
    if found is None:
        raise CourseError("not_found")
    enrolment_accept(enrolment=found)
    return found.course


@dataclass(frozen=True)
class Taken:
    """What came of a roster. `links`: (login, name, token) of the accounts that it made."""

    made: int
    invited: int
    known: int
    links: Sequence[tuple[str, str, str]]


def roster_take(*, course: Course, entries: Sequence[Entry], by: User) -> Taken:
    """Enrol everybody, or nobody. An account that exists is invited: its owner says yes.

    Nobody is taken off the roster, and nobody's name or role is changed.
    """
    links = []
    invited = known = 0
    with transaction.atomic():
        users = {
            user.username: user
            for user in User.objects.filter(username__in=[entry.login for entry in entries])
        }
        enrolled = set(course.enrolments.values_list("user_id", flat=True))
        for entry in entries:
            user = users.get(entry.login)
            if user is None:
                user = accounts.account_create(
                    name=entry.login, shown_as=entry.name, password=None, email=entry.email
                )
                Enrolment.objects.create(course=course, user=user)
                links.append((entry.login, entry.name, accounts.link_make(user=user, by=by)))
            elif user.pk in enrolled:
                known += 1
            else:
                Enrolment.objects.create(course=course, user=user, state=INVITED)
                invited += 1
    return Taken(made=len(links), invited=invited, known=known, links=links)


def member_remove(*, course: Course, enrolment_id: int) -> None:
    """Answers and scores stay with the account, and count again should the person come back.

    Raises CourseError not_found, last_instructor.
    """
    with transaction.atomic():
        member = selectors.member_get(course=course, enrolment_id=enrolment_id)
        check_not_last(course, member.enrolment)
        member.enrolment.delete()


def member_role(*, course: Course, enrolment_id: int, role: str) -> None:
    """Raises CourseError not_found, last_instructor."""
    if role not in Enrolment.Role.values:
        raise CourseError("not_found", place="role")
    with transaction.atomic():
        enrolment = selectors.member_get(course=course, enrolment_id=enrolment_id).enrolment
        if enrolment.state != ACTIVE:
            raise CourseError("not_found")
        if role != INSTRUCTOR:
            check_not_last(course, enrolment)
        enrolment.role = role
        enrolment.save(update_fields=["role"])


def check_not_last(course: Course, enrolment: Enrolment) -> None:
    others = selectors.instructors(course=course).exclude(pk=enrolment.pk)
    if enrolment.role == INSTRUCTOR and not others.exists():
        raise CourseError("last_instructor", course=course.title)


# ---- releases ------------------------------------------------------------------------------------

LATE = ("grace_minutes", "at_once", "per_day", "at_most")


def release_create(*, course: Course, lab: str, **fields: Any) -> Release:
    """The lab as its folder is now. Raises CourseError unknown_lab, released_already, bad_dates, bad_policy."""
    spec = find_lab(lab)
    if spec is None:
        raise CourseError("unknown_lab", place="lab", lab=lab[:40])
    release = Release(course=course, lab=lab, version=bundle_archive(lab=spec))
    fill(release, **fields)
    try:
        with transaction.atomic():
            release.save()
    except IntegrityError:
        raise CourseError("released_already", place="lab", lab=spec.title) from None
    return release


def release_change(*, release: Release, **fields: Any) -> None:
    """Raises CourseError bad_dates, bad_policy."""
    fill(release, **fields)
    release.save()


def fill(
    release: Release,
    *,
    opens: datetime | None,
    due: datetime | None,
    closes: datetime | None,
    policy: LatePolicy,
    feedback: str,
    feedback_from: datetime | None,
) -> None:
    for early, earlier, late, later in (
        (opens, "Opening", due, "the due date"),
        (due, "The due date", closes, "closing"),
        (opens, "Opening", closes, "closing"),
    ):
        if early and late and early > late:
            raise CourseError("bad_dates", earlier=earlier, later=later)
    release.opens, release.due, release.closes = opens, due, closes
    release.late_policy = policy.as_data()
    release.feedback, release.feedback_from = feedback, feedback_from


def release_publish(*, release: Release) -> None:
    """Students see the lab as its folder is now; attempts that are under way keep the version they began with.

    Raises CourseError unknown_lab.
    """
    spec = find_lab(release.lab)
    if spec is None:
        raise CourseError("unknown_lab", place="lab", lab=release.lab)
    release.version = bundle_archive(lab=spec)
    release.save(update_fields=["version"])


def release_withdraw(*, release: Release) -> None:
    """With its extensions and overrides. What was handed in stays."""
    release.delete()


def extension_give(
    *,
    release: Release,
    enrolment_id: int,
    due: datetime,
    closes: datetime | None,
    reason: str,
    by: User,
) -> Extension:
    """One per student: a second replaces the first. Raises CourseError not_found, bad_dates."""
    member = selectors.member_get(course=release.course, enrolment_id=enrolment_id, student=True)
    if closes and due > closes:
        raise CourseError("bad_dates", place="due", earlier="The due date", later="closing")
    return Extension.objects.update_or_create(
        release=release,
        user_id=member.user_id,
        defaults={"due": due, "closes": closes, "reason": reason, "by": by},
    )[0]


def extension_take_back(*, release: Release, extension_id: int) -> None:
    """Raises CourseError not_found."""
    if not release.extensions.filter(pk=extension_id).delete()[0]:
        raise CourseError("not_found")


# ---- scores --------------------------------------------------------------------------------------


def score_override(
    *, release: Release, enrolment_id: int, points: Fraction | None, reason: str, by: User
) -> Override:
    """Write the points by hand, from 0 to the lab's full ones; None: what was earned counts again.

    Raises CourseError not_found, bad_points, reason_missing.
    """
    member = selectors.member_get(course=release.course, enrolment_id=enrolment_id, student=True)
    reason = " ".join(reason.split())
    if not 1 <= len(reason) <= 300:
        raise CourseError("reason_missing", place="reason")
    with transaction.atomic():
        score = selectors.score_get(release=release, user_id=member.user_id).score
        hundredths = None if points is None else points * 100
        if hundredths is not None and not (
            hundredths.denominator == 1 and 0 <= hundredths <= score.full * 100
        ):
            raise CourseError("bad_points", place="points", most=score.full)
        return Override.objects.create(
            release=release,
            user_id=member.user_id,
            points=None if hundredths is None else int(hundredths),
            before=round(score.final * 100),
            reason=reason,
            by=by,
        )
