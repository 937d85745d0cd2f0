"""Interval join: a left record with every right record whose timestamp is within bounds of its own.

Source: Flink's `IntervalJoinOperator`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.elements import MIN_TIMESTAMP, Element
from engine.errors import InvalidJob
from engine.events import RecordLate
from engine.operators.base import Context
from engine.operators.keyed import EVENT
from engine.operators.keyed_function import KeyedFunctionOperator
from engine.operators.process import FunctionContext, attach, collect
from engine.state.key_groups import original
from engine.values import loaded, stored, text

LEFT, RIGHT = "left", "right"


class IntervalJoinOperator(KeyedFunctionOperator):
    """left.timestamp + lower <= right.timestamp <= left.timestamp + upper, both in ms and inclusive.

    function: process_element(left, right, ctx). late_tags: side outputs for late records of either side, or None.
    """

    fanout = None

    def __init__(
        self,
        context: Context,
        function: Any,
        lower: int,
        upper: int,
        late_tags: tuple[str | None, str | None],
    ) -> None:
        super().__init__(context, function)
        self.function_context = FunctionContext(self)
        self.lower = lower
        self.upper = upper
        self.late_tags = dict(zip((LEFT, RIGHT), late_tags, strict=True))
        self.late = 0
        self.buffers = {side: self.state.table(f"{side} buffer", "map") for side in (LEFT, RIGHT)}

    def open(self) -> None:
        super().open()
        attach(self.function, self.function_context)

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        for record in records:
            self._join(LEFT, RIGHT, self.lower, self.upper, record, out)

    def process2(self, records: Sequence[Element], out: list[Element]) -> None:
        for record in records:
            self._join(RIGHT, LEFT, -self.upper, -self.lower, record, out)

    def _join(
        self, side: str, other: str, lower: int, upper: int, record: Element, out: list[Element]
    ) -> None:
        _, value, timestamp, key = record
        self.state.key = key
        if timestamp is None:
            raise InvalidJob(
                "no_timestamp",
                "A record without a timestamp reached an interval join.",
                place=self.context.subtask,
                mend="Give both sources a WatermarkStrategy with a timestamp assigner.",
            )
        if self.watermark != MIN_TIMESTAMP and timestamp < self.watermark:
            self._late(side, record)
            return
        self._buffer(side, timestamp, value)
        call = getattr(self.function.instance, "process_element", self.function.instance)
        for at, values in sorted(self.buffers[other].get(key, {}).items()):
            if timestamp + lower <= at <= timestamp + upper:
                for held in values:
                    pair = (value, loaded(held)) if side == LEFT else (loaded(held), value)
                    self.function_context.current_timestamp = max(timestamp, at)
                    collect(self, call(*pair, self.function_context), max(timestamp, at), out)
        self.set_timer(EVENT, timestamp + upper if upper > 0 else timestamp, side)

    def _late(self, side: str, record: Element) -> None:
        _, value, timestamp, key = record
        self.late += 1
        shown = text(original(key))
        self.trace.mark("late", shown, self.context.subtask)
        if self.trace.events is not None:
            self.trace.events.append(
                RecordLate(self.context.subtask, shown, timestamp, self.watermark, text(value))
            )
        tag = self.late_tags[side]
        if tag is not None:
            self.side.setdefault(tag, []).append((0, value, timestamp, None))

    def _buffer(self, side: str, timestamp: int, value: Any) -> None:
        table = self.buffers[side].setdefault(self.state.key, {})
        table[timestamp] = (*table.get(timestamp, ()), stored(value))
        if self.trace.events is not None:
            row = self.rows.put(f"{side} buffer", self.state.key, table[timestamp], entry=timestamp)
            self.trace.events.append(row)

    def on_timer(self, clock: str, timestamp: int, namespace: Any, out: list[Element]) -> None:
        """A bucket can be joined with nothing any more: it is removed."""
        if namespace == LEFT:
            bucket = timestamp if self.upper <= 0 else timestamp - self.upper
        else:
            bucket = timestamp + self.lower if self.lower <= 0 else timestamp
        table = self.buffers[namespace].get(self.state.key)
        if table is None or bucket not in table:
            return
        del table[bucket]
        if not table:
            del self.buffers[namespace][self.state.key]
        if self.trace.events is not None:
            self.trace.events.append(
                self.rows.removed(f"{namespace} buffer", self.state.key, entry=bucket)
            )

    def keyframe(self) -> Any:
        return super().keyframe(), self.late

    def rewind(self, frame: Any) -> None:
        held, self.late = frame
        super().rewind(held)
