"""The real engine with a protocol for loops that is wrong: what counterexamples are to be found for.

Both are what comes of taking a loop for a graph without one.
"""

from __future__ import annotations

from engine.graph.checkpoint_settings import CheckpointSettings
from engine.runtime import Runtime
from engine.subtask import Subtask
from engine.subtask_snapshots import NOTHING, SubtaskSnapshots


class WithoutLog(SubtaskSnapshots):
    """The head of a loop acknowledges with its copy: what was on its way back belongs to nobody."""

    def take(
        self,
        checkpoint: int,
        unaligned: bool = False,
        recording: frozenset[int] = NOTHING,
        forward: bool = True,
    ) -> None:
        super().take(checkpoint, unaligned, recording - self.subtask.feedback, forward)


class BarrierFromTheBackEdgeFirst(SubtaskSnapshots):
    """The head of a loop waits for a barrier on the way back before it copies its state: the one that it has not sent yet."""

    def __init__(self, subtask: Subtask, settings: CheckpointSettings) -> None:
        super().__init__(subtask, settings)
        self.awaited = len(subtask.inputs)
        self.handler.open |= subtask.feedback


class SubtaskWithoutLog(Subtask):
    snapshots_type = WithoutLog


class SubtaskAwaitingItself(Subtask):
    snapshots_type = BarrierFromTheBackEdgeFirst


class NoLoopLog(Runtime):
    """A checkpoint of a loop is complete without what was on its way back."""

    subtask_type = SubtaskWithoutLog


class AwaitsTheBackEdge(Runtime):
    """No checkpoint of a loop is ever complete, and nothing comes in any more."""

    subtask_type = SubtaskAwaitingItself
