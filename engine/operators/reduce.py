"""Rolling reduce of a keyed stream: emits the new value for every record.

Source: Flink's `StreamGroupedReduceOperator`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.elements import Element
from engine.operators.base import Context
from engine.operators.keyed_function import KeyedFunctionOperator
from engine.values import IMMUTABLE, Boxed, by_value, is_immutable, loaded, stored

STATE = "reduced"
_NEW = object()


class ReduceOperator(KeyedFunctionOperator):
    """State: the value reduced so far, by key."""

    uses_clock = False

    def __init__(self, context: Context, function: Any) -> None:
        super().__init__(context, function)
        self.call: Any = getattr(self.function.instance, "reduce", self.function.instance)
        self.table = self.state.table(STATE, "value")

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        call = self.call
        table = self.table
        get = table.get
        events = self.trace.events
        for _, value, timestamp, key in records:
            held = get(key, _NEW)
            if held is not _NEW:
                value = call(loaded(held) if type(held) is Boxed else held, value)
            if type(value) in IMMUTABLE or is_immutable(value):
                table[key] = value
            else:
                table[key] = stored(value)
                value = by_value(value)
            out.append((0, value, timestamp, key))
            if events is not None:
                events.append(self.state.rows.put(STATE, key, value))
