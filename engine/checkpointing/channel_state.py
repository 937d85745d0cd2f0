"""Who takes over the elements that were in flight, when the parallelism has changed in between.

Source: Flink's `SubtaskStateMapper` and the `getDownstreamSubtaskStateMapper` of its stream partitioners.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.state.key_groups import (
    UPPER_BOUND_MAX_PARALLELISM,
    key_group_range,
    operator_index_for_key_group,
)

Mapping = list[list[int]]
"""For each new subtask, the old ones whose elements it reads."""


def round_robin(old: int, new: int) -> Mapping:
    """Each old subtask has one heir: the new one with its number, modulo the new parallelism."""
    return [list(range(index, old, new)) for index in range(new)]


def first(old: int, new: int) -> Mapping:
    """The first new subtask inherits everything."""
    return [list(range(old)), *([] for _ in range(new - 1))]


def full(old: int, new: int) -> Mapping:
    """Every new subtask reads everything, and keeps what is its own."""
    return [list(range(old)) for _ in range(new)]


def key_group_ranges(old: int, new: int) -> Mapping:
    """A new subtask reads the old ones whose ranges of key groups meet its own, and keeps what is its own."""
    found = []
    for index in range(new):
        start, end = key_group_range(UPPER_BOUND_MAX_PARALLELISM, new, index)
        owners = [
            operator_index_for_key_group(UPPER_BOUND_MAX_PARALLELISM, old, group)
            for group in (start, end)
        ]
        found.append(list(range(owners[0], owners[1] + 1)))
    return found


class Mapper:
    """How the elements of the channels of one edge are spread. ambiguous: several read the same, so each must filter."""

    __slots__ = ("ambiguous", "name", "new_to_old")

    def __init__(
        self, name: str, new_to_old: Callable[[int, int], Mapping], ambiguous: bool
    ) -> None:
        self.name = name
        self.new_to_old = new_to_old
        self.ambiguous = ambiguous


ARBITRARY = Mapper("ARBITRARY", round_robin, False)
ROUND_ROBIN = Mapper("ROUND_ROBIN", round_robin, False)
FIRST = Mapper("FIRST", first, False)
FULL = Mapper("FULL", full, True)
RANGE = Mapper("RANGE", key_group_ranges, True)

MAPPERS = {mapper.name: mapper for mapper in (ARBITRARY, ROUND_ROBIN, FIRST, FULL, RANGE)}

OF_PARTITIONER = {
    "hash": RANGE,
    "rebalance": ROUND_ROBIN,
    "shuffle": ROUND_ROBIN,
    "global": FIRST,
    "custom": FULL,
}
"""Edges whose barriers may overtake, by the name of their partitioner. Barriers of others always stay in line."""
