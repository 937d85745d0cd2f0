"""The gradebook, and one student's scores with what was written by hand."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from courses import selectors, services
from courses.errors import CourseError
from courses.forms import OverrideForm
from courses.scores import shown
from courses.views.parts import blame, done, instructor, show, user_of
from courses.views.teaching import csv_answer

COLUMNS = [
    "login", "name", "lab", "version", "due", "extension", "attempts", "late",
    "raw", "penalty", "override", "final", "full",
]  # fmt: skip


@require_safe
@instructor
def gradebook(request: HttpRequest, course: selectors.Course) -> HttpResponse:
    table = selectors.gradebook(course=course)
    return show(request, "courses/gradebook.html", course=course, table=table)


@require_safe
@instructor
def gradebook_csv(request: HttpRequest, course: selectors.Course) -> HttpResponse:
    """One row for each student and lab; nobody is left out."""
    rows: list[list[Any]] = [COLUMNS]
    for row in selectors.gradebook(course=course).rows:
        for cell in row.cells:
            score, release = cell.score, cell.offered.release
            rows.append(
                [
                    row.member.login,
                    row.member.name,
                    release.lab,
                    release.version_id[:12],
                    moment(cell.offered.deadlines.due),
                    moment(cell.offered.extension.due if cell.offered.extension else None),
                    score.attempts,
                    "late" if score.late else "",
                    shown(score.raw),
                    shown(score.penalty),
                    "" if score.override is None else shown(score.override),
                    shown(score.final),
                    score.full,
                ]
            )
    return csv_answer(rows, f"{course.slug}-gradebook.csv")


def moment(at: datetime | None) -> str:
    """With its offset from UTC: 2026-12-01T23:59+01:00."""
    return "" if at is None else timezone.localtime(at).isoformat(timespec="minutes")


@require_safe
@instructor
def student(request: HttpRequest, course: selectors.Course, enrolment_id: int) -> HttpResponse:
    return student_scores(request, course, enrolment_id)


def student_scores(
    request: HttpRequest,
    course: selectors.Course,
    enrolment_id: int,
    wrong: OverrideForm | None = None,
    status: int = 200,
) -> HttpResponse:
    member = selectors.member_get(course=course, enrolment_id=enrolment_id, student=True)
    row = selectors.gradebook(course=course, members=[member]).rows[0]
    cells = []
    for cell in row.cells:
        pk = cell.offered.release.pk
        mine = wrong is not None and wrong.data.get("release") == str(pk)
        form = wrong if mine else OverrideForm(initial={"release": pk}, auto_id=f"{pk}-%s")
        cells.append((cell, form))
    return show(
        request,
        "courses/student_scores.html",
        course=course,
        member=member,
        cells=cells,
        total=row.total,
        overrides=selectors.overrides(course=course, user_id=member.user_id),
        status=status,
    )


@require_POST
@instructor
def override(request: HttpRequest, course: selectors.Course, enrolment_id: int) -> HttpResponse:
    form = OverrideForm(request.POST)
    if form.is_valid():
        form.auto_id = f"{form.cleaned_data['release']}-%s"
        try:
            services.score_override(
                release=selectors.release_get(
                    course=course, release_id=form.cleaned_data["release"]
                ),
                enrolment_id=enrolment_id,
                points=form.fraction(),
                reason=form.cleaned_data["reason"],
                by=user_of(request),
            )
            return done("override", "student-scores", slug=course.slug, enrolment_id=enrolment_id)
        except CourseError as error:
            if error.code == "not_found":
                raise
            blame(form, error, {"bad_points": "points", "reason_missing": "reason"})
    return student_scores(request, course, enrolment_id, wrong=form, status=400)
