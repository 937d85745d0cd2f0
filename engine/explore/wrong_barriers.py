"""The real engine with one rule of its checkpoints broken: what a counterexample is to be found for.

Each class changes one method of the runtime or its subtasks and keeps everything else.
"""

from __future__ import annotations

from typing import Any

from engine.checkpointing.barrier_handler import Trigger
from engine.deployment import Slot
from engine.runtime import Runtime
from engine.subtask import Subtask


class UnalignedSubtask(Subtask):
    """Takes its copy at the last barrier, and goes on taking from inputs whose barrier has come.

    So the copy holds the effect of records that the sources will read again.
    """

    def barrier_arrived(self, index: int, checkpoint: int) -> None:
        self.host.coordinator.barrier_arrived(self.id, checkpoint, len(self.inputs))
        for decision in self.handler.barrier(index, checkpoint):
            if isinstance(decision, Trigger):
                self.checkpoint(checkpoint)


class NoAlignment(Runtime):
    """Barriers do not hold back the records behind them."""

    subtask_type = UnalignedSubtask


class SnapshotAfterEmit(Runtime):
    """A subtask forwards the barrier first, and copies its state when the coordinator hears of it.

    The copy is of the live state: what arrived in between is in it and comes again.
    """

    def _deliver(self, slot: Slot, kind: str) -> tuple[int, Any]:
        checkpoint, part = super()._deliver(slot, kind)
        if kind == "acknowledge":
            part = self.deployment.subtasks[slot.subtask or ""].operator.snapshot()
        return checkpoint, part


WRONG_BARRIERS: dict[str, type[Runtime]] = {
    "no alignment": NoAlignment,
    "snapshot after emit": SnapshotAfterEmit,
}
