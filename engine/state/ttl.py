"""Time to live of keyed state, on the engine's clock.

Source: Flink's `StateTtlConfig` and `TtlStateFactory`. The expiry of a value is kept in a table beside it, so that a
snapshot holds both.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

from engine.state.backends.tracked import move_to_end
from engine.state.keyed_state import KeyedState, Tables


class Ttl(NamedTuple):
    """milliseconds: how long a value lives after its last update, or its last read if `on_read`.

    return_expired: an expired value that is still there is returned once more.
    clean_snapshots: expired values are left out of snapshots.
    incremental: how many entries each access looks at, to remove those that have expired; 0 for none.
    """

    milliseconds: int
    on_read: bool = False
    return_expired: bool = False
    clean_snapshots: bool = False
    incremental: int = 0


class Expiry:
    """When the values of one table expire: (key, entry or None) -> ms of the clock."""

    __slots__ = ("_name", "_state", "_table", "ttl")

    def __init__(self, state: KeyedState, name: str, ttl: Ttl) -> None:
        self._state = state
        self._name = name
        self._table = state.table(f"{name} (expiry)", "expiry")
        self.ttl = ttl
        if ttl.clean_snapshots:
            state.cleaners.append(self.clean)

    def touch(self, key: Any, entry: Any = None) -> None:
        held = self._table.setdefault(key, {})
        held.pop(entry, None)
        held[entry] = self._state.now() // 1000 + self.ttl.milliseconds
        move_to_end(self._table, key)  # for the cleanup

    def forget(self, key: Any, entry: Any = None) -> None:
        held = self._table.get(key)
        if held is not None:
            held.pop(entry, None)
            if not held:
                del self._table[key]

    def expired(self, key: Any, entry: Any = None) -> bool:
        expiry = self._table.get(key, {}).get(entry)
        return expiry is not None and expiry <= self._state.now() // 1000

    def clean(self, tables: Tables) -> None:
        """Take what has expired out of a copy of the tables (Flink: cleanupFullSnapshot)."""
        kind, values = tables.get(self._name, ("value", {}))
        expiries = tables.get(f"{self._name} (expiry)", ("expiry", {}))[1]
        for key, held in list(expiries.items()):
            for entry in [entry for entry in held if self.expired(key, entry)]:
                del held[entry]
                kept = values.get(key, {}) if kind == "map" else values
                kept.pop(entry if kind == "map" else key, None)
            if not held:
                del expiries[key]
                if kind == "map":
                    values.pop(key, None)

    def candidates(self) -> list[tuple[Any, Any]]:
        """Up to `incremental` expired (key, entry), the longest untouched first."""
        if not self.ttl.incremental:
            return []
        all_entries = ((key, entry) for key, held in self._table.items() for entry in held)
        looked_at = list(islice(all_entries, self.ttl.incremental))
        return [(key, entry) for key, entry in looked_at if self.expired(key, entry)]
