"""Timestamps and watermarks in mid-stream.

Source: Flink's `TimestampsAndWatermarksOperator`: watermarks from upstream are ignored, except the one that ends event
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, STATUS, Element
from engine.event_time.watermarks import PROBE_INTERVAL, IdleTimer, WatermarkSpec, bounded
from engine.operators.base import Context, Operator
from engine.operators.source import checked_timestamp


class TimestampsOperator(Operator):
    """Assigns a timestamp to each record and emits a watermark, with the record or every `interval` ms."""

    fanout = 2
    forwards_watermarks = False
    uses_clock = True

    def __init__(self, context: Context, spec: WatermarkSpec, interval: int = 0) -> None:
        super().__init__(context)
        self.spec = spec
        self.periodic = interval > 0
        self.interval = interval or PROBE_INTERVAL
        self.highest = MIN_TIMESTAMP
        self.made = MIN_TIMESTAMP
        self.emitted = MIN_TIMESTAMP
        self.idle = False
        self.timer = IdleTimer(spec.idleness) if spec.idleness is not None else None
        self.probing = False

    def open(self) -> None:
        if self.periodic or self.timer is not None:
            self._probe_later()

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        assign, bound, punctuated = self.spec.assign, self.spec.bound, self.spec.punctuated
        for _, value, timestamp, _ in records:
            if self.timer is not None:
                self._active()
            if assign is not None:
                timestamp = checked_timestamp(assign(value, timestamp), self.context.subtask, value)
            out.append((0, value, timestamp, None))
            if punctuated is not None:
                self._raise(punctuated(value, timestamp), out)
            elif bound is not None and timestamp is not None and timestamp > self.highest:
                self.highest = timestamp
                self._raise(bounded(timestamp, bound), out)

    def _raise(self, watermark: int | None, out: list[Element]) -> None:
        if watermark is not None and watermark > self.made:
            self.made = watermark
            if not self.periodic:
                self._emit(out)

    def _emit(self, out: list[Element]) -> None:
        if self.made > self.emitted:
            self.emitted = self.made
            out.append((1, self.emitted))

    def _active(self) -> None:
        assert self.timer is not None
        self.timer.count += 1
        if self.idle:
            self.idle = False
            self.broadcast((STATUS, False))
        if not self.probing:
            self._probe_later()

    def _probe_later(self) -> None:
        self.probing = True
        self.context.wake(self.context.now() + self.interval * 1000)

    def on_clock(self, now: int, out: list[Element]) -> bool:
        if self.periodic:
            self._emit(out)
        if self.timer is not None and not self.idle and self.timer.probe(now):
            self.idle = True
            self.broadcast((STATUS, True))
        self.probing = False
        if self.emitted != MAX_TIMESTAMP and (self.periodic or not self.idle):
            self._probe_later()
        return False

    def on_watermark(self, timestamp: int, out: list[Element]) -> None:
        self.watermark = timestamp
        if timestamp == MAX_TIMESTAMP and self.emitted != MAX_TIMESTAMP:
            if self.idle:
                self.idle = False
                self.broadcast((STATUS, False))
            self.made = MAX_TIMESTAMP
            self._emit(out)

    def keyframe(self) -> Any:
        timer = self.timer.keyframe() if self.timer else None
        return self.watermark, self.highest, self.made, self.emitted, self.idle, self.probing, timer

    def rewind(self, frame: Any) -> None:
        self.watermark, self.highest, self.made, self.emitted, self.idle, self.probing, timer = (
            frame
        )
        if self.timer is not None:
            self.timer.rewind(timer)
