"""An instructor's pages: settings of the course, roster, releases, extensions."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courses import accounts, rates, roster, selectors, services
from courses.csv_text import written
from courses.errors import CourseError
from courses.forms import (
    CourseSettingsForm,
    ExtensionForm,
    MemberForm,
    NewReleaseForm,
    ReleaseForm,
    RosterForm,
)
from courses.views.parts import blame, done, instructor, show, user_of
from courses.views.student import student_page

page_methods = require_http_methods(["GET", "HEAD", "POST"])
RELEASE_FIELDS = {"unknown_lab": "lab", "released_already": "lab", "bad_dates": "due"}


@page_methods
@instructor
def settings(request: HttpRequest, course: selectors.Course) -> HttpResponse:
    now = {name: getattr(course, name) for name in ("title", "time_zone", "joinable")}
    form = CourseSettingsForm(request.POST or None, initial=now)
    if request.method == "POST" and form.is_valid():
        services.course_change(course=course, **form.cleaned_data)
        return done("course", "course", slug=course.slug)
    return show(request, "courses/settings.html", course=course, form=form)


@require_POST
@instructor
def renew_code(request: HttpRequest, course: selectors.Course) -> HttpResponse:
    services.join_code_renew(course=course)
    return done("code", "course", slug=course.slug)


@require_safe
@instructor
def as_student(
    request: HttpRequest, course: selectors.Course, enrolment_id: int | None = None
) -> HttpResponse:
    """What a student sees, one of the course or none in particular. Nothing can be done from it."""
    me = None
    if enrolment_id is not None:
        me = selectors.member_get(course=course, enrolment_id=enrolment_id, student=True)
    return student_page(request, course, me, as_student=True)


# ---- the roster ----------------------------------------------------------------------------------


@page_methods
@instructor
def people(request: HttpRequest, course: selectors.Course) -> HttpResponse:
    form = RosterForm(request.POST or None, request.FILES or None)
    bad_rows: list[roster.BadRow] = []
    taken, links, status = None, [], 200
    if request.method == "POST" and form.is_valid():
        user = user_of(request)
        try:
            rates.check(rates.HEAVY, f"roster {user.pk}")
            file = form.cleaned_data["file"]
            entries, bad_rows = roster.read(file.read(roster.BYTES_MAX + 1))
            if not bad_rows:
                taken = services.roster_take(course=course, entries=entries, by=user)
                links = [
                    (login, name, link_address(request, token))
                    for login, name, token in taken.links
                ]
        except CourseError as error:
            blame(form, error, {"bad_roster": "file"})
            status = error.status
    return show(
        request,
        "courses/roster.html",
        course=course,
        members=selectors.roster(course=course),
        form=form,
        bad_rows=bad_rows[:50],
        bad_count=len(bad_rows),
        taken=taken,
        links=links,
        status=400 if bad_rows else status,
    )


def link_address(request: HttpRequest, token: str) -> str:
    return request.build_absolute_uri(reverse("password-link", kwargs={"token": token}))


@require_safe
@instructor
def people_csv(request: HttpRequest, course: selectors.Course) -> HttpResponse:
    rows: list[list[Any]] = [["login", "name", "email", "role", "state"]]
    rows += [
        [one.login, one.name, one.email, one.enrolment.role, one.enrolment.state]
        for one in selectors.roster(course=course)
    ]
    return csv_answer(rows, f"{course.slug}-roster.csv")


def csv_answer(rows: list[list[Any]], name: str) -> HttpResponse:
    response = HttpResponse(written(rows), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
@instructor
def person_link(request: HttpRequest, course: selectors.Course, enrolment_id: int) -> HttpResponse:
    """Shown once, to be handed over."""
    member = selectors.member_get(course=course, enrolment_id=enrolment_id)
    token = accounts.student_link(user=member.enrolment.user, by=user_of(request), course=course)
    return show(
        request,
        "courses/person_link.html",
        course=course,
        member=member,
        address=link_address(request, token),
        hours=accounts.LINK_HOURS,
    )


@require_POST
@instructor
def person_remove(
    request: HttpRequest, course: selectors.Course, enrolment_id: int
) -> HttpResponse:
    services.member_remove(course=course, enrolment_id=enrolment_id)
    return done("removed", "roster", slug=course.slug)


@require_POST
@instructor
def person_role(request: HttpRequest, course: selectors.Course, enrolment_id: int) -> HttpResponse:
    form = MemberForm(request.POST)
    role = form.cleaned_data["role"] if form.is_valid() else ""
    services.member_role(course=course, enrolment_id=enrolment_id, role=role)
    return done("role", "roster", slug=course.slug)


# ---- releases ------------------------------------------------------------------------------------


@page_methods
@instructor
def new_release(request: HttpRequest, course: selectors.Course) -> HttpResponse:
    labs = selectors.labs_to_release(course=course)
    form = NewReleaseForm(request.POST or None, labs=labs)
    if request.method == "POST" and form.is_valid():
        lab = form.cleaned_data["lab"]
        try:
            services.release_create(course=course, lab=lab, **form.fields_of_release())
            return done("released", "course", slug=course.slug)
        except CourseError as error:
            blame(form, error, RELEASE_FIELDS)
    return show(request, "courses/new_release.html", course=course, form=form, labs=labs)


@page_methods
@instructor
def release(request: HttpRequest, course: selectors.Course, release_id: int) -> HttpResponse:
    found = selectors.release_get(course=course, release_id=release_id)
    form = ReleaseForm(request.POST or None, initial=ReleaseForm.values_of(found))
    if request.method == "POST" and form.is_valid():
        try:
            services.release_change(release=found, **form.fields_of_release())
            return done("release", "release", slug=course.slug, release_id=release_id)
        except CourseError as error:
            blame(form, error, RELEASE_FIELDS)
    return show(
        request,
        "courses/release.html",
        course=course,
        offered=selectors.offered(found, selectors.titles_now()),
        form=form,
        extensions=selectors.extensions(release=found),
    )


@require_POST
@instructor
def publish(request: HttpRequest, course: selectors.Course, release_id: int) -> HttpResponse:
    found = selectors.release_get(course=course, release_id=release_id)
    services.release_publish(release=found)
    return done("published", "release", slug=course.slug, release_id=release_id)


@require_POST
@instructor
def withdraw(request: HttpRequest, course: selectors.Course, release_id: int) -> HttpResponse:
    services.release_withdraw(release=selectors.release_get(course=course, release_id=release_id))
    return done("withdrawn", "course", slug=course.slug)


@page_methods
@instructor
def extensions(request: HttpRequest, course: selectors.Course, release_id: int) -> HttpResponse:
    found = selectors.release_get(course=course, release_id=release_id)
    students = [(one.pk, f"{one.name} ({one.login})") for one in selectors.students(course=course)]
    form = ExtensionForm(request.POST or None, students=students)
    if request.method == "POST" and form.is_valid():
        values = dict(form.cleaned_data)
        try:
            services.extension_give(
                release=found,
                enrolment_id=int(values.pop("student")),
                by=user_of(request),
                **values,
            )
            return done("extension", "extensions", slug=course.slug, release_id=release_id)
        except CourseError as error:
            blame(form, error, {"bad_dates": "due"})
    return show(
        request,
        "courses/extensions.html",
        course=course,
        offered=selectors.offered(found, selectors.titles_now()),
        form=form,
        students=students,
        extensions=selectors.extensions(release=found),
    )


@require_POST
@instructor
def extension_remove(
    request: HttpRequest, course: selectors.Course, release_id: int, extension_id: int
) -> HttpResponse:
    found = selectors.release_get(course=course, release_id=release_id)
    services.extension_take_back(release=found, extension_id=extension_id)
    return done("taken-back", "extensions", slug=course.slug, release_id=release_id)
