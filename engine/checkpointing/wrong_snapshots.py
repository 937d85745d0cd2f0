"""Chandy and Lamport's algorithm with one rule broken: what a counterexample is to be found for.

Each class breaks one rule of `ChandyLamport` and keeps the others, so that a schedule that breaks it says why the rule is
there. `WRONG_SNAPSHOTS` has them by name, each as (network) -> runner.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.checkpointing.chandy_lamport import UNRECORDED, ChandyLamport
from engine.checkpointing.process_network import ProcessNetwork


class NoChannelState(ChandyLamport):
    """Records processes only: tokens that are on their way when the cut passes are in no record."""

    def _take_tokens(self, link: int, tokens: int) -> None:
        self.tokens[self.target[link]] += tokens


class LateMarkers(ChandyLamport):
    """Sends its markers some time after recording, by an action of its own (`markers:P`).

    Tokens that are sent in between stand before the marker: sent after the cut, and recorded as if before it.
    """

    def enabled(self) -> list[str]:
        owing = [name for name, owed in zip(self.processes, self.owed, strict=True) if owed]
        return [*super().enabled(), *(f"markers:{process}" for process in owing)]

    def apply(self, action: str) -> None:
        kind, _, process = action.partition(":")
        if kind != "markers" or process not in self.processes:
            super().apply(action)
            return
        index = self.processes.index(process)
        if not self.owed[index]:
            raise self._impossible(action, f"{process} owes no markers")
        for snapshot in self.owed[index]:
            super()._send_markers(index, snapshot)
        self.owed[index] = ()

    def _send_markers(self, process: int, snapshot: int) -> None:
        self.owed[process] += (snapshot,)

    def acting(self, action: str) -> int:
        kind, _, process = action.partition(":")
        return self.processes.index(process) if kind == "markers" else super().acting(action)


class WrongId(ChandyLamport):
    """Does not look at the number of a marker: takes it for one of the newest snapshot that it takes part in."""

    def _take_marker(self, link: int, snapshot: int) -> None:
        count = len(self.processes)
        process = self.target[link]
        begun = [
            number
            for number in range(len(self.network.snapshots))
            if self.recorded[number * count + process] != UNRECORDED
        ]
        super()._take_marker(link, max([snapshot, *begun]))


def not_fifo(network: ProcessNetwork) -> ChandyLamport:
    """The right protocol on links that keep no order: a marker no longer separates before from after."""
    return ChandyLamport(network.unordered())


WRONG_SNAPSHOTS: dict[str, Callable[[ProcessNetwork], ChandyLamport]] = {
    "no channel state": NoChannelState,
    "marker sent late": LateMarkers,
    "non-FIFO channel": not_fifo,
    "wrong id": WrongId,
}

AS_PUBLISHED = "as Chandy and Lamport say"

PROTOCOLS: dict[str, Callable[[ProcessNetwork], ChandyLamport]] = {
    AS_PUBLISHED: ChandyLamport,
    **WRONG_SNAPSHOTS,
}
"""What a lab may let its students choose from."""
