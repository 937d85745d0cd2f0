"""The only place where a run moves. `run` loops over atomic actions; everything else is what one action does.

A run of `n` policy steps gives the same trace however it is cut into calls, and whether or not events are collected: a
turn that is cut goes on with what was left of its quantum, and when a turn ends depends on the state alone.
"""

from __future__ import annotations

from typing import Any

from engine.alignment_groups import pause_and_resume
from engine.checkpointing.completed import SAVEPOINT, Completed, MemoryStorage
from engine.checkpointing.coordinator import Coordinator
from engine.checkpointing.failure_reasons import TASK_FAILURE
from engine.checkpointing.savepoint import Savepoint, fitted
from engine.clock import Clock
from engine.commands import (
    Command,
    FailSubtask,
    RefuseUpload,
    Rescale,
    RescaleFromCheckpoint,
    StopWithSavepoint,
    TakeSavepoint,
    TriggerCheckpoint,
)
from engine.deployment import Deployment, Slot, moved_key_groups
from engine.elements import WATERMARK
from engine.errors import USER_ERRORS, ImpossibleAction
from engine.event_time.watermarks import AlignmentGroup
from engine.events import (
    ClockAdvanced,
    Deployed,
    JobStateChanged,
    Message,
    RescaleAborted,
    RescaleRequested,
    Restored,
    SubtaskFailed,
)
from engine.failure_reasons import cannot_start, failure_reason
from engine.graph.job_graph import JobGraph, Vertex
from engine.impossible import why_not, why_not_command
from engine.job_snapshots import DRAINED, STOPPED, JobSnapshots
from engine.job_state import FAILED, FINISHED, RESTARTING, RUNNING, STOPPING
from engine.network.channel import Channel
from engine.network.credit import Readiness
from engine.operators.sink import ResultLog
from engine.picture import deployed_picture
from engine.refill import refill
from engine.runtime_frame import RuntimeFrame, frame_of, put_back
from engine.scheduler import Policy, Scheduler, make_scheduler
from engine.state.sizes import full_bytes
from engine.subtask import Subtask
from engine.trace import Trace
from engine.values import text

UNBOUNDED = 1 << 60


class Runtime:
    """A job that runs. `most` bounds a burst from outside; 1 makes every policy atomic without changing its schedule.

    restore: what the job starts from, instead of nothing. storage: where its checkpoints go, in memory if None.
    """

    subtask_type: type[Subtask] = Subtask
    """What it deploys; another one where a protocol is wrong on purpose (`explore/wrong_barriers.py`)."""

    snapshots_type: type[JobSnapshots] = JobSnapshots
    """Who takes the checkpoints of the job."""

    def __init__(
        self,
        job: JobGraph,
        policy: Policy,
        seed: int,
        restore: Savepoint | None = None,
        storage: MemoryStorage | None = None,
    ) -> None:
        job = job.validated()
        parts: dict[str, list[Any]] = {}
        if restore is not None:
            job, parts = fitted(job, restore)
        self.job = job
        self.seed = seed
        self.trace = Trace()
        self.clock = Clock()
        self.readiness = Readiness()
        self.coordinator = Coordinator(self.trace)
        self.coordinator.storage = storage or MemoryStorage(job.durability.retained)
        if restore is not None:
            self.coordinator.start_from(
                Completed(
                    restore.checkpoint, SAVEPOINT, parts, full_bytes(parts), restore.in_flight
                )
            )
        self.snapshots = self.snapshots_type(self)
        self.quantum = policy.quantum
        self.scheduler: Scheduler = make_scheduler(policy, seed)
        self.most = UNBOUNDED
        self.logs: dict[str, ResultLog] = {}
        self.taken: dict[str, int] = {}
        self.parallelism = {vertex.id: vertex.parallelism for vertex in job.vertices}
        self.attempt = 1
        self.failures = 0
        self.state = RUNNING
        self.reason = ""
        self.rescale: Rescale | None = None
        self.turn = -1
        self.turn_left = 0
        self.schedule: list[tuple[str, int]] | None = None
        """(action, elements taken) of every turn, where somebody set it to a list."""
        self._deploy()
        if restore is not None:
            self.deployment.restore(parts)
        failed = self._open()
        if failed:
            subtask, error = failed
            raise cannot_start(self._vertex_of(subtask), subtask, error)
        if restore is not None and restore.in_flight:
            refill(self.deployment, restore.in_flight, parts)

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return self.trace.step

    def _vertex_of(self, subtask: str) -> Vertex:
        return self.job.vertex(self.deployment.subtasks[subtask].vertex)

    # Deployment

    def _deploy(self) -> None:
        self.deployment = Deployment(
            self, self.job, self.parallelism, self.seed, self.attempt, self.logs
        )
        for name, channel in self.deployment.channels.items():
            channel.taken = self.taken.get(name, 0)

    def wake(self, subtask: str, time: int) -> None:
        """Call a subtask back when the clock reaches `time` (microseconds)."""
        self.clock.wake(time, f"timer:{subtask}")
        self.update_clock_bit()

    def _open(self) -> tuple[str, BaseException] | None:
        """Open the functions of a new deployment and ask the clock for the periodic checkpoints.

        Returns (subtask, error) where the first function raised.
        """
        self.clock.clear()
        failed = self.deployment.open()
        self.snapshots.wake()
        self.update_clock_bit()
        return failed

    def update_clock_bit(self) -> None:
        bit = 1 << self.deployment.clock
        if self.state in (RUNNING, STOPPING) and self.clock.next_due() is not None:
            self.readiness.nonempty |= bit
        else:
            self.readiness.nonempty &= ~bit

    # Steps

    def run(self, steps: int) -> int:
        """Take up to `steps` steps by the policy; fewer where nothing more can happen. Returns how many were taken."""
        start = self.trace.step
        if self.quantum == 1:
            self._run_atomic(start + steps)
        else:
            self._run_turns(start + steps)
        return self.trace.step - start

    def _run_atomic(self, last: int) -> None:
        """One action a turn. Slots of last resort have the highest bits, so one comparison finds them."""
        trace, readiness, schedule = self.trace, self.readiness, self.schedule
        choose = self.scheduler.choose
        deployment = self.deployment
        takers, first_choice = deployment.takers, deployment.first_choice
        step = trace.step
        while step < last:
            enabled = readiness.nonempty & ~(readiness.blocked | readiness.stalled)
            if enabled > first_choice:
                enabled = enabled & first_choice or enabled
            elif not enabled:
                break
            slot = choose(enabled)
            if schedule is not None:
                schedule.append((deployment.slots[slot].action, 1))
            taker = takers[slot]
            if taker is not None:
                taker(1)
            else:
                self._take_special(deployment.slots[slot])
                deployment = self.deployment
                takers, first_choice = deployment.takers, deployment.first_choice
            step += 1
            trace.step = step

    def _run_turns(self, last: int) -> None:
        """A turn takes up to a quantum of elements of one input, and goes on where a call before was cut."""
        trace, readiness, schedule = self.trace, self.readiness, self.schedule
        while trace.step < last:
            deployment = self.deployment
            enabled = readiness.enabled()
            if not enabled:
                break
            if not (self.turn_left and enabled >> self.turn & 1):
                self.turn = self.scheduler.choose(enabled & deployment.first_choice or enabled)
                self.turn_left = self.quantum if self._bursts(self.turn) else 1
            slot = self.turn
            taker = deployment.takers[slot]
            if taker is None:
                self._take_special(deployment.slots[slot])
                taken = 1
            else:
                taken = taker(min(self.turn_left, last - trace.step, self.most))
                self.turn_left -= taken
                if self.turn_left and not self._bursts(slot):
                    self.turn_left = 0
            trace.step += taken
            if schedule is not None:
                schedule.append((deployment.slots[slot].action, taken))

    def _bursts(self, number: int) -> bool:
        """Whether a turn may go on at this input: it holds data at its head, not a control element."""
        slot = self.deployment.slots[number]
        if slot.channel is not None:
            queue = slot.channel.queue
            return bool(queue) and queue[0][0] <= WATERMARK
        return slot.split is not None

    def act(self, action: str) -> None:
        """Take the action of this id; ImpossibleAction says why it cannot be taken."""
        number = self.deployment.by_action.get(action)
        if number is None:
            raise ImpossibleAction(
                "unknown_action",
                f"There is no action {text(action)!r} in this job.",
                mend="Choose one of the possible actions.",
            )
        if not self.readiness.enabled() >> number & 1:
            slot = self.deployment.slots[number]
            reason = why_not(self, slot)
            raise ImpossibleAction(
                "impossible",
                f"This is not possible now: {reason[1]}.",
                place=action,
                mend="Choose one of the possible actions.",
            )
        self.turn_left = 0
        taker = self.deployment.takers[number]
        if taker is None:
            self._take_special(self.deployment.slots[number])
        else:
            taker(1)
        self.trace.step += 1

    def _take_special(self, slot: Slot) -> None:
        self.turn_left = 0
        if slot.kind in ("trigger", "ack", "abort"):
            self.snapshots.deliver(slot)
        elif slot.kind == "restart":
            self._restart()
        elif slot.kind == "clock":
            self._advance_clock()
        else:
            self._due(slot)

    # The coordinator's messages

    def message_sent(self, subtask: str, kind: str) -> None:
        """A message to a subtask ("trigger", "abort") or from it ("acknowledge", "decline") is under way."""
        box = kind if kind in ("trigger", "abort") else "ack"
        self.readiness.nonempty |= self.deployment.bit(f"{box}:{subtask}")

    def delivered(self, slot: Slot, kinds: tuple[str, ...]) -> tuple[Message, Any]:
        """The oldest message of a box, and what it brings."""
        subtask = slot.subtask or ""
        message, part = self.coordinator.deliver(subtask, kinds)
        if not self.coordinator.has_message(subtask, kinds):
            self.readiness.nonempty &= ~self.deployment.bit(slot.action)
        return message, part

    def has_upload(self, subtask: str, waiting: bool) -> None:
        """A subtask has something to upload, or has it no longer."""
        bit = self.deployment.bit(f"upload:{subtask}")
        if waiting:
            self.readiness.nonempty |= bit
        else:
            self.readiness.nonempty &= ~bit

    def record(self, subtask: Subtask, index: int, channel: Channel, on: bool) -> None:
        """Show a subtask each element that is taken from an input, or no longer."""
        self.snapshots.record(subtask, index, channel, on)

    # Time

    def _advance_clock(self) -> None:
        for action in self.clock.advance():
            self.readiness.nonempty |= self.deployment.bit(action)
        if self.trace.events is not None:
            self.trace.events.append(ClockAdvanced(self.clock.now))
        self.update_clock_bit()

    def _due(self, slot: Slot) -> None:
        """Something that asked the clock is due: a timer, a periodic checkpoint, a timeout of one."""
        more = False
        if slot.kind == "expire":
            self.readiness.nonempty &= ~self.deployment.bit(slot.action)
            self.snapshots.expire()
        elif slot.subtask is None:
            self.snapshots.due()
        elif slot.kind == "switch":
            self.snapshots.switch(self.deployment.subtasks[slot.subtask])
        else:
            subtask = self.deployment.subtasks[slot.subtask]
            if not subtask.finished:
                try:
                    more = subtask.clock(self.clock.now)
                except USER_ERRORS as error:
                    subtask.out.clear()
                    self.fail(subtask.id, error)
                    return
        if not more and slot.action in self.deployment.by_action:
            self.readiness.nonempty &= ~self.deployment.bit(slot.action)
        self.update_clock_bit()

    def align(self, group: AlignmentGroup | None) -> None:
        """A watermark of a split of `group` has risen, or a split has ended."""
        if group is not None:
            pause_and_resume(self.deployment, self.trace, group)

    # Ends and failures

    def subtask_finished(self) -> None:
        if all(subtask.finished for subtask in self.deployment.subtasks.values()):
            self._abort_rescale("the job has finished")
            self.end(FINISHED, f"all input has been processed: {self._totals()}")

    def end(self, state: str, reason: str) -> None:
        """The job has come to an end: nothing is due any more."""
        self._set_state(state, reason)
        self.clock.clear()
        self.readiness.nonempty &= ~self.deployment.timers
        self.update_clock_bit()

    def _totals(self) -> str:
        """What this attempt did with its input, as the end of a sentence."""
        counts = dict.fromkeys(("records", "skipped", "late"), 0)
        for subtask in self.deployment.subtasks.values():
            for name in counts:
                counts[name] += getattr(subtask.operator, name, 0)
        sinks = {vertex.id for vertex in self.job.vertices if vertex.kind == "sink"}
        written = sum(
            log.cursor for name, log in self.logs.items() if name.rpartition("[")[0] in sinks
        )
        told = [f"{counts['records']:,} records read", f"{written:,} results written"]
        told += [f"{counts[name]:,} {name}" for name in ("late", "skipped") if counts[name]]
        return ", ".join(told)

    def _set_state(self, state: str, reason: str) -> None:
        self.state, self.reason = state, reason
        if self.trace.events is not None:
            self.trace.events.append(JobStateChanged(state, reason))

    def fail(self, subtask: str, error: BaseException) -> None:
        """A user function raised: the subtask fails, and is restarted a bounded number of times."""
        reason = failure_reason(self._vertex_of(subtask), subtask, error)
        self._fail(subtask, reason)
        self._count_failure(subtask, reason)

    def fail_job(self, reason: str) -> None:
        """The job fails as a whole, and is restarted a bounded number of times."""
        self._fail("", reason)
        self._count_failure("The job", reason)

    def _count_failure(self, who: str, reason: str) -> None:
        self.failures += 1
        if self.failures > self.job.restart_attempts:
            self.readiness.rewind((0, 0, 0))
            self._set_state(
                FAILED,
                f"{who} failed {self.failures} times; {self.job.restart_attempts} restarts are allowed. {reason}",
            )

    def _fail(self, subtask: str, reason: str) -> None:
        """Cancel every subtask; "" where no single one is to blame."""
        who = subtask or "the job"
        self.trace.mark("failed", who, subtask)
        if self.trace.events is not None:
            self.trace.events.append(SubtaskFailed(subtask, reason))
        for name, held in self.deployment.subtasks.items():
            held.failed = name == subtask
            held.cancelled()
        for checkpoint in list(self.coordinator.pending):
            self.coordinator.abort(checkpoint, TASK_FAILURE, f"{who} failed")
        self.snapshots.cancelled()
        for channel in self.deployment.channels.values():
            channel.lose()
        self.clock.clear()
        self._abort_rescale(f"{who} failed")
        self.readiness.rewind((1 << self.deployment.restart, 0, 0))
        self.turn_left = 0
        self._set_state(RESTARTING, f"{who} failed: {reason}")

    def may_restart(self) -> None:
        """The savepoint from which the job restarts is complete."""
        self.readiness.nonempty |= 1 << self.deployment.restart
        self.deployment.first_choice |= 1 << self.deployment.restart

    def go_on(self, reason: str) -> None:
        """The savepoint with which the job was to stop was given up: the sources read again."""
        self._abort_rescale(reason)
        self.snapshots.stop = ""
        for source in self.deployment.sources():
            source.stopped = False
        self.deployment.unblock_sources()
        self._set_state(RUNNING, reason)

    def _abort_rescale(self, reason: str) -> None:
        if self.rescale is not None and self.trace.events is not None:
            self.trace.events.append(RescaleAborted(self.rescale.operator, reason))
        self.rescale = None

    def _restart(self) -> None:
        """Deploy anew: from the savepoint with another parallelism, or from the last completed checkpoint."""
        why = "failure"
        moved = 0
        if self.rescale is not None:
            why = "rescale"
            before = dict(self.parallelism)
            self.parallelism[self.rescale.operator] = self.rescale.parallelism
            moved = moved_key_groups(self.job, before, self.parallelism)
            self.rescale = None
        latest = self.coordinator.storage.latest()
        self.attempt += 1
        for name, channel in self.deployment.channels.items():
            self.taken[name] = channel.taken + len(channel.queue)
        self.coordinator.drop_messages()
        self._deploy()
        self.deployment.restore(latest.parts if latest else {})
        self.trace.mark(
            "rescaled" if why == "rescale" else "restored",
            str(latest.checkpoint) if latest else "start",
        )
        self.state, self.reason = RUNNING, ""
        self.turn, self.turn_left = -1, 0
        failed = self._open()
        if latest and latest.in_flight:
            failed = refill(self.deployment, latest.in_flight, latest.parts) or failed
        if self.trace.events is not None:
            self.trace.events.append(
                Restored(latest.checkpoint if latest else None, self.attempt, why, moved)
            )
            self.trace.events.append(Deployed(*deployed_picture(self)))
        if failed:
            self.fail(*failed)

    # Commands

    def apply(self, command: Command) -> None:
        """Carry out a command; it takes one step. ImpossibleAction says why it cannot be carried out."""
        reason = why_not_command(self, command)
        if reason:
            raise ImpossibleAction(
                "impossible",
                f"This is not possible now: {reason}.",
                mend="Choose another command, or step on.",
            )
        if isinstance(command, TriggerCheckpoint):
            self.snapshots.trigger("checkpoint")
        elif isinstance(command, TakeSavepoint):
            self.snapshots.trigger(SAVEPOINT)
        elif isinstance(command, StopWithSavepoint):
            savepoint = self.snapshots.trigger(SAVEPOINT)
            self.snapshots.stop = DRAINED if command.drain else STOPPED
            self._set_state(STOPPING, f"stopping with savepoint {savepoint}")
        elif isinstance(command, RefuseUpload):
            self.deployment.subtasks[command.subtask].snapshots.refuse_next()
        elif isinstance(command, FailSubtask):
            self._fail(command.subtask, "failed on command")
        else:
            self._rescale(command)
        self.turn_left = 0
        self.trace.step += 1

    def _rescale(self, command: Rescale | RescaleFromCheckpoint) -> None:
        target = Rescale(command.operator, command.parallelism)
        to = f"to rescale {target.operator} to {target.parallelism}"
        if isinstance(command, RescaleFromCheckpoint):
            latest = self.coordinator.storage.latest()
            self._fail("", f"cancelled on command, {to}")
            self.rescale = target
            checkpoint = latest.checkpoint if latest else None
        else:
            self.rescale = target
            checkpoint = self.snapshots.trigger(SAVEPOINT)
            self._set_state(STOPPING, f"stopping with savepoint {checkpoint} {to}")
        if self.trace.events is not None:
            self.trace.events.append(
                RescaleRequested(target.operator, target.parallelism, checkpoint)
            )

    # Stepping back

    def keyframe(self) -> RuntimeFrame:
        """A copy of everything that changes."""
        return frame_of(self)

    def rewind(self, frame: RuntimeFrame) -> None:
        """Take over a keyframe of this run, earlier or later."""
        self.taken = dict(frame.taken)
        if frame.parallelism != self.parallelism or frame.job.attempt != self.attempt:
            self.parallelism = dict(frame.parallelism)
            self.attempt = frame.job.attempt
            self._deploy()
            self.deployment.open()
        put_back(self, frame)

    def copyable(self) -> bool:
        """Whether keyframes hold everything: False where a user function has attributes that cannot be copied."""
        return all(
            getattr(getattr(subtask.operator, name, None), "copyable", True)
            for subtask in self.deployment.subtasks.values()
            for name in ("function", "aggregate", "window_function")
        )
