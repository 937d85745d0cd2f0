"""When a window fires. A trigger is asked about every record and about every timer that it has set.

Sources: Flink's `EventTimeTrigger`, `ProcessingTimeTrigger`, `CountTrigger`, `ContinuousEventTimeTrigger`,
`ContinuousProcessingTimeTrigger`, `PurgingTrigger`; the interface is PyFlink's.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Protocol, Self

from engine.errors import InvalidJob
from engine.event_time.windows import TimeWindow
from engine.values import text


class TriggerResult(Enum):
    """What a trigger decides: (fire, purge)."""

    CONTINUE = (False, False)
    FIRE = (True, False)
    PURGE = (False, True)
    FIRE_AND_PURGE = (True, True)

    def is_fire(self) -> bool:
        return bool(self.value[0])

    def is_purge(self) -> bool:
        return bool(self.value[1])


class TriggerContext(Protocol):
    """What a trigger may do, for one key and one window. `read` and `write` are its own state by name."""

    def get_current_watermark(self) -> int: ...
    def get_current_processing_time(self) -> int: ...
    def register_event_time_timer(self, time: int) -> None: ...
    def register_processing_time_timer(self, time: int) -> None: ...
    def delete_event_time_timer(self, time: int) -> None: ...
    def delete_processing_time_timer(self, time: int) -> None: ...
    def read(self, name: str) -> Any: ...
    def write(self, name: str, value: Any) -> None: ...
    def merged(self, name: str) -> list[Any]: ...


class Trigger:
    """The base of all triggers, and of a user's own (pyflink.datastream.window.Trigger)."""

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        raise NotImplementedError(f"{type(self).__name__}.on_element")

    def on_event_time(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return False

    def on_merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        """Windows were merged into `window`; `ctx.merged(name)` gives the state that they had."""

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        """The window is removed: delete timers. State is removed by the operator."""


class EventTimeTrigger(Trigger):
    """Fires when the watermark passes the end of the window, and at once for each record that comes after."""

    @staticmethod
    def create() -> EventTimeTrigger:
        return EventTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(Trigger):
    """Fires when the engine's clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class CountTrigger(Trigger):
    """Fires when a window has got so many records since it last did."""

    def __init__(self, max_count: int) -> None:
        self.max_count = _positive(max_count, "The count of a count trigger")

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        return CountTrigger(window_size)

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        count = (ctx.read("count") or 0) + 1
        if count >= self.max_count:
            ctx.write("count", None)
            return TriggerResult.FIRE
        ctx.write("count", count)
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        counts = ctx.merged("count")
        if counts:
            ctx.write("count", sum(counts))


class ContinuousTrigger(Trigger):
    """What the two continuous triggers share: the next time to fire at, kept in the window's state as "fire at"."""

    def __init__(self, interval: int) -> None:
        self.interval = _positive(interval, "The interval of a continuous trigger")

    @classmethod
    def of(cls, interval: Any) -> Self:
        return cls(interval.to_milliseconds())

    def register(self, time: int, ctx: TriggerContext) -> None:
        raise NotImplementedError(f"{type(self).__name__}.register")

    def delete(self, time: int, ctx: TriggerContext) -> None:
        raise NotImplementedError(f"{type(self).__name__}.delete")

    def start(self, now: int, window: TimeWindow, ctx: TriggerContext) -> None:
        """Unless it is set already, fire first at the next multiple of the interval."""
        if ctx.read("fire at") is None:
            self.next(now - now % self.interval, window, ctx)

    def next(self, time: int, window: TimeWindow, ctx: TriggerContext) -> None:
        upcoming = min(time + self.interval, window.max_timestamp())
        if upcoming <= time:
            ctx.write("fire at", None)  # by this clock the window is over: there is no next time
            return
        ctx.write("fire at", upcoming)
        self.register(upcoming, ctx)

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        times = ctx.merged("fire at")
        if times:
            ctx.write("fire at", min(times))
            self.register(min(times), ctx)

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        upcoming = ctx.read("fire at")
        if upcoming is not None:
            self.delete(upcoming, ctx)


class ContinuousEventTimeTrigger(ContinuousTrigger):
    """Fires every `interval` ms of event time, and at the end of the window."""

    def register(self, time: int, ctx: TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def delete(self, time: int, ctx: TriggerContext) -> None:
        ctx.delete_event_time_timer(time)

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        self.start(timestamp, window, ctx)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        if ctx.read("fire at") == time:
            self.next(time, window, ctx)
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        super().clear(window, ctx)
        ctx.delete_event_time_timer(window.max_timestamp())


class ContinuousProcessingTimeTrigger(ContinuousTrigger):
    """Fires every `interval` ms of the engine's clock."""

    def register(self, time: int, ctx: TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def delete(self, time: int, ctx: TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        self.start(ctx.get_current_processing_time(), window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        if ctx.read("fire at") != time:
            return TriggerResult.CONTINUE
        self.next(time, window, ctx)
        return TriggerResult.FIRE


class NeverTrigger(Trigger):
    """Never fires: the default of global windows."""

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True


class PurgingTrigger(Trigger):
    """Empties the window whenever the trigger inside fires."""

    def __init__(self, nested_trigger: Trigger) -> None:
        self.nested = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger) -> PurgingTrigger:
        return PurgingTrigger(nested_trigger)

    @staticmethod
    def _purging(result: TriggerResult) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        return self._purging(self.nested.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return self._purging(self.nested.on_event_time(time, window, ctx))

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        return self._purging(self.nested.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested.can_merge()

    def on_merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        self.nested.on_merge(window, ctx)

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        self.nested.clear(window, ctx)


def _positive(number: Any, what: str) -> int:
    if type(number) is not int or number <= 0:
        raise InvalidJob(
            "trigger",
            f"{what} must be an integer > 0, not {text(number)}.",
            mend="Use 1 or more.",
        )
    return number
