"""Aligned barriers, as states that return the next state.

Source: Flink's `SingleCheckpointBarrierHandler` with `WaitingForFirstBarrier` and `CollectingBarriers`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class WaitingForFirstBarrier(NamedTuple):
    """No barrier seen yet: every input is open."""


class CollectingBarriers(NamedTuple):
    """The barrier of `checkpoint` has come on the inputs in `received`, which are blocked; the others are open."""

    checkpoint: int
    received: tuple[int, ...]


class AllBarriersReceived(NamedTuple):
    """The barrier has come on every input: snapshot now, then forward it and open the inputs."""

    checkpoint: int


AlignmentState: TypeAlias = WaitingForFirstBarrier | CollectingBarriers
WAITING = WaitingForFirstBarrier()


def barrier_received(
    state: AlignmentState, index: int, checkpoint: int, inputs: int
) -> CollectingBarriers | AllBarriersReceived:
    """The state after the barrier of `checkpoint` came on input `index` of `inputs`.

    A barrier of a newer checkpoint starts a new alignment: the older one was given up.
    """
    received: tuple[int, ...] = (index,)
    if isinstance(state, CollectingBarriers) and state.checkpoint == checkpoint:
        received = (*state.received, index)
    return (
        AllBarriersReceived(checkpoint)
        if len(received) == inputs
        else CollectingBarriers(checkpoint, received)
    )
