"""How often something may be tried. Never per address: a class shares one.

Counted in each process by itself, so several server processes allow several times as much.
"""

from courses.errors import CourseError
from streamlab.runs.limits import Rate

# One visitor at one account; and all visitors together at one account, for guessers who drop their cookies.
SIGN_IN = Rate(1 / 20, 6)
SIGN_IN_ACCOUNT = Rate(1 / 5, 60)
SIGN_UP = Rate(1, 300)  # of all visitors: a faculty in its first week, not a flood
JOIN = Rate(1 / 10, 10)
RESET_BY_MAIL = Rate(1 / 600, 3)
HEAVY = Rate(1 / 30, 5)  # exports, uploads

ALL = [SIGN_IN, SIGN_IN_ACCOUNT, SIGN_UP, JOIN, RESET_BY_MAIL, HEAVY]


def check(rate: Rate, key: str) -> None:
    """Raises CourseError too_many_tries."""
    if not rate.allows(key):
        raise CourseError("too_many_tries")
