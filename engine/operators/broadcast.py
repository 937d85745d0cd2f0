"""Broadcast state: every subtask sees every rule, and applies it to its own records.

Sources: Flink's `CoBroadcastWithNonKeyedOperator` and `CoBroadcastWithKeyedOperator`. The second input is the broadcast one.
Each subtask snapshots its copy; after a rescale, subtask i takes over the copy of the old subtask i mod p.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from engine.elements import Element
from engine.errors import LearnerMistake
from engine.events import StatePut, StateRemoved
from engine.operators.base import Context
from engine.operators.keyed import EVENT, KeyedPart, redistribute_keyed
from engine.operators.keyed_function import KeyedFunctionOperator
from engine.operators.process import FunctionContext, attach, collect
from engine.state.backends.parts import Incremental
from engine.state.codec import writable
from engine.state.key_groups import canonical, original
from engine.state.operator_state import NO_GROUP, broadcast_items
from engine.values import loaded, stored, text

BroadcastTables = dict[str, dict[Any, Any]]


@writable
class BroadcastPart(NamedTuple):
    """One subtask's part of a snapshot."""

    keyed: KeyedPart | Incremental
    tables: BroadcastTables


class BroadcastState:
    """A map that is the same in every subtask; read-only on the side of the records (PyFlink: BroadcastState)."""

    def __init__(self, operator: BroadcastProcessOperator, name: str, writable: bool) -> None:
        self._operator = operator
        self._name = name
        self._writable = writable
        self._table = operator.tables.setdefault(name, {})

    def get(self, key: Any) -> Any:
        return loaded(self._table.get(canonical(key)))

    def contains(self, key: Any) -> bool:
        return canonical(key) in self._table

    def items(self) -> Iterator[tuple[Any, Any]]:
        return ((original(key), loaded(value)) for key, value in list(self._table.items()))

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        return (value for _, value in self.items())

    def put(self, key: Any, value: Any) -> None:
        self._check()
        entry, value = canonical(key), stored(value)
        self._table[entry] = value
        self._operator.note(self._operator.row(self._name, entry, value))

    def remove(self, key: Any) -> None:
        self._check()
        entry = canonical(key)
        if self._table.pop(entry, None) is not None:
            self._operator.note(
                StateRemoved(
                    self._operator.context.subtask, self._operator.row_name(self._name, entry)
                )
            )

    def clear(self) -> None:
        for key in list(self.keys()):
            self.remove(key)

    def _check(self) -> None:
        if not self._writable:
            raise LearnerMistake(
                "read_only_broadcast_state",
                "Broadcast state can be read, not changed, while a record of the other input is processed.",
                place=self._operator.context.subtask,
                mend="Change it in process_broadcast_element, where every subtask does the same.",
            )


class BroadcastContext(FunctionContext):
    """Gives access to broadcast state."""

    def __init__(self, operator: BroadcastProcessOperator) -> None:
        super().__init__(operator)
        self.writable = False

    def get_broadcast_state(self, state_descriptor: Any) -> BroadcastState:
        operator = self._operator
        assert isinstance(operator, BroadcastProcessOperator)
        return BroadcastState(operator, state_descriptor.name, self.writable)


class BroadcastProcessOperator(KeyedFunctionOperator):
    """function: process_element(value, ctx) and process_broadcast_element(value, ctx)."""

    fanout = None

    def __init__(self, context: Context, function: Any) -> None:
        super().__init__(context, function)
        self.function_context = BroadcastContext(self)
        self.tables: BroadcastTables = {}

    def open(self) -> None:
        super().open()
        attach(self.function, self.function_context)

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        self._process("process_element", False, records, out)

    def process2(self, records: Sequence[Element], out: list[Element]) -> None:
        self._process("process_broadcast_element", True, records, out)

    def _process(
        self, method: str, writable: bool, records: Sequence[Element], out: list[Element]
    ) -> None:
        call = getattr(self.function.instance, method)
        context = self.function_context
        for _, value, timestamp, key in records:
            self.state.key = key
            context.writable = writable
            context.current_timestamp = timestamp
            collect(self, call(value, context), timestamp, out)

    def on_timer(self, clock: str, timestamp: int, namespace: Any, out: list[Element]) -> None:
        call = getattr(self.function.instance, "on_timer", None)
        if call is not None:
            context = self.function_context
            context.writable = False
            context.current_timestamp, context.domain = timestamp, clock
            collect(self, call(timestamp, context), timestamp if clock == EVENT else None, out)

    # Rows

    def note(self, event: StatePut | StateRemoved) -> None:
        if self.trace.events is not None:
            self.trace.events.append(event)

    @staticmethod
    def row_name(name: str, entry: Any) -> str:
        return f"broadcast {name}/{entry!r}"

    def row(self, name: str, entry: Any, value: Any) -> StatePut:
        shown = text(original(entry))
        return StatePut(
            self.context.subtask,
            self.row_name(name, entry),
            name,
            "(all)",
            NO_GROUP,
            None,
            shown,
            text(value),
        )

    def shown_state(self) -> Iterable[StatePut]:
        yield from super().shown_state()
        for name, table in self.tables.items():
            for entry, value in table.items():
                yield self.row(name, entry, value)

    def entries(self) -> int:
        return super().entries() + sum(map(len, self.tables.values()))

    # Snapshots

    def snapshot(self) -> BroadcastPart:  # type: ignore[override]
        return BroadcastPart(super().snapshot(), self._copies())

    def savepoint(self) -> BroadcastPart:  # type: ignore[override]
        return BroadcastPart(super().savepoint(), self._copies())

    def _copies(self) -> BroadcastTables:
        return {name: dict(table) for name, table in self.tables.items()}

    def restore(self, part: Any) -> None:
        keyed, tables = part or (None, {})
        super().restore(keyed)
        self.tables.clear()
        for name, table in tables.items():
            self.tables[name] = dict(table)

    def keyframe(self) -> Any:
        part = BroadcastPart(self.part(), self._copies())
        layout = self.state.backend.keyframe()
        return self.watermark, part, self.state.key, self.function.keyframe(), layout

    def rewind(self, frame: Any) -> None:
        self.watermark, part, self.state.key, function, layout = frame
        self.restore(part)
        self.state.backend.rewind(layout)
        self.function.rewind(function)


def redistribute_broadcast(
    parts: list[Any], owner: Callable[[Any], int], parallelism: int
) -> list[Any]:
    """Keyed state by key group; broadcast state round robin over the old copies."""
    present = [part for part in parts if part]
    keyed = redistribute_keyed([part.keyed for part in present], owner, parallelism)
    copies = broadcast_items([part.tables for part in present] or [{}], parallelism)
    return list(map(BroadcastPart, keyed, copies))
