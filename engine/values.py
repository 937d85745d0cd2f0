"""Values cross the interface by value, and are shown as short text.

PyFlink serialises what enters and leaves state and functions; a mutation that is not written back is lost there. The
engine keeps the same contract, and only therefore may a keyframe or a snapshot copy a table without copying its values.
"""

from __future__ import annotations

import copy
from typing import Any

IMMUTABLE: frozenset[type] = frozenset(
    {int, float, str, bool, bytes, complex, type(None), range, frozenset}
)
"""Types whose instances can be shared without a copy (a frozenset holds hashable, hence by convention immutable, items)."""

TEXT_LIMIT = 200


def by_value(value: Any) -> Any:
    """`value` itself where it cannot be mutated, else a deep copy."""
    kind = type(value)
    if kind in IMMUTABLE:
        return value
    if kind is tuple and IMMUTABLE.issuperset(map(type, value)):
        return value
    return copy.deepcopy(value)


def text(value: Any) -> str:
    """At most 200 characters that show `value`, the same in every process.

    Sets are shown sorted, since their order depends on the hash seed; an object without a `__repr__` of its own is shown
    by its type and attributes, since the default shows an address.
    """
    if isinstance(value, str):
        shown = value
    else:
        shown = _shown(value, 4)
    return shown if len(shown) <= TEXT_LIMIT else shown[: TEXT_LIMIT - 1] + "…"


def _shown(value: Any, depth: int) -> str:
    kind = type(value)
    if kind is float:
        return repr(round(value, 6))
    if kind in (int, str, bool, type(None), bytes):
        return repr(value)
    if depth == 0:
        return "…"
    if kind is tuple:
        inner = ", ".join(_shown(item, depth - 1) for item in value[:50])
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if kind is list:
        return "[" + ", ".join(_shown(item, depth - 1) for item in value[:50]) + "]"
    if kind is dict:
        pairs = (
            f"{_shown(k, depth - 1)}: {_shown(v, depth - 1)}" for k, v in list(value.items())[:50]
        )
        return "{" + ", ".join(pairs) + "}"
    if kind in (set, frozenset):
        return "{" + ", ".join(sorted(_shown(item, depth - 1) for item in value)) + "}"
    if "__repr__" not in {name for base in kind.__mro__[:-1] for name in vars(base)}:
        attributes = getattr(value, "__dict__", {})
        inner = ", ".join(f"{name}={_shown(item, depth - 1)}" for name, item in attributes.items())
        return f"{kind.__name__}({inner})"
    return repr(value)
