"""Tumbling event-time windows with an aggregate and nothing special: the common case, made fast.

It does what `WindowOperator` does with an `EventTimeTrigger` and no lateness; a property test compares them. Contents are kept by window,
then by key, since whole windows fire together; within a window keys fire in the order of their first record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from operator import length_hint
from typing import Any

from engine.elements import MIN_TIMESTAMP, Element
from engine.errors import InvalidJob
from engine.event_time.windows import TimeWindow, TumblingWindows
from engine.events import RecordLate, StatePut, TimerFired, TimerSet, WindowCleaned, WindowFired
from engine.operators.base import Context, Operator
from engine.operators.runtime_context import RuntimeContext
from engine.operators.silence import Silence
from engine.operators.user_function import UserFunction
from engine.operators.window import CONTENTS, WindowContext
from engine.state.backends import make_backend
from engine.state.backends.parts import Incremental, keep_their_layers, whole
from engine.state.key_groups import original
from engine.state.keyed_state import Rows, row_id
from engine.values import IMMUTABLE, Boxed, by_value, loaded, stored, text

_NEW = object()

Contents = dict[int, dict[Any, Any]]
"""start of a window -> canonical key -> accumulator"""


class TumblingWindowOperator(Operator):
    """Accumulators by window and key; a record whose window ended before the watermark is late and dropped.

    aggregate: has create_accumulator, add(value, accumulator), get_result(accumulator).
    window_function: has process(key, context, elements) or is None; it is given the one result of the aggregate.
    late_tag: id of the side output for late records, or None to drop and count them.
    """

    fanout = 0
    keyed = True
    mixes = True

    def __init__(
        self,
        context: Context,
        windows: TumblingWindows,
        aggregate: Any,
        window_function: Any,
        late_tag: str | None,
    ) -> None:
        super().__init__(context)
        self.windows = windows
        self.aggregate = UserFunction(aggregate)
        self.window_function = UserFunction(window_function)
        self.late_tag = late_tag
        self.rows: Rows = context.rows()
        self.backend = make_backend(context.backend)
        self.contents: Contents = self.backend.table(CONTENTS, "panes", True)
        self.ends: list[int] = []
        self.late = 0
        self.silence = Silence()

    def open(self) -> None:
        context = RuntimeContext(self.context, None)
        self.aggregate.open(context)
        if self.window_function.instance is not None:
            self.window_function.open(context)

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        self.process_mixed(records, out, len(records) + 1)

    def process_mixed(self, elements: Sequence[Element], out: list[Element], room: int) -> int:
        size, offset = self.windows.size, self.windows.offset
        contents, ends = self.contents, self.ends
        trace = self.trace
        events, base = trace.events, trace.step
        watermark = self.watermark
        function = self.aggregate.instance
        add = function.add
        start = end = watermark
        """[start, end) is the window of the record before, which is open, and `panes` its contents."""
        panes: dict[Any, Any] = {}
        remaining = iter(elements)
        for element in remaining:
            if element[0]:
                if element[1] <= watermark:
                    continue
                watermark = element[1]
                if ends and ends[0] - 1 <= watermark:
                    trace.step = base + len(elements) - length_hint(remaining) - 1
                    self.on_watermark(watermark, out)
                    trace.step = base
                    end = start
                out.append(element)
                if len(out) >= room:
                    break
                continue
            _, value, timestamp, key = element
            if timestamp is None:
                raise InvalidJob(
                    "no_timestamp",
                    "A record without a timestamp reached an event-time window.",
                    place=self.context.subtask,
                    mend="Give the source a WatermarkStrategy with a timestamp assigner.",
                )
            if not start <= timestamp < end:
                start = timestamp - (timestamp - offset) % size
                end = start + size
                if end - 1 <= watermark:
                    end = start
                    self.watermark = watermark
                    self._drop(element, len(elements) - length_hint(remaining))
                    continue
                if start in contents:
                    panes = contents[start]
                else:
                    panes = contents.setdefault(start, {})
                    heappush(ends, end)
            held = panes.get(key, _NEW)
            new = held is _NEW
            if new:
                held = function.create_accumulator()
            elif type(held) is Boxed:
                held = loaded(held)
            held = add(value, held)
            panes[key] = held if type(held) in IMMUTABLE else stored(held)
            if events is not None:
                if new:
                    events.append(self._timer(key, start))
                events.append(self.rows.put(CONTENTS, key, held, (start, end)))
        self.watermark = watermark
        taken = len(elements) - length_hint(remaining)
        if watermark == MIN_TIMESTAMP:
            self._silent(taken)
        return taken

    def _silent(self, records: int) -> None:
        """No watermark has come yet, so nothing can fire."""
        silence = self.silence
        silence.taken += records
        if silence.taken >= silence.limit:
            position = silence.limit - (silence.taken - records)
            silence.warn(self, "no watermark has reached this operator", position)

    def _drop(self, record: Element, position: int) -> None:
        _, value, timestamp, key = record
        self.late += 1
        shown = text(original(key))
        self.trace.mark("late", shown, self.context.subtask, position)
        if self.trace.events is not None:
            self.trace.events.append(
                RecordLate(self.context.subtask, shown, timestamp, self.watermark, text(value))
            )
        if self.late_tag is not None:
            self.side.setdefault(self.late_tag, []).append((0, value, timestamp, None))

    def on_watermark(self, timestamp: int, out: list[Element]) -> None:
        self.watermark = timestamp
        ends = self.ends
        while ends and ends[0] - 1 <= timestamp:
            end = heappop(ends)
            self._fire(TimeWindow(end - self.windows.size, end), out)

    def _fire(self, window: TimeWindow, out: list[Element]) -> None:
        panes = self.contents[window.start]
        events = self.trace.events
        get_result = self.aggregate.instance.get_result
        function = self.window_function.instance
        timestamp = window.end - 1
        fired: list[tuple[Any, list[Any]]] = []
        for key, held in panes.items():
            result = get_result(loaded(held) if type(held) is Boxed else held)
            if function is None:
                fired.append((key, [result]))
            else:
                context = WindowContext(window, self.watermark, self.context.now() // 1000)
                fired.append((key, list(function.process(original(key), context, [result]) or ())))
        del self.contents[window.start]
        self.trace.mark("fired", str(window.end), self.context.subtask)
        for key, results in fired:
            for result in results:
                shared = type(result) in IMMUTABLE
                out.append((0, result if shared else by_value(result), timestamp, key))
            if events is not None:
                timer = self._timer(key, window.start)
                events.append(
                    TimerFired(timer.subtask, timer.row, timer.key, timer.time, timer.clock)
                )
                joined = ", ".join(map(text, results))
                events.append(
                    WindowFired(self.context.subtask, timer.key, window.start, window.end, joined)
                )
                events.append(self.rows.removed(CONTENTS, key, (window.start, window.end)))
                events.append(
                    WindowCleaned(self.context.subtask, timer.key, window.start, window.end)
                )

    def _timer(self, key: Any, start: int) -> TimerSet:
        """A window's timer: it is implied by the contents, and due at the window's last timestamp."""
        end = start + self.windows.size
        return TimerSet(
            self.context.subtask,
            row_id("timer", key, (start, end), end - 1),
            text(original(key)),
            end - 1,
            "event",
        )

    def snapshot(self) -> Contents | Incremental:
        stored = self.backend.snapshot()
        return self.savepoint() if stored is None else stored

    def savepoint(self) -> Contents:
        return {start: dict(panes) for start, panes in self.contents.items()}

    def restore(self, part: Contents | Incremental | None) -> None:
        self._load(window_contents(part))
        self.backend.restored(part)

    def _load(self, contents: Contents) -> None:
        self.contents.clear()
        for start, panes in contents.items():
            self.contents[start] = dict(panes)
        self.ends[:] = [start + self.windows.size for start in self.contents]
        heapify(self.ends)

    def entries(self) -> int:
        return sum(map(len, self.contents.values()))

    def keyframe(self) -> Any:
        return (
            self.watermark,
            self.savepoint(),
            self.late,
            self.aggregate.keyframe(),
            self.window_function.keyframe(),
            self.silence.keyframe(),
            self.backend.keyframe(),
        )

    def rewind(self, frame: Any) -> None:
        self.watermark = frame[0]
        self._load(frame[1])
        self.late = frame[2]
        self.aggregate.rewind(frame[3])
        self.window_function.rewind(frame[4])
        self.silence.rewind(frame[5])
        self.backend.rewind(frame[6])

    def shown_state(self) -> Iterable[StatePut]:
        for start, panes in self.contents.items():
            window = (start, start + self.windows.size)
            for key, held in panes.items():
                yield self.rows.put(CONTENTS, key, held, window)

    def shown_timers(self) -> Iterable[TimerSet]:
        return [self._timer(key, start) for start, panes in self.contents.items() for key in panes]


def window_contents(part: Contents | Incremental | None) -> Contents:
    """The contents that a part stands for, whichever backend has made it."""
    if type(part) is Incremental:
        return whole(part).get(CONTENTS, ("", {}))[1]
    return part or {}  # type: ignore[return-value]


def redistribute_windows(
    parts: list[Any], owner: Callable[[Any], int], parallelism: int
) -> list[Any]:
    """Window contents go to the subtask that owns their key group. With the parallelism that they had, layers stay layers."""
    if keep_their_layers(parts, parallelism):
        return list(parts)
    split: list[Contents] = [{} for _ in range(parallelism)]
    for part in parts:
        for start, panes in window_contents(part).items():
            for key, held in panes.items():
                split[owner(key)].setdefault(start, {})[key] = held
    return list(split)
