"""The checkpoint coordinator: triggers, collects acknowledgements, completes or aborts.

Messages to and from subtasks are delivered by actions of their own, so that a schedule can delay them.

Source: Flink's `CheckpointCoordinator` and `PendingCheckpoint`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.checkpointing.completed import SAVEPOINT, Completed, MemoryStorage
from engine.checkpointing.failure_reasons import REASONS, SUBSUMED
from engine.checkpointing.snapshot import Elements, Snapshot
from engine.errors import EngineBug
from engine.events import (
    CheckpointAborted,
    CheckpointCompleted,
    CheckpointTriggered,
    Message,
    MessageDelivered,
    MessageSent,
    SnapshotAcknowledged,
    SnapshotDeclined,
)
from engine.fold import KEPT_CHECKPOINTS, dispensable, waiting_part
from engine.state.sizes import estimated_bytes, full_bytes, written_bytes
from engine.trace import Trace

COORDINATOR = "coordinator"


class Pending:
    """A checkpoint in progress. Times are in microseconds of the clock.

    waiting: the subtasks that have to acknowledge. parts: what they have acknowledged. triggered: when it was triggered.
    """

    __slots__ = ("checkpoint", "kind", "parts", "triggered", "waiting")

    def __init__(
        self,
        checkpoint: int,
        kind: str,
        waiting: frozenset[str],
        triggered: int,
        parts: dict[str, Snapshot] | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        self.kind = kind
        self.waiting = waiting
        self.triggered = triggered
        self.parts: dict[str, Snapshot] = parts or {}

    def copy(self) -> Pending:
        return Pending(self.checkpoint, self.kind, self.waiting, self.triggered, dict(self.parts))


class Coordinator:
    """`pending` are the checkpoints in progress by id, oldest first."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.storage = MemoryStorage()
        self.next_id = 1
        self.pending: dict[int, Pending] = {}
        self.failures = 0
        """Checkpoints that failed since the last that completed."""
        self.messages: list[tuple[Message, Any]] = []
        self.shown: dict[int, dict[str, Any]] = {}

    def _emit(self, *events: Any) -> None:
        if self.trace.events is not None:
            self.trace.events.extend(events)

    def start_from(self, completed: Completed) -> None:
        """The job was started from here: recovery goes back to it until there is a newer one, and ids go on behind its id."""
        self.storage.completed = (completed,)
        self.next_id = completed.checkpoint + 1

    def newest(self) -> int | None:
        """The newest checkpoint in progress, or None."""
        return max(self.pending, default=None)

    def trigger(self, kind: str, subtasks: list[str], now: int) -> int:
        """Start a checkpoint that all `subtasks` have to acknowledge."""
        checkpoint = self.next_id
        self.next_id += 1
        self.pending[checkpoint] = Pending(checkpoint, kind, frozenset(subtasks), now)
        self.trace.mark("checkpoint_triggered", str(checkpoint))
        self._emit(CheckpointTriggered(checkpoint, kind, tuple(subtasks)))
        if len(self.shown) >= KEPT_CHECKPOINTS:
            del self.shown[dispensable(self.shown)]
        self.shown[checkpoint] = {
            "kind": kind,
            "status": "triggered",
            "failure": "",
            "reason": "",
            "triggered": self.trace.step + 1,
            "ended": None,
            "bytes": 0,
            "written": 0,
            "subtasks": {subtask: waiting_part() for subtask in subtasks},
        }
        return checkpoint

    # Messages

    def send(self, message: Message, part: Any = None) -> None:
        self.messages.append((message, part))
        self._emit(MessageSent(message))

    def tell(self, subtasks: Iterable[str], kind: str, checkpoint: int) -> None:
        """Send a message of `kind` ("trigger" or "abort") to each of `subtasks`."""
        for subtask in subtasks:
            self.send(Message(subtask, COORDINATOR, kind, checkpoint))

    def deliver(self, box: str, kinds: tuple[str, ...]) -> tuple[Message, Any]:
        """Take the oldest message of one of `kinds` to or from the subtask `box`."""
        for index, (message, part) in enumerate(self.messages):
            if message.kind in kinds and box in (message.to, message.sender):
                del self.messages[index]
                self._emit(MessageDelivered(message))
                return message, part
        raise EngineBug(
            "no_message",
            f"No {kinds[0]} message is under way.",
            place=box,
            mend="Report it with the log of the run.",
        )

    def has_message(self, box: str, kinds: tuple[str, ...]) -> bool:
        return any(
            message.kind in kinds and box in (message.to, message.sender)
            for message, _ in self.messages
        )

    def is_savepoint(self, checkpoint: int) -> bool:
        """Whether a checkpoint that is still shown is a savepoint."""
        shown = self.shown.get(checkpoint)
        return shown is not None and shown["kind"] == SAVEPOINT

    # What subtasks do, as it is shown

    def barrier_arrived(self, subtask: str, checkpoint: int, awaited: int) -> None:
        """Note the first barrier at a subtask that waits for `awaited` inputs in all."""
        entry = self.entry(subtask, checkpoint)
        if entry is not None and entry["first_barrier"] is None:
            entry["first_barrier"] = self.trace.step + 1
            if awaited > 1:
                entry["status"] = "aligning"

    def snapshot_taken(
        self, subtask: str, checkpoint: int, size: int, written: int, left: int
    ) -> None:
        entry = self.entry(subtask, checkpoint)
        if entry is not None:
            now = self.trace.step + 1
            entry.update(status="snapshotted", snapshot=now, bytes=size, written=written, left=left)

    def entry(self, subtask: str, checkpoint: int) -> dict[str, Any] | None:
        """What is shown of a subtask's part, or None where the checkpoint is no longer shown."""
        shown = self.shown.get(checkpoint)
        found: dict[str, Any] | None = shown["subtasks"].get(subtask) if shown else None
        return found

    # Ends

    def acknowledge(self, subtask: str, checkpoint: int, part: Snapshot) -> bool:
        """Record a subtask's part; True when it was the last one and the checkpoint is complete.

        InvalidJob where the storage refuses the checkpoint, which is still in progress then.
        """
        self._emit(SnapshotAcknowledged(subtask, checkpoint))
        entry = self.entry(subtask, checkpoint)
        if entry is not None:
            entry.update(status="acknowledged", acknowledged=self.trace.step + 1)
        pending = self.pending.get(checkpoint)
        if pending is None:
            return False
        pending.parts[subtask] = part
        if len(pending.parts) < len(pending.waiting):
            return False
        self._complete(pending)
        return True

    def decline(self, subtask: str, checkpoint: int, failure: str) -> None:
        """A subtask cannot deliver its part."""
        self._emit(SnapshotDeclined(subtask, checkpoint, failure))
        entry = self.entry(subtask, checkpoint)
        if entry is not None:
            entry["status"] = "declined"

    def _complete(self, pending: Pending) -> None:
        by_operator: dict[str, list[Any]] = {}
        inputs: Elements = {}
        outputs: Elements = {}
        for subtask in sorted(pending.parts, key=_operator_and_index):
            part = pending.parts[subtask]
            by_operator.setdefault(_operator_and_index(subtask)[0], []).append(part.state)
            inputs.update(part.inputs)
            outputs.update(part.outputs)
        in_flight = {
            link: (*inputs.get(link, ()), *outputs.get(link, ()))
            for link in sorted(inputs.keys() | outputs.keys())
        }
        checkpoint = pending.checkpoint
        size = sum(map(part_bytes, pending.parts.values()))
        shared = sum(
            full_bytes(part.state) - written_bytes(part.state) for part in pending.parts.values()
        )
        written = size - shared
        self.storage.store(Completed(checkpoint, pending.kind, by_operator, size, in_flight))
        self.shown[checkpoint].update(
            status="completed", ended=self.trace.step + 1, bytes=size, written=written
        )
        self.trace.mark("checkpoint_completed", str(checkpoint))
        self._emit(CheckpointCompleted(checkpoint, size, written))
        del self.pending[checkpoint]
        self.failures = 0
        for older in list(self.pending.values()):
            if older.checkpoint < checkpoint and older.kind != SAVEPOINT:
                self.abort(older.checkpoint, SUBSUMED)

    def abort(self, checkpoint: int, failure: str, reason: str = "") -> None:
        """Give up a checkpoint in progress, for a reason of `failure_reasons`; `reason` tells it in other words."""
        reason = reason or REASONS[failure]
        self.trace.mark("checkpoint_aborted", str(checkpoint))
        self._emit(CheckpointAborted(checkpoint, failure, reason))
        self.shown[checkpoint].update(
            status="aborted", failure=failure, reason=reason, ended=self.trace.step + 1
        )
        del self.pending[checkpoint]

    def drop_messages(self) -> None:
        """A failure loses whatever is under way."""
        self.messages.clear()

    def picture(self) -> dict[int, dict[str, Any]]:
        """The latest checkpoints as they are shown, by id; a copy."""
        return _copied(self.shown)

    def keyframe(self) -> Any:
        return (
            self.next_id,
            [pending.copy() for pending in self.pending.values()],
            self.failures,
            list(self.messages),
            self.picture(),
            self.storage.completed,
        )

    def rewind(self, frame: Any) -> None:
        self.next_id, pending, self.failures, messages, shown, self.storage.completed = frame
        self.pending = {held.checkpoint: held.copy() for held in pending}
        self.messages = list(messages)
        self.shown = _copied(shown)


def part_bytes(part: Snapshot) -> int:
    """Bytes of a subtask's part: its state and what was in flight."""
    return full_bytes(part.state) + sum(
        estimated_bytes(element[1:])
        for side in (part.inputs, part.outputs)
        for elements in side.values()
        for element in elements
    )


def _copied(shown: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {
        checkpoint: {
            **entry,
            "subtasks": {name: dict(part) for name, part in entry["subtasks"].items()},
        }
        for checkpoint, entry in shown.items()
    }


def _operator_and_index(subtask: str) -> tuple[str, int]:
    operator, _, index = subtask.rpartition("[")
    return operator, int(index[:-1])
