"""Timers of a keyed operator: one per key, namespace and timestamp, fired in order of time, then of registration.

A namespace is a window, or None. Source: Flink's `InternalTimerServiceImpl`. Timers are part of a snapshot; the watermark
is not.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Any

Timers = dict[int, dict[tuple[Any, Hashable], None]]
"""timestamp -> (canonical key, namespace), in order of registration"""


class TimerQueue:
    """Timers of one clock by timestamp in ms; deleting one leaves an empty slot that costs nothing."""

    __slots__ = ("_heap", "by_time")

    def __init__(self, by_time: Timers | None = None) -> None:
        self.by_time: Timers = {} if by_time is None else by_time
        """An empty table of a state backend, or a dict."""
        self._heap: list[int] = []

    def register(self, timestamp: int, key: Any, namespace: Hashable = None) -> bool:
        """Set a timer; False where there is one already."""
        held = self.by_time.get(timestamp)
        if held is None:
            self.by_time[timestamp] = {(key, namespace): None}
            heappush(self._heap, timestamp)
            return True
        if (key, namespace) in held:
            return False
        held[key, namespace] = None
        return True

    def delete(self, timestamp: int, key: Any, namespace: Hashable = None) -> bool:
        """Remove a timer; False where there is none."""
        held = self.by_time.get(timestamp)
        if held is None or (key, namespace) not in held:
            return False
        del held[key, namespace]
        return True

    def pop_due(self, now: int) -> tuple[int, Any, Any] | None:
        """The next (timestamp, key, namespace) at or below `now`, removed; None where nothing is due."""
        heap = self._heap
        while heap and heap[0] <= now:
            timestamp = heap[0]
            held = self.by_time[timestamp]
            if held:
                key, namespace = next(iter(held))
                del held[key, namespace]
                return timestamp, key, namespace
            heappop(heap)
            del self.by_time[timestamp]
        return None

    def next(self) -> int | None:
        """The earliest timestamp for which a timer is set, or None."""
        return min((timestamp for timestamp, held in self.by_time.items() if held), default=None)

    def count(self) -> int:
        return sum(map(len, self.by_time.values()))

    def items(self) -> list[tuple[int, Any, Any]]:
        """All (timestamp, key, namespace), in the order in which they would fire."""
        return [
            (timestamp, key, namespace)
            for timestamp in sorted(self.by_time)
            for key, namespace in self.by_time[timestamp]
        ]

    def snapshot(self) -> Timers:
        return {timestamp: dict(held) for timestamp, held in self.by_time.items() if held}

    def load(self, by_time: Timers) -> None:
        """Replace all timers by a copy of `by_time`."""
        self.by_time.clear()
        self.by_time.update({timestamp: dict(held) for timestamp, held in by_time.items()})
        self._heap = list(self.by_time)
        heapify(self._heap)
