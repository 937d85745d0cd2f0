"""Keyed state on a heap: tables from key to value, handled by value.

Values are never mutated in place: what a handle returns is a copy where it could be mutated, and what it is given is
copied on the way in. A snapshot and a keyframe therefore copy the tables, never the values.

Source: Flink's `HeapKeyedStateBackend`; handles have the names of `pyflink.datastream.state`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from engine.errors import InvalidJob
from engine.events import StatePut, StateRemoved
from engine.state.key_groups import assign_to_key_group, canonical, original
from engine.trace import Trace
from engine.values import Attached, loaded, stored, text

Tables = dict[str, tuple[str, dict[Any, Any]]]
"""name -> (kind, key -> value); for kind "map" a value is a dict from entry to value."""


class Rows:
    """How rows of keyed state are named and announced; one per operator."""

    __slots__ = ("_groups", "key_type", "max_parallelism", "subtask", "trace")

    def __init__(
        self, subtask: str, trace: Trace, max_parallelism: int, key_type: str | None
    ) -> None:
        self.subtask = subtask
        self.trace = trace
        self.max_parallelism = max_parallelism
        self.key_type = key_type
        self._groups: dict[Any, int] = {}

    def group(self, key: Any) -> int:
        """The key group of a canonical key."""
        group = self._groups.get(key)
        if group is None:
            group = assign_to_key_group(original(key), self.max_parallelism, self.key_type)
            if len(self._groups) >= 100_000:
                self._groups.clear()
            self._groups[key] = group
        return group

    def put(
        self,
        name: str,
        key: Any,
        value: Any,
        window: tuple[int, int] | None = None,
        entry: Any = None,
    ) -> StatePut:
        shown = None if entry is None else text(original(entry))
        return StatePut(
            self.subtask,
            row_id(name, key, window, entry),
            name,
            text(original(key)),
            self.group(key),
            window,
            shown,
            text(value),
        )

    def removed(
        self, name: str, key: Any, window: tuple[int, int] | None = None, entry: Any = None
    ) -> StateRemoved:
        return StateRemoved(self.subtask, row_id(name, key, window, entry))


def row_id(name: str, key: Any, window: tuple[int, int] | None = None, entry: Any = None) -> str:
    """The id of one row, the same in every process."""
    where = "" if window is None else f"/{window[0]}:{window[1]}"
    return f"{name}/{key!r}{where}" if entry is None else f"{name}/{key!r}{where}/{entry!r}"


class KeyedState:
    """All tables of one keyed operator, and the key that they are read for now."""

    __slots__ = ("key", "rows", "tables")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.key: Any = None
        self.tables: Tables = {}

    def table(self, name: str, kind: str) -> dict[Any, Any]:
        """The table `name`, made where there is none yet."""
        known = self.tables.get(name)
        if known is None:
            table: dict[Any, Any] = {}
            self.tables[name] = (kind, table)
            return table
        if known[0] != kind:
            raise InvalidJob(
                "state_type",
                f"State {name!r} was declared as {known[0]} state and as {kind} state.",
                mend="Give each state descriptor of an operator a name of its own.",
            )
        return known[1]

    def entries(self) -> int:
        return sum(
            sum(map(len, table.values())) if kind == "map" else len(table)
            for kind, table in self.tables.values()
        )

    def copy(self) -> Tables:
        """A copy that later changes do not reach."""
        return {
            name: (
                kind,
                {key: dict(held) for key, held in table.items()} if kind == "map" else dict(table),
            )
            for name, (kind, table) in self.tables.items()
        }

    def load(self, tables: Tables) -> None:
        """Take over a copy made by `copy`. Tables keep their identity, since closures hold them."""
        for name, (_, table) in self.tables.items():
            if name not in tables:
                table.clear()
        for name, (kind, saved) in tables.items():
            table = self.table(name, kind)
            table.clear()
            if kind == "map":
                table.update({key: dict(held) for key, held in saved.items()})
            else:
                table.update(saved)

    def shown(self) -> Iterator[StatePut]:
        """Every row, as the event that would add it."""
        for name, (kind, table) in self.tables.items():
            for key, value in table.items():
                if kind == "map":
                    for entry, held in value.items():
                        yield self.rows.put(name, key, held, entry=entry)
                else:
                    yield self.rows.put(name, key, value)


def split_tables(tables: Tables, owner: Callable[[Any], int], parts: int) -> list[Tables]:
    """Distribute tables over `parts` subtasks by `owner(canonical key)`."""
    split: list[Tables] = [
        {name: (kind, {}) for name, (kind, _) in tables.items()} for _ in range(parts)
    ]
    for name, (_, table) in tables.items():
        for key, value in table.items():
            split[owner(key)][name][1][key] = value
    return split


def merge_tables(parts: list[Tables]) -> Tables:
    """One set of tables out of the tables of all subtasks, whose keys are disjoint."""
    merged: Tables = {}
    for part in parts:
        for name, (kind, table) in part.items():
            merged.setdefault(name, (kind, {}))[1].update(table)
    return merged


class Handle(Attached):
    """A state handle: a table, read and written for the current key."""

    __slots__ = ("_name", "_state", "_table")

    def __init__(self, state: KeyedState, name: str, kind: str) -> None:
        self._state = state
        self._name = name
        self._table = state.table(name, kind)

    def attachment(self) -> tuple[str, str]:
        return type(self).__name__, self._name

    def _note(self, value: Any, entry: Any = None) -> None:
        events = self._state.rows.trace.events
        if events is not None:
            events.append(self._state.rows.put(self._name, self._state.key, value, entry=entry))

    def _note_removed(self, entry: Any = None) -> None:
        events = self._state.rows.trace.events
        if events is not None:
            events.append(self._state.rows.removed(self._name, self._state.key, entry=entry))


class ValueState(Handle):
    """One value per key."""

    __slots__ = ()

    def value(self) -> Any:
        """The value of the current key, or None."""
        return loaded(self._table.get(self._state.key))

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        self._table[self._state.key] = stored(value)
        self._note(value)

    def clear(self) -> None:
        if self._table.pop(self._state.key, None) is not None:
            self._note_removed()


class MapState(Handle):
    """A map per key. Entry keys are canonical inside, so that 1 and True are two entries."""

    __slots__ = ()

    def _map(self) -> dict[Any, Any]:
        found: dict[Any, Any] = self._table.get(self._state.key) or {}
        return found

    def get(self, key: Any) -> Any:
        return loaded(self._map().get(canonical(key)))

    def put(self, key: Any, value: Any) -> None:
        held = self._table.get(self._state.key)
        if held is None:
            held = self._table[self._state.key] = {}
        entry = canonical(key)
        held[entry] = stored(value)
        self._note(value, entry)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        held = self._map()
        entry = canonical(key)
        if entry in held:
            del held[entry]
            self._note_removed(entry)
            if not held:
                del self._table[self._state.key]

    def contains(self, key: Any) -> bool:
        return canonical(key) in self._map()

    def items(self) -> Iterator[tuple[Any, Any]]:
        for entry, value in list(self._map().items()):
            yield original(entry), loaded(value)

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        return (value for _, value in self.items())

    def is_empty(self) -> bool:
        return not self._map()

    def clear(self) -> None:
        for entry in list(self._map()):
            self._note_removed(entry)
        self._table.pop(self._state.key, None)

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return self.keys()
