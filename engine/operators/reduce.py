"""Rolling reduce of a keyed stream: emits the new value for every record.

Source: Flink's `StreamGroupedReduceOperator`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from engine.elements import Element
from engine.events import StatePut
from engine.operators.base import Context
from engine.operators.map import Stateless
from engine.operators.runtime_context import RuntimeContext
from engine.state.keyed_state import KeyedState, Tables, merge_tables, split_tables
from engine.values import IMMUTABLE, Boxed, by_value, is_immutable, loaded, stored

STATE = "reduced"


class ReduceOperator(Stateless):
    """State: the value reduced so far, by key."""

    keyed = True
    method = "reduce"

    def __init__(self, context: Context, function: Any) -> None:
        super().__init__(context, function)
        self.state = KeyedState(context.rows())
        self.table = self.state.table(STATE, "value")

    def open(self) -> None:
        self.function.open(RuntimeContext(self.context, self.state))

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        call = self.call
        table = self.table
        events = self.trace.events
        for _, value, timestamp, key in records:
            if key in table:
                held = table[key]
                value = call(loaded(held) if type(held) is Boxed else held, value)
            if type(value) in IMMUTABLE or is_immutable(value):
                table[key] = value
            else:
                table[key] = stored(value)
                value = by_value(value)
            out.append((0, value, timestamp, None))
            if events is not None:
                events.append(self.state.rows.put(STATE, key, value))

    def snapshot(self) -> Tables:
        return self.state.copy()

    def restore(self, part: Tables | None) -> None:
        self.state.load(part or {})

    def entries(self) -> int:
        return len(self.table)

    def keyframe(self) -> Any:
        return self.watermark, self.function.keyframe(), self.state.copy()

    def rewind(self, frame: Any) -> None:
        self.watermark = frame[0]
        self.function.rewind(frame[1])
        self.state.load(frame[2])

    def shown_state(self) -> Iterable[StatePut]:
        return self.state.shown()


def redistribute_tables(
    parts: list[Any], owner: Callable[[Any], int], parallelism: int
) -> list[Any]:
    """Keyed state goes to the subtask that owns its key group."""
    return list(split_tables(merge_tables([part for part in parts if part]), owner, parallelism))
