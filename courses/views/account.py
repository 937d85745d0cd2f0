"""Signing up, in and out; one's own account."""

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from courses import accounts, mail, personal_data, rates, selectors, signing_in
from courses.errors import CourseError
from courses.forms import (
    AccountForm,
    DeleteForm,
    NewPasswordForm,
    PasswordForm,
    ResetForm,
    SignInForm,
    SignUpForm,
)
from courses.views.parts import blame, done, page, show, signed_in, user_of

page_methods = require_http_methods(["GET", "HEAD", "POST"])
SIGN_UP_FIELDS = {
    "": "password",
    "name_taken": "login",
    "bad_name": "login",
    "bad_display_name": "name",
}


def further(request: HttpRequest) -> HttpResponse:
    """Where the visitor was going."""
    wanted = request.POST.get("next", request.GET.get("next", ""))
    return HttpResponseRedirect(signing_in.local_path(request, wanted, reverse("courses")))


@page_methods
@sensitive_post_parameters()
@page
def sign_up(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return further(request)
    if not settings.SIGN_UP:
        raise CourseError("sign_up_closed")
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        rates.check(rates.SIGN_UP, "all")
        values = form.cleaned_data
        try:
            user = accounts.account_create(
                name=values["login"],
                shown_as=values["name"],
                email=values["email"],
                password=values["password"],
            )
        except (CourseError, ValidationError) as error:
            blame(form, error, SIGN_UP_FIELDS)
        else:
            signing_in.begin(request, user)
            return further(request)
    return show(request, "account/sign_up.html", form=form, next=next_of(request))


@page_methods
@sensitive_post_parameters()
@page
def sign_in(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated and request.method != "POST":
        return further(request)
    form = SignInForm(request.POST or None)
    status = 200
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        try:
            signing_in.sign_in(request, name=values["login"], password=values["password"])
            return further(request)
        except CourseError as error:
            blame(form, error, {})
            status = error.status
    return show(
        request,
        "account/sign_in.html",
        form=form,
        next=next_of(request),
        sign_up=settings.SIGN_UP,
        status=status,
    )


def next_of(request: HttpRequest) -> str:
    wanted = request.POST.get("next", request.GET.get("next", ""))
    return signing_in.local_path(request, wanted, "")


@require_POST
@page
def sign_out(request: HttpRequest) -> HttpResponse:
    signing_in.end(request)
    return done("signed-out", "sign-in")


@page_methods
@page
def reset(request: HttpRequest) -> HttpResponse:
    """The answer is the same whether there is such an account or not."""
    if not accounts.sends_mail():
        return show(request, "account/reset.html", form=None)
    form = ResetForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["login"]
        rates.check(rates.RESET_BY_MAIL, name.strip().lower())
        path = reverse("password-link", kwargs={"token": "TOKEN"})
        mail.link_send(name=name, address=request.build_absolute_uri(path))
        return show(request, "account/reset.html", sent=True)
    return show(request, "account/reset.html", form=form)


@page_methods
@sensitive_post_parameters()
@page
def password_link(request: HttpRequest, token: str) -> HttpResponse:
    """Looking uses nothing up; choosing a password does."""
    link = accounts.link_get(token=token)
    form = NewPasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user = accounts.link_use(token=token, password=form.cleaned_data["password"])
        except ValidationError as error:
            blame(form, error, {"": "password"})
        else:
            signing_in.begin(request, user)
            return done("password", "account")
    return show(request, "account/password_link.html", form=form, name=link.user.username)


@page_methods
@signed_in
def account(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    now = {"name": selectors.name_of(user), "email": user.email}
    form = AccountForm(request.POST or None, initial=now)
    if request.method == "POST" and form.is_valid():
        try:
            accounts.account_change(
                user=user, shown_as=form.cleaned_data["name"], email=form.cleaned_data["email"]
            )
            return done("account", "account")
        except CourseError as error:
            blame(form, error, {"bad_display_name": "name"})
    return show(request, "account/account.html", form=form)


@page_methods
@sensitive_post_parameters()
@signed_in
def password(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if request.method == "POST":
        rates.check(rates.SIGN_IN, f"{user.username} again")
    form = PasswordForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid():
        accounts.password_set(user=user, password=form.cleaned_data["new"])
        update_session_auth_hash(request, user)
        return done("password", "account")
    return show(request, "account/password.html", form=form)


@require_POST
@signed_in
def export(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    rates.check(rates.HEAVY, f"export {user.pk}")
    response = HttpResponse(personal_data.export(user=user), content_type="application/zip")
    response.headers["Content-Disposition"] = 'attachment; filename="streamlab.zip"'
    return response


@page_methods
@sensitive_post_parameters()
@signed_in
def delete(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if request.method == "POST":
        rates.check(rates.SIGN_IN, f"{user.username} again")
    form = DeleteForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid():
        personal_data.delete(user=user)
        signing_in.end(request)
        return done("deleted", "sign-in")
    return show(request, "account/delete.html", form=form)
