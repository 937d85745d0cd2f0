"""State as a log-structured merge tree, as in RocksDB: a memtable of changed rows, and sorted immutable runs with tombstones.

A snapshot flushes the memtable into a run and refers to all runs, so it costs what has changed. Runs are compacted by size:
a run's tier says how large it is, and where `FANOUT` runs of one tier stand with nothing larger behind them, those and what
is newer become one run. So there are at most `FANOUT` - 1 runs of each tier, and a row is written again about once a tier.
Everything happens in a snapshot, and depends on the rows alone.

The tables of the operators answer all reads, as a block cache would that never misses; runs are read when state is restored.

Sources: P. O'Neil et al., "The Log-Structured Merge-Tree", Acta Informatica 33, 1996; RocksDB's universal compaction;
Flink's `RocksIncrementalSnapshotStrategy`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from engine.state.backends.journaling import JournalingBackend
from engine.state.backends.parts import LSM, RUN, Layer, Layout, Row
from engine.state.sizes import layer_bytes

FANOUT = 4
SMALLEST = 64
"""Rows of the lowest tier."""

NEW, AGAIN, KEPT, GONE = range(4)
"""What has become of a changed row since the last flush: inserted where no run has it, removed and inserted again, given
another value, removed."""


def tier(rows: int) -> int:
    """0 for up to 64 rows, 1 for up to 256, and so on by fours."""
    return (((rows - 1) // SMALLEST).bit_length() + 1) // 2


class LsmBackend(JournalingBackend):
    """memtable: what has become of each row that has changed since the last flush; the values are in the tables.

    inserted: how many insertions have been flushed.
    """

    name = LSM

    def __init__(self) -> None:
        super().__init__()
        self.memtable: dict[Row, int] = {}
        self.inserted = 0

    def written(self, row: Row, new: bool, value: Any) -> None:
        memtable = self.memtable
        if not new:
            if row not in memtable:
                memtable[row] = KEPT
            return
        was = memtable.pop(row, NEW)
        memtable[row] = NEW if was == NEW else AGAIN  # at the end: in the order of insertion

    def removed(self, row: Row) -> None:
        if self.memtable.get(row) == NEW:
            del self.memtable[row]
        else:
            self.memtable[row] = GONE

    def store(self) -> int:
        before = self.layers
        if self.memtable:
            self.layers = (*before, self._flushed())
            self.memtable = {}
            self.layers = compacted(self.layers)
        kept = 0
        while kept < min(len(before), len(self.layers)) and before[kept] is self.layers[kept]:
            kept += 1
        return len(self.layers) - kept

    def _flushed(self) -> Layer:
        versions: dict[Row, Any] = {}
        tables = {name: table for name, (_, _, table) in self.tables.items()}
        newest_first = [layer.rows for layer in reversed(self.layers)]
        for row, became in self.memtable.items():
            if became == GONE:
                versions[row] = ()
                continue
            if len(row) == 2:
                value = tables[row[0]][row[1]]
            else:
                value = tables[row[0]][row[1]][row[2]]
            if became == KEPT:
                order = next(rows[row] for rows in newest_first if row in rows)[0]
                versions[row] = order, value
            else:
                versions[row] = self.inserted, value
                self.inserted += 1
        return run(versions)

    def adopt(self) -> None:
        self.memtable = {}
        orders = (held[0] for layer in self.layers for held in layer.rows.values() if held)
        self.inserted = max(orders, default=-1) + 1

    def reset(self) -> None:
        self.inserted = 0
        self.memtable = {row: NEW for row, _ in self.rows()}

    def keyframe(self) -> Layout:
        return Layout((self.layers, dict(self.memtable), self.inserted))

    def rewind(self, layout: Layout) -> None:
        self.layers, memtable, self.inserted = layout.held
        self.memtable = dict(memtable)


def run(versions: dict[Row, Any]) -> Layer:
    """A sorted run of these versions."""
    rows = {row: versions[row] for row in in_order(versions)}
    size = layer_bytes(list(rows.items()), lambda version: (version[0], version[1][1:]))
    return Layer(RUN, rows, size)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows sorted as they are, or by their text where keys of several types cannot be compared."""
    try:
        return sorted(rows)
    except TypeError:
        return sorted(rows, key=repr)


def compacted(runs: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Merge until no tier has `FANOUT` runs side by side."""
    while (start := _first_to_merge(runs)) is not None:
        runs = (*runs[:start], *merged(runs[start:], drop_tombstones=start == 0))
    return runs


def _first_to_merge(runs: Sequence[Layer]) -> int | None:
    """The place of the oldest run of the smallest tier that has enough runs, among the newest that are not larger."""
    tiers = [tier(len(layer.rows)) for layer in runs]
    for wanted in range(max(tiers, default=0) + 1):
        start = len(tiers)
        while start and tiers[start - 1] <= wanted:
            start -= 1
        places = [place for place in range(start, len(tiers)) if tiers[place] == wanted]
        if len(places) >= FANOUT:
            return places[0]
    return None


def merged(runs: Sequence[Layer], drop_tombstones: bool) -> list[Layer]:
    """One run with the newest version of each row. Where nothing older is left, tombstones hide nothing any more."""
    versions: dict[Row, Any] = {}
    for layer in runs:
        versions.update(layer.rows)
    if drop_tombstones:
        versions = {row: held for row, held in versions.items() if held}
    return [run(versions)] if versions else []
