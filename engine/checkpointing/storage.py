"""Completed checkpoints, in memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.checkpointing.snapshot import Elements


class Completed(NamedTuple):
    """A checkpoint that can be restored: the parts of each operator by subtask index, and what was in flight."""

    checkpoint: int
    kind: str
    parts: dict[str, list[Any]]
    bytes: int
    in_flight: Elements


class MemoryStorage:
    """Keeps every completed checkpoint of the run's present; the newest is what recovery uses."""

    __slots__ = ("completed",)

    def __init__(self) -> None:
        self.completed: tuple[Completed, ...] = ()

    def store(self, completed: Completed) -> None:
        self.completed = (*self.completed, completed)

    def latest(self) -> Completed | None:
        return self.completed[-1] if self.completed else None
