"""Where events go.

Listeners are passive: whether events are collected never changes what the engine does. While `events` is None nothing is
collected, and the hot paths pay one comparison for it. Marks are the few happenings that a timeline shows for the whole
run; they are kept always, once per step and kind.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.events import Event


class StepTrace(NamedTuple):
    """What one step did: its number, the action ("command" for a command) and its events in order."""

    step: int
    action: str
    events: tuple[Event, ...]


class Trace:
    """The collector that every part of a run writes to."""

    __slots__ = ("events", "frontier", "marks", "recent", "step")

    def __init__(self) -> None:
        self.events: list[Event] | None = None
        self.recent: list[tuple[str, str]] | None = None
        """(kind, subtask) of what happened since somebody set this to a list; a breakpoint does."""
        self.step = 0
        """Steps completed before the action (or the run of elements) that is being taken now."""
        self.marks: list[tuple[int, str, str]] = []
        self.frontier = 0
        """Marks up to this step are recorded already; a replay adds none twice."""

    def mark(self, kind: str, text: str, subtask: str = "", offset: int = 1) -> None:
        """Record a mark at the `offset`-th step from now; one per step and kind is enough for a timeline."""
        if self.recent is not None:
            self.recent.append((kind, subtask))
        step = self.step + offset
        if step <= self.frontier:
            return
        for known in reversed(self.marks):
            if known[0] != step:
                break
            if known[1] == kind:
                return
        self.marks.append((step, kind, text))

    def forget_marks(self) -> None:
        """Drop the marks beyond the frontier: the steps that made them are taken back."""
        while self.marks and self.marks[-1][0] > self.frontier:
            self.marks.pop()
