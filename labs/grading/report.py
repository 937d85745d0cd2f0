"""What grading says. It holds no time and no name of a machine: the same submission has the same report, byte for byte."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from labs.grading.calls import Exchange

PASSED, FAILED, STOPPED, UNDETERMINED = "passed", "failed", "stopped", "undetermined"

GRADED, NOT_PYTHON, UNAVAILABLE = "graded", "not python", "unavailable"


@dataclass(frozen=True)
class Replay:
    """A failing run for the viewer.

    choices: ids of actions, and `command:n` for the n-th command of the test, in order. step: where `rule` is broken.
    recording: what the student's code answered, so that the run can be shown without it.
    """

    seed: int
    choices: tuple[str, ...]
    step: int
    rule: str
    sentence: str
    recording: tuple[Exchange, ...]


@dataclass(frozen=True)
class Result:
    """One test. `sentence` says why it has failed; of a hidden test only what its author wrote for that."""

    name: str
    visible: bool
    outcome: str
    points: int
    of: int
    sentence: str = ""
    printed: str = ""
    replay: Replay | None = None


@dataclass(frozen=True)
class Report:
    """verdict: "graded", "not python" or "unavailable". Only what was graded costs an attempt."""

    verdict: str
    sentence: str
    line: int
    results: tuple[Result, ...]

    @property
    def points(self) -> int:
        return sum(result.points for result in self.results)

    @property
    def of(self) -> int:
        return sum(result.of for result in self.results)

    @property
    def costs_attempt(self) -> bool:
        """A syntax error, a sandbox that is missing, or a test that nobody can decide on costs nothing."""
        return self.verdict == GRADED and not any(
            result.outcome == UNDETERMINED for result in self.results
        )

    def hidden(self) -> tuple[int, int]:
        """(hidden tests that failed, hidden tests)"""
        hidden = [result for result in self.results if not result.visible]
        return sum(result.outcome != PASSED for result in hidden), len(hidden)

    def data(self) -> bytes:
        """The report as JSON, in one form."""
        held = {"points": self.points, "of": self.of, "costs_attempt": self.costs_attempt}
        return json.dumps({**held, **_plain(self)}, sort_keys=True, ensure_ascii=True).encode()


def _plain(value: object) -> dict[str, object]:
    def simple(item: object) -> object:
        if isinstance(item, Exchange):
            return [item.digest, item.answer.decode("ascii", "replace")]
        if isinstance(item, tuple):
            return [simple(one) for one in item]
        if dataclasses.is_dataclass(item):
            return _plain(item)
        return item

    names = [field.name for field in dataclasses.fields(value)]  # type: ignore[arg-type]
    return {name: simple(getattr(value, name)) for name in names}
