"""Which inputs can be taken, kept as bit masks.

Every input of the execution graph (a split, a channel, a message box) has one bit. An input can be taken when it holds
something, is not blocked by alignment, and its subtask has credit towards each of its outputs. Masks make the set of
enabled actions independent of the order in which they became enabled, so that the same state always offers the same
choice, however it was reached.
"""

from __future__ import annotations


class Readiness:
    """The masks of one execution graph."""

    __slots__ = ("blocked", "nonempty", "stalled")

    def __init__(self) -> None:
        self.nonempty = 0
        self.blocked = 0
        self.stalled = 0

    def enabled(self) -> int:
        return self.nonempty & ~(self.blocked | self.stalled)

    def keyframe(self) -> tuple[int, int, int]:
        return self.nonempty, self.blocked, self.stalled

    def rewind(self, frame: tuple[int, int, int]) -> None:
        self.nonempty, self.blocked, self.stalled = frame


class Credit:
    """How many outputs of one subtask have no free buffer; with one or more, its inputs are stalled."""

    __slots__ = ("full", "inputs")

    def __init__(self) -> None:
        self.full = 0
        self.inputs = 0
