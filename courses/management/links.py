"""How a one-time link is told on the command line."""

from argparse import ArgumentParser

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.urls import reverse

from courses import accounts


def add_site(parser: ArgumentParser) -> None:
    parser.add_argument("--site", default="", help="address of the site, as browsers see it")


def told(user: User, site: str) -> str:
    """The link as a sentence; it is not kept, and cannot be shown again."""
    path = reverse("password-link", kwargs={"token": accounts.link_make(user=user)})
    return (
        f"{user.username} chooses a password here, once, within {accounts.LINK_HOURS} hours:\n"
        f"  {(site or site_guessed()).rstrip('/')}{path}"
    )


def site_guessed() -> str:
    for origin in settings.CSRF_TRUSTED_ORIGINS:
        return str(origin)
    return f"http://127.0.0.1:{settings.PORT or 8000}"


def account_named(name: str) -> User:
    """Raises CommandError."""
    user = User.objects.filter(username=name.strip().lower()).first()
    if user is None:
        raise CommandError(f"There is no account named {name}.")
    return user
