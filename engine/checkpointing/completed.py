"""Completed checkpoints, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from engine.checkpointing.snapshot import Elements
from engine.state.backends.parts import Incremental, Layer


class Completed(NamedTuple):
    """A checkpoint that can be restored: the parts of each operator by subtask index, and what was in flight."""

    checkpoint: int
    kind: str
    parts: dict[str, list[Any]]
    bytes: int
    in_flight: Elements


SAVEPOINT = "savepoint"


class MemoryStorage:
    """The completed checkpoints of the run's present; the newest is what recovery uses, also where
    an older savepoint took longer.

    retained: how many checkpoints are kept, 1 or more. An older one is subsumed. A savepoint belongs to whoever took it: it
    is kept. `completed` is never changed in place, so a keyframe of the run brings back what was subsumed since.
    """

    def __init__(self, retained: int = 1) -> None:
        self.retained = retained
        self.completed: tuple[Completed, ...] = ()

    def store(self, completed: Completed) -> None:
        held = sorted((*self.completed, completed), key=lambda one: one.checkpoint)
        self.completed = kept(tuple(held), self.retained)

    def latest(self) -> Completed | None:
        return self.completed[-1] if self.completed else None


def kept(completed: tuple[Completed, ...], retained: int) -> tuple[Completed, ...]:
    """What is left of these once older checkpoints are subsumed."""
    checkpoints = [one for one in completed if one.kind != SAVEPOINT]
    subsumed = {one.checkpoint for one in checkpoints[: len(checkpoints) - retained]}
    return tuple(one for one in completed if one.checkpoint not in subsumed)


def layers_in(part: Any) -> Iterator[Layer]:
    """The layers that a part of a checkpoint refers to."""
    if type(part) is Incremental:
        yield from part.layers
    elif isinstance(part, tuple | list):
        for item in part:
            yield from layers_in(item)


def shared_state(completed: Iterable[Completed]) -> list[tuple[Layer, int]]:
    """Every layer with the number of checkpoints that refer to it (Flink: SharedStateRegistry).

    A layer is released with the last checkpoint that refers to it. Layers are told apart by identity: each was written once.
    """
    counted: dict[int, tuple[Layer, int]] = {}
    for one in completed:
        layers = {id(layer): layer for parts in one.parts.values() for layer in layers_in(parts)}
        for identity, layer in layers.items():
            counted[identity] = layer, counted.get(identity, (layer, 0))[1] + 1
    return list(counted.values())
