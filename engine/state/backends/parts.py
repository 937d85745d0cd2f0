"""What a snapshot of a changelog or of an LSM tree is made of: layers, each written once and never changed.

A row is (table, key), or (table, key, entry) where the value of a key is itself a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

CHANGELOG = "changelog"
LSM = "lsm"

BASE, LOG, RUN = "base", "log", "run"

Row = tuple[Any, ...]
WholeTables = dict[str, tuple[str, dict[Any, Any]]]
"""table -> (kind, key -> value)"""


class Layer(NamedTuple):
    """One piece of state as it is stored; checkpoints share it.

    rows: of a base or a log, changes in order: (row, value), or (row,) where it was removed. Of a run, by row and sorted:
    (order, value), or () for a tombstone; `order` numbers rows by when they were inserted.
    bytes: its estimated size.
    """

    kind: str
    rows: Any
    bytes: int


class Incremental(NamedTuple):
    """One subtask's part of a snapshot, as references to layers.

    tables: (name, kind, whether a key's value is a table) of every table that is not empty.
    layers: oldest first. fresh: how many of the newest were written for this snapshot.
    """

    backend: str
    tables: tuple[tuple[str, str, bool], ...]
    layers: tuple[Layer, ...]
    fresh: int


class Layout(NamedTuple):
    """How a backend has laid its state out, as a keyframe holds it. It says nothing about what the state is."""

    held: Any


def whole(part: Incremental) -> WholeTables:
    """The tables that the layers add up to; later changes do not reach them."""
    tables: WholeTables = {name: (kind, {}) for name, kind, _ in part.tables}
    nested = {name for name, _, is_nested in part.tables if is_nested}
    changes = _merged(part.layers) if part.backend == LSM else _replayed(part.layers)
    for row, value in changes:
        table = tables[row[0]][1]
        if row[0] in nested:
            table.setdefault(row[1], {})[row[2]] = value
        else:
            table[row[1]] = value
    return tables


def _replayed(layers: Sequence[Layer]) -> Iterable[tuple[Row, Any]]:
    """The rows of a base and the logs behind it, in the order of their insertion."""
    rows: dict[Row, Any] = {}
    for layer in layers:
        for change in layer.rows:
            if len(change) == 1:
                rows.pop(change[0], None)
            else:
                rows[change[0]] = change[1]
    return rows.items()


def _merged(layers: Sequence[Layer]) -> Iterable[tuple[Row, Any]]:
    """The newest version of each row of sorted runs, in the order of their insertion."""
    newest: dict[Row, Any] = {}
    for run in layers:
        newest.update(run.rows)
    living = [(held[0], row, held[1]) for row, held in newest.items() if held]
    living.sort(key=lambda version: version[0])
    return ((row, value) for _, row, value in living)


def keep_their_layers(parts: Sequence[Any], parallelism: int) -> bool:
    """Whether every subtask can go on with the layers that it had: nothing is dealt out anew."""
    return len(parts) == parallelism and all(type(part) is Incremental for part in parts)
