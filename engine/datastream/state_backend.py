"""Which state backend a job has (pyflink.datastream.state_backend), and the settings that go with it."""

from __future__ import annotations

from typing import Any

from engine.checkpointing.savepoint import Savepoint, only_claimed
from engine.checkpointing.storage import read_snapshot
from engine.datastream.checkpoint_storage import plain_path
from engine.datastream.checks import check_integer
from engine.datastream.configuration import (
    BACKEND,
    CHANGELOG,
    IGNORE_UNCLAIMED,
    INCREMENTAL,
    RESTORE,
    RETAINED,
    Configuration,
    Start,
)
from engine.datastream.transformation import caller
from engine.errors import InvalidJob
from engine.graph.durability import Durability
from engine.graph.job_graph import JobGraph
from engine.state.backends.backend import HASHMAP, ROCKSDB, BackendSettings
from engine.values import text


class StateBackend:
    """The root of the backends."""

    def settings(self) -> BackendSettings:
        return BackendSettings()


class HashMapStateBackend(StateBackend):
    """State in hash tables; every snapshot is full."""


class EmbeddedRocksDBStateBackend(StateBackend):
    """State as an LSM tree. With incremental checkpointing a snapshot writes only what has changed; without, it is full."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = bool(enable_incremental_checkpointing)

    def is_incremental_checkpoints_enabled(self) -> bool:
        return self._incremental

    def settings(self) -> BackendSettings:
        return BackendSettings(ROCKSDB, self._incremental)


class StateBackendMethods:
    """What StreamExecutionEnvironment offers about backends, and about where a job starts from. Each setting replaces the one value that the job gets."""

    def __init__(self) -> None:
        self._backend: StateBackend = HashMapStateBackend()
        self.durability = Durability()
        self._start = Start()

    def set_state_backend(self, state_backend: StateBackend) -> Any:
        if not isinstance(state_backend, StateBackend):
            raise InvalidJob(
                "state_backend",
                f"{text(state_backend)} is not a state backend.",
                place=caller(),
                mend="Use HashMapStateBackend() or EmbeddedRocksDBStateBackend(True).",
            )
        chosen, before = state_backend.settings(), self.durability.backend
        self._backend = state_backend
        self._set_backend(before._replace(kind=chosen.kind, incremental=chosen.incremental))
        return self

    def get_state_backend(self) -> StateBackend:
        return self._backend

    def enable_changelog_state_backend(self, enabled: bool) -> Any:
        """Log every change of state behind a base, on top of the backend that is set."""
        self._set_backend(self.durability.backend._replace(changelog=bool(enabled)))
        return self

    def is_changelog_state_backend_enabled(self) -> bool:
        return self.durability.backend.changelog

    def set_changelog_materialization(self, changes: int) -> Any:
        """After so many logged changes of a subtask the next snapshot writes a base. In Flink it is a time (10 minutes)."""
        checked = check_integer("materialization", "Changes between two bases", changes, 1)
        self._set_backend(self.durability.backend._replace(materialize_every=checked))
        return self

    def configure(self, configuration: Configuration) -> None:
        kind = configuration.choice(BACKEND, HASHMAP, ROCKSDB)
        incremental = configuration.truth(INCREMENTAL)
        if kind is not None or incremental is not None:
            backend = self.durability.backend
            rocksdb = (kind or backend.kind) == ROCKSDB
            incremental = backend.incremental if incremental is None else incremental
            self.set_state_backend(
                EmbeddedRocksDBStateBackend(incremental) if rocksdb else HashMapStateBackend()
            )
        changelog = configuration.truth(CHANGELOG)
        if changelog is not None:
            self.enable_changelog_state_backend(changelog)
        retained = configuration.number(RETAINED)
        if retained is not None:
            self.durability = self.durability._replace(retained=retained)
        path = configuration.get_string(RESTORE)
        if path is not None:
            self._start = self._start._replace(path=plain_path(path))
        ignore = configuration.truth(IGNORE_UNCLAIMED)
        if ignore is not None:
            self._start = self._start._replace(allow_non_restored_state=ignore)

    def start(self, graph: JobGraph) -> Savepoint | None:
        """What the job is to be started from, read and checked; None: from nothing."""
        if self._start.path is None:
            return None
        savepoint = read_snapshot(self._start.path, graph)
        if self._start.allow_non_restored_state:
            return only_claimed(graph, savepoint)
        return savepoint

    def _set_backend(self, backend: BackendSettings) -> None:
        self.durability = self.durability._replace(backend=backend)
