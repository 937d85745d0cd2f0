"""What can be asked of people and courses. Reads only."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.db.models import F, QuerySet
from django.utils import timezone

from courses import scores
from courses.errors import CourseError
from courses.late import Deadlines, LatePolicy
from courses.models import Account, Course, Enrolment, Extension, Override, Release
from labs.catalog import catalog, find_lab

INSTRUCTOR, STUDENT = Enrolment.Role.INSTRUCTOR, Enrolment.Role.STUDENT
ACTIVE, INVITED = Enrolment.State.ACTIVE, Enrolment.State.INVITED

# ---- people --------------------------------------------------------------------------------------


def name_of(user: User) -> str:
    account = Account.objects.filter(user_id=user.pk).first()
    return account.name if account else user.username


def role_of(user: User) -> str:
    account = Account.objects.filter(user_id=user.pk).first()
    return account.role if account else Account.Role.STUDENT


def may_make_courses(*, user: User) -> bool:
    return role_of(user) == Account.Role.INSTRUCTOR


def may_get_link(*, course: Course, user_id: int) -> bool:
    """A student who joined this course; never somebody with more rights than a student has."""
    user = User.objects.filter(pk=user_id, is_staff=False, is_superuser=False).first()
    if user is None or role_of(user) == Account.Role.INSTRUCTOR:
        return False
    enrolled = Enrolment.objects.filter(user=user)
    return (
        enrolled.filter(course=course, state=ACTIVE).exists()
        and not enrolled.filter(role=INSTRUCTOR).exists()
    )


# ---- courses and who is in them ------------------------------------------------------------------


def courses_of(*, user_id: int) -> list[Enrolment]:
    return list(
        Enrolment.objects.filter(user_id=user_id)
        .select_related("course")
        .order_by("course__title", "course_id")
    )


def enrolment_get(*, slug: str, user_id: int, role: str | None = None) -> Enrolment:
    """How this person is in the course. Who is not in it does not learn that it exists.

    Raises CourseError not_found.
    """
    enrolled = Enrolment.objects.filter(course__slug=slug, user_id=user_id, state=ACTIVE)
    if role is not None:
        enrolled = enrolled.filter(role=role)
    found = enrolled.select_related("course").first()
    if found is None:
        raise CourseError("not_found")
    return found


def courses_taught_alone(*, user_id: int) -> list[Course]:
    """Courses with students whose only instructor this is."""
    taught = Enrolment.objects.filter(user_id=user_id, role=INSTRUCTOR).select_related("course")
    return [
        one.course
        for one in taught
        if not instructors(course=one.course).exclude(user_id=user_id).exists()
        and one.course.enrolments.filter(role=STUDENT).exists()
    ]


def instructors(*, course: Course) -> QuerySet[Enrolment]:
    return course.enrolments.filter(role=INSTRUCTOR, state=ACTIVE)


@dataclass(frozen=True)
class Member:
    """A row of the roster."""

    enrolment: Enrolment
    login: str
    name: str
    email: str
    has_password: bool

    @property
    def pk(self) -> int:
        return self.enrolment.pk

    @property
    def user_id(self) -> int:
        return self.enrolment.user_id


def roster(*, course: Course) -> list[Member]:
    """In the order of names; instructors first."""
    rows = course.enrolments.select_related("user", "user__account")
    members = [member_of(row) for row in rows]
    members.sort(key=lambda one: (one.enrolment.role, one.name.casefold(), one.login))
    return members


def member_of(enrolment: Enrolment) -> Member:
    user = enrolment.user
    account = getattr(user, "account", None)
    return Member(
        enrolment=enrolment,
        login=user.username,
        name=account.name if account else user.username,
        email=user.email,
        has_password=user.has_usable_password(),
    )


def member_get(*, course: Course, enrolment_id: int, student: bool = False) -> Member:
    """Raises CourseError not_found."""
    rows = course.enrolments.select_related("user", "user__account").filter(pk=enrolment_id)
    if student:
        rows = rows.filter(role=STUDENT)
    found = rows.first()
    if found is None:
        raise CourseError("not_found")
    return member_of(found)


def students(*, course: Course) -> list[Member]:
    """Whoever is graded: students, invited ones too, so that nobody is missing from a table."""
    return [one for one in roster(course=course) if one.enrolment.role == STUDENT]


# ---- releases ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Offered:
    """A release with what a page says of it."""

    release: Release
    title: str
    deadlines: Deadlines
    policy: LatePolicy
    extension: Extension | None = None
    newer: bool = False  # the folder of the lab has changed since it was published

    def is_open(self, now: datetime) -> bool:
        return self.deadlines.opens is None or now >= self.deadlines.opens

    def is_closed(self, now: datetime) -> bool:
        return self.deadlines.closes is not None and now > self.deadlines.closes


def releases(*, course: Course) -> list[Release]:
    """By due date; those that are never due come last."""
    return list(course.releases.order_by(F("due").asc(nulls_last=True), "pk"))


def release_get(*, course: Course, release_id: int) -> Release:
    """Raises CourseError not_found."""
    found = course.releases.filter(pk=release_id).first()
    if found is None:
        raise CourseError("not_found")
    return found


def release_of(*, user_id: int, lab: str) -> Release | None:
    """The release through which a student meets a lab: of several courses, the one that is due first."""
    enrolled = Enrolment.objects.filter(user_id=user_id, role=STUDENT, state=ACTIVE)
    found = Release.objects.filter(lab=lab, course__in=enrolled.values("course"))
    return found.order_by(F("due").asc(nulls_last=True), "pk").first()


def deadlines_of(release: Release, extension: Extension | None) -> Deadlines:
    dates = Deadlines(release.opens, release.due, release.closes)
    return dates if extension is None else dates.extended(extension.due, extension.closes)


def deadlines_get(*, release: Release, user_id: int) -> Deadlines:
    """What holds for one student."""
    return deadlines_of(release, release.extensions.filter(user_id=user_id).first())


def feedback_of(release: Release, now: datetime | None = None) -> str:
    """hidden, message or full: what a student may see at this moment."""
    if release.feedback_from and (now or timezone.now()) < release.feedback_from:
        return Release.Feedback.HIDDEN
    return release.feedback


def policy_of(release: Release) -> LatePolicy:
    return LatePolicy.of(release.late_policy)


def lab_title(slug: str) -> str:
    lab = find_lab(slug)
    return lab.title if lab else slug


def labs_to_release(*, course: Course) -> list[tuple[str, str]]:
    """(slug, title) of labs that this course has not released yet."""
    released = set(course.releases.values_list("lab", flat=True))
    return [(lab.slug, lab.title) for lab in catalog().labs if lab.slug not in released]


def offered(
    release: Release, titles: dict[str, tuple[str, str]], extension: Extension | None = None
) -> Offered:
    title, digest = titles.get(release.lab, (release.lab, release.version_id))
    return Offered(
        release=release,
        title=title,
        deadlines=deadlines_of(release, extension),
        policy=policy_of(release),
        extension=extension,
        newer=digest != release.version_id,
    )


def titles_now() -> dict[str, tuple[str, str]]:
    """{slug: (title, digest)} of the labs as their folders are now."""
    return {lab.slug: (lab.title, lab.digest) for lab in catalog().labs}


def releases_shown(*, course: Course) -> list[Offered]:
    titles = titles_now()
    return [offered(one, titles) for one in releases(course=course)]


def extensions(*, release: Release) -> list[Extension]:
    return list(release.extensions.select_related("user", "user__account").order_by("due", "pk"))


# ---- scores --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One student in one released lab."""

    offered: Offered
    score: scores.LabScore
    feedback: str

    @property
    def points(self) -> str:
        return scores.shown(self.score.final)

    @property
    def full(self) -> str:
        return scores.shown(self.score.full)

    @property
    def lost(self) -> str:
        return scores.shown(self.score.penalty) if self.score.penalty else ""


@dataclass(frozen=True)
class Row:
    member: Member
    cells: Sequence[Cell]

    @property
    def total(self) -> str:
        return scores.shown(sum((cell.score.final for cell in self.cells), Fraction(0)))


@dataclass(frozen=True)
class Gradebook:
    releases: Sequence[Offered]
    rows: Sequence[Row]
    fulls: Sequence[str]  # by release
    full: str


def gradebook(*, course: Course, members: Sequence[Member] | None = None) -> Gradebook:
    """Students by released labs. A constant number of queries per release."""
    people = students(course=course) if members is None else members
    ids = [one.user_id for one in people]
    titles = titles_now()
    shown_releases = releases(course=course)
    columns = [_column(release, ids, titles) for release in shown_releases]
    rows = [Row(member, [column[member.user_id] for column in columns]) for member in people]
    fulls = [sum(_points(release).values()) for release in shown_releases]
    return Gradebook(
        releases=[offered(release, titles) for release in shown_releases],
        rows=rows,
        fulls=[scores.shown(full) for full in fulls],
        full=scores.shown(sum(fulls)),
    )


def _points(release: Release) -> Any:
    return scores.scores().points(lab=release.lab, version=release.version_id)


def _column(
    release: Release, ids: Collection[int], titles: dict[str, tuple[str, str]]
) -> dict[int, Cell]:
    points = _points(release)
    earned = scores.scores().earned(lab=release.lab, users=ids)
    extended = {one.user_id: one for one in release.extensions.filter(user_id__in=ids)}
    overridden = dict(
        release.overrides.filter(user_id__in=ids).order_by("pk").values_list("user_id", "points")
    )
    cells = {}
    for user_id in ids:
        here = offered(release, titles, extended.get(user_id))
        by_hand = overridden.get(user_id)
        cells[user_id] = Cell(
            offered=here,
            score=scores.lab_score(
                points=points,
                attempts=earned.get(user_id, {}),
                deadlines=here.deadlines,
                policy=here.policy,
                override=None if by_hand is None else Fraction(by_hand, 100),
            ),
            feedback=feedback_of(release),
        )
    return cells


def score_get(*, release: Release, user_id: int) -> Cell:
    return _column(release, [user_id], titles_now())[user_id]


@dataclass(frozen=True)
class ByHand:
    """An entry of the log of overrides. `points` is "as earned" where one was taken back."""

    at: datetime
    lab: str
    before: str
    points: str
    reason: str
    by: str


def overrides(*, course: Course, user_id: int) -> list[ByHand]:
    """The log, newest first."""
    rows = Override.objects.filter(release__course=course, user_id=user_id)
    return [
        ByHand(
            at=row.created,
            lab=lab_title(row.release.lab),
            before="" if row.before is None else scores.shown(Fraction(row.before, 100)),
            points="as earned" if row.points is None else scores.shown(Fraction(row.points, 100)),
            reason=row.reason,
            by=name_of(row.by) if row.by else "somebody who has left",
        )
        for row in rows.select_related("release", "by").order_by("-pk")
    ]


def zone_of(course: Course) -> ZoneInfo:
    return ZoneInfo(course.time_zone)
