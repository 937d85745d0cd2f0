"""Where a result came from, found by replaying the run with a listener.

An element carries no history. The replay notes, for every element put into a channel, which element was being taken, and
for every row of state which elements went into it; a window's result has the parents of its contents.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from engine.events import (
    ElementEmitted,
    ElementTaken,
    RecordRead,
    Restored,
    ResultWritten,
    StatePut,
    StateRemoved,
    WindowFired,
    WindowsMerged,
)
from engine.state.keyed_state import row_id
from engine.trace import StepTrace


class Origin(NamedTuple):
    """A record as its source read it."""

    split: str
    offset: int
    text: str


def result_id(subtask: str, index: int) -> str:
    """What a result of a sink is called here: elements have ended when they are written."""
    return f"{subtask}#{index}"


class Lineage:
    """Feed it every step in order; then ask for the origins of an element."""

    def __init__(self) -> None:
        self._parents: dict[str, tuple[str, ...]] = {}
        self._origins: dict[str, Origin] = {}
        self._rows: dict[tuple[str, str], tuple[str, ...]] = {}

    def follow(self, steps: Iterable[StepTrace]) -> None:
        for step in steps:
            self._step(step)

    def _step(self, step: StepTrace) -> None:
        taken: tuple[str, ...] = ()
        origin: Origin | None = None
        fired: list[tuple[WindowFired, tuple[str, ...]]] = []
        touched: tuple[str, ...] = ()
        for event in step.events:
            if isinstance(event, Restored):
                # What state holds now came out of a checkpoint; which elements it is made of is known no longer.
                self._rows.clear()
            elif isinstance(event, ElementTaken):
                taken = (event.id,) if event.kind == "record" else ()
            elif isinstance(event, RecordRead):
                origin = Origin(event.split, event.offset, event.text)
            elif isinstance(event, StatePut):
                row = (event.subtask, event.row)
                self._rows[row] = tuple(dict.fromkeys((*self._rows.get(row, ()), *taken)))
                touched = self._rows[row]
            elif isinstance(event, WindowsMerged):
                self._merged(event, taken)
            elif isinstance(event, WindowFired):
                row = (
                    event.subtask,
                    self._contents(event.subtask, event.key, event.start, event.end),
                )
                fired.append((event, self._rows.get(row, ())))
            elif isinstance(event, StateRemoved):
                self._rows.pop((event.subtask, event.row), None)
            elif isinstance(event, ResultWritten):
                self._parents[result_id(event.subtask, event.index)] = taken
            elif isinstance(event, ElementEmitted) and event.element.kind == "record":
                element = event.element
                if origin is not None:
                    self._origins[element.id] = origin
                else:
                    self._parents[element.id] = self._parents_of(
                        element.text, taken, touched, fired
                    )

    def _merged(self, event: WindowsMerged, taken: tuple[str, ...]) -> None:
        parents: tuple[str, ...] = ()
        for start, end in event.merged:
            row = (event.subtask, self._contents(event.subtask, event.key, start, end))
            parents += self._rows.get(row, ())
        cover = (event.subtask, self._contents(event.subtask, event.key, event.start, event.end))
        self._rows[cover] = tuple(dict.fromkeys((*parents, *taken)))

    def _contents(self, subtask: str, key: str, start: int, end: int) -> str:
        """The row of a window's contents; the picture shows keys as text, rows name them exactly."""
        suffix = f"/{start}:{end}"
        for known_subtask, row in self._rows:
            if (
                known_subtask == subtask
                and row.startswith("window-contents/")
                and row.endswith(suffix)
            ):
                shown = row.removeprefix("window-contents/").removesuffix(suffix)
                if shown in (repr(key), key):
                    return row
        return row_id("window-contents", key, (start, end))

    @staticmethod
    def _parents_of(
        text: str,
        taken: tuple[str, ...],
        touched: tuple[str, ...],
        fired: list[tuple[WindowFired, tuple[str, ...]]],
    ) -> tuple[str, ...]:
        if fired:
            exact = [parents for event, parents in fired if event.text == text]
            return exact[0] if exact else tuple(p for _, parents in fired for p in parents)
        return touched or taken

    def parents(self, element: str) -> tuple[str, ...]:
        """The elements that were taken to make this one."""
        return self._parents.get(element, ())

    def elements(self, element: str) -> list[str]:
        """All elements that this one was made of, over all channels; not itself."""
        return sorted(self._ancestry(element) - {element})

    def origins(self, element: str) -> list[Origin]:
        """The records of the sources that this element was made of, by split and offset."""
        return sorted(
            {self._origins[name] for name in self._ancestry(element) if name in self._origins}
        )

    def _ancestry(self, element: str) -> set[str]:
        seen: set[str] = set()
        stack = [element]
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                stack.extend(self._parents.get(current, ()))
        return seen
