"""Hashable forms of what the engine's objects hold, equal where the values are.

Values are compared with their types, since 1 == True == 1.0 in Python. The order of a dict counts, because a job can see
it; the order of keys in a table of keyed state cannot be seen and does not count. Nor does how a backend has laid state out.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from engine.operators.keyed import KeyedPart
from engine.state.backends.parts import Incremental, Layout, whole
from engine.state.keyed_state import Tables
from engine.values import Attached, Boxed

_PLAIN = frozenset({int, str, type(None), bytes})
_WITH_TRUTHS = _PLAIN | {bool}


def frozen(value: Any) -> Hashable:
    """A hashable stand-in for `value`."""
    kind = type(value)
    if kind in _PLAIN:
        held: Hashable = value
        return held
    if kind in (bool, float, complex):
        return kind.__name__, repr(value)
    if kind is tuple or kind is list:
        kinds = set(map(type, value))
        if kinds <= _PLAIN:
            return kind.__name__, tuple(value)
        if kinds <= _WITH_TRUTHS:
            return kind.__name__, tuple(value), tuple(map(type, value))
        return kind.__name__, tuple(map(frozen, value))
    if kind is KeyedPart:
        return _tables(value.tables), _timers(value.event), _timers(value.processing)
    if kind is Incremental:
        return _tables(whole(value))
    if kind is Layout:
        return None
    if isinstance(value, tuple | list):
        return kind.__name__, tuple(map(frozen, value))
    if isinstance(value, dict):
        return "dict", tuple((frozen(key), frozen(held)) for key, held in value.items())
    if isinstance(value, set | frozenset):
        return "set", frozenset(map(frozen, value))
    if kind is Boxed:
        return "boxed", frozen(value.value)
    if isinstance(value, Attached):
        return "attached", value.attachment()
    attributes = getattr(value, "__dict__", None)
    if attributes is not None:
        return f"{kind.__module__}.{kind.__qualname__}", frozen(dict(attributes))
    return f"{kind.__module__}.{kind.__qualname__}", repr(value)


def _tables(tables: Tables) -> Hashable:
    return frozenset(
        (name, kind, frozenset((frozen(key), frozen(held)) for key, held in table.items()))
        for name, (kind, table) in tables.items()
        if table
    )


def _timers(timers: dict[int, dict[Any, None]]) -> Hashable:
    """Timers fire by time, then in order of registration; times without timers do not count."""
    return tuple(
        (timestamp, tuple(frozen(timer) for timer in timers[timestamp]))
        for timestamp in sorted(timers)
        if timers[timestamp]
    )
