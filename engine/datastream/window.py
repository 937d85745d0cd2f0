"""Window assigners with PyFlink's names (pyflink.datastream.window)."""

from __future__ import annotations

from engine.datastream.common import Time
from engine.event_time.windows import TimeWindow, TumblingWindows


class TumblingEventTimeWindows:
    """Windows of one size side by side, by event time."""

    def __init__(self, size: int, offset: int) -> None:
        self.spec = TumblingWindows(size, offset).validated()

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingEventTimeWindows:
        return TumblingEventTimeWindows(
            size.to_milliseconds(), offset.to_milliseconds() if offset else 0
        )


__all__ = ["TimeWindow", "TumblingEventTimeWindows"]
