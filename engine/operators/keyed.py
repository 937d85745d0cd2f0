"""What keyed operators share: state, timers on both clocks, and how they are snapshotted and moved.

Source: Flink's `AbstractStreamOperator` with its `InternalTimeServiceManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, ClassVar, NamedTuple

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Element
from engine.errors import InvalidJob
from engine.event_time.timers import TimerQueue, Timers
from engine.events import StatePut, TimerFired, TimerRemoved, TimerSet
from engine.operators.base import Context, Operator
from engine.state.backends import make_backend
from engine.state.backends.parts import Incremental, keep_their_layers, whole
from engine.state.codec import writable
from engine.state.key_groups import original
from engine.state.keyed_state import (
    STATE,
    KeyedState,
    Tables,
    in_order_of_expiry,
    merge_tables,
    row_id,
    split_tables,
)
from engine.values import text

EVENT = "event"
PROCESSING = "processing"
TIMERS = "timers "
"""What the names of tables of timers begin with in a backend."""
MOST_TIMERS = 200_000
"""How many timers one watermark may fire: a timer that sets itself again at the end of time must not hang the engine."""


@writable
class KeyedPart(NamedTuple):
    """One subtask's part of a snapshot."""

    tables: Tables
    event: Timers
    processing: Timers


class KeyedOperator(Operator):
    """State by key, and timers that call `on_timer`."""

    keyed: ClassVar[bool] = True
    uses_clock: ClassVar[bool] = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.rows = context.rows()
        backend = make_backend(context.backend)
        self.state = KeyedState(self.rows, context.now, backend)
        self.timers = {
            clock: TimerQueue(backend.table(TIMERS + clock, TIMERS, True))
            for clock in (EVENT, PROCESSING)
        }

    def open(self) -> None:
        """Ask the clock again for timers that were restored."""
        for timestamp in self.timers[PROCESSING].by_time:
            self.context.wake(timestamp * 1000)

    # Timers

    def set_timer(self, clock: str, timestamp: int, namespace: Hashable = None) -> None:
        """Register a timer of the current key, in ms of the event or the processing clock."""
        if type(timestamp) is not int or not MIN_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
            raise InvalidJob(
                "timer_timestamp",
                f"A timer's timestamp must be an integer in ms that fits 64 bits, not {text(timestamp)}.",
                place=self.context.subtask,
                mend="Round it.",
            )
        if (
            self.timers[clock].register(timestamp, self.state.key, namespace)
            and self.trace.events is not None
        ):
            self.trace.events.append(self._timer_set(clock, timestamp, self.state.key, namespace))
        if clock == PROCESSING:
            self.context.wake(timestamp * 1000)

    def delete_timer(self, clock: str, timestamp: int, namespace: Hashable = None) -> None:
        if (
            self.timers[clock].delete(timestamp, self.state.key, namespace)
            and self.trace.events is not None
        ):
            row = self._timer_set(clock, timestamp, self.state.key, namespace).row
            self.trace.events.append(TimerRemoved(self.context.subtask, row))

    def on_watermark(self, timestamp: int, out: list[Element]) -> None:
        """Fire every event-time timer that is due, in order; one that a timer sets for the past fires too."""
        self.watermark = timestamp
        queue = self.timers[EVENT]
        fired = 0
        while (due := queue.pop_due(timestamp)) is not None:
            fired += 1
            if fired > MOST_TIMERS:
                raise InvalidJob(
                    "too_many_timers",
                    f"One watermark fired more than {MOST_TIMERS:,} timers: on_timer keeps setting timers that are due.",
                    place=self.context.subtask,
                    mend="Set no new timer once the watermark has passed the last record.",
                )
            self._fire(EVENT, due, out)

    def on_clock(self, now: int, out: list[Element]) -> bool:
        """Fire one processing-time timer; True where another is due."""
        queue = self.timers[PROCESSING]
        due = queue.pop_due(now // 1000)
        if due is not None:
            self._fire(PROCESSING, due, out)
        upcoming = queue.next()
        return upcoming is not None and upcoming <= now // 1000

    def awaits_clock(self) -> bool:
        return self.timers[PROCESSING].next() is not None

    def _fire(self, clock: str, due: tuple[int, Any, Any], out: list[Element]) -> None:
        timestamp, key, namespace = due
        self.state.key = key
        if self.trace.events is not None:
            row = self._timer_set(clock, timestamp, key, namespace).row
            self.trace.events.append(
                TimerFired(self.context.subtask, row, text(original(key)), timestamp, clock)
            )
        self.on_timer(clock, timestamp, namespace, out)

    def on_timer(self, clock: str, timestamp: int, namespace: Any, out: list[Element]) -> None:
        """A timer of the current key is due."""

    def _timer_set(self, clock: str, timestamp: int, key: Any, namespace: Any) -> TimerSet:
        name = "timer" if clock == EVENT else "processing timer"
        if isinstance(namespace, str):
            name, namespace = f"{name} {namespace}", None
        row = row_id(name, key, namespace, timestamp)
        return TimerSet(self.context.subtask, row, text(original(key)), timestamp, clock)

    # Snapshots and keyframes

    def snapshot(self) -> KeyedPart | Incremental:
        stored = self.state.backend.snapshot()
        return KeyedOperator.savepoint(self) if stored is None else stored

    def savepoint(self) -> KeyedPart:
        part = self.part()
        for clean in self.state.cleaners:
            clean(part.tables)
        return part

    def part(self) -> KeyedPart:
        """All state and timers, as they are."""
        return KeyedPart(
            self.state.copy(), self.timers[EVENT].snapshot(), self.timers[PROCESSING].snapshot()
        )

    def restore(self, part: KeyedPart | Incremental | None) -> None:
        keyed = keyed_part(part)
        self.state.restored = frozenset(keyed.tables)
        self._load(keyed._replace(tables=in_order_of_expiry(keyed.tables)))
        self.state.backend.restored(part)

    def _load(self, part: KeyedPart) -> None:
        self.state.load(part.tables)
        self.timers[EVENT].load(part.event)
        self.timers[PROCESSING].load(part.processing)

    def entries(self) -> int:
        return self.state.entries() + sum(queue.count() for queue in self.timers.values())

    def keyframe(self) -> Any:
        return self.watermark, self.part(), self.state.key, self.state.backend.keyframe()

    def rewind(self, frame: Any) -> None:
        self.watermark, part, self.state.key, layout = frame
        self._load(part)
        self.state.backend.rewind(layout)

    def shown_state(self) -> Iterable[StatePut]:
        return self.state.shown()

    def shown_timers(self) -> Iterable[TimerSet]:
        return [
            self._timer_set(clock, timestamp, key, namespace)
            for clock, queue in self.timers.items()
            for timestamp, key, namespace in queue.items()
        ]


def keyed_part(part: KeyedPart | Incremental | None) -> KeyedPart:
    """The tables and timers that a part stands for, whichever backend has made it."""
    if part is None:
        return KeyedPart({}, {}, {})
    if type(part) is not Incremental:
        return part  # type: ignore[return-value]
    tables = whole(part)
    timers = {clock: tables.pop(TIMERS + clock, ("", {}))[1] for clock in (EVENT, PROCESSING)}
    states = {name.removeprefix(STATE): table for name, table in tables.items()}
    return KeyedPart(states, timers[EVENT], timers[PROCESSING])


def redistribute_keyed(
    parts: list[Any], owner: Callable[[Any], int], parallelism: int
) -> list[KeyedPart] | list[Incremental]:
    """Tables and timers go to the subtask that owns their key group. With the parallelism that they had, layers stay layers."""
    if keep_their_layers(parts, parallelism):
        return list(parts)
    present = [keyed_part(part) for part in parts if part]
    tables = split_tables(merge_tables([part.tables for part in present]), owner, parallelism)
    event: list[Timers] = [{} for _ in range(parallelism)]
    processing: list[Timers] = [{} for _ in range(parallelism)]
    for part in present:
        for source, target in ((part.event, event), (part.processing, processing)):
            for timestamp, held in source.items():
                for key, namespace in held:
                    target[owner(key)].setdefault(timestamp, {})[key, namespace] = None
    return list(map(KeyedPart, tables, event, processing))
