"""Answers that take many steps of a copy to find, in slices as long as the asker likes.

`slice(steps)` takes at most so many steps and says whether the answer is known; the run that is asked about stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import LearnerMistake
from engine.events import WindowFired
from engine.lineage import Lineage, Origin

if TYPE_CHECKING:
    from engine.keyframes import Recording

LINEAGE_STEPS = 50_000
FIRING_STEPS = 20_000


class FiringSearch:
    """In how many steps the window [start, end) of a key fires at a subtask, alone or merged into a longer session.

    The recorded future is followed, then the policy. `steps` is None until it is found, and where `limit` does not reach it.
    """

    def __init__(
        self,
        recording: Recording,
        subtask: str,
        key: str,
        window: tuple[int, int],
        limit: int = FIRING_STEPS,
    ) -> None:
        self.steps: int | None = None
        self._copy = recording.ahead()
        self._wanted = (subtask, key, *window)
        self._begin = self._copy.position
        self._end = self._begin + limit

    def slice(self, steps: int) -> bool:
        wanted = min(steps, self._end - self._copy.position)
        taken = self._copy.step(wanted, events=True) if wanted > 0 else []
        for step in taken:
            if any(self._matches(event) for event in step.events):
                self.steps = step.step - self._begin
                return True
        return len(taken) < wanted or self._copy.position >= self._end

    def _matches(self, event: object) -> bool:
        if not isinstance(event, WindowFired):
            return False
        subtask, key, start, end = self._wanted
        return (event.subtask, event.key) == (
            subtask,
            key,
        ) and event.start <= start < end <= event.end


class LineageSearch:
    """The source records that an element was made of, and the elements between, found by replay from the start."""

    def __init__(self, recording: Recording, limit: int = LINEAGE_STEPS) -> None:
        if recording.position > limit:
            raise LearnerMistake(
                "lineage_too_long",
                f"Lineage is found by replay, and this run has more than {limit:,} steps.",
                mend="Ask at an earlier step.",
            )
        self._end = recording.position
        self._copy = recording.fork()
        self._copy.seek(0)
        self._found = Lineage()

    def slice(self, steps: int) -> bool:
        self._found.follow(
            self._copy.step(min(steps, self._end - self._copy.position), events=True)
        )
        return self._copy.position >= self._end

    def origins(self, element: str) -> list[Origin]:
        return self._found.origins(element)

    def elements(self, element: str) -> list[str]:
        """The elements that this one was made of, over all channels."""
        return self._found.elements(element)
