"""What every page here does: who may see it, refusals as sentences, and what was done."""

import functools
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from courses import selectors
from courses.errors import CourseError

View = Callable[..., HttpResponse]

# What a page says after something was done; the address carries the name alone.
DONE = {
    "account": "Your account was changed.",
    "password": "Your password was changed. Other devices have to sign in again.",
    "joined": "You are in this course now.",
    "course": "The course was changed.",
    "code": "The join code is new; the old one no longer works.",
    "removed": "Taken off the roster.",
    "role": "The role was changed.",
    "released": "The lab was released.",
    "release": "The release was changed.",
    "published": "Students now see the newest version of the lab.",
    "withdrawn": "The release was withdrawn.",
    "extension": "The extension was given.",
    "taken-back": "The extension was taken back.",
    "override": "The points were written down.",
    "signed-out": "You have signed out.",
    "deleted": "Your account and everything that was kept of you has been deleted.",
}


def page(view: View) -> View:
    """Refusals become a page with the sentence; nothing of these pages is kept by browsers."""

    @never_cache
    @csrf_protect
    @functools.wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except CourseError as error:
            return refused(request, error)

    return answer


def refused(request: HttpRequest, error: CourseError) -> HttpResponse:
    return render(request, "courses/refused.html", {"error": error}, status=error.status)


def signed_in(view: View) -> View:
    """Others are asked to sign in first, whether there is something at the address or not."""

    @page
    @functools.wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            path = request.get_full_path() if request.method in ("GET", "HEAD") else "/courses/"
            return redirect_to_login(path, reverse("sign-in"))
        return view(request, *args, **kwargs)

    return answer


def member(view: View) -> View:
    """Whoever is in the course `slug`: the view gets `enrolment`, and dates are in the course's zone."""
    return _in_course(view, None)


def instructor(view: View) -> View:
    """Instructors of the course `slug`: the view gets `course`."""
    return _in_course(view, selectors.INSTRUCTOR)


def _in_course(view: View, role: str | None) -> View:
    @signed_in
    @functools.wraps(view)
    def answer(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
        found = selectors.enrolment_get(slug=slug, user_id=user_of(request).pk, role=role)
        given: dict[str, Any] = {"enrolment": found} if role is None else {"course": found.course}
        with timezone.override(selectors.zone_of(found.course)):
            return view(request, **given, **kwargs)

    return answer


def user_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def done(what: str, to: str, **kwargs: Any) -> HttpResponseRedirect:
    assert what in DONE
    return HttpResponseRedirect(f"{reverse(to, kwargs=kwargs)}?{urlencode({'done': what})}")


def show(request: HttpRequest, template: str, *, status: int = 200, **context: Any) -> HttpResponse:
    """`done` of the address becomes its sentence."""
    said = DONE.get(request.GET.get("done", ""), "")
    return render(request, template, {"said": said, **context}, status=status)


def blame(form: Form, error: CourseError | ValidationError, fields: dict[str, str]) -> None:
    """Put a refusal beside its field. `fields`: {code: field}; "" is the password's."""
    if isinstance(error, ValidationError):
        form.add_error(fields[""], error)
        return
    form.add_error(fields.get(error.code), f"{error.sentence} {error.mend}")
