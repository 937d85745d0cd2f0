"""The size of state in bytes, as an estimate that is the same everywhere.

Eight bytes a number, one a character, and sixteen of overhead an entry. Large tables are sampled: the first 64 entries
stand for all. A part of a checkpoint has two sizes: all that it refers to, and what had to be written for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.state.backends.parts import Incremental, Row
from engine.values import Boxed

SAMPLE = 64
OVERHEAD = 16


def full_bytes(part: Any) -> int:
    """Bytes of all that a part of a checkpoint refers to."""
    return estimated_bytes(part)


def written_bytes(part: Any) -> int:
    """Bytes that had to be written for a part of a checkpoint, because no earlier one of its subtask has written them."""
    if type(part) is Incremental:
        fresh = part.layers[len(part.layers) - part.fresh :]
        return sum(layer.bytes for layer in fresh)
    if isinstance(part, tuple):
        return sum(map(written_bytes, part))
    return estimated_bytes(part)


def layer_bytes(
    changes: Sequence[Any], as_row: Callable[[Any], tuple[Row, Any]] = lambda change: change
) -> int:
    """The size of changes that a layer holds; a sample spread over all stands for many. as_row: change -> (row, value)."""
    if not changes:
        return 0
    sample = list(map(as_row, changes[:: max(1, len(changes) // SAMPLE)]))
    total = sum(
        OVERHEAD + sum(map(estimated_bytes, row[1:])) + estimated_bytes(value)
        for row, value in sample
    )
    return total * len(changes) // len(sample)


def estimated_bytes(value: Any) -> int:
    """Bytes that `value` would take in a snapshot, 0 for None."""
    if type(value) is Boxed:
        value = value.value
    kind = type(value)
    if value is None:
        return 0
    if kind in (int, float, bool):
        return 8
    if kind in (str, bytes):
        return len(value)
    if kind is dict:
        if not value:
            return 0
        sample = (
            [
                OVERHEAD + estimated_bytes(key) + estimated_bytes(held)
                for key, held in zip(value, value.values(), strict=True)
            ]
            if len(value) <= SAMPLE
            else [
                OVERHEAD + estimated_bytes(key) + estimated_bytes(value[key])
                for key, _ in zip(value, range(SAMPLE), strict=False)
            ]
        )
        return sum(sample) * len(value) // len(sample)
    if kind is Incremental:
        return sum(layer.bytes for layer in value.layers)
    if isinstance(value, tuple) or kind in (list, set, frozenset):
        return sum(map(estimated_bytes, value))
    return OVERHEAD + estimated_bytes(getattr(value, "__dict__", None))
