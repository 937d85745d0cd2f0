"""State handles, with the names of `pyflink.datastream.state`: what a user function reads and writes.

A handle works on the current key. It belongs to its operator: a copy of the function keeps the handle of its deployment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from engine.state.key_groups import canonical, original
from engine.state.keyed_state import KeyedState
from engine.state.ttl import Expiry, Ttl
from engine.values import Attached, loaded, stored


class Handle(Attached):
    """A table, read and written for the current key."""

    __slots__ = ("_expiry", "_name", "_state", "_table")

    kind = "value"

    def __init__(self, state: KeyedState, name: str, ttl: Ttl | None = None) -> None:
        self._state = state
        self._name = name
        self._table = state.table(name, self.kind)
        self._expiry = Expiry(state, name, ttl) if ttl else None

    def attachment(self) -> tuple[str, str]:
        return type(self).__name__, self._name

    def clear(self) -> None:
        """Remove the state of the current key."""
        self._drop(self._state.key)

    # What the kinds share. `entry` is a canonical map key, or None.

    def _read(self) -> Any:
        """What is held for the current key, or None; an expired value is removed."""
        key = self._state.key
        if self._expiry is not None:
            self._clean()
            if self._expiry.expired(key):
                held = self._table.get(key)
                self._drop(key)
                return held if self._expiry.ttl.return_expired else None
            if self._expiry.ttl.on_read and key in self._table:
                self._expiry.touch(key)
        return self._table.get(key)

    def _write(self, value: Any) -> None:
        key = self._state.key
        self._table[key] = value
        if self._expiry is not None:
            self._expiry.touch(key)
            self._clean()
        events = self._state.rows.trace.events
        if events is not None:
            events.append(self._state.rows.put(self._name, key, value))

    def _drop(self, key: Any) -> None:
        if self._table.pop(key, None) is not None:
            events = self._state.rows.trace.events
            if events is not None:
                events.append(self._state.rows.removed(self._name, key))
        if self._expiry is not None:
            self._expiry.forget(key)

    def _clean(self) -> None:
        assert self._expiry is not None
        for key, _ in self._expiry.candidates():
            if key != self._state.key:
                self._drop(key)


class ValueState(Handle):
    """One value per key."""

    __slots__ = ()

    def value(self) -> Any:
        """The value of the current key, or None."""
        return loaded(self._read())

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        else:
            self._write(stored(value))


class ListState(Handle):
    """A list per key, kept as a tuple of stored values."""

    __slots__ = ()

    kind = "list"

    def get(self) -> list[Any]:
        return [loaded(item) for item in self._read() or ()]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add(self, value: Any) -> None:
        self._write((*(self._read() or ()), stored(value)))

    def add_all(self, values: list[Any]) -> None:
        self._write((*(self._read() or ()), *map(stored, values)))

    def update(self, values: list[Any]) -> None:
        if values:
            self._write(tuple(map(stored, values)))
        else:
            self.clear()


class ReducingState(Handle):
    """A value per key that every added value is reduced into."""

    __slots__ = ("_reduce",)

    kind = "reducing"

    def __init__(
        self,
        state: KeyedState,
        name: str,
        reduce: Callable[[Any, Any], Any],
        ttl: Ttl | None = None,
    ) -> None:
        super().__init__(state, name, ttl)
        self._reduce = reduce

    def get(self) -> Any:
        return loaded(self._read())

    def add(self, value: Any) -> None:
        held = self._read()
        self._write(stored(value if held is None else self._reduce(loaded(held), value)))


class AggregatingState(Handle):
    """An accumulator per key that every added value is folded into."""

    __slots__ = ("_aggregate",)

    kind = "aggregating"

    def __init__(
        self, state: KeyedState, name: str, aggregate: Any, ttl: Ttl | None = None
    ) -> None:
        super().__init__(state, name, ttl)
        self._aggregate = aggregate

    def get(self) -> Any:
        held = self._read()
        return None if held is None else self._aggregate.get_result(loaded(held))

    def add(self, value: Any) -> None:
        held = self._read()
        accumulator = self._aggregate.create_accumulator() if held is None else loaded(held)
        self._write(stored(self._aggregate.add(value, accumulator)))


class MapState(Handle):
    """A map per key. Map keys are canonical inside, so that 1 and True are two entries; each entry lives on its own."""

    __slots__ = ()

    kind = "map"

    def _map(self) -> dict[Any, Any]:
        key = self._state.key
        found: dict[Any, Any] = self._table.get(key) or {}
        if self._expiry is not None:
            for entry in [entry for entry in found if self._expiry.expired(key, entry)]:
                self._drop_entry(key, entry)
            self._clean()
        return self._table.get(key) or {}

    def get(self, key: Any) -> Any:
        entry = canonical(key)
        found = self._map().get(entry)
        if found is not None and self._expiry is not None and self._expiry.ttl.on_read:
            self._expiry.touch(self._state.key, entry)
        return loaded(found)

    def put(self, key: Any, value: Any) -> None:
        entry, value = canonical(key), stored(value)
        self._table.setdefault(self._state.key, {})[entry] = value
        if self._expiry is not None:
            self._expiry.touch(self._state.key, entry)
        events = self._state.rows.trace.events
        if events is not None:
            events.append(self._state.rows.put(self._name, self._state.key, value, entry=entry))

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self._drop_entry(self._state.key, canonical(key))

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

    def _drop(self, key: Any) -> None:
        for entry in list(self._table.get(key) or ()):
            self._drop_entry(key, entry)

    def _drop_entry(self, key: Any, entry: Any) -> None:
        held = self._table.get(key)
        if held is not None and entry in held:
            del held[entry]
            if not held:
                del self._table[key]
            events = self._state.rows.trace.events
            if events is not None:
                events.append(self._state.rows.removed(self._name, key, entry=entry))
        if self._expiry is not None:
            self._expiry.forget(key, entry)

    def _clean(self) -> None:
        assert self._expiry is not None
        for key, entry in self._expiry.candidates():
            self._drop_entry(key, entry)

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
