"""Timestamps and watermarks in mid-stream.

Source: Flink's `TimestampsAndWatermarksOperator`: watermarks from upstream are ignored, except the one that ends event
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, RECORD, STATUS, Element
from engine.event_time.magnitude import FAR_FUTURE, doubt
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
        self.seen = False
        """Whether a timestamp has been looked at for its magnitude."""
        self.warned: frozenset[str] = frozenset()

    def open(self) -> None:
        if self.periodic or self.timer is not None:
            self._probe_later()

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        assign, bound, punctuated = self.spec.assign, self.spec.bound, self.spec.punctuated
        before = len(out)
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
        if not self.seen or self.highest >= FAR_FUTURE:
            self._look_at(out[before:])

    def _look_at(self, elements: list[Element]) -> None:
        """Warn, once per kind, of timestamps that look wrong: of the very first, and of those far in the future."""
        timestamps = [element[2] for element in elements if element[0] == RECORD]
        for position, timestamp in enumerate(timestamps, 1):
            if timestamp is None or (self.seen and timestamp < FAR_FUTURE):
                continue
            self.seen = True
            found = doubt(timestamp)
            if found and found.code not in self.warned:
                self.warned |= {found.code}
                self.warn(found.code, found.text, position)

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
        return (
            self.watermark,
            self.highest,
            self.made,
            self.emitted,
            self.idle,
            self.probing,
            timer,
            self.seen,
            self.warned,
        )

    def rewind(self, frame: Any) -> None:
        (
            self.watermark,
            self.highest,
            self.made,
            self.emitted,
            self.idle,
            self.probing,
            timer,
            self.seen,
            self.warned,
        ) = frame
        if self.timer is not None:
            self.timer.rewind(timer)
