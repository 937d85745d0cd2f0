"""Process functions: unkeyed, and keyed with state and event-time timers.

Sources: Flink's `ProcessOperator` and `KeyedProcessOperator`. A function yields values; what it yields as a pair
(OutputTag, value) goes to that side output, as in PyFlink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Element
from engine.errors import InvalidJob
from engine.event_time.timers import EventTimeTimers
from engine.events import StatePut, TimerFired, TimerRemoved, TimerSet
from engine.operators.base import Context
from engine.operators.map import MOST_RESULTS, Stateless, refuse_more
from engine.operators.reduce import redistribute_tables
from engine.operators.runtime_context import RuntimeContext
from engine.state.key_groups import original
from engine.state.keyed_state import KeyedState, row_id
from engine.values import Attached, by_value, text

TIMERS = "timer"
MOST_TIMERS = 200_000
"""How many timers one watermark may fire: a timer that sets itself again at the end of time must not hang the engine."""


class OutputTag:
    """Names a side output (PyFlink: OutputTag). Two tags with one id are the same output."""

    def __init__(self, tag_id: str, type_info: Any = None) -> None:
        if not tag_id:
            raise InvalidJob(
                "output_tag",
                "An OutputTag needs a name that is not empty.",
                mend="OutputTag('late')",
            )
        self.tag_id = tag_id
        self.type_info = type_info

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"


class TimerService(Attached):
    """PyFlink's TimerService over the timers of one keyed operator; unkeyed functions may only read event time."""

    def __init__(self, operator: ProcessOperator) -> None:
        self._operator = operator

    def current_watermark(self) -> int:
        return self._operator.watermark

    def current_processing_time(self) -> int:
        raise NotImplementedError(
            "TimerService.current_processing_time is not implemented in StreamLab yet."
        )

    def register_processing_time_timer(self, timestamp: int) -> None:
        raise NotImplementedError(
            "TimerService.register_processing_time_timer is not implemented in StreamLab yet."
        )

    def register_event_time_timer(self, timestamp: int) -> None:
        self._operator.register_timer(timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._operator.delete_timer(timestamp)


class FunctionContext(Attached):
    """PyFlink's ProcessFunction.Context and OnTimerContext."""

    def __init__(self, operator: ProcessOperator) -> None:
        self._operator = operator
        self._timers = TimerService(operator)
        self.current_timestamp: int | None = None

    def timestamp(self) -> int | None:
        """Timestamp of the record, or of the timer, in ms; None where the record has none."""
        return self.current_timestamp

    def timer_service(self) -> TimerService:
        return self._timers

    def get_current_key(self) -> Any:
        return original(self._operator.current_key())


class ProcessOperator(Stateless):
    """An unkeyed process function."""

    fanout = None
    method = "process_element"

    def __init__(self, context: Context, function: Any) -> None:
        super().__init__(context, function)
        self.function_context = FunctionContext(self)

    def open(self) -> None:
        super().open()
        self._attach()

    def _attach(self) -> None:
        for held in (self.function_context, self.function_context.timer_service()):
            self.function.attached[held.attachment()] = held

    def current_key(self) -> Any:
        raise InvalidJob(
            "no_key",
            "This stream has no key.",
            place=self.context.subtask,
            mend="Call key_by before process.",
        )

    def register_timer(self, timestamp: int) -> None:
        raise InvalidJob(
            "timer_without_key",
            "Timers can only be set on a keyed stream.",
            place=self.context.subtask,
            mend="Call key_by before process.",
        )

    delete_timer = register_timer

    def collect(
        self, results: Iterable[Any] | None, timestamp: int | None, out: list[Element]
    ) -> None:
        """Append what a function yielded to the main output or to a side output."""
        if results is None:
            return
        remaining = iter(results)
        for result in islice(remaining, MOST_RESULTS):
            if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                self.side.setdefault(result[0].tag_id, []).append(
                    (0, by_value(result[1]), timestamp, None)
                )
            else:
                out.append((0, by_value(result), timestamp, None))
        refuse_more(remaining, self.context.subtask)

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        call = self.call
        context = self.function_context
        for _, value, timestamp, _ in records:
            context.current_timestamp = timestamp
            self.collect(call(value, context), timestamp, out)


class KeyedProcessOperator(ProcessOperator):
    """A keyed process function with value and map state and event-time timers."""

    keyed = True

    def __init__(self, context: Context, function: Any) -> None:
        super().__init__(context, function)
        self.state = KeyedState(context.rows())
        self.timers = EventTimeTimers()

    def open(self) -> None:
        self.function.open(RuntimeContext(self.context, self.state))
        self._attach()

    def current_key(self) -> Any:
        return self.state.key

    def register_timer(self, timestamp: int) -> None:
        if type(timestamp) is not int or not MIN_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
            raise InvalidJob(
                "timer_timestamp",
                f"A timer's timestamp must be an integer in ms that fits 64 bits, not {text(timestamp)}.",
                place=self.context.subtask,
                mend="Round it.",
            )
        if self.timers.register(self.state.key, timestamp) and self.trace.events is not None:
            self.trace.events.append(self._timer_set(self.state.key, timestamp))

    def delete_timer(self, timestamp: int) -> None:
        if self.timers.delete(self.state.key, timestamp) and self.trace.events is not None:
            self.trace.events.append(
                TimerRemoved(self.context.subtask, self._timer_row(self.state.key, timestamp))
            )

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        call = self.call
        context = self.function_context
        state = self.state
        for _, value, timestamp, key in records:
            state.key = key
            context.current_timestamp = timestamp
            self.collect(call(value, context), timestamp, out)

    def on_watermark(self, timestamp: int, out: list[Element]) -> None:
        self.watermark = timestamp
        context = self.function_context
        fired = 0
        while (due := self.timers.pop_due(timestamp)) is not None:
            fired += 1
            if fired > MOST_TIMERS:
                raise InvalidJob(
                    "too_many_timers",
                    f"One watermark fired more than {MOST_TIMERS:,} timers: on_timer keeps setting timers that are due.",
                    place=self.context.subtask,
                    mend="Set no new timer once the watermark has passed the last record.",
                )
            when, key = due
            self.state.key = key
            context.current_timestamp = when
            if self.trace.events is not None:
                self.trace.events.append(
                    TimerFired(
                        self.context.subtask, self._timer_row(key, when), text(original(key)), when
                    )
                )
            call = getattr(self.function.instance, "on_timer", None)
            if call is not None:
                self.collect(call(when, context), when, out)

    def _timer_row(self, key: Any, timestamp: int) -> str:
        return row_id(TIMERS, key, entry=timestamp)

    def _timer_set(self, key: Any, timestamp: int) -> TimerSet:
        return TimerSet(
            self.context.subtask, self._timer_row(key, timestamp), text(original(key)), timestamp
        )

    def snapshot(self) -> Any:
        return self.state.copy(), self.timers.snapshot()

    def restore(self, part: Any) -> None:
        tables, timers = part or ({}, {})
        self.state.load(tables)
        self.timers.load(timers)

    def entries(self) -> int:
        return self.state.entries() + self.timers.count()

    def keyframe(self) -> Any:
        return self.watermark, self.function.keyframe(), self.snapshot(), self.state.key

    def rewind(self, frame: Any) -> None:
        self.watermark = frame[0]
        self.function.rewind(frame[1])
        self.restore(frame[2])
        self.state.key = frame[3]

    def shown_state(self) -> Iterable[StatePut]:
        return self.state.shown()

    def shown_timers(self) -> Iterable[TimerSet]:
        return [self._timer_set(key, timestamp) for timestamp, key in self.timers.items()]


def redistribute_keyed_process(
    parts: list[Any], owner: Callable[[Any], int], parallelism: int
) -> list[Any]:
    """Tables and timers go to the subtask that owns their key group."""
    present = [part for part in parts if part]
    tables = redistribute_tables([part[0] for part in present], owner, parallelism)
    timers: list[dict[int, dict[Any, None]]] = [{} for _ in range(parallelism)]
    for _, by_time in present:
        for timestamp, keys in by_time.items():
            for key in keys:
                timers[owner(key)].setdefault(timestamp, {})[key] = None
    return list(zip(tables, timers, strict=True))
