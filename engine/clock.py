"""Virtual time. Integer microseconds; nothing in the engine reads a wall clock.

Under an untimed policy time stands still while anything else can happen. It moves by one action, "advance the clock to
the next due time", after which what is due becomes possible.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heapify, heappop, heappush

LONG = 100_000_000
"""From so many microseconds on, time is told in minutes and hours."""


def on_clock(microseconds: int) -> str:
    """What the clock shows: "200 ms", "3 h 10 min"."""
    if microseconds < LONG:
        return f"{microseconds / 1000:g} ms"
    minutes, seconds = divmod(microseconds // 1_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes)
    return " ".join(parts + [f"{seconds} s"] * bool(seconds))


class Clock:
    """The time of a run and who wants to be woken when.

    Entries are (time, order of registration, name), so that ties never depend on luck.
    """

    __slots__ = ("_entries", "_order", "_wanted", "now")

    def __init__(self) -> None:
        self.now = 0
        self._entries: list[tuple[int, int, str]] = []
        self._order = 0
        self._wanted: set[tuple[int, str]] = set()

    def wake(self, time: int, name: str) -> None:
        """Ask that `name` becomes due at `time` (microseconds, not before now)."""
        entry = max(time, self.now), name
        if entry in self._wanted:
            return
        self._wanted.add(entry)
        self._order += 1
        heappush(self._entries, (entry[0], self._order, name))

    def forget(self, names: Collection[str]) -> None:
        """Take back every wish of these."""
        if any(entry[2] in names for entry in self._entries):
            self._entries[:] = [entry for entry in self._entries if entry[2] not in names]
            heapify(self._entries)
            self._wanted = {(time, name) for time, _, name in self._entries}

    def next_due(self) -> int | None:
        return self._entries[0][0] if self._entries else None

    def advance(self) -> list[str]:
        """Move to the next due time and return the names that are due, in order of registration."""
        if not self._entries:
            return []
        self.now = self._entries[0][0]
        due: list[str] = []
        while self._entries and self._entries[0][0] <= self.now:
            time, _, name = heappop(self._entries)
            self._wanted.discard((time, name))
            if name not in due:
                due.append(name)
        return due

    def clear(self) -> None:
        """Forget every entry; time stays."""
        self._entries.clear()
        self._wanted.clear()

    def keyframe(self) -> tuple[int, int, list[tuple[int, int, str]]]:
        return self.now, self._order, list(self._entries)

    def rewind(self, frame: tuple[int, int, list[tuple[int, int, str]]]) -> None:
        self.now, self._order = frame[0], frame[1]
        self._entries[:] = frame[2]
        self._wanted = {(time, name) for time, _, name in frame[2]}
