"""State as a base and the log of every change since, as in Flink's changelog state backend (FLIP-158).

A snapshot writes the changes since the one before it and refers to the rest. After so many changes the tables are written
as a new base and the log starts anew (materialisation; Flink does so by time, in the background).
"""

from __future__ import annotations

from typing import Any

from engine.state.backends.journaling import JournalingBackend
from engine.state.backends.parts import BASE, CHANGELOG, LOG, Layer, Layout, Row
from engine.state.sizes import layer_bytes


class ChangelogBackend(JournalingBackend):
    """log: changes since the last snapshot. logged: changes in the layers behind the base.

    due: the next snapshot writes a base, and nothing is logged until then.
    """

    name = CHANGELOG

    def __init__(self, materialize_every: int) -> None:
        super().__init__()
        self.materialize_every = materialize_every
        self.log: list[Any] = []
        self.logged = 0
        self.due = False

    def written(self, row: Row, new: bool, value: Any) -> None:
        if not self.due:
            log = self.log
            log.append((row, value))
            if self.logged + len(log) > self.materialize_every:
                self._materialize_next()

    def removed(self, row: Row) -> None:
        if not self.due:
            self.log.append((row,))
            if self.logged + len(self.log) > self.materialize_every:
                self._materialize_next()

    def _materialize_next(self) -> None:
        self.log.clear()
        self.due = True

    def store(self) -> int:
        if self.due:
            rows = tuple(self.rows())
            self.layers = (Layer(BASE, rows, layer_bytes(rows)),)
            self.logged, self.due = 0, False
            return 1
        if not self.log:
            return 0
        changes = tuple(self.log)
        size = layer_bytes(changes, lambda change: (change[0], change[1:]))
        self.layers = (*self.layers, Layer(LOG, changes, size))
        self.logged += len(changes)
        self.log.clear()
        return 1

    def adopt(self) -> None:
        self.log.clear()
        self.logged = sum(len(layer.rows) for layer in self.layers if layer.kind == LOG)
        self.due = False

    def reset(self) -> None:
        self.logged = 0
        self._materialize_next()

    def keyframe(self) -> Layout:
        return Layout((self.layers, tuple(self.log), self.logged, self.due))

    def rewind(self, layout: Layout) -> None:
        self.layers, log, self.logged, self.due = layout.held
        self.log[:] = log
