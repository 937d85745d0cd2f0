"""What one subtask does about checkpoints: barriers in, a copy of its state, channel state, barriers out, an answer.

The barrier handler decides, this carries it out. Source: Flink's `SubtaskCheckpointCoordinatorImpl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.checkpointing.barrier_handler import (
    Abort,
    Alignment,
    BarrierHandler,
    Block,
    Decision,
    Resume,
    StopChannelState,
    Trigger,
)
from engine.checkpointing.barrier_tracker import BarrierTracker
from engine.checkpointing.coordinator import COORDINATOR
from engine.checkpointing.failure_reasons import (
    ASYNC_EXCEPTION,
    DECLINED_ON_CANCELLATION,
    DECLINED_SUBSUMED,
)
from engine.checkpointing.snapshot import SnapshotInProgress, in_flight, is_kept
from engine.elements import BARRIER, CANCEL, RECORD, Element
from engine.events import (
    AlignmentTimedOut,
    BarrierArrived,
    BarrierOvertook,
    ChannelStateCompleted,
    ElementsSaved,
    InputBlocked,
    InputsReleased,
    Message,
    SnapshotDropped,
    SnapshotTaken,
    SnapshotUploaded,
    UploadRefused,
)
from engine.fold import drop_part
from engine.graph.checkpoint_settings import AT_LEAST_ONCE, UNALIGNED, CheckpointSettings
from engine.network.channel import Channel, Link
from engine.network.result_partition import element_id
from engine.state.sizes import full_bytes, written_bytes

if TYPE_CHECKING:
    from engine.subtask import Subtask

NOTHING: frozenset[int] = frozenset()


class SubtaskSnapshots:
    """The checkpoints of one subtask.

    awaited: on how many inputs a barrier has to come before the copy; those of a loop that come back are none of them.
    parts: those of its parts that are not acknowledged yet, oldest first.
    seen: the newest checkpoint of which a message, a barrier or a cancellation has come here, 0 for none.
    given_up: those behind `seen` that the coordinator is known to have given up.
    refused: whether the storage refuses the next part.
    """

    def __init__(self, subtask: Subtask, settings: CheckpointSettings) -> None:
        self.subtask = subtask
        self.host = subtask.host
        self.awaited = len(subtask.inputs) - len(subtask.feedback)
        self.handler = BarrierHandler(len(subtask.inputs))
        self.handler.open -= subtask.feedback
        self.tracker = BarrierTracker(self.awaited) if settings.scheme == AT_LEAST_ONCE else None
        self.may_overtake = settings.scheme == UNALIGNED
        self.upload_bytes = settings.upload_bytes
        self.parts: list[SnapshotInProgress] = []
        self.seen = 0
        self.given_up: frozenset[int] = NOTHING
        self.refused = False

    def _emit(self, event: Any) -> None:
        events = self.host.trace.events
        if events is not None:
            events.append(event)

    def _show(self, checkpoint: int, **fields: Any) -> None:
        entry = self.host.coordinator.entry(self.subtask.id, checkpoint)
        if entry is not None:
            entry.update(fields)

    # Barriers

    def barrier_arrived(
        self, index: int, checkpoint: int, overtaken: list[Element] | None = None
    ) -> None:
        """A barrier came on input `index`; an unaligned one, with what it has overtaken there."""
        subtask = self.subtask
        channel = subtask.inputs[index]
        self._emit(BarrierArrived(subtask.id, channel.name, checkpoint))
        self.host.coordinator.barrier_arrived(subtask.id, checkpoint, self.awaited)
        if self._was_given_up(checkpoint):
            self.carry_out(self.decider(checkpoint).cancel(checkpoint))
            return
        if index in subtask.feedback:
            self._barrier_came_back(index, checkpoint)
            return
        unaligned = overtaken is not None
        self.carry_out(self.decider(checkpoint).barrier(index, checkpoint, unaligned))
        part = self._in_progress(checkpoint)
        if part is not None and part.unaligned:
            if overtaken:
                self._save(part, part.inputs, channel, overtaken, channel.taken)
            part.recording -= {index}
            self.record()
            self._settle(part)

    def _barrier_came_back(self, index: int, checkpoint: int) -> None:
        """What comes on this input from now on was sent behind the barrier.

        A barrier that overtakes may enter the loop behind the head, and come back first: then the copy is due at once.
        """
        overtakes = self.may_overtake and not self.host.coordinator.is_savepoint(checkpoint)
        if overtakes and self._in_progress(checkpoint) is None:
            self.carry_out(self.handler.barrier(index, checkpoint, True))
        part = self._in_progress(checkpoint)
        if part is not None:
            part.recording -= {index}
            self.record()
            self._settle(part)

    def decider(self, checkpoint: int) -> BarrierHandler | BarrierTracker:
        """Who decides about the barriers of a checkpoint: a savepoint is always aligned."""
        if self.tracker is None or self.host.coordinator.is_savepoint(checkpoint):
            return self.handler
        return self.tracker

    def alignment(self) -> Alignment | None:
        """The checkpoint whose barriers are being collected, and the inputs on which they have come; or None."""
        if self.tracker is not None and not self.handler.pending:
            return self.tracker.alignment()
        return self.handler.alignment()

    def carry_out(self, decisions: list[Decision]) -> None:
        """Do what was decided. An input that would be blocked and resumed within this step stays open."""
        kinds = set(map(type, decisions))
        released: list[int] = []
        number = self.handler.checkpoint
        for decision in decisions:
            if isinstance(decision, Trigger):
                number = decision.checkpoint
                recording = self.subtask.feedback
                if decision.unaligned and StopChannelState not in kinds:
                    recording |= self.handler.open
                recording = recording.difference(self.handler.received)
                self.take(number, decision.unaligned, recording)
            elif isinstance(decision, Block):
                if self.awaited > 1 and Trigger not in kinds:
                    self._block(self.subtask.inputs[decision.input])
            elif isinstance(decision, Resume):
                released.append(decision.input)
            elif isinstance(decision, Abort):
                number = decision.checkpoint
                self._give_up(decision)
        if released and self.awaited > 1:
            self._release(number, [self.subtask.inputs[index] for index in released])

    def _block(self, channel: Channel) -> None:
        channel.block(True)
        self._emit(InputBlocked(self.subtask.id, channel.name, self.handler.checkpoint))

    def _release(self, checkpoint: int, channels: list[Channel]) -> None:
        """Open inputs that alignment has blocked, and note how many records had to wait on them."""
        held = 0
        for channel in channels:
            if channel.aligning:
                held += sum(element[0] == RECORD for element in channel.queue)
                channel.block(False)
        self._show(checkpoint, held=held)
        self._emit(InputsReleased(self.subtask.id, checkpoint, held))

    # Snapshots

    def take(
        self,
        checkpoint: int,
        unaligned: bool = False,
        recording: frozenset[int] = NOTHING,
        forward: bool = True,
    ) -> None:
        """Copy the state and forward the barrier. An aligned part is complete with that, but for the head of a loop.

        recording: the inputs whose elements belong to the part until their barriers come.
        """
        subtask = self.subtask
        savepoint = self.host.coordinator.is_savepoint(checkpoint)
        state = subtask.operator.savepoint() if savepoint else subtask.operator.snapshot()
        size, written = full_bytes(state), written_bytes(state)
        left = written if self.upload_bytes else 0
        self._emit(SnapshotTaken(subtask.id, checkpoint, size, written, subtask.operator.entries()))
        self.host.coordinator.snapshot_taken(subtask.id, checkpoint, size, written, left)
        in_channels = unaligned or bool(recording)
        part = SnapshotInProgress(checkpoint, state, left, in_channels)
        part.recording = recording
        self.parts.append(part)
        if unaligned:
            for channel, waiting in subtask.output.overtake(checkpoint).items():
                first = channel.taken + len(channel.queue) - len(waiting)
                self._save(part, part.outputs, channel, waiting, first)
            self.record()
        else:
            if forward:
                subtask.output.broadcast((BARRIER, checkpoint))
            if recording:
                self.record()
            self._settle(part)

    def start(self, checkpoint: int, unaligned: bool, forward: bool = True) -> None:
        """The coordinator asks for a part: of a source, or of any subtask where nothing is in flight."""
        if self._was_given_up(checkpoint):
            self.subtask.output.broadcast((CANCEL, checkpoint))
            return
        self.take(checkpoint, unaligned, forward=forward)
        part = self._in_progress(checkpoint)
        if part is not None and unaligned:
            self._settle(part)

    def _in_progress(self, checkpoint: int) -> SnapshotInProgress | None:
        for part in self.parts:
            if part.checkpoint == checkpoint:
                return part
        return None

    def _save(
        self,
        part: SnapshotInProgress,
        side: dict[Link, list[Element]],
        channel: Channel,
        elements: list[Element],
        first: int,
    ) -> None:
        """Add elements of a channel to a part; the first of them has number `first` there."""
        names = tuple(
            element_id(channel, first + place)
            for place, element in enumerate(elements)
            if is_kept(element)
        )
        size = part.save(side, channel.link, in_flight(elements))
        if self.upload_bytes:
            part.left += size
        entry = self.host.coordinator.entry(self.subtask.id, part.checkpoint)
        if entry is not None:
            entry["saved"] += len(names)
            entry["saved_bytes"] += size
            entry["left"] += size if self.upload_bytes else 0
        if names:
            self._emit(ElementsSaved(self.subtask.id, part.checkpoint, channel.name, names, size))

    def taken_while_recording(self, index: int, element: Element) -> None:
        """An element is being taken from an input whose barrier is awaited: it belongs to those checkpoints."""
        channel = self.subtask.inputs[index]
        for part in self.parts:
            if index in part.recording:
                self._save(part, part.inputs, channel, [element], channel.taken)

    def record(self) -> None:
        """Have the runtime show this every element that is taken from an input that is recorded."""
        recorded = NOTHING.union(*(part.recording for part in self.parts))
        for index, channel in enumerate(self.subtask.inputs):
            self.host.record(self.subtask, index, channel, index in recorded)

    def _settle(self, part: SnapshotInProgress) -> None:
        """Acknowledge a part once its channel state is complete and all of it is in the storage."""
        self._more_to_upload()
        if part.recording:
            return
        subtask, checkpoint = self.subtask, part.checkpoint
        if part.unaligned and not part.complete:
            part.complete = True
            self._show(checkpoint, complete=self.host.trace.step + 1)
            self._emit(ChannelStateCompleted(subtask.id, checkpoint))
        if part.left:
            return
        self.parts.remove(part)
        if self.refused:
            self._refuse(checkpoint)
            return
        message = Message(COORDINATOR, subtask.id, "acknowledge", checkpoint)
        self.host.coordinator.send(message, part.snapshot())
        self.host.message_sent(subtask.id, "acknowledge")

    # The storage

    def upload(self) -> None:
        """Bring a piece of the oldest part that is not there yet to the storage."""
        part = next(held for held in self.parts if held.left)
        checkpoint = part.checkpoint
        if self.refused:
            self.parts.remove(part)
            self.record()
            self._more_to_upload()
            self._refuse(checkpoint)
            return
        part.left = max(0, part.left - (self.upload_bytes or 0))
        status = "uploading" if part.left else "uploaded"
        self._show(checkpoint, status=status, uploaded=self.host.trace.step + 1, left=part.left)
        self._emit(SnapshotUploaded(self.subtask.id, checkpoint, part.left))
        self._settle(part)

    def _more_to_upload(self) -> None:
        if self.upload_bytes:
            self.host.has_upload(self.subtask.id, any(part.left for part in self.parts))

    def refuse_next(self) -> None:
        """The storage is to refuse the next part."""
        self.refused = True
        self._emit(UploadRefused(self.subtask.id, True))

    def _refuse(self, checkpoint: int) -> None:
        self.refused = False
        self._emit(UploadRefused(self.subtask.id, False))
        self._decline(checkpoint, ASYNC_EXCEPTION)

    # Checkpoints that are given up

    def _decline(self, checkpoint: int, reason: str) -> None:
        """Tell the coordinator that this part will not come."""
        self._dropped(checkpoint, reason)
        subtask = self.subtask.id
        self.host.coordinator.send(Message(COORDINATOR, subtask, "decline", checkpoint), reason)
        self.host.message_sent(subtask, "decline")

    def _dropped(self, checkpoint: int, reason: str) -> None:
        entry = self.host.coordinator.entry(self.subtask.id, checkpoint)
        if entry is not None:
            drop_part(entry, self.host.trace.step + 1, reason)
        self._emit(SnapshotDropped(self.subtask.id, checkpoint, reason))

    def cancel_arrived(self, checkpoint: int) -> None:
        """A sender has given a checkpoint up, and says so in a channel."""
        self._was_given_up(checkpoint)
        self.carry_out(self.decider(checkpoint).cancel(checkpoint))

    def abort(self, checkpoint: int) -> None:
        """The coordinator has given a checkpoint up: drop its part, and wait no more for its barriers.

        Where nothing of it has come yet, it is given up when something does: those below hear of checkpoints in order.
        """
        part = self._in_progress(checkpoint)
        if checkpoint > self.seen:
            self.given_up |= {checkpoint}
        elif self.decider(checkpoint).collects(checkpoint):
            self.carry_out(self.decider(checkpoint).cancel(checkpoint))
        elif part is not None:
            self._drop(part)
            self._dropped(checkpoint, DECLINED_ON_CANCELLATION)

    def _was_given_up(self, checkpoint: int) -> bool:
        """Something of a checkpoint has come: whether the coordinator has given it up before."""
        known = checkpoint in self.given_up
        if checkpoint > self.seen:
            self.seen = checkpoint
            if self.given_up:
                self.given_up = frozenset(one for one in self.given_up if one > checkpoint)
        return known

    def _drop(self, part: SnapshotInProgress) -> None:
        self.parts.remove(part)
        self.record()
        self._more_to_upload()

    def _give_up(self, decision: Abort) -> None:
        """A checkpoint is given up before its barriers are complete: everybody below is told."""
        part = self._in_progress(decision.checkpoint)
        if part is not None:
            self._drop(part)
        self.subtask.output.broadcast((CANCEL, decision.checkpoint))
        if decision.reason == DECLINED_SUBSUMED:
            self._decline(decision.checkpoint, decision.reason)
        else:
            # The coordinator knows: it has cancelled the checkpoint itself.
            self._dropped(decision.checkpoint, decision.reason)

    def time_out(self, checkpoint: int) -> None:
        """A checkpoint has aligned for too long: its barriers overtake from here on."""
        subtask = self.subtask
        self._emit(AlignmentTimedOut(subtask.id, checkpoint))
        self.carry_out(self.handler.time_out(checkpoint))
        for channel in subtask.inputs:
            place = channel.place_of_barrier(checkpoint)
            if place is not None and channel.priority_bit and not channel.aligning:
                channel.overtake(checkpoint, place)
                self._emit(BarrierOvertook(channel.name, checkpoint, place))

    def cancelled(self) -> None:
        """The job was cancelled: forget whatever is under way."""
        self.handler.reset()
        if self.tracker is not None:
            self.tracker.reset()
        self.parts.clear()
        self.record()

    # Stepping back

    def keyframe(self) -> Any:
        return (
            self.handler.keyframe(),
            None if self.tracker is None else self.tracker.keyframe(),
            self.seen,
            self.given_up,
            self.refused,
            tuple(part.keyframe() for part in self.parts),
        )

    def rewind(self, frame: Any) -> None:
        handler, tracker, self.seen, self.given_up, self.refused, parts = frame
        self.handler.rewind(handler)
        if self.tracker is not None:
            self.tracker.rewind(tracker)
        changes = bool(parts or self.parts)
        self.parts[:] = map(SnapshotInProgress.of, parts)
        if changes:
            self.record()
