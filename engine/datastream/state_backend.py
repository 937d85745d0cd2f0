"""Which state backend a job has (pyflink.datastream.state_backend)."""

from __future__ import annotations

from typing import Any

from engine.datastream.checks import check_integer
from engine.datastream.transformation import caller
from engine.errors import InvalidJob
from engine.graph.durability import Durability
from engine.state.backends.backend import ROCKSDB, BackendSettings
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
    """What StreamExecutionEnvironment offers about backends. Each setting replaces the one value that the job gets."""

    def __init__(self) -> None:
        self._backend: StateBackend = HashMapStateBackend()
        self.durability = Durability()

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

    def _set_backend(self, backend: BackendSettings) -> None:
        self.durability = self.durability._replace(backend=backend)
