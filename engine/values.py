"""Values cross the interface by value, and are shown as short text.

PyFlink serialises what enters and leaves state and functions; a mutation that is not written back is lost there. The
engine keeps the same contract. An element's value belongs to whoever takes it; a table holds values that nobody else can
reach, so that a keyframe or a snapshot copies the table and not its values.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Hashable
from types import FunctionType
from typing import Any

from engine.errors import USER_ERRORS

IMMUTABLE: frozenset[type] = frozenset(
    {int, float, str, bool, bytes, complex, type(None), range, frozenset}
)
"""Types whose instances can be shared without a copy (a frozenset holds hashable, hence by convention immutable, items)."""

TEXT_LIMIT = 200
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


class Boxed:
    """A private copy of a value that could be mutated, as a state table holds it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Boxed) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Boxed({self.value!r})"


def is_immutable(value: Any) -> bool:
    """Whether `value` can be shared: an immutable scalar, or a tuple of such."""
    kind = type(value)
    if kind in IMMUTABLE:
        return True
    if kind is not tuple and not (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return False
    for item in value:  # noqa: SIM110 - a generator would take twice as long
        if type(item) not in IMMUTABLE and not is_immutable(item):
            return False
    return True


def by_value(value: Any) -> Any:
    """`value` itself where it cannot be mutated, else a deep copy."""
    return value if type(value) in IMMUTABLE or is_immutable(value) else copy.deepcopy(value)


ATTACHED = "attached"
"""Where the memo of a deep copy says which objects the copy is to hold instead of those of another deployment."""


class Attached:
    """An object that belongs to an operator, not to the user function that holds it: a state handle, a context.

    A copy of the function keeps it; a copy made for another deployment gets that deployment's own.
    """

    __slots__ = ()

    def attachment(self) -> Hashable:
        """What names this object's role in any deployment."""
        return type(self).__name__

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        return memo.get(ATTACHED, {}).get(self.attachment(), self)


def stored(value: Any) -> Any:
    """`value` as a table holds it: itself, or a boxed copy where it could be mutated."""
    return value if type(value) in IMMUTABLE or is_immutable(value) else Boxed(copy.deepcopy(value))


def loaded(held: Any) -> Any:
    """What a user function gets of a table's value: itself, or a copy of its own."""
    return copy.deepcopy(held.value) if type(held) is Boxed else held


def text(value: Any) -> str:
    """At most 200 characters that show `value`, the same in every process.

    Sets are shown sorted, since their order depends on the hash seed; an object without a `__repr__` of its own is shown
    by its type and attributes, since the default shows an address.
    """
    if type(value) is Boxed:
        value = value.value
    if isinstance(value, str):
        shown = value
    else:
        try:
            shown = _shown(value, 4)
        except USER_ERRORS:
            shown = (
                f"{type(value).__name__}(?)"  # showing a value is never the reason why a job fails
            )
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
    method: Any = kind.__repr__
    attributes = None
    if method is object.__repr__ or hasattr(method, "__wrapped__"):  # the one of a dataclass
        attributes = getattr(value, "__dict__", {})
    elif getattr(method, "__module__", "") == "collections" and hasattr(value, "_asdict"):
        attributes = value._asdict()
    if attributes is not None:
        inner = ", ".join(f"{name}={_shown(item, depth - 1)}" for name, item in attributes.items())
        return f"{kind.__name__}({inner})"
    if not isinstance(method, FunctionType) or method.__module__ == "collections":
        # The repr of a subclass of a container shows sets in the order of their hashes.
        for base in (tuple, dict, list, set, frozenset):
            if isinstance(value, base):
                return f"{kind.__name__}({_shown(base(value), depth - 1)})"
    return without_addresses(repr(value))


def without_addresses(shown: str) -> str:
    """`shown` without the memory addresses that a default `__repr__` puts in, which differ from process to process."""
    return _ADDRESS.sub("", shown)
