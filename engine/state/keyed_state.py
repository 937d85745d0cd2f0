"""Keyed state: tables from key to value, handled by value.

Values are never mutated in place: what a handle returns is a copy where it could be mutated, and what it is given is
copied on the way in. A snapshot and a keyframe therefore copy the tables, never the values. The backend makes the tables: on the
heap they are plain dicts, otherwise they note what changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from engine.errors import InvalidJob
from engine.events import StatePut, StateRemoved
from engine.state.backends import Backend
from engine.state.key_groups import assign_to_key_group, original
from engine.trace import Trace
from engine.values import text

NESTED = frozenset({"map", "window", "expiry", "merging"})
"""Kinds of tables whose value per key is itself a table: by map key, or by window."""

UNSHOWN = frozenset({"expiry", "merging"})
"""Kinds of tables that the engine keeps for itself: they are saved and moved, not shown."""

STATE = "state "
"""What the backend's names of these tables begin with; those of timers begin otherwise."""

Tables = dict[str, tuple[str, dict[Any, Any]]]
"""name -> (kind, key -> value)"""


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
        row = row_id(name, key, window, entry)
        return StatePut(
            self.subtask,
            row,
            name,
            text(original(key)),
            self.group(key),
            None if window is None else (window[0], window[1]),
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

    __slots__ = ("backend", "cleaners", "key", "now", "restored", "rows", "tables")

    def __init__(
        self, rows: Rows, now: Callable[[], int] = lambda: 0, backend: Backend | None = None
    ) -> None:
        self.rows = rows
        self.backend = backend or Backend()
        self.now = now
        """The engine's clock, in microseconds; only what has a time to live looks at it."""
        self.key: Any = None
        self.tables: Tables = {}
        self.restored: frozenset[str] = frozenset()
        """The tables that the deployment was started with."""
        self.cleaners: list[Callable[[Tables], None]] = []
        """What takes expired values out of the copy that goes into a snapshot."""

    def table(self, name: str, kind: str) -> dict[Any, Any]:
        """The table `name`, made where there is none yet."""
        known = self.tables.get(name)
        if known is None:
            table = self.backend.table(STATE + name, kind, kind in NESTED)
            self.tables[name] = (kind, table)
            return table
        if known[0] != kind:
            if name in self.restored:
                raise InvalidJob(
                    "state_type",
                    f"State {name!r} is {known[0]} state in what is restored, and {kind} state in this job.",
                    place=self.rows.subtask,
                    mend="Keep its kind, or give the new state another name.",
                )
            raise InvalidJob(
                "state_type",
                f"State {name!r} was declared as {known[0]} state and as {kind} state.",
                place=self.rows.subtask,
                mend="Give each state descriptor of an operator a name of its own.",
            )
        return known[1]

    def entries(self) -> int:
        return sum(
            sum(map(len, table.values())) if kind in NESTED else len(table)
            for kind, table in self.tables.values()
            if kind not in UNSHOWN
        )

    def copy(self) -> Tables:
        """A copy that later changes do not reach. Empty tables are left out: when they were made depends on the way here."""
        return {
            name: (
                kind,
                {key: dict(held) for key, held in table.items()} if kind in NESTED else dict(table),
            )
            for name, (kind, table) in self.tables.items()
            if table
        }

    def load(self, tables: Tables) -> None:
        """Take over a copy made by `copy`. Tables keep their identity, since closures hold them."""
        for name, (_, table) in self.tables.items():
            if name not in tables:
                table.clear()
        for name, (kind, saved) in tables.items():
            table = self.table(name, kind)
            table.clear()
            if kind in NESTED:
                table.update({key: dict(held) for key, held in saved.items()})
            else:
                table.update(saved)

    # Changes by whoever has no handle

    def put(self, name: str, table: dict[Any, Any], window: tuple[int, int], value: Any) -> None:
        """Set the value of the current key and a window in a table of kind "window"."""
        held = table.get(self.key)
        if held is None:
            held = table.setdefault(self.key, {})
        held[window] = value
        if self.rows.trace.events is not None and self.tables[name][0] not in UNSHOWN:
            self.rows.trace.events.append(self.rows.put(name, self.key, value, window))

    def remove(self, name: str, table: dict[Any, Any], window: tuple[int, int]) -> Any:
        """Remove and return the value of the current key and a window, or None."""
        held = table.get(self.key)
        if held is None or window not in held:
            return None
        value = held.pop(window)
        if not held:
            del table[self.key]
        if self.rows.trace.events is not None and self.tables[name][0] not in UNSHOWN:
            self.rows.trace.events.append(self.rows.removed(name, self.key, window))
        return value

    def shown(self) -> Iterator[StatePut]:
        """Every row, as the event that would add it."""
        for name, (kind, table) in self.tables.items():
            for key, value in table.items():
                if kind == "map":
                    for entry, held in value.items():
                        yield self.rows.put(name, key, held, entry=entry)
                elif kind == "window":
                    for window, held in value.items():
                        yield self.rows.put(name, key, held, window)
                elif kind not in UNSHOWN:
                    yield self.rows.put(name, key, value)


def in_order_of_expiry(tables: Tables) -> Tables:
    """The same with expiries in the order of time, whichever parts they were put together from: cleaning goes by it."""
    return {
        name: (
            kind,
            dict(sorted(table.items(), key=lambda held: max(held[1].values())))
            if kind == "expiry"
            else table,
        )
        for name, (kind, table) in tables.items()
    }


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
