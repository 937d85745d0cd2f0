"""Splits: the partitions of an input, and what their entries may be besides records.

Scripted entries let a lab or a test say when a split sends a watermark, falls silent, or waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.clock import on_clock
from engine.elements import MIN_TIMESTAMP, Element
from engine.event_time.watermarks import IdleTimer
from engine.values import is_immutable


class Skip(NamedTuple):
    """An entry of a split that holds no record: it is counted, with its reason."""

    line: int | None
    reason: str


class Broken(NamedTuple):
    """An entry that the source was told to refuse: reading it fails the subtask."""

    line: int | None
    reason: str
    file: str


class At(NamedTuple):
    """A scripted record with its timestamp, which the strategy's assigner may still replace."""

    value: Any
    timestamp: int


class EmitWatermark(NamedTuple):
    """A scripted watermark of this split."""

    timestamp: int


class SetIdle(NamedTuple):
    """A scripted change of status: the split is idle until its next entry, or active."""

    idle: bool = True


class Wait(NamedTuple):
    """The split has nothing more for so many ms of the engine's clock."""

    milliseconds: int

    def __repr__(self) -> str:
        return f"a wait of {on_clock(self.milliseconds * 1000)}"


class Raw(NamedTuple):
    """A watermark or status element that is sent as it is, whatever this split has said before."""

    element: Element


SCRIPT: frozenset[type] = frozenset({At, EmitWatermark, SetIdle, Wait, Raw})


class SplitData(NamedTuple):
    """A partition of the input: its name and its entries (values, `Skip` or `Broken`)."""

    name: str
    entries: Sequence[Any]

    def plain(self) -> bool:
        """Whether every entry is a record that nobody can mutate."""
        special = {Skip, Broken, *SCRIPT}
        return all(type(entry) not in special and is_immutable(entry) for entry in self.entries)

    def scripted(self) -> bool:
        """Whether some entry is more than a record, so that entries are read one at a time."""
        return any(type(entry) in SCRIPT for entry in self.entries)


class Split:
    """A split that is being read. `number` is its place among the splits of its subtask."""

    __slots__ = (
        "bit", "ended", "entries", "highest", "id", "idle", "name", "number", "offset", "paused", "plain",
        "ready_at", "scripted", "seen", "timer", "watermark",
    )  # fmt: skip

    def __init__(self, data: SplitData, split_id: str) -> None:
        self.name = data.name
        self.id = split_id
        self.entries = data.entries
        self.plain = data.plain()
        self.scripted = data.scripted()
        self.bit = 0
        self.number = 0
        self.offset = 0
        self.ended = False
        self.idle = False
        self.paused = False
        self.highest = MIN_TIMESTAMP
        self.watermark = MIN_TIMESTAMP
        self.ready_at: int | None = None
        """When a waiting split can be read again, in microseconds; None where it does not wait."""
        self.timer: IdleTimer | None = None
        self.seen = False
        """Whether a timestamp has been looked at for its magnitude; the first one is."""

    def keyframe(self) -> Any:
        timer = self.timer.keyframe() if self.timer else None
        return (
            self.offset, self.ended, self.idle, self.paused, self.highest, self.watermark, self.ready_at, timer,
            self.seen,
        )  # fmt: skip

    def rewind(self, frame: Any) -> None:
        (
            self.offset,
            self.ended,
            self.idle,
            self.paused,
            self.highest,
            self.watermark,
            self.ready_at,
            timer,
            self.seen,
        ) = frame
        if self.timer is not None:
            self.timer.rewind(timer)


def assign_splits(splits: Sequence[SplitData], parallelism: int, index: int) -> list[SplitData]:
    """The splits of subtask `index`: split i goes to subtask i mod parallelism."""
    return [split for number, split in enumerate(splits) if number % parallelism == index]
