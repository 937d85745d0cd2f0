"""Triggers that are built of other triggers, and that can finish.

A composite trigger is told of every record, is asked whether it is ready, and is told when its window fired; its answer to
that says whether it has finished. It works on any window; on one with panes (`engine.operators.panes`) a finished trigger
also closes the window.

Source: Apache Beam's triggers, as the Python SDK 2.61 decides. Beam's watermark W says that nothing before W will come; the
watermark of this engine is W - 1, the last timestamp that is complete, as in Flink.
"""

from __future__ import annotations

from typing import Any

from engine.errors import InvalidJob
from engine.event_time.triggers import Trigger, TriggerContext, TriggerResult
from engine.event_time.windows import TimeWindow

FINISHED = "finished"


class Nested:
    """The context of a trigger inside another: the same window and timers, and names of its own for its state."""

    def __init__(self, outer: TriggerContext, prefix: str) -> None:
        self._outer = outer
        self._prefix = prefix
        self.get_current_watermark = outer.get_current_watermark
        self.get_current_processing_time = outer.get_current_processing_time
        self.register_event_time_timer = outer.register_event_time_timer
        self.register_processing_time_timer = outer.register_processing_time_timer
        self.delete_event_time_timer = outer.delete_event_time_timer
        self.delete_processing_time_timer = outer.delete_processing_time_timer

    def read(self, name: str) -> Any:
        return self._outer.read(f"{self._prefix} {name}")

    def write(self, name: str, value: Any) -> None:
        self._outer.write(f"{self._prefix} {name}", value)

    def merged(self, name: str) -> list[Any]:
        return self._outer.merged(f"{self._prefix} {name}")


class CompositeTrigger(Trigger):
    """The base. Watermarks are those of the moment at which the trigger is asked: a timer's, or the current one."""

    def record(self, window: TimeWindow, ctx: TriggerContext) -> None:
        """The window got a record."""
        raise NotImplementedError(f"{type(self).__name__}.record")

    def merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        """`window` was merged of others, whose state `ctx.merged(name)` gives.

        The record that made them merge comes next, so timers are left to `record`.
        """
        raise NotImplementedError(f"{type(self).__name__}.merge")

    def ready(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        """Whether the window is to fire. Changes nothing."""
        raise NotImplementedError(f"{type(self).__name__}.ready")

    def fired(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        """The window fired, since this trigger was ready; returns whether it has finished."""
        raise NotImplementedError(f"{type(self).__name__}.fired")

    def reset(self, window: TimeWindow, ctx: TriggerContext) -> None:
        """Begin anew, as on a window that has no record yet; timers stay."""
        raise NotImplementedError(f"{type(self).__name__}.reset")

    def has_on_time_pane(self) -> bool:
        """Whether the end of the window can make it fire."""
        raise NotImplementedError(f"{type(self).__name__}.has_on_time_pane")

    # The outermost trigger of a window

    def is_finished(self, ctx: TriggerContext) -> bool:
        return bool(ctx.read(FINISHED))

    def ask(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        """Whether the window is to fire now; takes note of it where it is."""
        if self.is_finished(ctx) or not self.ready(window, ctx, watermark):
            return False
        if self.fired(window, ctx, watermark):
            self.reset(window, ctx)
            self.clear(window, ctx)
            ctx.write(FINISHED, True)
        return True

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        if self.is_finished(ctx):
            return TriggerResult.CONTINUE
        self.record(window, ctx)
        return self._asked(window, ctx, ctx.get_current_watermark())

    def on_event_time(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        if time != window.max_timestamp():
            return TriggerResult.CONTINUE
        return self._asked(window, ctx, time)

    def _asked(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> TriggerResult:
        return TriggerResult.FIRE if self.ask(window, ctx, watermark) else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        """A session that takes in a finished one is finished, too."""
        if any(ctx.merged(FINISHED)):
            ctx.write(FINISHED, True)
        else:
            self.merge(window, ctx)

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        if self.has_on_time_pane():
            ctx.delete_event_time_timer(window.max_timestamp())


def _wake_at_end(window: TimeWindow, ctx: TriggerContext) -> None:
    """A timer for the end of the window, unless it has passed: then whoever asks next is told."""
    if window.max_timestamp() > ctx.get_current_watermark():
        ctx.register_event_time_timer(window.max_timestamp())


class DefaultTrigger(CompositeTrigger):
    """Ready from the end of the window on, at each record that comes after it; never finishes."""

    def record(self, window: TimeWindow, ctx: TriggerContext) -> None:
        _wake_at_end(window, ctx)

    def merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        pass

    def ready(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        return watermark >= window.max_timestamp()

    def fired(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        return False

    def reset(self, window: TimeWindow, ctx: TriggerContext) -> None:
        pass

    def has_on_time_pane(self) -> bool:
        return True


class AfterCount(CompositeTrigger):
    """Ready once the window got `count` records; then finished."""

    def __init__(self, count: int) -> None:
        if type(count) is not int or count < 1:
            raise InvalidJob(
                "trigger_count",
                f"AfterCount needs an integer > 0, not {count!r}.",
                mend="Give the number of records after which the window is to fire.",
            )
        self.count = count

    def record(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.write("count", (ctx.read("count") or 0) + 1)

    def merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.write("count", sum(ctx.merged("count")) or None)

    def ready(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        return (ctx.read("count") or 0) >= self.count

    def fired(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        return True

    def reset(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.write("count", None)

    def has_on_time_pane(self) -> bool:
        return False


class Repeatedly(CompositeTrigger):
    """Begins `trigger` anew whenever it has finished."""

    def __init__(self, trigger: CompositeTrigger) -> None:
        self.trigger = _composite(trigger, "Repeatedly")

    def record(self, window: TimeWindow, ctx: TriggerContext) -> None:
        self.trigger.record(window, ctx)

    def merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        self.trigger.merge(window, ctx)

    def ready(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        return self.trigger.ready(window, ctx, watermark)

    def fired(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        if self.trigger.fired(window, ctx, watermark):
            self.trigger.reset(window, ctx)
        return False

    def reset(self, window: TimeWindow, ctx: TriggerContext) -> None:
        self.trigger.reset(window, ctx)

    def has_on_time_pane(self) -> bool:
        return self.trigger.has_on_time_pane()


class AfterWatermark(CompositeTrigger):
    """Ready at the end of the window; before it whenever `early` is, and after it whenever `late` is.

    `early` and `late` are begun anew whenever they have finished. Without `late`, the trigger has finished with the end.
    """

    def __init__(
        self, early: CompositeTrigger | None = None, late: CompositeTrigger | None = None
    ) -> None:
        self.early = None if early is None else Repeatedly(early)
        self.late = None if late is None else Repeatedly(late)

    def _inner(self, ctx: TriggerContext) -> tuple[Repeatedly | None, TriggerContext]:
        """The trigger that decides beside the end of the window: `late` once that has fired."""
        if ctx.read("ended"):
            return self.late, Nested(ctx, "late")
        return self.early, Nested(ctx, "early")

    def record(self, window: TimeWindow, ctx: TriggerContext) -> None:
        if not ctx.read("ended"):
            _wake_at_end(window, ctx)
        inner, nested = self._inner(ctx)
        if inner is not None:
            inner.record(window, nested)

    def merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        if any(ctx.merged("ended")):
            ctx.write("ended", True)
        if self.early is not None:
            self.early.merge(window, Nested(ctx, "early"))
        if self.late is not None:
            self.late.merge(window, Nested(ctx, "late"))

    def ready(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        if not ctx.read("ended") and watermark >= window.max_timestamp():
            return True
        inner, nested = self._inner(ctx)
        return inner is not None and inner.ready(window, nested, watermark)

    def fired(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        if not ctx.read("ended") and watermark >= window.max_timestamp():
            if self.late is None:
                return True
            ctx.write("ended", True)
            return False
        inner, nested = self._inner(ctx)
        return inner is not None and inner.fired(window, nested, watermark)

    def reset(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.write("ended", None)
        if self.early is not None:
            self.early.reset(window, Nested(ctx, "early"))
        if self.late is not None:
            self.late.reset(window, Nested(ctx, "late"))

    def has_on_time_pane(self) -> bool:
        return True


class _Several(CompositeTrigger):
    """What triggers of several share; each has state of its own, named by its place from 1."""

    def __init__(self, *triggers: CompositeTrigger) -> None:
        name = type(self).__name__
        if not triggers:
            raise InvalidJob(
                "no_triggers",
                f"{name} was given no trigger.",
                mend="Give it one or more.",
            )
        self.triggers = tuple(_composite(trigger, name) for trigger in triggers)

    def _each(self, ctx: TriggerContext) -> list[tuple[CompositeTrigger, Nested]]:
        return [
            (trigger, Nested(ctx, str(place))) for place, trigger in enumerate(self.triggers, 1)
        ]

    def merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        for trigger, nested in self._each(ctx):
            trigger.merge(window, nested)

    def reset(self, window: TimeWindow, ctx: TriggerContext) -> None:
        for trigger, nested in self._each(ctx):
            trigger.reset(window, nested)

    def has_on_time_pane(self) -> bool:
        return any(trigger.has_on_time_pane() for trigger in self.triggers)


class _Parallel(_Several):
    """All see each record. Once the window fired, those that were ready are told, and their answers are combined."""

    def combine(self, answers: list[bool]) -> bool:
        raise NotImplementedError

    def record(self, window: TimeWindow, ctx: TriggerContext) -> None:
        for trigger, nested in self._each(ctx):
            trigger.record(window, nested)

    def ready(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        return self.combine(
            [trigger.ready(window, nested, watermark) for trigger, nested in self._each(ctx)]
        )

    def fired(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        return self.combine(
            [
                trigger.fired(window, nested, watermark)
                for trigger, nested in self._each(ctx)
                if trigger.ready(window, nested, watermark)
            ]
        )


class AfterAny(_Parallel):
    """Ready when one of the triggers is, and finished when one of those that were ready has finished."""

    def combine(self, answers: list[bool]) -> bool:
        return any(answers)


class AfterAll(_Parallel):
    """Ready when all of the triggers are, and finished when all of those that were ready have finished."""

    def combine(self, answers: list[bool]) -> bool:
        return all(answers)


class AfterEach(_Several):
    """One trigger after the other: each sees records from when the one before it has finished."""

    def _current(self, ctx: TriggerContext) -> tuple[CompositeTrigger, Nested] | None:
        place = ctx.read("place") or 0
        if place == len(self.triggers):
            return None
        return self.triggers[place], Nested(ctx, str(place + 1))

    def record(self, window: TimeWindow, ctx: TriggerContext) -> None:
        current = self._current(ctx)
        if current is not None:
            current[0].record(window, current[1])

    def merge(self, window: TimeWindow, ctx: TriggerContext) -> None:
        """The furthest place counts."""
        super().merge(window, ctx)
        ctx.write("place", max(ctx.merged("place"), default=None))

    def ready(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        current = self._current(ctx)
        return current is not None and current[0].ready(window, current[1], watermark)

    def fired(self, window: TimeWindow, ctx: TriggerContext, watermark: int) -> bool:
        current = self._current(ctx)
        if current is None or not current[0].fired(window, current[1], watermark):
            return False
        place = (ctx.read("place") or 0) + 1
        ctx.write("place", place)
        return bool(place == len(self.triggers))

    def reset(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.write("place", None)
        super().reset(window, ctx)


def _composite(trigger: Any, outer: str) -> CompositeTrigger:
    if not isinstance(trigger, CompositeTrigger):
        raise InvalidJob(
            "trigger_not_composite",
            f"{outer} was given {type(trigger).__name__}, which cannot say whether it has finished.",
            mend="Use the triggers of engine.datastream.extensions, AfterCount for CountTrigger.",
        )
    return trigger
