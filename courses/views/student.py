"""What a student sees: own courses, labs with their dates, own scores."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from courses import rates, selectors, services
from courses.errors import CourseError
from courses.forms import CourseForm, JoinForm
from courses.views.parts import blame, done, member, show, signed_in, user_of


@require_safe
@signed_in
def courses(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    mine = selectors.courses_of(user_id=user.pk)
    return show(
        request,
        "courses/courses.html",
        enrolments=[one for one in mine if one.state == selectors.ACTIVE],
        invitations=[one for one in mine if one.state == selectors.INVITED],
        form=JoinForm(),
        may_make=selectors.may_make_courses(user=user),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def join(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    form = JoinForm(request.POST or None, initial={"code": request.GET.get("code", "")[:40]})
    status = 200
    if request.method == "POST" and form.is_valid():
        try:
            rates.check(rates.JOIN, f"join {user.pk}")
            course = services.course_join(code=form.cleaned_data["code"], user=user)
            return done("joined", "course", slug=course.slug)
        except CourseError as error:
            blame(form, error, {"unknown_join_code": "code"})
            status = error.status
    return show(request, "courses/join.html", form=form, status=status)


@require_POST
@signed_in
def accept(request: HttpRequest, enrolment_id: int) -> HttpResponse:
    course = services.invitation_accept(user=user_of(request), enrolment_id=enrolment_id)
    return done("joined", "course", slug=course.slug)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new_course(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if not selectors.may_make_courses(user=user):
        raise CourseError("not_found")
    form = CourseForm(request.POST or None, initial={"time_zone": "UTC"})
    if request.method == "POST" and form.is_valid():
        course = services.course_create(by=user, **form.cleaned_data)
        return done("course", "course", slug=course.slug)
    return show(request, "courses/new_course.html", form=form)


@require_safe
@member
def course(request: HttpRequest, enrolment: selectors.Enrolment) -> HttpResponse:
    """An instructor gets the overview, a student the labs."""
    if enrolment.role == selectors.INSTRUCTOR:
        return overview(request, enrolment.course)
    me = selectors.member_of(enrolment)
    return student_page(request, enrolment.course, me)


def student_page(
    request: HttpRequest,
    course: selectors.Course,
    me: selectors.Member | None,
    as_student: bool = False,
) -> HttpResponse:
    now = timezone.now()
    cells = selectors.gradebook(course=course, members=[me]).rows[0].cells if me else []
    overrides = selectors.overrides(course=course, user_id=me.user_id) if me else []
    offers: list[tuple[selectors.Offered, selectors.Cell | None]] = (
        [(cell.offered, cell) for cell in cells]
        if me
        else [(offer, None) for offer in selectors.releases_shown(course=course)]
    )
    shown = [
        {
            "offered": offer,
            "cell": cell,
            "open": offer.is_open(now),
            "closed": offer.is_closed(now),
        }
        for offer, cell in offers
    ]
    return show(
        request,
        "courses/student.html",
        course=course,
        me=me,
        labs=shown,
        overrides=overrides,
        as_student=as_student,
    )


def overview(request: HttpRequest, course: selectors.Course) -> HttpResponse:
    people = selectors.roster(course=course)
    return show(
        request,
        "courses/overview.html",
        course=course,
        students=sum(one.enrolment.role == selectors.STUDENT for one in people),
        instructors=[one for one in people if one.enrolment.role == selectors.INSTRUCTOR],
        releases=selectors.releases_shown(course=course),
        now=timezone.now(),
        join_url=request.build_absolute_uri(f"{reverse('join')}?code={course.join_code}"),
    )
