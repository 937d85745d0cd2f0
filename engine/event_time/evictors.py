"""Evictors drop elements of a window before or after its function sees them.

Sources: Flink's `CountEvictor`, `TimeEvictor`, `DeltaEvictor`. Elements are pairs (value, timestamp) in order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Elements = list[tuple[Any, int]]


class Evictor:
    """The interface: each method returns the elements that stay."""

    def evict_before(self, elements: Elements) -> Elements:
        return elements

    def evict_after(self, elements: Elements) -> Elements:
        return elements


class _OneSided(Evictor):
    def __init__(self, after: bool) -> None:
        self._after = after

    def evict(self, elements: Elements) -> Elements:
        raise NotImplementedError

    def evict_before(self, elements: Elements) -> Elements:
        return elements if self._after else self.evict(elements)

    def evict_after(self, elements: Elements) -> Elements:
        return self.evict(elements) if self._after else elements


class CountEvictor(_OneSided):
    """Keeps the last `max_count` elements."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        return CountEvictor(max_count, do_evict_after)

    def evict(self, elements: Elements) -> Elements:
        return elements[max(0, len(elements) - self.max_count) :]


class TimeEvictor(_OneSided):
    """Keeps the elements whose timestamp is within `window_size` ms of the highest."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.window_size = window_size

    @staticmethod
    def of(window_size: Any, do_evict_after: bool = False) -> TimeEvictor:
        return TimeEvictor(window_size.to_milliseconds(), do_evict_after)

    def evict(self, elements: Elements) -> Elements:
        if not elements:
            return elements
        cutoff = max(timestamp for _, timestamp in elements) - self.window_size
        return [element for element in elements if element[1] > cutoff]


class DeltaEvictor(_OneSided):
    """Keeps the elements that differ from the last one by less than a threshold."""

    def __init__(
        self, threshold: float, delta: Callable[[Any, Any], float], do_evict_after: bool = False
    ) -> None:
        super().__init__(do_evict_after)
        self.threshold = threshold
        self.delta = delta

    @staticmethod
    def of(
        threshold: float, delta: Callable[[Any, Any], float], do_evict_after: bool = False
    ) -> DeltaEvictor:
        return DeltaEvictor(threshold, delta, do_evict_after)

    def evict(self, elements: Elements) -> Elements:
        if not elements:
            return elements
        last = elements[-1][0]
        return [element for element in elements if self.delta(element[0], last) < self.threshold]
