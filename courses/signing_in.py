"""Signing in and out, and what moves into the account on the way."""

from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from courses import accounts, adoption, rates
from courses.errors import CourseError


def sign_in(request: HttpRequest, *, name: str, password: str) -> User:
    """Says and takes as long for a name that does not exist as for a wrong password.

    Raises CourseError wrong_sign_in, too_many_tries.
    """
    key = name.strip().lower()[:64]
    visitor = request.session.get("visitor", "")
    rates.check(rates.SIGN_IN_ACCOUNT, key)
    rates.check(rates.SIGN_IN, f"{key} {visitor}")
    try:
        known = accounts.sign_in_name(name)
    except CourseError:
        known = ""
    user = authenticate(request, username=known, password=password)
    if not isinstance(user, User):
        raise CourseError("wrong_sign_in")
    begin(request, user)
    return user


def begin(request: HttpRequest, user: User) -> None:
    """The session gets a new key; its visitor's practice becomes the account's."""
    visitor = request.session.get("visitor", "")
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    adoption.adopt_all(visitor=visitor, user_id=user.pk)


def end(request: HttpRequest) -> None:
    """Nothing of the session is left, the visitor's name included."""
    logout(request)


def local_path(request: HttpRequest, wanted: str, otherwise: str) -> str:
    """Where to go on: an address of this site, or `otherwise`."""
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if wanted and safe and wanted.startswith("/") else otherwise
