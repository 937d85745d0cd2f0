"""All that is kept of a person, to be handed out and to be deleted. Each app that keeps something registers."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction

from courses import selectors
from courses.errors import CourseError
from courses.models import Enrolment, Extension, OneTimeLink, Override

Export = Callable[[int], Any]  # user id -> what json can write
Delete = Callable[[int], object]  # user id

_kept: dict[str, tuple[Export, Delete | None]] = {}


def register(name: str, export: Export, delete: Delete | None = None) -> None:
    """`<name>.json` of the export. `delete` is for what does not go with the row of the user by itself."""
    _kept[name] = export, delete


def export(*, user: User) -> bytes:
    """A zip with one JSON file for each kind of thing that is kept."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _everything(user).items():
            text = json.dumps(content, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
            archive.writestr(f"{name}.json", text + "\n")
    return buffer.getvalue()


def _everything(user: User) -> Mapping[str, Any]:
    own = {
        "account": {
            "sign_in_name": user.username,
            "name": selectors.name_of(user),
            "email": user.email,
            "role": selectors.role_of(user),
            "joined": user.date_joined,
            "last_sign_in": user.last_login,
        },
        "courses": list(
            Enrolment.objects.filter(user=user).values("course__title", "role", "state", "created")
        ),
        "extensions": list(
            Extension.objects.filter(user=user).values(
                "release__course__title", "release__lab", "due", "closes", "reason", "created"
            )
        ),
        "overrides": list(
            Override.objects.filter(user=user).values(
                "release__course__title", "release__lab", "points", "before", "reason", "created"
            )
        ),
        "links": list(OneTimeLink.objects.filter(user=user).values("created", "expires", "used")),
    }
    return {**own, **{name: kept(user.pk) for name, (kept, _) in _kept.items()}}


def delete(*, user: User, leaving_courses_alone: bool = False) -> None:
    """The account and all that belongs to it, sign-ins on other machines too. Nothing personal is left.

    What the person did for others (an extension, an override with its reason) stays without a name.
    Raises CourseError last_instructor, unless told that courses may be left alone.
    """
    with transaction.atomic():
        if not leaving_courses_alone:
            for course in selectors.courses_taught_alone(user_id=user.pk):
                raise CourseError("last_instructor", course=course.title)
        for _, remove in _kept.values():
            if remove is not None:
                remove(user.pk)
        pk = str(user.pk)
        gone = [
            session.pk
            for session in Session.objects.iterator()
            if session.get_decoded().get("_auth_user_id") == pk
        ]
        Session.objects.filter(pk__in=gone).delete()
        user.delete()
