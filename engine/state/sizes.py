"""The size of state in bytes, as an estimate that is the same everywhere.

Eight bytes a number, one a character, and sixteen of overhead an entry. Large tables are sampled: the first 64 entries
stand for all.
"""

from __future__ import annotations

from typing import Any

from engine.values import Boxed

SAMPLE = 64
OVERHEAD = 16


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
    if kind in (tuple, list, set, frozenset):
        return sum(map(estimated_bytes, value))
    return OVERHEAD + estimated_bytes(getattr(value, "__dict__", None))
