"""The real engine with one rule of its checkpoints broken: what a counterexample is to be found for.

Each class changes one method of the runtime or its subtasks and keeps everything else.
"""

from __future__ import annotations

from typing import Any

from engine.checkpointing.barrier_handler import Decision, Trigger
from engine.deployment import Slot
from engine.events import Message
from engine.runtime import Runtime
from engine.subtask import Subtask
from engine.subtask_snapshots import SubtaskSnapshots


class WithoutAlignment(SubtaskSnapshots):
    """Takes its copy at the last barrier, and goes on taking from inputs whose barrier has come.

    So the copy holds the effect of records that the sources will read again.
    """

    def carry_out(self, decisions: list[Decision]) -> None:
        super().carry_out([decision for decision in decisions if isinstance(decision, Trigger)])


class UnalignedSubtask(Subtask):
    """A subtask without alignment."""

    snapshots_type = WithoutAlignment


class NoAlignment(Runtime):
    """Barriers do not hold back the records behind them."""

    subtask_type = UnalignedSubtask


class SnapshotAfterEmit(Runtime):
    """A subtask forwards the barrier first, and copies its state when the coordinator hears of it.

    The copy is of the live state: what arrived in between is in it and comes again.
    """

    def delivered(self, slot: Slot, kinds: tuple[str, ...]) -> tuple[Message, Any]:
        message, part = super().delivered(slot, kinds)
        if message.kind == "acknowledge":
            operator = self.deployment.subtasks[slot.subtask or ""].operator
            part = part._replace(state=operator.snapshot())
        return message, part


WRONG_BARRIERS: dict[str, type[Runtime]] = {
    "no alignment": NoAlignment,
    "snapshot after emit": SnapshotAfterEmit,
}
