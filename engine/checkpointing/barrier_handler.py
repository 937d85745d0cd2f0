"""What a subtask decides when barriers, cancellations and ends arrive, as states that return the next state.

The handler is a machine of its own: it is told what arrived on which input and answers with decisions, which the subtask
carries out. It never sees a record.

Source: Flink 2.2 `SingleCheckpointBarrierHandler` with `AlternatingWaitingForFirstBarrier`,
`AlternatingCollectingBarriers` and `AlternatingCollectingBarriersUnaligned`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

SUBSUMED = "CHECKPOINT_DECLINED_SUBSUMED"
CANCELLED = "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER"


class Block(NamedTuple):
    """Take nothing from this input until it is resumed."""

    input: int


class Resume(NamedTuple):
    """Take from this input again."""

    input: int


class Trigger(NamedTuple):
    """Snapshot now and forward the barrier."""

    checkpoint: int
    unaligned: bool


class Abort(NamedTuple):
    """The checkpoint is given up, for a reason named as in Flink's CheckpointFailureReason."""

    checkpoint: int
    reason: str


class StartChannelState(NamedTuple):
    """From here on, what arrives before the barrier on an input belongs to the checkpoint."""

    checkpoint: int


class StopChannelState(NamedTuple):
    """The last barrier has come, or the checkpoint was given up: nothing more belongs to it."""

    checkpoint: int


Decision: TypeAlias = Block | Resume | Trigger | Abort | StartChannelState | StopChannelState


class WaitingForFirstBarrier(NamedTuple):
    """No barrier seen yet: every input is open. The first barrier says whether the checkpoint aligns."""

    def barrier(
        self, handler: BarrierHandler, index: int, unaligned: bool
    ) -> tuple[State, list[Decision]]:
        if not unaligned:
            return CollectingBarriers(()).barrier(handler, index, unaligned)
        state, decisions = CollectingUnaligned().end(handler)
        return state, [*_overtaking(handler.checkpoint), *decisions]

    def abort(self, handler: BarrierHandler) -> list[Decision]:
        return []


class CollectingBarriers(NamedTuple):
    """The barrier has come on the inputs in `blocked`; the others are open until it comes there too."""

    blocked: tuple[int, ...]

    def barrier(
        self, handler: BarrierHandler, index: int, unaligned: bool
    ) -> tuple[State, list[Decision]]:
        if unaligned:
            return self.time_out(handler)
        return CollectingBarriers((*self.blocked, index))._advanced(handler, [Block(index)])

    def end(self, handler: BarrierHandler) -> tuple[State, list[Decision]]:
        return self._advanced(handler, [])

    def time_out(self, handler: BarrierHandler) -> tuple[State, list[Decision]]:
        """Alignment takes too long: open what was blocked, and snapshot now."""
        state, decisions = CollectingUnaligned().end(handler)
        return state, [*self.abort(handler), *_overtaking(handler.checkpoint), *decisions]

    def _advanced(
        self, handler: BarrierHandler, decisions: list[Decision]
    ) -> tuple[State, list[Decision]]:
        if not handler.all_received():
            return self, decisions
        return WAITING, [*decisions, Trigger(handler.checkpoint, False), *self.abort(handler)]

    def abort(self, handler: BarrierHandler) -> list[Decision]:
        """Open what was blocked."""
        return [Resume(index) for index in sorted(self.blocked)]


class CollectingUnaligned(NamedTuple):
    """Triggered; what comes on an input before its barrier is kept with the checkpoint. No input is ever blocked."""

    def barrier(
        self, handler: BarrierHandler, index: int, unaligned: bool
    ) -> tuple[State, list[Decision]]:
        return self.end(handler)

    def end(self, handler: BarrierHandler) -> tuple[State, list[Decision]]:
        if handler.all_received():
            return WAITING, [StopChannelState(handler.checkpoint)]
        return self, []

    def abort(self, handler: BarrierHandler) -> list[Decision]:
        return [StopChannelState(handler.checkpoint)]


State: TypeAlias = WaitingForFirstBarrier | CollectingBarriers | CollectingUnaligned
WAITING = WaitingForFirstBarrier()


def _overtaking(checkpoint: int) -> list[Decision]:
    return [StartChannelState(checkpoint), Trigger(checkpoint, True)]


class Alignment(NamedTuple):
    """A checkpoint whose barriers are being collected, and the inputs on which they have come, in that order."""

    checkpoint: int
    received: tuple[int, ...]


class BarrierHandler:
    """The handler of one subtask with so many inputs.

    checkpoint: the newest checkpoint that was seen, or -1. pending: whether its barriers are being collected.
    """

    __slots__ = ("checkpoint", "open", "pending", "received", "state")

    def __init__(self, inputs: int) -> None:
        self.open = frozenset(range(inputs))
        self.checkpoint = -1
        self.pending = False
        self.received: tuple[int, ...] = ()
        self.state: State = WAITING

    def all_received(self) -> bool:
        """Whether the barrier has come on every input that has not ended."""
        return self.open.issubset(self.received)

    def barrier(self, index: int, checkpoint: int, unaligned: bool = False) -> list[Decision]:
        """A barrier came on an input; an unaligned one has overtaken what was queued."""
        if self._is_over(checkpoint) or (checkpoint == self.checkpoint and index in self.received):
            return []
        decisions = self._begin(checkpoint)
        self.received = (*self.received, index)
        self.state, more = self.state.barrier(self, index, unaligned)
        return [*decisions, *self._noted(more)]

    def _is_over(self, checkpoint: int) -> bool:
        """Whether a checkpoint has been triggered, given up or overtaken by a newer one here."""
        return checkpoint < self.checkpoint or (checkpoint == self.checkpoint and not self.pending)

    def _begin(self, checkpoint: int) -> list[Decision]:
        if checkpoint == self.checkpoint:
            return []
        decisions: list[Decision] = []
        if self.pending:
            decisions = self._give_up(self.checkpoint, SUBSUMED)
        self.checkpoint, self.pending, self.received = checkpoint, True, ()
        return decisions

    def _give_up(self, checkpoint: int, reason: str) -> list[Decision]:
        decisions = self.state.abort(self) if self.pending else []
        self.reset()
        return [*decisions, Abort(checkpoint, reason)]

    def _noted(self, decisions: list[Decision]) -> list[Decision]:
        if self.pending and self.all_received():
            self.pending, self.received = False, ()
        return decisions

    def cancel(self, checkpoint: int) -> list[Decision]:
        """A sender, or the coordinator, has given a checkpoint up."""
        if self._is_over(checkpoint):
            return []
        self.checkpoint = checkpoint
        return self._give_up(checkpoint, CANCELLED)

    def end(self, index: int) -> list[Decision]:
        """An input ended for good: no barrier will come on it."""
        self.open -= {index}
        if not self.pending or isinstance(self.state, WaitingForFirstBarrier):
            return []
        self.state, decisions = self.state.end(self)
        return self._noted(decisions)

    def time_out(self, checkpoint: int) -> list[Decision]:
        """The barriers of this checkpoint have been aligned for too long."""
        if self.checkpoint != checkpoint or not isinstance(self.state, CollectingBarriers):
            return []
        self.state, decisions = self.state.time_out(self)
        return self._noted(decisions)

    def collects(self, checkpoint: int) -> bool:
        """Whether the barriers of this checkpoint are being collected."""
        return self.pending and checkpoint == self.checkpoint

    def alignment(self) -> Alignment | None:
        """What is being collected, or None."""
        return Alignment(self.checkpoint, self.received) if self.pending else None

    def blocked(self) -> tuple[int, ...]:
        """The inputs that wait for the others, in the order in which their barriers came."""
        return self.state.blocked if isinstance(self.state, CollectingBarriers) else ()

    def reset(self) -> None:
        """Forget what is being collected: it was given up."""
        self.state = WAITING
        self.pending, self.received = False, ()

    def keyframe(self) -> Any:
        return self.open, self.checkpoint, self.pending, self.received, self.state

    def rewind(self, frame: Any) -> None:
        self.open, self.checkpoint, self.pending, self.received, self.state = frame
