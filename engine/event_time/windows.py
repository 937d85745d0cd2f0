"""Windows as arithmetic: a window is the half-open interval [start, end) of event time in milliseconds.

Source: Flink's `TimeWindow.getWindowStartWithOffset` and `TumblingEventTimeWindows`.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.errors import InvalidJob


class TimeWindow(NamedTuple):
    """[start, end) in ms; its last timestamp is end - 1."""

    start: int
    end: int

    def max_timestamp(self) -> int:
        return self.end - 1


def window_start(timestamp: int, offset: int, size: int) -> int:
    """Start of the window of `size` ms that holds `timestamp`; negative timestamps round down too."""
    return timestamp - (timestamp - offset) % size


class TumblingWindows(NamedTuple):
    """Windows of one size side by side. size > 0 and |offset| < size, in ms."""

    size: int
    offset: int = 0

    def validated(self) -> TumblingWindows:
        """This spec, or InvalidJob naming the rule that it breaks (Flink: the constructor's check)."""
        if self.size <= 0:
            raise InvalidJob(
                "window_size",
                f"A tumbling window of {self.size} ms is not possible: size must be > 0.",
                mend="Give a positive size.",
            )
        if abs(self.offset) >= self.size:
            raise InvalidJob(
                "window_offset",
                f"The window offset {self.offset} ms is not smaller than the size {self.size} ms: abs(offset) < size must hold.",
                mend="Take the offset modulo the size.",
            )
        return self

    def assign(self, timestamp: int) -> TimeWindow:
        start = window_start(timestamp, self.offset, self.size)
        return TimeWindow(start, start + self.size)
