"""What the changelog and the LSM tree share: tracked tables, and layers that snapshots refer to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.state.backends.backend import Backend
from engine.state.backends.parts import Incremental, Layer, Layout, Row
from engine.state.backends.tracked import Tracked, TrackedNested, rows_of


class JournalingBackend(Backend):
    """A backend that hears of every change."""

    name = ""

    def __init__(self) -> None:
        self.tables: dict[str, tuple[str, bool, dict[Any, Any]]] = {}
        self.layers: tuple[Layer, ...] = ()

    def table(self, name: str, kind: str, nested: bool) -> dict[Any, Any]:
        table = TrackedNested(self, (name,)) if nested else Tracked(self, (name,))
        self.tables[name] = kind, nested, table
        return table

    def written(self, row: Row, new: bool, value: Any) -> None:
        raise NotImplementedError

    def removed(self, row: Row) -> None:
        raise NotImplementedError

    def rows(self) -> Iterator[tuple[Row, Any]]:
        """Every row, in the order of the tables."""
        for name, (_, nested, table) in self.tables.items():
            yield from rows_of(name, nested, table)

    def snapshot(self) -> Incremental:
        fresh = self.store()
        tables = tuple(
            (name, kind, nested) for name, (kind, nested, table) in self.tables.items() if table
        )
        return Incremental(self.name, tables, self.layers, fresh)

    def store(self) -> int:
        """Write what has changed since the last snapshot; how many of the newest layers are new."""
        raise NotImplementedError

    def restored(self, part: Any) -> None:
        if isinstance(part, Incremental) and part.backend == self.name:
            self.layers = part.layers
            self.adopt()
        else:
            self.layers = ()
            self.reset()

    def adopt(self) -> None:
        """The tables are what the layers say."""
        raise NotImplementedError

    def reset(self) -> None:
        """There are no layers: everything in the tables is new."""
        raise NotImplementedError

    def keyframe(self) -> Layout:
        raise NotImplementedError
