"""Policies: who goes next when nobody says.

A policy sees the set of enabled inputs as a bit mask and answers with one bit's number. It knows nothing else, and the
mask says nothing about how it came about, so equal states lead to equal choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.errors import InvalidJob, LearnerMistake
from engine.randomness import RandomStream

MOST_MASKS = 4096


class Policy(NamedTuple):
    """A policy's name and its quantum: how many elements of one input a turn may take (1 = atomic)."""

    name: str = "round_robin"
    quantum: int = 1


class Scheduler:
    """The interface of a policy."""

    def choose(self, enabled: int) -> int:
        """The number of one of the bits set in `enabled` (which is not 0)."""
        raise NotImplementedError

    def keyframe(self) -> Any:
        return None

    def rewind(self, frame: Any) -> None:
        pass


class RoundRobin(Scheduler):
    """The next enabled input after the last one, in canonical order."""

    def __init__(self) -> None:
        last = -1
        lowest: dict[int, int] = {}
        """mask -> number of its lowest bit, counted from 1; computed once per mask."""

        def choose(enabled: int) -> int:
            nonlocal last
            later = enabled >> last + 1
            if later:
                last += lowest.get(later) or note(later)
            else:
                last = (lowest.get(enabled) or note(enabled)) - 1
            return last

        def note(mask: int) -> int:
            if len(lowest) >= MOST_MASKS:
                lowest.clear()
            lowest[mask] = number = (mask & -mask).bit_length()
            return number

        def move(frame: int) -> None:
            nonlocal last
            last = frame

        self.choose = choose  # type: ignore[method-assign]
        self.keyframe = lambda: last  # type: ignore[method-assign]
        self.rewind = move  # type: ignore[method-assign]


class SeededRandom(Scheduler):
    """Any enabled input with equal probability, from the run's seed."""

    def __init__(self, seed: int) -> None:
        self.stream = RandomStream(seed, "scheduler")
        self._uniform = self.stream.uniform
        self._slots: dict[int, tuple[int, ...]] = {}

    def choose(self, enabled: int) -> int:
        slots = self._slots.get(enabled)
        if slots is None:
            if len(self._slots) >= MOST_MASKS:
                self._slots.clear()
            slots = self._slots[enabled] = tuple(
                i for i in range(enabled.bit_length()) if enabled >> i & 1
            )
        return slots[int(self._uniform() * len(slots))]

    def keyframe(self) -> Any:
        return self.stream.keyframe()

    def rewind(self, frame: Any) -> None:
        self.stream.rewind(frame)


class Manual(Scheduler):
    """Chooses nothing: a person has to."""

    def choose(self, enabled: int) -> int:
        raise LearnerMistake(
            "manual", "This run is stepped by hand.", mend="Choose one of the possible actions."
        )


class Recorded(Scheduler):
    """Repeats a list of choices, given as input numbers."""

    def __init__(self, choices: Sequence[int]) -> None:
        self.choices = choices
        self.next = 0

    def choose(self, enabled: int) -> int:
        if self.next >= len(self.choices):
            raise LearnerMistake(
                "recorded",
                "The recorded choices are used up.",
                mend="Choose one of the possible actions.",
            )
        choice = self.choices[self.next]
        if not enabled >> choice & 1:
            raise LearnerMistake(
                "recorded",
                f"Recorded choice {self.next} is not possible now.",
                mend="The recording belongs to another run.",
            )
        self.next += 1
        return choice

    def keyframe(self) -> int:
        return self.next

    def rewind(self, frame: int) -> None:
        self.next = frame


def make_scheduler(policy: Policy, seed: int) -> Scheduler:
    """The scheduler that a policy names, or InvalidJob naming those there are."""
    if type(policy.quantum) is not int or not 1 <= policy.quantum <= 1_000_000:
        raise InvalidJob(
            "quantum",
            f"The quantum {policy.quantum!r} must be an integer from 1 to 1,000,000.",
            mend="1 takes one element a turn.",
        )
    if policy.name == "round_robin":
        return RoundRobin()
    if policy.name == "random":
        return SeededRandom(seed)
    if policy.name == "manual":
        return Manual()
    raise InvalidJob(
        "policy",
        f"There is no policy {policy.name!r}.",
        mend="Choose round_robin, random or manual.",
    )
