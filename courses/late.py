"""What lateness costs. Pure arithmetic in exact fractions: no clock, no database."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Self

from courses.errors import CourseError

DAY = timedelta(days=1)
MOST = {"grace_minutes": 14 * 24 * 60, "at_once": 100, "per_day": 100, "at_most": 100}
LABELS = {
    "grace_minutes": "Minutes of grace",
    "at_once": "Percent lost at once",
    "per_day": "Percent lost per day",
    "at_most": "Percent lost at most",
}


@dataclass(frozen=True)
class LatePolicy:
    """Late work loses min(at_most, at_once + per_day x begun days) percent of what it earned.

    grace_minutes  after the due date that still count as in time, 0 to 20160
    at_once        percent, 0 to 100, lost as soon as work is late
    per_day        percent, 0 to 100, lost for each day that has begun since the due date
    at_most        percent, 0 to 100
    """

    grace_minutes: int = 0
    at_once: int = 0
    per_day: int = 0
    at_most: int = 100

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if type(value) is not int or not 0 <= value <= MOST[name]:
                raise CourseError(
                    "bad_policy", place=name, name=LABELS[name], least=0, most=MOST[name]
                )

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """From what is stored; names that are unknown are left out. Raises CourseError bad_policy."""
        return cls(**{name: value for name, value in data.items() if name in MOST})

    def as_data(self) -> dict[str, int]:
        return asdict(self)

    def sentence(self) -> str:
        """For students."""
        if not (self.at_once or self.per_day) or not self.at_most:
            return "Late work counts in full."
        parts = []
        if self.at_once:
            parts.append(f"{self.at_once} % at once")
        if self.per_day:
            parts.append(f"{self.per_day} % for each day that has begun")
        limit = f", at most {self.at_most} %" if self.at_most < 100 else ""
        grace = f" after {self.grace_minutes} minutes of grace" if self.grace_minutes else ""
        return f"Late work{grace} loses {' and '.join(parts)}{limit}."


@dataclass(frozen=True)
class Deadlines:
    """Of one student. None: open at once, never due, never closed."""

    opens: datetime | None = None
    due: datetime | None = None
    closes: datetime | None = None

    def extended(self, due: datetime, closes: datetime | None) -> "Deadlines":
        """An extension never takes time away, and what is not due yet is not closed either."""
        if self.due is None:
            later = self.closes and max(self.closes, due, closes or due)
            return Deadlines(self.opens, None, later)
        new_due = max(self.due, due)
        new_closes = self.closes and max(self.closes, new_due, closes or new_due)
        return Deadlines(self.opens, new_due, new_closes)

    def accepts(self, received: datetime) -> bool:
        """The moment of the closing still counts."""
        return (self.opens is None or received >= self.opens) and (
            self.closes is None or received <= self.closes
        )


@dataclass(frozen=True)
class Earned:
    """One attempt at one question: when it was received, and what it earned of the points, from 0 to 1."""

    received: datetime
    fraction: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.fraction <= 1:
            raise ValueError(f"{self.fraction} is no part of the points")


def is_late(received: datetime, deadlines: Deadlines, policy: LatePolicy) -> bool:
    grace = timedelta(minutes=policy.grace_minutes)
    return deadlines.due is not None and received > deadlines.due + grace


def factor(received: datetime, deadlines: Deadlines, policy: LatePolicy) -> Fraction:
    """What counts of an attempt received at this moment, from 0 to 1; 0 outside of opening and closing."""
    if not deadlines.accepts(received):
        return Fraction(0)
    if deadlines.due is None or not is_late(received, deadlines, policy):
        return Fraction(1)
    days = -((deadlines.due - received) // DAY)  # rounded up: a day that has begun
    lost = min(policy.at_most, policy.at_once + policy.per_day * days)
    return 1 - Fraction(lost, 100) if lost < 100 else Fraction(0)


def best(attempts: Iterable[Earned], deadlines: Deadlines, policy: LatePolicy) -> Fraction:
    """The part of a question's points that counts: the best attempt's. More attempts never lower it."""
    return max(
        (one.fraction * factor(one.received, deadlines, policy) for one in attempts),
        default=Fraction(0),
    )
