"""The checkpoints of a job: what its coordinator does when it is told, answered, or woken by the clock.

Source: Flink's `CheckpointCoordinator`, `CheckpointRequestDecider` and `CheckpointFailureManager`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.checkpointing.completed import SAVEPOINT
from engine.checkpointing.failure_reasons import (
    COUNTED,
    EXPIRED,
    FINALIZE,
    LOOP_NOT_DRAINED,
    REASONS,
)
from engine.deployment import Slot
from engine.elements import MAX_TIMESTAMP
from engine.errors import InvalidJob
from engine.events import ChannelsDrained, SourcesPaused, SourcesResumed
from engine.graph.checkpoint_settings import STOP_THE_WORLD, UNALIGNED
from engine.job_state import FINISHED, RUNNING, STOPPING
from engine.network.channel import Channel
from engine.operators.source import SourceOperator
from engine.subtask import Subtask
from engine.takers import draining_taker, recording_taker

if TYPE_CHECKING:
    from engine.runtime import Runtime

ANSWERS = ("acknowledge", "decline")
STOPPED = "stopped"
DRAINED = "drained"

PATIENCE = 10_000
"""How many elements may come back in loops while the channels drain: one that never runs empty must not hang the job."""


class JobSnapshots:
    """Everything that happens to the checkpoints of one runtime.

    paused: stop-the-world: the checkpoint for which the sources pause, or None. drained: whether the channels are empty.
    patience: how many more elements may come back in loops until then.
    wanted: whether a periodic checkpoint is due and waits for room. ended: when the last checkpoint ended (microseconds).
    stop: how the job ends with the savepoint in progress, or "" where it goes on.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.settings = runtime.job.checkpointing
        self.coordinator = runtime.coordinator
        self.paused: int | None = None
        self.drained = False
        self.patience = PATIENCE
        self.wanted = False
        self.ended = 0
        self.stop = ""

    def _emit(self, event: Any) -> None:
        events = self.runtime.trace.events
        if events is not None:
            events.append(event)

    @property
    def _now(self) -> int:
        return self.runtime.clock.now

    # Triggering

    def trigger(self, kind: str) -> int:
        """Start a checkpoint or a savepoint."""
        runtime, settings = self.runtime, self.settings
        subtasks = list(runtime.deployment.subtasks)
        checkpoint = self.coordinator.trigger(kind, subtasks, self._now)
        if settings.timeout is not None:
            runtime.clock.wake(self._now + settings.timeout * 1000, "expire")
        if not self._has_barriers(checkpoint):
            self._pause(checkpoint)
            runtime.update_clock_bit()
            return checkpoint
        if kind != SAVEPOINT and settings.aligned_timeout:
            for subtask in subtasks:
                due = self._now + settings.aligned_timeout * 1000
                runtime.clock.wake(due, f"switch:{subtask}")
        self._tell([subtask.id for subtask in runtime.deployment.sources()], "trigger", checkpoint)
        runtime.update_clock_bit()
        return checkpoint

    def _tell(self, subtasks: list[str], kind: str, checkpoint: int) -> None:
        self.coordinator.tell(subtasks, kind, checkpoint)
        for subtask in subtasks:
            self.runtime.message_sent(subtask, kind)

    def has_room(self) -> bool:
        """Whether one more checkpoint may be in progress."""
        return len(self.coordinator.pending) < self.settings.max_concurrent

    def wake(self) -> None:
        """Ask the clock for the next periodic checkpoint; for a new deployment."""
        self.wanted = False
        if self.settings.interval:
            self._wake_at(self._now + self.settings.interval * 1000)

    def _wake_at(self, time: int) -> None:
        self.runtime.clock.forget(["timer:coordinator"])
        self.runtime.clock.wake(time, "timer:coordinator")

    def due(self) -> None:
        """The time of a periodic checkpoint has come."""
        settings = self.settings
        if settings.interval is None:
            return
        earliest = self.ended + settings.min_pause * 1000
        if settings.min_pause and self.ended and self._now < earliest:
            self._wake_at(earliest)
            return
        self._wake_at(self._now + settings.interval * 1000)
        if self.runtime.state != RUNNING:
            return
        if self.has_room():
            self.trigger("checkpoint")
        else:
            self.wanted = True

    def is_unaligned(self, checkpoint: int) -> bool:
        """Whether the barriers of a checkpoint overtake from here on."""
        settings = self.settings
        if settings.scheme != UNALIGNED or self.coordinator.is_savepoint(checkpoint):
            return False
        pending = self.coordinator.pending.get(checkpoint)
        return (
            pending is not None and self._now >= pending.triggered + settings.aligned_timeout * 1000
        )

    # Messages

    def deliver(self, slot: Slot) -> None:
        """Deliver the oldest message of a box."""
        name = slot.subtask or ""
        if slot.kind == "ack":
            self._answered(slot, name)
            return
        subtask = self.runtime.deployment.subtasks[name]
        if slot.kind == "abort":
            subtask.snapshots.abort(self.runtime.delivered(slot, ("abort",))[0].checkpoint)
        else:
            self._started(subtask, self.runtime.delivered(slot, ("trigger",))[0].checkpoint)

    def _started(self, subtask: Subtask, checkpoint: int) -> None:
        stops = self.runtime.state == STOPPING and checkpoint == self.coordinator.newest()
        if stops and self.stop == DRAINED and isinstance(subtask.operator, SourceOperator):
            subtask.operator.raise_watermark(MAX_TIMESTAMP, subtask.out)
            subtask.flush()
        subtask.snapshots.start(
            checkpoint, self.is_unaligned(checkpoint), forward=self._has_barriers(checkpoint)
        )
        if stops:
            # After the barrier nothing is read, and no watermark follows it.
            subtask.stopped = True
            self.runtime.readiness.blocked |= self.runtime.deployment.inputs(subtask.id)

    def _has_barriers(self, checkpoint: int) -> bool:
        """Whether a checkpoint is told by barriers, and not by messages while nothing is in flight."""
        return self.settings.scheme != STOP_THE_WORLD or self.coordinator.is_savepoint(checkpoint)

    def _answered(self, slot: Slot, subtask: str) -> None:
        message, part = self.runtime.delivered(slot, ANSWERS)
        checkpoint = message.checkpoint
        if message.kind == "decline":
            self.coordinator.decline(subtask, checkpoint, part)
            if checkpoint in self.coordinator.pending:
                self.abort(checkpoint, part, f"{REASONS[part]} of {subtask}")
            return
        try:
            complete = self.coordinator.acknowledge(subtask, checkpoint, part)
        except InvalidJob as refused:
            self.abort(checkpoint, FINALIZE, f"{REASONS[FINALIZE]}: {refused}")
            return
        if complete:
            self._over(checkpoint)
            if self._stops_with(checkpoint):
                self._stopped(checkpoint)

    def _stops_with(self, ended: int) -> bool:
        """Whether the checkpoint that has just ended is the savepoint with which the job stops: none is triggered after it."""
        return self.runtime.state == STOPPING and ended > (self.coordinator.newest() or 0)

    def _stopped(self, savepoint: int) -> None:
        """The savepoint with which the job stops is complete."""
        if self.stop:
            self.runtime.end(FINISHED, f"{self.stop} with savepoint {savepoint}")
        else:
            self.runtime.may_restart()

    # Ends

    def abort(self, checkpoint: int, failure: str, reason: str = "") -> None:
        """Give up a checkpoint in progress and tell every subtask; too many failures in a row fail the job."""
        self.coordinator.abort(checkpoint, failure, reason)
        self._tell(list(self.runtime.deployment.subtasks), "abort", checkpoint)
        self._over(checkpoint)
        if self._stops_with(checkpoint):
            self.runtime.go_on(f"savepoint {checkpoint} was given up: {reason or REASONS[failure]}")
        if failure in COUNTED and self.runtime.state in (RUNNING, STOPPING):
            self.coordinator.failures += 1
            if self.coordinator.failures > self.settings.tolerated_failures:
                failed = self.coordinator.failures
                self.coordinator.failures = 0
                self.runtime.fail_job(
                    f"{failed} checkpoint{'s' if failed > 1 else ''} in a row failed, and "
                    f"{self.settings.tolerated_failures} may: {reason or REASONS[failure]}"
                )

    def _over(self, checkpoint: int) -> None:
        """A checkpoint is complete or given up."""
        self.ended = self._now
        clock, deployment = self.runtime.clock, self.runtime.deployment
        if self.settings.aligned_timeout:
            switches = [f"switch:{subtask}" for subtask in deployment.subtasks]
            clock.forget(switches)
            for action in switches:
                self.runtime.readiness.nonempty &= ~deployment.bit(action)
        if self.settings.timeout is not None:
            clock.forget(["expire"])
            self.runtime.readiness.nonempty &= ~deployment.bit("expire")
            for pending in self.coordinator.pending.values():
                clock.wake(pending.triggered + self.settings.timeout * 1000, "expire")
        if self.paused == checkpoint:
            self._resume()
        if self.wanted and self.runtime.state == RUNNING and self.has_room():
            self.wanted = False
            if self.settings.min_pause:
                self._wake_at(self._now + self.settings.min_pause * 1000)
            else:
                self.trigger("checkpoint")
        self.runtime.update_clock_bit()

    def expire(self) -> None:
        """Give up every checkpoint whose time is over."""
        limit = (self.settings.timeout or 0) * 1000
        for pending in list(self.coordinator.pending.values()):
            if pending.checkpoint in self.coordinator.pending and (
                pending.triggered + limit <= self._now
            ):
                self.abort(pending.checkpoint, EXPIRED)

    def switch(self, subtask: Subtask) -> None:
        """The alignment timeout has passed for the checkpoint in progress."""
        newest = self.coordinator.newest()
        if newest is not None:
            subtask.snapshots.time_out(newest)

    def cancelled(self) -> None:
        """The job was cancelled, and with it whatever the coordinator had in progress."""
        self.coordinator.drop_messages()
        self.paused, self.drained, self.wanted, self.stop = None, False, False, ""
        self.watch_drain()

    # Stop-the-world

    def _pause(self, checkpoint: int) -> None:
        deployment = self.runtime.deployment
        self.paused, self.drained, self.patience = checkpoint, False, PATIENCE
        for source in deployment.sources():
            self.runtime.readiness.blocked |= deployment.inputs(source.id)
        self._emit(SourcesPaused(checkpoint))
        self.watch_drain()
        self.maybe_drained()

    def watch_drain(self) -> None:
        """While the sources pause, look after every element taken whether it was the last one in flight."""
        takers, plain = self.runtime.deployment.takers, self.runtime.deployment.plain_takers
        draining = self.paused is not None and not self.drained
        for channel in self.runtime.deployment.channels.values():
            taker = plain[channel.slot]
            takers[channel.slot] = taker
            if draining and taker:
                takers[channel.slot] = draining_taker(taker, self, channel.feedback)

    def came_back(self, elements: int) -> None:
        """So many elements have come back in a loop while the channels drain."""
        self.patience -= elements
        if not self.patience and self.paused is not None:
            self.abort(self.paused, LOOP_NOT_DRAINED)

    def maybe_drained(self) -> None:
        """Tell every subtask to copy its state, where nothing is in flight any more."""
        deployment = self.runtime.deployment
        if self.paused is None or self.drained:
            return
        if self.runtime.readiness.nonempty & deployment.channel_bits:
            return
        self.drained = True
        self.watch_drain()
        self._emit(ChannelsDrained(self.paused))
        self._tell(list(deployment.subtasks), "trigger", self.paused)

    def _resume(self) -> None:
        checkpoint, self.paused, self.drained = self.paused, None, False
        self.watch_drain()
        self.runtime.deployment.unblock_sources()
        self._emit(SourcesResumed(checkpoint or 0))

    # Channel state

    def record(self, subtask: Subtask, index: int, channel: Channel, on: bool) -> None:
        """Show a subtask each element that is taken from an input, from here on or no longer."""
        deployment = self.runtime.deployment
        plain = deployment.plain_takers[channel.slot]
        recording = on and plain is not None
        deployment.takers[channel.slot] = (
            recording_taker(plain, subtask, index) if recording else plain  # type: ignore[arg-type]
        )

    # Stepping back

    def keyframe(self) -> Any:
        return self.paused, self.drained, self.patience, self.wanted, self.ended, self.stop

    def rewind(self, frame: Any) -> None:
        """Take over a keyframe, after the subtasks have taken over theirs."""
        draining = self.paused is not None and not self.drained
        self.paused, self.drained, self.patience, self.wanted, self.ended, self.stop = frame
        if draining or self.paused is not None:
            self.watch_drain()
