"""The real engine with one rule of its checkpoints broken: what a counterexample is to be found for.

Each class changes one method of the runtime or its subtasks and keeps everything else.
"""

from __future__ import annotations

from typing import Any

from engine.checkpointing.barrier_handler import Decision, Trigger
from engine.checkpointing.snapshot import SnapshotInProgress
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


class ForgetfulSnapshots(SubtaskSnapshots):
    """Keeps nothing of what was in flight: neither what barriers overtook nor what came before the others."""

    def _save(self, part: SnapshotInProgress, *elements: Any) -> None:
        pass


class NoChannelState(Runtime):
    """Unaligned checkpoints without what was in flight: records that a barrier has overtaken are lost."""

    class subtask_type(Subtask):
        snapshots_type = ForgetfulSnapshots


class LiveSnapshots(SubtaskSnapshots):
    """Uploads the live state: what is in the storage at the end is younger than the barrier."""

    def _settle(self, part: SnapshotInProgress) -> None:
        if not part.recording and not part.left:
            part.state = self.subtask.operator.snapshot()
        super()._settle(part)


class AliasedSnapshot(Runtime):
    """The asynchronous part writes the objects that the subtask goes on changing, without a copy of them."""

    class subtask_type(Subtask):
        snapshots_type = LiveSnapshots


class DeafSnapshots(SubtaskSnapshots):
    """Does not listen when a checkpoint is given up: inputs stay blocked for barriers that will not come."""

    def cancel_arrived(self, checkpoint: int) -> None:
        pass

    def abort(self, checkpoint: int) -> None:
        if not self.subtask.inputs:
            super().abort(checkpoint)


class ForgetsCancel(Runtime):
    """A subtask takes no notice of a checkpoint that was given up."""

    class subtask_type(Subtask):
        snapshots_type = DeafSnapshots


WRONG_BARRIERS: dict[str, type[Runtime]] = {
    "no alignment": NoAlignment,
    "snapshot after emit": SnapshotAfterEmit,
}
"""Those that a checkpoint and a failure break under aligned barriers."""
