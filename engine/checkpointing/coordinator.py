"""The checkpoint coordinator: triggers, collects acknowledgements, completes or aborts.

Source: Flink's `CheckpointCoordinator`, one checkpoint at a time. Messages to and from subtasks are delivered by actions
of their own, so that a schedule can delay them.
"""

from __future__ import annotations

from typing import Any

from engine.checkpointing.completed import Completed, MemoryStorage
from engine.errors import EngineBug, InvalidJob
from engine.events import (
    CheckpointAborted,
    CheckpointCompleted,
    CheckpointTriggered,
    Message,
    MessageDelivered,
    MessageSent,
    SnapshotAcknowledged,
)
from engine.fold import KEPT_CHECKPOINTS
from engine.state.sizes import estimated_bytes
from engine.trace import Trace

COORDINATOR = "coordinator"


class Coordinator:
    """`pending` is the id of the checkpoint in progress, or None."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.storage = MemoryStorage()
        self.next_id = 1
        self.pending: int | None = None
        self.parts: dict[str, Any] = {}
        self.waiting: frozenset[str] = frozenset()
        self.messages: list[tuple[Message, Any]] = []
        self.shown: dict[int, dict[str, Any]] = {}

    def _emit(self, *events: Any) -> None:
        if self.trace.events is not None:
            self.trace.events.extend(events)

    def start_from(self, completed: Completed) -> None:
        """The job was started from here: recovery goes back to it until there is a newer one, and ids go on behind its id."""
        self.storage.completed = (completed,)
        self.next_id = completed.checkpoint + 1

    def trigger(self, kind: str, subtasks: list[str], sources: list[str]) -> int:
        """Start a checkpoint that all `subtasks` have to acknowledge, and send the trigger to `sources`."""
        checkpoint = self.next_id
        self.next_id += 1
        self.pending = checkpoint
        self.parts = {}
        self.waiting = frozenset(subtasks)
        self.trace.mark("checkpoint_triggered", str(checkpoint))
        self._emit(CheckpointTriggered(checkpoint, kind, tuple(subtasks)))
        if len(self.shown) >= KEPT_CHECKPOINTS:
            del self.shown[min(self.shown)]
        self.shown[checkpoint] = {
            "kind": kind,
            "status": "triggered",
            "reason": "",
            "triggered": self.trace.step + 1,
            "ended": None,
            "bytes": 0,
            "subtasks": {
                subtask: {
                    "status": "waiting",
                    "first_barrier": None,
                    "snapshot": None,
                    "acknowledged": None,
                    "bytes": 0,
                }
                for subtask in subtasks
            },
        }
        for source in sources:
            self.send(Message(source, COORDINATOR, "trigger", checkpoint), None)
        return checkpoint

    def send(self, message: Message, part: Any) -> None:
        self.messages.append((message, part))
        self._emit(MessageSent(message))

    def deliver(self, box: str, kind: str) -> tuple[Message, Any]:
        """Take the oldest message of `kind` ("trigger" or "acknowledge") to or from the subtask `box`."""
        for index, (message, part) in enumerate(self.messages):
            if message.kind == kind and box in (message.to, message.sender):
                del self.messages[index]
                self._emit(MessageDelivered(message))
                return message, part
        raise EngineBug(
            "no_message",
            f"No {kind} message is under way.",
            place=box,
            mend="Report it with the log of the run.",
        )

    def is_savepoint(self, checkpoint: int) -> bool:
        """Whether a checkpoint that is still shown is a savepoint."""
        shown = self.shown.get(checkpoint)
        return shown is not None and shown["kind"] == "savepoint"

    def has_message(self, box: str, kind: str) -> bool:
        return any(
            message.kind == kind and box in (message.to, message.sender)
            for message, _ in self.messages
        )

    def barrier_arrived(self, subtask: str, checkpoint: int, awaited: int) -> None:
        """Note the first barrier at a subtask that waits for `awaited` inputs in all."""
        entry = self._entry(subtask, checkpoint)
        if entry is not None and entry["first_barrier"] is None:
            entry["first_barrier"] = self.trace.step + 1
            if awaited > 1:
                entry["status"] = "aligning"

    def snapshot_taken(self, subtask: str, checkpoint: int, size: int) -> None:
        entry = self._entry(subtask, checkpoint)
        if entry is not None:
            entry.update(status="snapshotted", snapshot=self.trace.step + 1, bytes=size)

    def _entry(self, subtask: str, checkpoint: int) -> dict[str, Any] | None:
        shown = self.shown.get(checkpoint)
        found: dict[str, Any] | None = shown["subtasks"].get(subtask) if shown else None
        return found

    def acknowledge(self, subtask: str, checkpoint: int, part: Any) -> bool:
        """Record a subtask's part; True when it was the last one and the checkpoint is complete."""
        self._emit(SnapshotAcknowledged(subtask, checkpoint))
        entry = self._entry(subtask, checkpoint)
        if entry is not None:
            entry.update(status="acknowledged", acknowledged=self.trace.step + 1)
        if checkpoint != self.pending:
            return False
        self.parts[subtask] = part
        if len(self.parts) < len(self.waiting):
            return False
        return self._complete(checkpoint)

    def _complete(self, checkpoint: int) -> bool:
        """Store it; False where the storage refuses, which aborts the checkpoint."""
        by_operator: dict[str, list[Any]] = {}
        for subtask in sorted(self.parts, key=_operator_and_index):
            by_operator.setdefault(_operator_and_index(subtask)[0], []).append(self.parts[subtask])
        size = sum(map(estimated_bytes, self.parts.values()))
        shown = self.shown[checkpoint]
        try:
            self.storage.store(Completed(checkpoint, shown["kind"], by_operator, size))
        except InvalidJob as error:
            self.abort(str(error))
            return False
        shown.update(status="completed", ended=self.trace.step + 1, bytes=size)
        self.trace.mark("checkpoint_completed", str(checkpoint))
        self._emit(CheckpointCompleted(checkpoint, size))
        self.pending = None
        self.parts = {}
        return True

    def abort(self, reason: str) -> None:
        """Give up the checkpoint in progress, if there is one."""
        if self.pending is None:
            return
        self.trace.mark("checkpoint_aborted", str(self.pending))
        self._emit(CheckpointAborted(self.pending, reason))
        self.shown[self.pending].update(status="aborted", reason=reason, ended=self.trace.step + 1)
        self.pending = None
        self.parts = {}

    def drop_messages(self) -> None:
        """A failure loses whatever is under way."""
        self.messages.clear()

    def picture(self) -> dict[int, dict[str, Any]]:
        """The latest checkpoints as they are shown, by id; a copy."""
        return _copied(self.shown)

    def keyframe(self) -> Any:
        return (
            self.next_id,
            self.pending,
            dict(self.parts),
            self.waiting,
            list(self.messages),
            self.picture(),
            self.storage.completed,
        )

    def rewind(self, frame: Any) -> None:
        (
            self.next_id,
            self.pending,
            parts,
            self.waiting,
            messages,
            shown,
            self.storage.completed,
        ) = frame
        self.parts = dict(parts)
        self.messages = list(messages)
        self.shown = _copied(shown)


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
