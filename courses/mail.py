"""Links by mail, where the operator has set EMAIL_URL."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor

from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.db import connection

from courses import accounts

LINK_HOURS = 2

logger = logging.getLogger(__name__)
# In the background: how long an answer takes must not tell whether there is such an account.
_sender = ThreadPoolExecutor(1, thread_name_prefix="mail")

SUBJECT = "StreamLab: choose a new password"
TEXT = """Somebody, probably you, asked for a new password for the account {name} on StreamLab.

Open this address within {hours} hours and choose one:

{address}

If it was not you, nothing needs to be done.
"""


def link_send(*, name: str, address: str) -> "Future[None]":
    """`address` has TOKEN where the token belongs. Does nothing for accounts that do not exist or have no e-mail."""
    return _sender.submit(_send_in_background, name, address)


def _send_in_background(name: str, address: str) -> None:
    try:
        _send(name, address)
    except Exception:
        logger.exception("No mail could be sent.")
    finally:
        connection.close()


def _send(name: str, address: str) -> None:
    user = User.objects.filter(username=name.strip().lower()[:64], is_active=True).first()
    if user is None or not user.email:
        return
    token = accounts.link_make(user=user, hours=LINK_HOURS)
    text = TEXT.format(
        name=user.username, hours=LINK_HOURS, address=address.replace("TOKEN", token)
    )
    send_mail(SUBJECT, text, None, [user.email])
