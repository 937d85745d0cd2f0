"""Event-time timers of a keyed operator: one per key and timestamp, fired in order of time, then of registration.

Source: Flink's `InternalTimerServiceImpl`. Timers are part of a snapshot; the watermark is not.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any


class EventTimeTimers:
    """Timers by timestamp; deleting one leaves an empty slot that costs nothing."""

    __slots__ = ("_heap", "by_time")

    def __init__(self) -> None:
        self.by_time: dict[int, dict[Any, None]] = {}
        self._heap: list[int] = []

    def register(self, key: Any, timestamp: int) -> bool:
        """Set a timer; False where there is one already."""
        keys = self.by_time.get(timestamp)
        if keys is None:
            self.by_time[timestamp] = {key: None}
            heappush(self._heap, timestamp)
            return True
        if key in keys:
            return False
        keys[key] = None
        return True

    def delete(self, key: Any, timestamp: int) -> bool:
        """Remove a timer; False where there is none."""
        keys = self.by_time.get(timestamp)
        if keys is None or key not in keys:
            return False
        del keys[key]
        return True

    def pop_due(self, watermark: int) -> tuple[int, Any] | None:
        """The next (timestamp, key) at or below the watermark, removed; None where nothing is due."""
        heap = self._heap
        while heap and heap[0] <= watermark:
            timestamp = heap[0]
            keys = self.by_time[timestamp]
            if keys:
                key = next(iter(keys))
                del keys[key]
                return timestamp, key
            heappop(heap)
            del self.by_time[timestamp]
        return None

    def next(self) -> int | None:
        return self._heap[0] if self._heap else None

    def count(self) -> int:
        return sum(map(len, self.by_time.values()))

    def items(self) -> list[tuple[int, Any]]:
        """All (timestamp, key), in the order in which they would fire."""
        return [
            (timestamp, key)
            for timestamp in sorted(self.by_time)
            for key in self.by_time[timestamp]
        ]

    def snapshot(self) -> dict[int, dict[Any, None]]:
        return {timestamp: dict(keys) for timestamp, keys in self.by_time.items() if keys}

    def load(self, by_time: dict[int, dict[Any, None]]) -> None:
        """Replace all timers by a copy of `by_time`."""
        self.by_time = {timestamp: dict(keys) for timestamp, keys in by_time.items()}
        self._heap = list(self.by_time)
        heapify(self._heap)
