"""What can be explored: anything that names what it can do next, does it, and can be put back.

`engine.checkpointing.chandy_lamport.ChandyLamport` is one as it is; `engine.explore.job.JobSystem` makes one of a job.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol


class Explorable(Protocol):
    """A system with one present state.

    `enabled`: ids of the possible actions, in an order that depends on the state alone.
    `apply`: take one of them.
    `capture`, `restore`: a copy of the state, and back to it, from any other state.
    `state_key`: equal for two states exactly where the same can happen from both and every invariant judges it alike; so
    it leaves out ids, steps, time and lineage.
    `independent`: whether two actions, in every state where both are possible, give the same state in either order and
    neither makes the other impossible. False is always safe; True where it does not hold loses violations.
    """

    def enabled(self) -> Sequence[str]: ...
    def apply(self, action: str, /) -> None: ...
    def capture(self) -> Any: ...
    def restore(self, state: Any, /) -> None: ...
    def state_key(self) -> Hashable: ...
    def independent(self, first: str, second: str, /) -> bool: ...
