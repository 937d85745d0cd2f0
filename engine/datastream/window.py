"""Window assigners and triggers with PyFlink's names (pyflink.datastream.window)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.datastream.common import Time
from engine.datastream.transformation import caller
from engine.errors import InvalidJob
from engine.event_time.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
    TriggerResult,
)
from engine.event_time.windows import GlobalWindows as GlobalSpec
from engine.event_time.windows import (
    SessionWindows,
    SlidingWindows,
    TimeWindow,
    TumblingWindows,
    WindowSpec,
)
from engine.values import text


def _ms(time: Time | None) -> int:
    if time is None:
        return 0
    if not isinstance(time, Time):
        raise InvalidJob(
            "window_size",
            f"{text(time)} is not a Time.",
            place=caller(),
            mend="Time.seconds(10), or the like.",
        )
    return time.to_milliseconds()


def placed(make: Callable[..., WindowSpec], *arguments: Any) -> WindowSpec:
    """make(*arguments); an InvalidJob that it raises gets the line of the job file."""
    try:
        return make(*arguments)
    except InvalidJob as error:
        error.place = error.place or caller()
        raise


class WindowAssigner:
    """A window spec with its default trigger and how it is described."""

    def __init__(self, spec: WindowSpec, trigger: Trigger, detail: str) -> None:
        self.spec = spec
        self.default_trigger = trigger
        self.detail = detail


class TumblingEventTimeWindows(WindowAssigner):
    """Windows of one size side by side, by event time."""

    def __init__(self, size: int, offset: int) -> None:
        super().__init__(
            placed(TumblingWindows, size, offset), EventTimeTrigger(), f"tumbling {span(size)}"
        )

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingEventTimeWindows:
        return TumblingEventTimeWindows(_ms(size), _ms(offset))


class TumblingProcessingTimeWindows(WindowAssigner):
    """Windows of one size side by side, by the engine's clock."""

    def __init__(self, size: int, offset: int) -> None:
        super().__init__(
            placed(TumblingWindows, size, offset, False),
            ProcessingTimeTrigger(),
            f"tumbling {span(size)}, clock",
        )

    @staticmethod
    def of(size: Time, offset: Time | None = None) -> TumblingProcessingTimeWindows:
        return TumblingProcessingTimeWindows(_ms(size), _ms(offset))


class SlidingEventTimeWindows(WindowAssigner):
    """Windows of one size that start every `slide`, by event time."""

    def __init__(self, size: int, slide: int, offset: int) -> None:
        spec = placed(SlidingWindows, size, slide, offset)
        detail = f"sliding {span(size)} by {span(slide)}"
        super().__init__(spec, EventTimeTrigger(), detail)

    @staticmethod
    def of(size: Time, slide: Time, offset: Time | None = None) -> SlidingEventTimeWindows:
        return SlidingEventTimeWindows(_ms(size), _ms(slide), _ms(offset))


class SlidingProcessingTimeWindows(WindowAssigner):
    """Windows of one size that start every `slide`, by the engine's clock."""

    def __init__(self, size: int, slide: int, offset: int) -> None:
        spec = placed(SlidingWindows, size, slide, offset, False)
        detail = f"sliding {span(size)} by {span(slide)}, clock"
        super().__init__(spec, ProcessingTimeTrigger(), detail)

    @staticmethod
    def of(size: Time, slide: Time, offset: Time | None = None) -> SlidingProcessingTimeWindows:
        return SlidingProcessingTimeWindows(_ms(size), _ms(slide), _ms(offset))


class EventTimeSessionWindows(WindowAssigner):
    """Sessions with a fixed gap, by event time."""

    def __init__(self, session_gap: int) -> None:
        super().__init__(
            placed(SessionWindows, session_gap), EventTimeTrigger(), f"session {span(session_gap)}"
        )

    @staticmethod
    def with_gap(size: Time) -> EventTimeSessionWindows:
        return EventTimeSessionWindows(_ms(size))

    @staticmethod
    def with_dynamic_gap(session_window_time_gap_extractor: Any) -> WindowAssigner:
        return DynamicEventTimeSessionWindows(session_window_time_gap_extractor)


class DynamicEventTimeSessionWindows(WindowAssigner):
    """Sessions whose gap depends on the record: a function or an object with `extract(element)`, in ms."""

    def __init__(self, session_window_time_gap_extractor: Any) -> None:
        extract: Callable[[Any], int] = getattr(
            session_window_time_gap_extractor, "extract", session_window_time_gap_extractor
        )
        super().__init__(
            placed(SessionWindows, extract), EventTimeTrigger(), "session, dynamic gap"
        )

    @staticmethod
    def with_dynamic_gap(session_window_time_gap_extractor: Any) -> DynamicEventTimeSessionWindows:
        return DynamicEventTimeSessionWindows(session_window_time_gap_extractor)


class ProcessingTimeSessionWindows(WindowAssigner):
    """Sessions with a fixed gap, by the engine's clock."""

    def __init__(self, session_gap: int) -> None:
        spec = placed(SessionWindows, session_gap, False)
        super().__init__(spec, ProcessingTimeTrigger(), f"session {span(session_gap)}, clock")

    @staticmethod
    def with_gap(size: Time) -> ProcessingTimeSessionWindows:
        return ProcessingTimeSessionWindows(_ms(size))


class GlobalWindows(WindowAssigner):
    """One window for everything; without a trigger of its own it never fires."""

    def __init__(self) -> None:
        spec = GlobalSpec()
        spec.event_time = False
        super().__init__(spec, NeverTrigger(), "global")

    @staticmethod
    def create() -> GlobalWindows:
        return GlobalWindows()


def span(milliseconds: int) -> str:
    """A length of time in the largest unit that fits."""
    for size, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if milliseconds % size == 0:
            return f"{milliseconds // size} {unit}"
    return f"{milliseconds} ms"


__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountTrigger",
    "DynamicEventTimeSessionWindows",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "GlobalWindows",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "PurgingTrigger",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeWindow",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
]
