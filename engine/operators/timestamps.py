"""Timestamps and watermarks in mid-stream.

Source: Flink's `TimestampsAndWatermarksOperator`: watermarks from upstream are ignored, except the one that ends event
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Element
from engine.event_time.watermarks import WatermarkSpec, bounded
from engine.operators.base import Context, Operator
from engine.operators.source import checked_timestamp


class TimestampsOperator(Operator):
    """Assigns a timestamp to each record and emits a watermark whenever it rises."""

    fanout = 2
    forwards_watermarks = False

    def __init__(self, context: Context, spec: WatermarkSpec) -> None:
        super().__init__(context)
        self.spec = spec
        self.highest = MIN_TIMESTAMP
        self.emitted = MIN_TIMESTAMP

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        assign, bound = self.spec.assign, self.spec.bound
        for _, value, timestamp, _ in records:
            if assign is not None:
                timestamp = checked_timestamp(assign(value, timestamp), self.context.subtask, value)
            out.append((0, value, timestamp, None))
            if bound is not None and timestamp is not None and timestamp > self.highest:
                self.highest = timestamp
                self.emitted = bounded(timestamp, bound)
                out.append((1, self.emitted))

    def on_watermark(self, timestamp: int, out: list[Element]) -> None:
        self.watermark = timestamp
        if timestamp == MAX_TIMESTAMP and self.emitted != MAX_TIMESTAMP:
            self.emitted = MAX_TIMESTAMP
            out.append((1, MAX_TIMESTAMP))

    def keyframe(self) -> Any:
        return self.watermark, self.highest, self.emitted

    def rewind(self, frame: Any) -> None:
        self.watermark, self.highest, self.emitted = frame
