"""The catalogue of trace events: one frozen type per observable happening.

Fields are JSON-safe: integers, strings, None, or an `Element`. Event-time fields are integer milliseconds, where
-2^63 and 2^63-1 stand for minus and plus infinity; `time` of the clock is integer microseconds. `subtask` is written
"operator[index]", `channel` "sender>receiver", `row` names one row of a table.

The docstring of a type is its sentence in docs/protocol.md; `engine.fold.fold` says what each does to the picture and
`engine.narration` tells it to a person.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias


class Element(NamedTuple):
    """An element as the picture shows it. `id` is the channel and the element's number in it."""

    id: str
    kind: str
    key: str | None
    text: str
    brief: str
    timestamp: int | None
    checkpoint: int | None


class Message(NamedTuple):
    """A message between the coordinator and a subtask: a trigger or an acknowledgement."""

    to: str
    sender: str
    kind: str
    checkpoint: int


Event: TypeAlias = tuple[Any, ...]
"""An instance of one of the types below."""


class Deployed(NamedTuple):
    """An execution graph was put in place: at the start, after a failure, after a rescale."""

    job: dict[str, Any]
    graph: dict[str, Any]
    subtasks: dict[str, Any]
    channels: dict[str, Any]


class ClockAdvanced(NamedTuple):
    """The clock moved to the next due time."""

    time: int


class RecordRead(NamedTuple):
    """A source subtask read the record at `offset` of a split."""

    subtask: str
    split: str
    offset: int
    text: str
    timestamp: int | None


class RecordSkipped(NamedTuple):
    """A source subtask skipped and counted an entry that holds no record; `line` is its line in the file, or None."""

    subtask: str
    split: str
    offset: int
    line: int | None
    reason: str


class SplitWatermark(NamedTuple):
    """The watermark of one split rose."""

    subtask: str
    split: str
    watermark: int


class ScriptRead(NamedTuple):
    """A source subtask read an entry that holds no record but an instruction: a watermark, a status, a wait."""

    subtask: str
    split: str
    offset: int
    text: str


class SplitStatus(NamedTuple):
    """A split fell silent and is idle, or woke up; an idle split holds no watermark back."""

    subtask: str
    split: str
    idle: bool


class SplitPaused(NamedTuple):
    """A split was paused because it ran ahead of its alignment group, or resumed."""

    subtask: str
    split: str
    paused: bool


class SplitEnded(NamedTuple):
    """A source subtask reached the end of a split."""

    subtask: str
    split: str


class ElementTaken(NamedTuple):
    """The element at the head of a channel was taken by the receiver; `kind`, `key` and `timestamp` are the element's."""

    channel: str
    id: str
    kind: str
    key: str | None
    timestamp: int | None


class ElementEmitted(NamedTuple):
    """An element was put at the tail of a channel."""

    channel: str
    element: Element


class InputWatermark(NamedTuple):
    """The watermark of one input of a subtask rose."""

    subtask: str
    input: str
    watermark: int


class InputStatus(NamedTuple):
    """One input of a subtask is idle, or active again."""

    subtask: str
    input: str
    idle: bool


class SubtaskStatus(NamedTuple):
    """All inputs of a subtask are idle, so it is; or it is active again."""

    subtask: str
    idle: bool


class InputEnded(NamedTuple):
    """One input of a subtask ended: no record follows."""

    subtask: str
    input: str


class WatermarkAdvanced(NamedTuple):
    """The combined watermark of a subtask rose."""

    subtask: str
    old: int
    new: int


class StatePut(NamedTuple):
    """A row of keyed state was added or changed; `window` is (start, end) for a window's contents, `entry` a map key."""

    subtask: str
    row: str
    name: str
    key: str
    key_group: int
    window: tuple[int, int] | None
    entry: str | None
    value: str


class StateRemoved(NamedTuple):
    """A row of keyed state was removed."""

    subtask: str
    row: str


class TimerSet(NamedTuple):
    """A timer was registered for a key; `clock` is "event" or "processing", `time` in ms of it."""

    subtask: str
    row: str
    key: str
    time: int
    clock: str


class TimerRemoved(NamedTuple):
    """A timer was deleted before it fired."""

    subtask: str
    row: str


class TimerFired(NamedTuple):
    """A timer fired; `clock` and `time` as when it was set."""

    subtask: str
    row: str
    key: str
    time: int
    clock: str


class WindowFired(NamedTuple):
    """A window of a key fired; `text` is its result."""

    subtask: str
    key: str
    start: int
    end: int
    text: str


class WindowsMerged(NamedTuple):
    """Session windows of a key were merged into one, [start, end)."""

    subtask: str
    key: str
    merged: tuple[tuple[int, int], ...]
    start: int
    end: int


class WindowCleaned(NamedTuple):
    """A window of a key was removed, with its contents: nothing can reach it any more."""

    subtask: str
    key: str
    start: int
    end: int


class RecordLate(NamedTuple):
    """A record was dropped as late: its window had ended before the subtask's watermark."""

    subtask: str
    key: str
    timestamp: int
    watermark: int
    text: str


class Warned(NamedTuple):
    """Something looks wrong though it breaks no rule; `code` names it, `text` says what to look at and where."""

    subtask: str
    code: str
    text: str


class ResultWritten(NamedTuple):
    """A sink subtask wrote its result number `index`."""

    subtask: str
    index: int  # type: ignore[assignment]
    text: str


class CheckpointTriggered(NamedTuple):
    """The coordinator triggered a checkpoint (or a savepoint) that these subtasks have to acknowledge."""

    checkpoint: int
    kind: str
    subtasks: tuple[str, ...]


class MessageSent(NamedTuple):
    """A message between the coordinator and a subtask is under way."""

    message: Message


class MessageDelivered(NamedTuple):
    """A message between the coordinator and a subtask arrived."""

    message: Message


class BarrierArrived(NamedTuple):
    """A barrier reached a subtask on one of its inputs."""

    subtask: str
    input: str
    checkpoint: int


class BarrierOvertook(NamedTuple):
    """An unaligned barrier stands before the queue of a channel, having overtaken so many elements."""

    channel: str
    checkpoint: int
    overtaken: int


class PriorityBarrierTaken(NamedTuple):
    """A barrier that stood before the queue of a channel was taken."""

    channel: str
    checkpoint: int


class AlignmentTimedOut(NamedTuple):
    """A checkpoint has aligned for too long: from here on its barriers overtake at this subtask."""

    subtask: str
    checkpoint: int


class InputBlocked(NamedTuple):
    """An input is blocked until the barrier has come on all others (alignment)."""

    subtask: str
    input: str
    checkpoint: int


class InputsReleased(NamedTuple):
    """The alignment of a subtask ended: all its inputs are open again, on which so many records had to wait."""

    subtask: str
    checkpoint: int
    held: int


class SnapshotTaken(NamedTuple):
    """A subtask copied its state for a checkpoint: so many bytes, of which so many have to be written."""

    subtask: str
    checkpoint: int
    bytes: int
    written: int
    entries: int


class ElementsSaved(NamedTuple):
    """Elements in flight became part of a checkpoint; their bytes are an estimate."""

    subtask: str
    checkpoint: int
    channel: str
    elements: tuple[str, ...]
    bytes: int


class ChannelStateCompleted(NamedTuple):
    """The last barrier has come, so nothing more in flight belongs to this subtask's part."""

    subtask: str
    checkpoint: int


class SnapshotUploaded(NamedTuple):
    """A piece of a subtask's snapshot reached the storage; so many bytes are left."""

    subtask: str
    checkpoint: int
    left: int


class UploadRefused(NamedTuple):
    """The storage is to refuse the next snapshot of a subtask (True), or has refused it (False)."""

    subtask: str
    pending: bool


class SnapshotDropped(NamedTuple):
    """A subtask gave up its part of a checkpoint, for a reason named as in Flink's CheckpointFailureReason."""

    subtask: str
    checkpoint: int
    reason: str


class SnapshotDeclined(NamedTuple):
    """The coordinator was told that a subtask cannot deliver its part, and why (as in CheckpointFailureReason)."""

    subtask: str
    checkpoint: int
    reason: str


class SnapshotAcknowledged(NamedTuple):
    """The coordinator received a subtask's part of a checkpoint."""

    subtask: str
    checkpoint: int


class CheckpointCompleted(NamedTuple):
    """Every subtask has acknowledged: the checkpoint can be restored. Of its bytes, so many had to be written."""

    checkpoint: int
    bytes: int
    written: int


class CheckpointAborted(NamedTuple):
    """A checkpoint was given up. failure: the name of the reason in Flink's CheckpointFailureReason; reason: in words."""

    checkpoint: int
    failure: str
    reason: str


class SourcesPaused(NamedTuple):
    """Stop-the-world: the sources read nothing until this checkpoint is over, and the channels drain."""

    checkpoint: int


class ChannelsDrained(NamedTuple):
    """Stop-the-world: nothing is in flight any more, so every subtask is told to copy its state."""

    checkpoint: int


class SourcesResumed(NamedTuple):
    """Stop-the-world: the sources read again."""

    checkpoint: int


class SubtaskFailed(NamedTuple):
    """A subtask failed, or the whole job where none is named; it is cancelled and what was in its channels is lost."""

    subtask: str
    reason: str


class JobStateChanged(NamedTuple):
    """The job is now running, stopping, restarting, finished or failed."""

    state: str
    reason: str


class SubtaskFinished(NamedTuple):
    """All inputs of a subtask ended and it has emitted everything."""

    subtask: str


class LoopEmptied(NamedTuple):
    """The head of a loop knows that nothing is left in it, after so many laps without a record, and sent the end of input."""

    subtask: str
    laps: int


class RescaleRequested(NamedTuple):
    """An operator is to get another parallelism by a restart from a checkpoint, or from the beginning (None)."""

    vertex: str
    parallelism: int
    checkpoint: int | None


class RescaleAborted(NamedTuple):
    """A rescale was given up for the reason named."""

    vertex: str
    reason: str


class Restored(NamedTuple):
    """The job was restarted from a checkpoint, or from the beginning where there is none."""

    checkpoint: int | None
    attempt: int
    why: str
    moved: int


CATALOGUE: tuple[type[Any], ...] = tuple(
    found
    for name, found in list(globals().items())
    if isinstance(found, type)
    and found.__module__ == __name__
    and name not in ("Element", "Message")
)
"""Every event type, in the order in which they are defined, which is that of the documentation."""
