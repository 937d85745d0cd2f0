"""Numbers instead of parts of a state: equal parts have the same number, so a state is a short tuple of integers.

Each part is known in two forms. Its own form tells everything that a later action can see, with checkpoints under their
own numbers: states are put back from it. Its relative form counts checkpoints back from the newest one, and tells what a
state has in common with one that was reached another way (`docs/decisions/0013`).

Source of the idea: J.-C. Filliâtre, S. Conchon, "Type-Safe Modular Hash-Consing", ML Workshop 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

Relative = Callable[[int, int], Hashable]
"""(newest checkpoint, oldest that is under way) -> the form of a part relative to them"""

NONE_UNDER_WAY = 1 << 62


class Numbers:
    """The parts of all states of one search."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self.frames: list[Any] = []
        """What a part is put back from, by number; of equal parts the first."""
        self.relative: list[Relative | None] = []
        self.oldest: list[int] = []
        """The oldest checkpoint that a part tells to be under way, or NONE_UNDER_WAY."""
        self._relative_to: dict[tuple[int, int], RelativeTo] = {}

    def __len__(self) -> int:
        return len(self.frames)

    def number(
        self,
        form: Hashable,
        frame: Any = None,
        relative: Relative | None = None,
        oldest: int = NONE_UNDER_WAY,
    ) -> int:
        """The number of the part of this form; `relative` where the form names checkpoints."""
        number = self._numbers.get(form)
        if number is None:
            number = self._numbers[form] = len(self.frames)
            self.frames.append(frame)
            self.relative.append(relative)
            self.oldest.append(oldest)
        return number

    def relative_to(self, newest: int, oldest: int) -> RelativeTo:
        """number -> number of the relative form, as a table that fills itself."""
        table = self._relative_to.get((newest, oldest))
        if table is None:
            table = self._relative_to[newest, oldest] = RelativeTo(self, newest, oldest)
        return table


class RelativeTo(dict[int, int]):
    """number -> number of its form relative to the checkpoint `newest`, where `oldest` is the oldest under way."""

    def __init__(self, numbers: Numbers, newest: int, oldest: int) -> None:
        self.numbers = numbers
        self.newest = newest
        self.oldest = oldest

    def __missing__(self, number: int) -> int:
        relative = self.numbers.relative[number]
        found = number
        if relative is not None:
            found = self.numbers.number(("relative", relative(self.newest, self.oldest)))
        self[number] = found
        return found
