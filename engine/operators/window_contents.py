"""What a window holds for one key, and what its function gets to see.

An aggregate or a reduce keeps one accumulator; a window function without either, and every evictor, needs all elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.values import loaded, stored


class Contents:
    """The interface. `held` is a stored value; None where the window is empty."""

    def add(self, held: Any, value: Any, timestamp: int | None) -> Any:
        raise NotImplementedError

    def merge(self, parts: Sequence[Any]) -> Any:
        raise NotImplementedError

    def elements(self, held: Any) -> list[Any]:
        """What the window function is given."""
        raise NotImplementedError

    def nothing(self) -> list[Any]:
        """What it is given where the window is empty and fires nevertheless."""
        return []


class Aggregated(Contents):
    """An accumulator of an AggregateFunction."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def add(self, held: Any, value: Any, timestamp: int | None) -> Any:
        accumulator = self.function.create_accumulator() if held is None else loaded(held)
        return stored(self.function.add(value, accumulator))

    def merge(self, parts: Sequence[Any]) -> Any:
        merged = loaded(parts[0])
        for part in parts[1:]:
            merged = self.function.merge(merged, loaded(part))
        return stored(merged)

    def elements(self, held: Any) -> list[Any]:
        return [self.function.get_result(loaded(held))]

    def nothing(self) -> list[Any]:
        return [self.function.get_result(self.function.create_accumulator())]


class Reduced(Contents):
    """One value that all others were reduced into."""

    def __init__(self, reduce: Callable[[Any, Any], Any]) -> None:
        self.reduce = reduce

    def add(self, held: Any, value: Any, timestamp: int | None) -> Any:
        return stored(value if held is None else self.reduce(loaded(held), value))

    def merge(self, parts: Sequence[Any]) -> Any:
        merged = loaded(parts[0])
        for part in parts[1:]:
            merged = self.reduce(merged, loaded(part))
        return stored(merged)

    def elements(self, held: Any) -> list[Any]:
        return [loaded(held)]


class Listed(Contents):
    """All elements, as pairs (value, timestamp) in order of arrival."""

    def add(self, held: Any, value: Any, timestamp: int | None) -> Any:
        return (*(held or ()), (stored(value), timestamp))

    def merge(self, parts: Sequence[Any]) -> Any:
        return tuple(element for part in parts for element in part)

    def elements(self, held: Any) -> list[Any]:
        return [loaded(value) for value, _ in held]
