"""The heap backend, which is also what the two others are to the operators.

Source: Flink's `HeapKeyedStateBackend`. A snapshot of the heap is full: the operator copies its tables, never the values,
which nobody mutates in place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.state.backends.parts import Incremental, Layout

HASHMAP, ROCKSDB = "hashmap", "rocksdb"


class BackendSettings(NamedTuple):
    """Which backend a job has.

    kind: "hashmap" or "rocksdb". incremental: whether snapshots of "rocksdb" share sorted runs; else they are full.
    changelog: whether changes are logged behind a base instead. materialize_every: after so many changes, 1 or more, a
    changelog writes a new base.
    """

    kind: str = HASHMAP
    incremental: bool = False
    changelog: bool = False
    materialize_every: int = 50_000


class Backend:
    """The tables of one subtask, on the heap."""

    def table(self, name: str, kind: str, nested: bool) -> dict[Any, Any]:
        """A new table. nested: whether the value of a key is itself a table."""
        return {}

    def snapshot(self) -> Incremental | None:
        """References to what is stored already, after storing what is new; None: copy the tables."""
        return None

    def restored(self, part: Any) -> None:
        """The tables have been loaded from this part of a checkpoint: go on with its layers, where it has some of the kind."""

    def keyframe(self) -> Layout:
        """How the state is laid out, beside the tables."""
        return Layout(None)

    def rewind(self, layout: Layout) -> None:
        """The tables have been loaded from the keyframe that this layout belongs to."""


def make_backend(settings: BackendSettings) -> Backend:
    from engine.state.backends.changelog import ChangelogBackend
    from engine.state.backends.lsm import LsmBackend

    if settings.changelog:
        return ChangelogBackend(settings.materialize_every)
    if settings.kind == ROCKSDB and settings.incremental:
        return LsmBackend()
    return Backend()
