"""Windows as arithmetic: a window is the half-open interval [start, end) of time in milliseconds.

Sources: Flink's `TimeWindow`, `TumblingEventTimeWindows`, `SlidingEventTimeWindows`, `EventTimeSessionWindows`,
`DynamicEventTimeSessionWindows`, `GlobalWindows`, and their processing-time twins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from engine.errors import InvalidJob
from engine.state.codec import writable
from engine.values import text


@writable
class TimeWindow(NamedTuple):
    """[start, end) in ms; its last timestamp is end - 1."""

    start: int
    end: int

    def max_timestamp(self) -> int:
        return self.end - 1


GLOBAL_WINDOW = TimeWindow(MIN_TIMESTAMP, MAX_TIMESTAMP + 1)
"""All of time; its last timestamp is the end of event time."""


def window_start(timestamp: int, offset: int, size: int) -> int:
    """Start of the window of `size` ms that holds `timestamp`; negative timestamps round down too."""
    return timestamp - (timestamp - offset) % size


class WindowSpec:
    """How timestamps are assigned to windows.

    event_time: whether the windows are of event time, or of the engine's clock.
    merges: whether windows that touch are merged.
    """

    event_time = True
    merges = False

    def assign(self, value: Any, timestamp: int) -> Iterable[TimeWindow]:
        raise NotImplementedError


class TumblingWindows(WindowSpec):
    """Windows of one size side by side. size > 0 and |offset| < size, in ms."""

    def __init__(self, size: int, offset: int = 0, event_time: bool = True) -> None:
        _check_size("A tumbling window", size)
        _check_offset(offset, "size", size)
        self.size = size
        self.offset = offset
        self.event_time = event_time

    def assign(self, value: Any, timestamp: int) -> list[TimeWindow]:
        start = window_start(timestamp, self.offset, self.size)
        return [TimeWindow(start, start + self.size)]


class SlidingWindows(WindowSpec):
    """Windows of one size that start every `slide` ms; a slide larger than the size leaves gaps.

    size, slide > 0 and |offset| < slide, in ms.
    """

    def __init__(self, size: int, slide: int, offset: int = 0, event_time: bool = True) -> None:
        _check_size("A sliding window", size)
        _check_size("The slide of a window", slide)
        _check_offset(offset, "slide", slide)
        self.size = size
        self.slide = slide
        self.offset = offset
        self.event_time = event_time

    def assign(self, value: Any, timestamp: int) -> list[TimeWindow]:
        """From the latest start to the earliest, as Flink lists them."""
        last = window_start(timestamp, self.offset, self.slide)
        return [
            TimeWindow(start, start + self.size)
            for start in range(last, timestamp - self.size, -self.slide)
        ]


class SessionWindows(WindowSpec):
    """A window from each record to `gap` ms after it; windows that overlap or touch are merged.

    gap: ms, or a function from the value to ms. touching: False merges only windows that overlap, as Beam does.
    """

    merges = True

    def __init__(
        self, gap: int | Callable[[Any], int], event_time: bool = True, touching: bool = True
    ) -> None:
        if not callable(gap):
            _check_size("A session gap", gap)
        self.gap = gap
        self.event_time = event_time
        self.touching = touching

    def assign(self, value: Any, timestamp: int) -> list[TimeWindow]:
        gap = self.gap
        if callable(gap):
            gap = gap(value)
            if type(gap) is not int or gap <= 0:
                raise InvalidJob(
                    "session_gap",
                    f"The session gap function returned {text(gap)} for {text(value)}: an integer > 0 in ms is needed.",
                    mend="Return a positive number of milliseconds.",
                )
        return [TimeWindow(timestamp, timestamp + gap)]

    def intersects(self, first: TimeWindow, second: TimeWindow) -> bool:
        if self.touching:
            return first.start <= second.end and first.end >= second.start
        return first.start < second.end and first.end > second.start


class GlobalWindows(WindowSpec):
    """One window for everything."""

    def assign(self, value: Any, timestamp: int) -> list[TimeWindow]:
        return [GLOBAL_WINDOW]


def merge_windows(
    windows: Iterable[TimeWindow], intersects: Callable[[TimeWindow, TimeWindow], bool]
) -> list[tuple[TimeWindow, list[TimeWindow]]]:
    """(merged window, the windows in it) for every group of two or more that belong together.

    Flink: TimeWindow.mergeWindows.
    """
    groups: list[tuple[TimeWindow, list[TimeWindow]]] = []
    for window in sorted(set(windows)):
        if groups and intersects(groups[-1][0], window):
            cover, members = groups[-1]
            groups[-1] = (
                TimeWindow(min(cover.start, window.start), max(cover.end, window.end)),
                [*members, window],
            )
        else:
            groups.append((window, [window]))
    return [group for group in groups if len(group[1]) > 1]


def _check_offset(offset: Any, name: str, limit: int) -> None:
    if type(offset) is not int or abs(offset) >= limit:
        raise InvalidJob(
            "window_offset",
            f"The window offset {offset} ms is not smaller than the {name} {limit} ms: abs(offset) < {name} must hold.",
            mend=f"Take the offset modulo the {name}.",
        )


def _check_size(what: str, size: Any) -> None:
    if type(size) is not int or size <= 0:
        raise InvalidJob(
            "window_size",
            f"{what} of {text(size)} ms is not possible: it must be an integer > 0.",
            mend="Give a positive size.",
        )
