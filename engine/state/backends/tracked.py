"""Tables that tell a journal which rows change. They are dicts, so that whoever reads them pays nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from engine.state.backends.parts import Row


class Journal(Protocol):
    """Who is told, after the change."""

    def written(self, row: Row, new: bool, value: Any) -> None: ...
    def removed(self, row: Row) -> None: ...


class Unheard:
    """The journal of a table that was taken out of its place."""

    def written(self, row: Row, new: bool, value: Any) -> None:
        pass

    def removed(self, row: Row) -> None:
        pass


UNHEARD = Unheard()
_MISSING = object()
_set = dict.__setitem__


class Tracked(dict[Any, Any]):
    """The values of keys, or of the entries of one key; `prefix` is the beginning of a row's name."""

    __slots__ = ("journal", "prefix", "removed", "written")

    def __init__(self, journal: Journal, prefix: Row) -> None:
        super().__init__()
        self.prefix = prefix
        self.tell(journal)

    def tell(self, journal: Journal) -> None:
        """Tell this journal from now on."""
        self.journal = journal
        self.written, self.removed = journal.written, journal.removed

    def __setitem__(self, key: Any, value: Any) -> None:
        new = key not in self
        _set(self, key, value)
        self.written((*self.prefix, key), new, value)

    def __delitem__(self, key: Any) -> None:
        dict.__delitem__(self, key)
        self.removed((*self.prefix, key))

    def pop(self, key: Any, default: Any = _MISSING) -> Any:
        if key not in self:
            if default is _MISSING:
                raise KeyError(key)
            return default
        value = dict.pop(self, key)
        self.removed((*self.prefix, key))
        return value

    def popitem(self) -> tuple[Any, Any]:
        key = next(reversed(self))
        return key, self.pop(key)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, other: Any = (), /, **more: Any) -> None:
        for key, value in dict(other, **more).items():
            self[key] = value

    def __ior__(self, other: Any) -> Tracked:  # type: ignore[misc]
        self.update(other)
        return self

    def clear(self) -> None:
        for key in list(self):
            del self[key]


class TrackedNested(Tracked):
    """Tables of entries by key. What is put in is copied into a tracked table of its own: read it back to write to it."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        held = self.get(key)
        if held is value and held is not None:
            return
        if held is None:
            held = Tracked(self.journal, (*self.prefix, key))
            dict.__setitem__(self, key, held)
        else:
            held.clear()
        held.update(value)

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def pop(self, key: Any, default: Any = _MISSING) -> Any:
        held = dict.pop(self, key, None)
        if held is None:
            if default is _MISSING:
                raise KeyError(key)
            return default
        held.tell(UNHEARD)
        for entry in held:
            self.removed((*self.prefix, key, entry))
        return held


def move_to_end(table: dict[Any, Any], key: Any) -> None:
    """Put a key behind all others, which changes no row."""
    dict.__setitem__(table, key, dict.pop(table, key))


def rows_of(name: str, nested: bool, table: dict[Any, Any]) -> Iterable[tuple[Row, Any]]:
    """Every (row, value) of a table, in its order."""
    if not nested:
        return (((name, key), value) for key, value in table.items())
    return (
        ((name, key, entry), value) for key, held in table.items() for entry, value in held.items()
    )
