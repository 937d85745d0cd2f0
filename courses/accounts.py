"""Accounts and the links that open them."""

import hashlib
import re
import secrets
import unicodedata
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.db import IntegrityError, transaction
from django.utils import timezone

from courses import selectors
from courses.errors import CourseError
from courses.models import Account, OneTimeLink

SIGN_IN_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{1,63}")
LINK_HOURS = 72


def sign_in_name(text: str) -> str:
    """As it is stored: `Ada` and `ada` are one. Raises CourseError bad_name."""
    name = unicodedata.normalize("NFKC", text).strip().lower()
    if not SIGN_IN_NAME.fullmatch(name):
        raise CourseError("bad_name", place=text[:64])
    return name


def display_name(text: str) -> str:
    """One line without what turns or hides text. Raises CourseError bad_display_name."""
    name = " ".join(unicodedata.normalize("NFC", text).split())
    hidden = any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co") for character in name)
    if not 1 <= len(name) <= 100 or hidden:
        raise CourseError("bad_display_name", place=text[:100])
    return name


def account_create(
    *,
    name: str,
    shown_as: str,
    password: str | None,
    email: str = "",
    role: str = Account.Role.STUDENT,
) -> User:
    """Without a password the account can be opened by a one-time link alone.

    Raises CourseError bad_name, bad_display_name, name_taken; ValidationError for a weak password.
    """
    name, shown_as = sign_in_name(name), display_name(shown_as)
    user = User(username=name, email=email)
    if password is None:
        user.set_unusable_password()
    else:
        validate_password(password, user)
        user.set_password(password)
    try:
        with transaction.atomic():
            if User.objects.filter(username__iexact=name).exists():
                raise IntegrityError
            user.save()
            Account.objects.create(user=user, name=shown_as, role=role)
    except IntegrityError:
        raise CourseError("name_taken", place=name) from None
    return user


def account_change(*, user: User, shown_as: str, email: str) -> None:
    """Raises CourseError bad_display_name."""
    shown_as = display_name(shown_as)
    user.email = email
    user.save(update_fields=["email"])
    Account.objects.update_or_create(user=user, defaults={"name": shown_as})


def instructor_make(*, name: str, shown_as: str = "") -> User:
    """The account of that name, made where there is none, which from now on may make courses."""
    name = sign_in_name(name)
    user = User.objects.filter(username=name).first()
    if user is None:
        return account_create(
            name=name, shown_as=shown_as or name, password=None, role=Account.Role.INSTRUCTOR
        )
    Account.objects.update_or_create(
        user=user,
        defaults={"role": Account.Role.INSTRUCTOR},
        create_defaults={"role": Account.Role.INSTRUCTOR, "name": shown_as or name},
    )
    return user


# ---- one-time links ------------------------------------------------------------------------------


def link_make(*, user: User, by: User | None = None, hours: float = LINK_HOURS) -> str:
    """The token of a new link; links that were made before are void."""
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        links_void(user_id=user.pk)
        OneTimeLink.objects.create(
            digest=digest_of(token),
            user=user,
            by=by,
            expires=timezone.now() + timedelta(hours=hours),
        )
    return token


def link_get(*, token: str) -> OneTimeLink:
    """Looking uses nothing up: programs that preview mail look too. Raises CourseError dead_link."""
    link = (
        OneTimeLink.objects.select_related("user")
        .filter(
            digest=digest_of(token), used=None, expires__gt=timezone.now(), user__is_active=True
        )
        .first()
    )
    if link is None:
        raise CourseError("dead_link")
    return link


def link_use(*, token: str, password: str) -> User:
    """Set the password, once. Raises CourseError dead_link, ValidationError for a weak password."""
    link = link_get(token=token)
    user = link.user
    validate_password(password, user)
    with transaction.atomic():
        now = timezone.now()
        unused = OneTimeLink.objects.filter(pk=link.pk, used=None, expires__gt=now)
        if unused.update(used=now) != 1:  # of two that come at once, one
            raise CourseError("dead_link")
        password_set(user=user, password=password)
    return user


def password_set(*, user: User, password: str) -> None:
    """Ends every other sign-in of the account, and voids its links. Raises ValidationError."""
    validate_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    links_void(user_id=user.pk)


def links_void(*, user_id: int) -> None:
    OneTimeLink.objects.filter(user_id=user_id, used=None).delete()


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def student_link(*, user: User, by: User, course: Any) -> str:
    """An instructor helps a student of the course back in. Raises CourseError no_link_for."""
    if not selectors.may_get_link(course=course, user_id=user.pk):
        raise CourseError("no_link_for", place=user.username)
    return link_make(user=user, by=by)


def sends_mail() -> bool:
    return bool(settings.EMAIL_URL)
