"""Windows of any kind, with triggers, evictors, allowed lateness and merging.

Sources: Flink's `WindowOperator`, `EvictingWindowOperator` and `MergingWindowSet`. Tumbling windows with nothing special about
them are fired by the faster `TumblingWindowOperator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Element
from engine.errors import InvalidJob
from engine.event_time.evictors import Evictor
from engine.event_time.triggers import EventTimeTrigger, Trigger, TriggerResult
from engine.event_time.windows import SessionWindows, TimeWindow, WindowSpec, merge_windows
from engine.events import RecordLate, WindowCleaned, WindowFired, WindowsMerged
from engine.operators.base import Context
from engine.operators.keyed import EVENT, PROCESSING, KeyedOperator
from engine.operators.process import collect
from engine.operators.runtime_context import RuntimeContext
from engine.operators.silence import Silence
from engine.operators.user_function import UserFunction
from engine.operators.window_contents import Contents, Listed
from engine.state.key_groups import original
from engine.values import text

CONTENTS = "window-contents"
EMITTED = "window-emitted"
SESSIONS = "sessions"
TRIGGER = "trigger "


def no_timestamp(place: str) -> InvalidJob:
    return InvalidJob(
        "no_timestamp",
        "A record without a timestamp reached an event-time window.",
        place=place,
        mend="Give the source a WatermarkStrategy with a timestamp assigner.",
    )


class WindowContext:
    """PyFlink's ProcessWindowFunction.Context."""

    def __init__(self, window: TimeWindow, watermark: int, processing_time: int) -> None:
        self._window = window
        self._watermark = watermark
        self._processing_time = processing_time

    def window(self) -> TimeWindow:
        return self._window

    def current_watermark(self) -> int:
        return self._watermark

    def current_processing_time(self) -> int:
        return self._processing_time

    def pane(self) -> Any:
        raise NotImplementedError(
            "Only a window of engine.datastream.extensions.with_panes has panes to tell apart."
        )

    def window_state(self) -> Any:
        raise NotImplementedError(
            "ProcessWindowFunction.Context.window_state is not implemented in StreamLab yet."
        )

    def global_state(self) -> Any:
        raise NotImplementedError(
            "ProcessWindowFunction.Context.global_state is not implemented in StreamLab yet."
        )


class KeyAndWindow:
    """What a trigger sees and may do, for the operator's current key and one window."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self.window = TimeWindow(0, 0)
        self.merged_state: dict[str, list[Any]] = {}

    def get_current_watermark(self) -> int:
        return self._operator.watermark

    def get_current_processing_time(self) -> int:
        return self._operator.context.now() // 1000

    def register_event_time_timer(self, time: int) -> None:
        self._operator.set_timer(EVENT, time, self.window)

    def register_processing_time_timer(self, time: int) -> None:
        self._operator.set_timer(PROCESSING, time, self.window)

    def delete_event_time_timer(self, time: int) -> None:
        self._operator.delete_timer(EVENT, time, self.window)

    def delete_processing_time_timer(self, time: int) -> None:
        self._operator.delete_timer(PROCESSING, time, self.window)

    def read(self, name: str) -> Any:
        state = self._operator.state
        return state.table(TRIGGER + name, "window").get(state.key, {}).get(self.window)

    def write(self, name: str, value: Any) -> None:
        state = self._operator.state
        table = state.table(TRIGGER + name, "window")
        if value is None:
            state.remove(TRIGGER + name, table, self.window)
        else:
            state.put(TRIGGER + name, table, self.window, value)

    def merged(self, name: str) -> list[Any]:
        return self.merged_state.get(name, [])

    def get_partitioned_state(self, state_descriptor: Any) -> TriggerState:
        """PyFlink's way to a trigger's own state."""
        return TriggerState(self, state_descriptor)

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        """PyFlink: take over the state of the windows that were merged."""
        state = TriggerState(self, state_descriptor)
        for value in self.merged(state_descriptor.name):
            state.add(value)


class TriggerState:
    """Value or reducing state of a trigger, for one key and window."""

    def __init__(self, context: KeyAndWindow, descriptor: Any) -> None:
        self._context = context
        self._name = descriptor.name
        function = getattr(descriptor, "reduce_function", None)
        self._reduce: Callable[[Any, Any], Any] = getattr(function, "reduce", function) or (
            lambda held, value: value
        )

    def value(self) -> Any:
        return self._context.read(self._name)

    get = value

    def update(self, value: Any) -> None:
        self._context.write(self._name, value)

    def add(self, value: Any) -> None:
        held = self.value()
        self.update(value if held is None else self._reduce(held, value))

    def clear(self) -> None:
        self._context.write(self._name, None)


class WindowOperator(KeyedOperator):
    """Windows by key.

    function: has process(key, context, elements) or apply(key, window, elements), or is None: then the elements of the
    contents (one, for an aggregate) are the result. lateness: ms for which a window is kept after it has ended.
    late_tag: id of the side output for late records. retract: results are pairs (True, result), and a window that fires
    again first takes back what it gave, as (False, result).
    """

    fanout: int | None = None

    def __init__(
        self,
        context: Context,
        spec: WindowSpec,
        trigger: Trigger,
        make_contents: Callable[[Any], Contents],
        aggregate: Any,
        function: Any,
        *,
        evictor: Evictor | None = None,
        lateness: int = 0,
        late_tag: str | None = None,
        retract: bool = False,
    ) -> None:
        super().__init__(context)
        self.spec = spec
        self.trigger = UserFunction(trigger)
        self.aggregate = UserFunction(aggregate)
        self.window_function = UserFunction(function)
        self.contents = make_contents(self.aggregate.instance)
        self.evictor = evictor
        self.lateness = lateness
        self.late_tag = late_tag
        self.retract = retract
        self.clock = EVENT if spec.event_time else PROCESSING
        self.late = 0
        self.silence = Silence()
        self.table = self.state.table(CONTENTS, "window")
        self.emitted = self.state.table(EMITTED, "window")
        self.sessions = self.state.table(SESSIONS, "merging")
        """The windows that can still be merged, whether or not they hold anything."""
        self.key_and_window = KeyAndWindow(self)
        self.plain = type(trigger) is EventTimeTrigger and spec.event_time
        """Only the end of the window makes it fire, which its first record has arranged for."""
        if self.plain and not lateness:
            self.fanout = 0
        self.position = 1
        """Which record of the list that is being processed it is; a mark tells the step by it."""

    def open(self) -> None:
        super().open()
        context = RuntimeContext(self.context, None)
        for function in (self.aggregate, self.window_function):
            if function.instance is not None:
                function.open(context)

    # Records

    def process(self, records: Any, out: list[Element]) -> None:
        for self.position, (_, value, timestamp, key) in enumerate(records, 1):
            self.state.key = key
            if not self.spec.event_time:
                at = self.context.now() // 1000
            elif timestamp is None:
                raise no_timestamp(self.context.subtask)
            else:
                at = timestamp
            self._add(value, timestamp, at, out)

    def _add(self, value: Any, timestamp: int | None, at: int, out: list[Element]) -> None:
        skipped = True
        event_time = self.spec.event_time
        for window in self.spec.assign(value, at):
            if self.spec.merges:
                window = self._merged_with(window)
            if event_time and min(window.end - 1 + self.lateness, MAX_TIMESTAMP) <= self.watermark:
                if self.spec.merges:
                    self.state.remove(SESSIONS, self.sessions, window)
                continue
            skipped = False
            windows = self.table.get(self.state.key)
            held = windows.get(window) if windows is not None else None
            self.state.put(CONTENTS, self.table, window, self.contents.add(held, value, timestamp))
            if held is not None and self.plain and window.end - 1 > self.watermark:
                continue
            self.key_and_window.window = window
            result = self.trigger.instance.on_element(value, at, window, self.key_and_window)
            self._react(result, window, out)
            self._set_cleanup(window)
        if not skipped:
            self.silence.taken += 1
            if self.silence.taken >= self.silence.limit:
                self.silence.warn(self, self._why_silent())
        elif event_time and at + self.lateness <= self.watermark:
            self._drop(value, at)

    def _why_silent(self) -> str:
        """Why no window may ever fire; empty where one will."""
        if self.spec.event_time and self.watermark == MIN_TIMESTAMP:
            return "no watermark has reached this operator"
        if not any(queue.count() for queue in self.timers.values()):
            return f"the trigger {type(self.trigger.instance).__name__} waits for no time"
        if self.silence.removed and not self.silence.fired:
            return "windows have ended without it"
        return ""

    def _drop(self, value: Any, timestamp: int) -> None:
        self.late += 1
        shown = text(original(self.state.key))
        self.trace.mark("late", shown, self.context.subtask, self.position)
        if self.trace.events is not None:
            self.trace.events.append(
                RecordLate(self.context.subtask, shown, timestamp, self.watermark, text(value))
            )
        if self.late_tag is not None:
            self.side.setdefault(self.late_tag, []).append((0, value, timestamp, None))

    # Merging

    def _merged_with(self, window: TimeWindow) -> TimeWindow:
        """The window that `window` becomes together with those that it touches; their state goes over to it."""
        assert isinstance(self.spec, SessionWindows)
        open_windows: dict[TimeWindow, bool] = self.sessions.get(self.state.key, {})
        for known in open_windows:
            if known.start <= window.start and window.end <= known.end:
                return known
        for cover, members in merge_windows({*open_windows, window}, self.spec.intersects):
            if window not in members:
                continue
            merged = [member for member in members if member in open_windows]
            self._merge(cover, merged)
            self._set_cleanup(cover)
            return cover
        if window not in open_windows:
            self.state.put(SESSIONS, self.sessions, window, True)
        return window

    def _merge(self, cover: TimeWindow, merged: list[TimeWindow]) -> None:
        key = self.state.key
        if self.trace.events is not None:
            bounds = tuple((window.start, window.end) for window in merged)
            self.trace.events.append(
                WindowsMerged(
                    self.context.subtask, text(original(key)), bounds, cover.start, cover.end
                )
            )
        names = [name for name in self.state.tables if name.startswith(TRIGGER)]
        held = {
            name: [self.state.tables[name][1].get(key, {}).get(window) for window in merged]
            for name in names
        }
        context = self.key_and_window
        context.window = cover
        context.merged_state = {
            name.removeprefix(TRIGGER): [value for value in values if value is not None]
            for name, values in held.items()
        }
        self.trigger.instance.on_merge(cover, context)
        context.merged_state = {}
        for window in merged:
            context.window = window
            self.trigger.instance.clear(window, context)
            if window != cover:
                for name in names:
                    self.state.remove(name, self.state.tables[name][1], window)
            self._delete_cleanup(window)
        for window in merged:
            self.state.remove(SESSIONS, self.sessions, window)
        self.state.put(SESSIONS, self.sessions, cover, True)
        parts = [self.state.remove(CONTENTS, self.table, window) for window in merged]
        held_parts = [part for part in parts if part is not None]
        if held_parts:
            self.state.put(CONTENTS, self.table, cover, self.contents.merge(held_parts))
        emitted = [self.state.remove(EMITTED, self.emitted, window) or () for window in merged]
        if any(emitted):
            self.state.put(
                EMITTED,
                self.emitted,
                cover,
                tuple(result for results in emitted for result in results),
            )

    # Firing

    def on_timer(self, clock: str, timestamp: int, namespace: Any, out: list[Element]) -> None:
        window: TimeWindow = namespace
        if self.spec.merges and window not in self.sessions.get(self.state.key, {}):
            return  # it has been merged into another
        trigger = self.trigger.instance
        self.key_and_window.window = window
        if clock == EVENT:
            result = trigger.on_event_time(timestamp, window, self.key_and_window)
        else:
            result = trigger.on_processing_time(timestamp, window, self.key_and_window)
        self._react(result, window, out)
        if clock == self.clock and timestamp == self._cleanup_time(window):
            self._clean(window)

    def _react(self, result: TriggerResult, window: TimeWindow, out: list[Element]) -> None:
        if result.is_fire():
            self._emit(window, out)
        if result.is_purge():
            self.state.remove(CONTENTS, self.table, window)

    def _emit(self, window: TimeWindow, out: list[Element]) -> None:
        held = self.table.get(self.state.key, {}).get(window)
        if held is None:
            return
        context = WindowContext(window, self.watermark, self.context.now() // 1000)
        timestamp = min(window.max_timestamp(), MAX_TIMESTAMP)
        self._deliver(context, self._evict(window, held), timestamp, out)

    def _deliver(
        self, context: WindowContext, elements: list[Any], timestamp: int, out: list[Element]
    ) -> None:
        """Give the elements to the window function, and send what it makes of them."""
        key = self.state.key
        window = context.window()
        function = self.window_function.instance
        if function is None:
            results = elements
        elif hasattr(function, "process"):
            results = function.process(original(key), context, elements)
        else:
            results = function.apply(original(key), window, elements)
        results = list(results or ())
        self._evict_after(window)
        self.silence.broken()
        self.trace.mark("fired", str(window.end), self.context.subtask)
        if self.trace.events is not None:
            joined = ", ".join(map(text, results))
            self.trace.events.append(
                WindowFired(
                    self.context.subtask, text(original(key)), window.start, window.end, joined
                )
            )
        if self.retract:
            before = self.emitted.get(key, {}).get(window, ())
            self.state.put(EMITTED, self.emitted, window, tuple(results))
            results = [*((False, old) for old in before), *((True, new) for new in results)]
        collect(self, results, timestamp, out)

    def _evict(self, window: TimeWindow, held: Any) -> list[Any]:
        """The elements for the window function; an evictor's choice is kept."""
        if self.evictor is None:
            return self.contents.elements(held)
        kept = tuple(self.evictor.evict_before(list(held)))
        if kept != held:
            self._keep(window, kept)
        return Listed().elements(kept)

    def _evict_after(self, window: TimeWindow) -> None:
        if self.evictor is None:
            return
        held = self.table.get(self.state.key, {}).get(window, ())
        kept = tuple(self.evictor.evict_after(list(held)))
        if kept != held:
            self._keep(window, kept)

    def _keep(self, window: TimeWindow, kept: tuple[Any, ...]) -> None:
        if kept:
            self.state.put(CONTENTS, self.table, window, kept)
        else:
            self.state.remove(CONTENTS, self.table, window)

    # Cleaning up

    def _cleanup_time(self, window: TimeWindow) -> int:
        """When a window's state can go, in ms of its clock: its last timestamp, plus the lateness in event time."""
        last = window.end - 1
        return min(last + self.lateness, MAX_TIMESTAMP) if self.spec.event_time else last

    def _set_cleanup(self, window: TimeWindow) -> None:
        when = self._cleanup_time(window)
        if when < MAX_TIMESTAMP:
            self.set_timer(self.clock, when, window)

    def _delete_cleanup(self, window: TimeWindow) -> None:
        when = self._cleanup_time(window)
        if when < MAX_TIMESTAMP:
            self.delete_timer(self.clock, when, window)

    def _clean(self, window: TimeWindow) -> None:
        self.silence.removed = True
        self.state.remove(CONTENTS, self.table, window)
        self.state.remove(EMITTED, self.emitted, window)
        self.state.remove(SESSIONS, self.sessions, window)
        self.key_and_window.window = window
        self.trigger.instance.clear(window, self.key_and_window)
        for name in [name for name in self.state.tables if name.startswith(TRIGGER)]:
            self.state.remove(name, self.state.tables[name][1], window)
        if self.trace.events is not None:
            shown = text(original(self.state.key))
            self.trace.events.append(
                WindowCleaned(self.context.subtask, shown, window.start, window.end)
            )

    # Stepping back

    def keyframe(self) -> Any:
        functions = (
            self.trigger.keyframe(),
            self.aggregate.keyframe(),
            self.window_function.keyframe(),
        )
        return super().keyframe(), self.late, functions, self.silence.keyframe()

    def rewind(self, frame: Any) -> None:
        super().rewind(frame[0])
        self.late = frame[1]
        for function, held in zip(
            (self.trigger, self.aggregate, self.window_function), frame[2], strict=True
        ):
            function.rewind(held)
        self.silence.rewind(frame[3])
