"""How a job's state is kept: the settings of backends and of checkpoint storage, as one value."""

from __future__ import annotations

from typing import NamedTuple

from engine.state.backends import BackendSettings


class Durability(NamedTuple):
    """backend: where state lives. retained: how many completed checkpoints are kept, 1 or more (Flink's default: 1).

    directory: where checkpoints are written for other processes, or None to keep them in memory. Only a run by
    `env.execute` writes there.
    """

    backend: BackendSettings = BackendSettings()
    retained: int = 1
    directory: str | None = None
