"""What is said about an answer. It holds no time and no name of a machine: the same answer has the same report.

The JSON form has the fields that reports about programs have, so that pages and grade books read one form.
"""

from dataclasses import asdict, dataclass
from typing import Any

PASSED, FAILED = "passed", "failed"
GRADED, REFUSED = "graded", "refused"


@dataclass(frozen=True)
class Told:
    """A step of the run with its sentence."""

    step: int
    say: str


@dataclass(frozen=True)
class Replay:
    """A run for the viewer: choices as entries of a log, the step to look at, and what is to be seen there."""

    log: tuple[list[Any], ...]
    step: int
    rule: str = ""
    sentence: str = ""


@dataclass(frozen=True)
class Result:
    """One thing that was judged. steps: what happened, told step by step."""

    name: str
    outcome: str
    points: int
    of: int
    sentence: str
    visible: bool = True
    steps: tuple[Told, ...] = ()
    replay: Replay | None = None


@dataclass(frozen=True)
class Report:
    """verdict: "graded", or "refused" for an answer that could not be judged and costs no attempt."""

    verdict: str
    sentence: str
    results: tuple[Result, ...] = ()

    @property
    def points(self) -> int:
        return sum(result.points for result in self.results)

    @property
    def of(self) -> int:
        return sum(result.of for result in self.results)

    @property
    def right(self) -> bool:
        return bool(self.results) and all(result.outcome == PASSED for result in self.results)

    @property
    def costs_attempt(self) -> bool:
        return self.verdict == GRADED

    def data(self) -> dict[str, Any]:
        held = {"points": self.points, "of": self.of, "costs_attempt": self.costs_attempt}
        return {**held, **asdict(self)}


def refused(sentence: str) -> Report:
    return Report(REFUSED, sentence)


def judged(
    name: str,
    passed: bool,
    share: float,
    of: int,
    sentence: str,
    *,
    steps: tuple[Told, ...] = (),
    replay: Replay | None = None,
) -> Report:
    """A report of one result. share: of the points, from 0 to 1."""
    points = int(share * of + 0.5)
    outcome = PASSED if passed else FAILED
    result = Result(name, outcome, points, of, sentence, steps=steps, replay=replay)
    return Report(GRADED, sentence, (result,))
