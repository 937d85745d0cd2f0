"""Where scores come from, and what counts of them.

Whoever grades answers registers one `Scores` with `use`; until then nobody has earned anything. Courses ask
it for what was earned, and add what they know: extensions, late policy, overrides.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from courses.late import Deadlines, Earned, LatePolicy, best, is_late

Attempts = Mapping[str, Sequence[Earned]]  # by question


class Scores(Protocol):
    def points(self, *, lab: str, version: str) -> Mapping[str, int]:
        """The full points, 0 and up, of each question of a lab version (SHA-256 of its folder)."""

    def earned(self, *, lab: str, users: Collection[int]) -> Mapping[int, Attempts]:
        """Every graded attempt of these accounts in a lab, in one query; whoever has none may be absent.

        `Earned.fraction` is what the attempt policy of the lab leaves, lateness not counted. Attempts at
        questions that a version does not have are left out of account.
        """


class NoScores:
    """Before anything is graded."""

    def points(self, *, lab: str, version: str) -> Mapping[str, int]:
        return {}

    def earned(self, *, lab: str, users: Collection[int]) -> Mapping[int, Attempts]:
        return {}


_scores: Scores = NoScores()


def use(scores: Scores) -> Scores:
    """Returns the one that was in use before."""
    global _scores
    before, _scores = _scores, scores
    return before


def scores() -> Scores:
    return _scores


@dataclass(frozen=True)
class LabScore:
    """One student in one released lab. All in points."""

    full: int
    raw: Fraction  # the best attempts, as if none had been late
    counted: Fraction  # with the late policy
    attempts: int
    late: bool  # something that counts was late
    override: Fraction | None = None

    @property
    def final(self) -> Fraction:
        return self.counted if self.override is None else self.override

    @property
    def penalty(self) -> Fraction:
        return self.raw - self.counted


def lab_score(
    *,
    points: Mapping[str, int],
    attempts: Attempts,
    deadlines: Deadlines,
    policy: LatePolicy,
    override: Fraction | None = None,
) -> LabScore:
    """0 <= counted <= raw <= full, whatever was handed in and when."""
    raw = counted = Fraction(0)
    late = False
    accepted = {
        question: [one for one in attempts.get(question, ()) if deadlines.accepts(one.received)]
        for question in points
    }
    for question, full in points.items():
        here = accepted[question]
        raw += full * max((one.fraction for one in here), default=Fraction(0))
        counted += full * best(here, deadlines, policy)
        late = late or any(
            one.fraction and is_late(one.received, deadlines, policy) for one in here
        )
    return LabScore(
        full=sum(points.values()),
        raw=raw,
        counted=counted,
        attempts=sum(map(len, accepted.values())),
        late=late,
        override=override,
    )


def shown(points: Fraction | int) -> str:
    """Two digits at most, half up: 2, 2.5, 2.67."""
    hundredths = int(Fraction(points) * 100 + Fraction(1, 2))
    whole, rest = divmod(hundredths, 100)
    return f"{whole}.{rest:02}".rstrip("0").rstrip(".") if rest else str(whole)
