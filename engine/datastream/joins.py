"""Joins: interval join, window join and coGroup. PyFlink lacks them; the names are those of Flink's Java interface.

A window join tags the records of both sides, unites them, and pairs them when the window fires (Flink: `CoGroupedStreams`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.datastream.data_stream import DataStream, KeyedStream
from engine.datastream.functions import KeySelector, ProcessWindowFunction
from engine.datastream.transformation import caller
from engine.datastream.window import WindowAssigner
from engine.errors import InvalidJob
from engine.event_time.evictors import Evictor
from engine.event_time.triggers import Trigger
from engine.operators.interval_join import IntervalJoinOperator
from engine.operators.process import OutputTag

FIRST, SECOND = 0, 1


def _selector(key_selector: Any) -> Any:
    return key_selector.get_key if isinstance(key_selector, KeySelector) else key_selector


def join(first: DataStream, second: DataStream) -> Joined:
    """first.join(second) in Java: every pair of records with one key in one window."""
    return Joined(first, second, pairs=True)


def co_group(first: DataStream, second: DataStream) -> Joined:
    """first.coGroup(second) in Java: all records of both sides with one key in one window."""
    return Joined(first, second, pairs=False)


class Joined:
    """where(...).equal_to(...).window(...).apply(...)"""

    def __init__(self, first: DataStream, second: DataStream, pairs: bool) -> None:
        self._first = first
        self._second = second
        self._pairs = pairs
        self._where: Any = None
        self._equal_to: Any = None
        self._assigner: WindowAssigner | None = None
        self._trigger: Trigger | None = None
        self._evictor: Evictor | None = None
        self._lateness = 0

    def where(self, key_selector: Any) -> Joined:
        self._where = _selector(key_selector)
        return self

    def equal_to(self, key_selector: Any) -> Joined:
        self._equal_to = _selector(key_selector)
        return self

    def window(self, assigner: WindowAssigner) -> Joined:
        self._assigner = assigner
        return self

    def trigger(self, trigger: Trigger) -> Joined:
        self._trigger = trigger
        return self

    def evictor(self, evictor: Evictor) -> Joined:
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: int) -> Joined:
        self._lateness = time_ms
        return self

    def apply(self, function: Any) -> DataStream:
        """A JoinFunction or a CoGroupFunction, or a plain function of the same arguments."""
        if self._where is None or self._equal_to is None or self._assigner is None:
            raise InvalidJob(
                "incomplete_join",
                "A window join needs where, equal_to and window before apply.",
                place=caller(),
                mend="join(a, b).where(...).equal_to(...).window(...).apply(...)",
            )
        where, equal_to = self._where, self._equal_to
        tagged = self._first.map(lambda value: (FIRST, value)).name("first side")
        other = self._second.map(lambda value: (SECOND, value)).name("second side")
        keyed = tagged.union(other).key_by(
            lambda pair: equal_to(pair[1]) if pair[0] else where(pair[1])
        )
        windowed = keyed.window(self._assigner).allowed_lateness(self._lateness)
        if self._trigger is not None:
            windowed = windowed.trigger(self._trigger)
        if self._evictor is not None:
            windowed = windowed.evictor(self._evictor)
        kind = "window join" if self._pairs else "co-group"
        joined: DataStream = windowed.process(_Pairing(function, self._pairs)).name(kind)
        return joined


class _Pairing(ProcessWindowFunction):
    """Splits a window's tagged elements into the two sides."""

    def __init__(self, function: Any, pairs: bool) -> None:
        self.function = function
        self.pairs = pairs

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        sides: tuple[list[Any], list[Any]] = [], []
        for side, value in elements:
            sides[side].append(value)
        if self.pairs:
            call = getattr(self.function, "join", self.function)
            return [call(first, second) for first in sides[FIRST] for second in sides[SECOND]]
        call = getattr(self.function, "co_group", self.function)
        return call(*sides) or ()


def interval_join(left: KeyedStream, right: KeyedStream) -> IntervalJoin:
    """left.intervalJoin(right) in Java."""
    if not isinstance(left, KeyedStream) or not isinstance(right, KeyedStream):
        raise InvalidJob(
            "interval_join_without_key",
            "An interval join needs two keyed streams.",
            place=caller(),
            mend="Call key_by on both.",
        )
    return IntervalJoin(left, right)


class IntervalJoin:
    """between(lower, upper) in ms, inclusive unless said otherwise; then process(function)."""

    def __init__(self, left: KeyedStream, right: KeyedStream) -> None:
        self._left = left
        self._right = right
        self._lower = 0
        self._upper = 0
        self._tags: list[str | None] = [None, None]

    def between(self, lower_bound: Any, upper_bound: Any) -> IntervalJoin:
        self._lower, self._upper = lower_bound.to_milliseconds(), upper_bound.to_milliseconds()
        if self._lower > self._upper:
            raise InvalidJob(
                "interval_bounds",
                "The lower bound of an interval join is above its upper bound.",
                place=caller(),
                mend="Swap them.",
            )
        return self

    def lower_bound_exclusive(self) -> IntervalJoin:
        self._lower += 1
        return self

    def upper_bound_exclusive(self) -> IntervalJoin:
        self._upper -= 1
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoin:
        self._tags[0] = output_tag.tag_id
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoin:
        self._tags[1] = output_tag.tag_id
        return self

    def process(self, process_join_function: Any) -> DataStream:
        """A ProcessJoinFunction, or a plain function (left, right, ctx)."""
        lower, upper, tags = self._lower, self._upper, (self._tags[0], self._tags[1])
        inputs = [*self._left._inputs, *(entry._replace(gate=1) for entry in self._right._inputs)]
        return self._left.keyed(
            "interval join",
            lambda context, splits, log: IntervalJoinOperator(
                context, process_join_function, lower, upper, tags
            ),
            inputs=inputs,
            detail=f"{lower} to {upper} ms",
        )
