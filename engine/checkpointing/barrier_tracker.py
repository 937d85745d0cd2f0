"""What a subtask decides about barriers where none of them blocks an input: at least once.

The copy is taken when a barrier has come on every input, so it holds the effect of what came behind barriers meanwhile.
Several checkpoints may be under way at once. Answers with the decisions of `barrier_handler`.

Source: Flink's `CheckpointBarrierTracker`.
"""

from __future__ import annotations

from typing import Any

from engine.checkpointing.barrier_handler import (
    CANCELLED,
    SUBSUMED,
    Abort,
    Alignment,
    Decision,
    Trigger,
)

MOST_TRACKED = 50
"""How many checkpoints are tracked at once; the oldest is forgotten for a new one."""


class BarrierTracker:
    """The tracker of one subtask with so many inputs.

    pending: (checkpoint, inputs on which its barrier has come) of what is under way, oldest first.
    newest: the newest checkpoint that was triggered or given up, or -1.
    """

    __slots__ = ("inputs", "newest", "pending")

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.newest = -1
        self.pending: tuple[Alignment, ...] = ()

    def barrier(self, index: int, checkpoint: int, unaligned: bool = False) -> list[Decision]:
        """A barrier came on an input."""
        if checkpoint <= self.newest:
            return []
        known = next((one for one in self.pending if one.checkpoint == checkpoint), None)
        received = (*known.received, index) if known else (index,)
        others = tuple(one for one in self.pending if one.checkpoint != checkpoint)
        if len(received) == self.inputs:
            self.newest = checkpoint
            self.pending = tuple(one for one in others if one.checkpoint > checkpoint)
            return [Trigger(checkpoint, False)]
        tracked = sorted((*others, Alignment(checkpoint, received)))
        self.pending = tuple(tracked[-MOST_TRACKED:])
        return []

    def cancel(self, checkpoint: int) -> list[Decision]:
        """A sender, or the coordinator, has given a checkpoint up, and with it those before it."""
        if checkpoint <= self.newest:
            return []
        self.newest = checkpoint
        older = [one.checkpoint for one in self.pending if one.checkpoint < checkpoint]
        self.pending = tuple(one for one in self.pending if one.checkpoint > checkpoint)
        return [*(Abort(one, SUBSUMED) for one in older), Abort(checkpoint, CANCELLED)]

    def collects(self, checkpoint: int) -> bool:
        """Whether the barriers of this checkpoint are being counted."""
        return any(one.checkpoint == checkpoint for one in self.pending)

    def alignment(self) -> Alignment | None:
        """The oldest checkpoint whose barriers are being counted, or None."""
        return self.pending[0] if self.pending else None

    def reset(self) -> None:
        """Forget what is being counted."""
        self.pending = ()

    def keyframe(self) -> Any:
        return self.newest, self.pending

    def rewind(self, frame: Any) -> None:
        self.newest, self.pending = frame
