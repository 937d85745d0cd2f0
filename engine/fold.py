"""The fold: what each event does to the picture. static/js/apply_event.js is its mirror.

`fold(picture, trace)` changes the picture in place. Nothing here looks at the engine.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from engine import events as e
from engine.trace import StepTrace

Picture = dict[str, Any]
KEPT_CHECKPOINTS = 20
KEPT_RESULTS = 20
"""How many checkpoints, and results of a sink, the picture shows; older ones are left out of it."""


def dispensable(checkpoints: dict[Any, Picture]) -> Any:
    """Which checkpoint is left out of the picture for a new one: the oldest that is over. One in progress stays."""
    over = [number for number, entry in checkpoints.items() if entry["status"] != "triggered"]
    return min(over, key=int)


def waiting_part() -> dict[str, Any]:
    """What is shown of a subtask's part of a checkpoint before anything has come of it.

    first_barrier, snapshot, complete (its channel state), uploaded, acknowledged, dropped: steps. reason: why the part was
    given up, by its name in Flink's CheckpointFailureReason. bytes: all that the copied state refers to; written: so much of
    it is new. held: records that had to wait on blocked inputs. saved, saved_bytes: elements in flight that belong to the
    part. left: bytes that are not in the storage yet.
    """
    return {
        "status": "waiting",
        "first_barrier": None,
        "snapshot": None,
        "complete": None,
        "uploaded": None,
        "acknowledged": None,
        "dropped": None,
        "reason": "",
        "bytes": 0,
        "written": 0,
        "held": 0,
        "saved": 0,
        "saved_bytes": 0,
        "left": 0,
    }


def drop_part(part: dict[str, Any], step: int, reason: str) -> None:
    """A part is given up in `step`. It may be given up again, by who did not know; the first reason is the one."""
    part["status"] = "dropped"
    if part["dropped"] is None:
        part.update(dropped=step, reason=reason)


def fold(picture: Picture, step: StepTrace) -> Picture:
    """Apply one step: its number first, then its events in order."""
    picture["step"] = step.step
    for event in step.events:
        _RULES[type(event)](picture, event)
    return picture


def _deployed(picture: Picture, event: e.Deployed) -> None:
    picture.update(copy.deepcopy(event._asdict()))
    picture["messages"] = []


def _clock_advanced(picture: Picture, event: e.ClockAdvanced) -> None:
    picture["time"] = event.time


def _record_read(picture: Picture, event: e.RecordRead) -> None:
    subtask = picture["subtasks"][event.subtask]
    subtask["splits"][event.split]["offset"] = event.offset + 1
    subtask["read"] += 1


def _record_skipped(picture: Picture, event: e.RecordSkipped) -> None:
    subtask = picture["subtasks"][event.subtask]
    subtask["splits"][event.split]["offset"] = event.offset + 1
    subtask["skipped"] += 1


def _split_watermark(picture: Picture, event: e.SplitWatermark) -> None:
    picture["subtasks"][event.subtask]["splits"][event.split]["watermark"] = event.watermark


def _split_ended(picture: Picture, event: e.SplitEnded) -> None:
    picture["subtasks"][event.subtask]["splits"][event.split]["ended"] = True


def _script_read(picture: Picture, event: e.ScriptRead) -> None:
    picture["subtasks"][event.subtask]["splits"][event.split]["offset"] = event.offset + 1


def _split_status(picture: Picture, event: e.SplitStatus) -> None:
    picture["subtasks"][event.subtask]["splits"][event.split]["idle"] = event.idle


def _split_paused(picture: Picture, event: e.SplitPaused) -> None:
    picture["subtasks"][event.subtask]["splits"][event.split]["paused"] = event.paused


def _element_taken(picture: Picture, event: e.ElementTaken) -> None:
    channel = picture["channels"][event.channel]
    channel["queue"].pop(0)
    channel["taken"] += 1


def _element_emitted(picture: Picture, event: e.ElementEmitted) -> None:
    picture["channels"][event.channel]["queue"].append(event.element._asdict())


def _input_watermark(picture: Picture, event: e.InputWatermark) -> None:
    picture["subtasks"][event.subtask]["inputs"][event.input]["watermark"] = event.watermark


def _input_ended(picture: Picture, event: e.InputEnded) -> None:
    picture["subtasks"][event.subtask]["inputs"][event.input]["ended"] = True


def _input_status(picture: Picture, event: e.InputStatus) -> None:
    picture["subtasks"][event.subtask]["inputs"][event.input]["idle"] = event.idle


def _subtask_status(picture: Picture, event: e.SubtaskStatus) -> None:
    picture["subtasks"][event.subtask]["idle"] = event.idle


def _watermark_advanced(picture: Picture, event: e.WatermarkAdvanced) -> None:
    picture["subtasks"][event.subtask]["watermark"] = event.new


def _state_put(picture: Picture, event: e.StatePut) -> None:
    picture["subtasks"][event.subtask]["state"][event.row] = {
        "name": event.name,
        "key": event.key,
        "key_group": event.key_group,
        "window": list(event.window) if event.window else None,
        "entry": event.entry,
        "value": event.value,
    }


def _state_removed(picture: Picture, event: e.StateRemoved) -> None:
    del picture["subtasks"][event.subtask]["state"][event.row]


def _timer_set(picture: Picture, event: e.TimerSet) -> None:
    picture["subtasks"][event.subtask]["timers"][event.row] = {
        "key": event.key,
        "time": event.time,
        "clock": event.clock,
    }


def _timer_gone(picture: Picture, event: e.TimerRemoved | e.TimerFired) -> None:
    del picture["subtasks"][event.subtask]["timers"][event.row]


def _record_late(picture: Picture, event: e.RecordLate) -> None:
    picture["subtasks"][event.subtask]["late"] += 1


def _result_written(picture: Picture, event: e.ResultWritten) -> None:
    subtask = picture["subtasks"][event.subtask]
    subtask["written"] = event.index + 1
    subtask["results"] = [*subtask["results"], [event.index, event.text]][-KEPT_RESULTS:]


def _checkpoint_triggered(picture: Picture, event: e.CheckpointTriggered) -> None:
    checkpoints = picture["checkpoints"]
    if len(checkpoints) >= KEPT_CHECKPOINTS:
        del checkpoints[dispensable(checkpoints)]
    checkpoints[str(event.checkpoint)] = {
        "kind": event.kind,
        "status": "triggered",
        "failure": "",
        "reason": "",
        "triggered": picture["step"],
        "ended": None,
        "bytes": 0,
        "written": 0,
        "subtasks": {subtask: waiting_part() for subtask in event.subtasks},
    }


def _message_sent(picture: Picture, event: e.MessageSent) -> None:
    picture["messages"].append(event.message._asdict())


def _message_delivered(picture: Picture, event: e.MessageDelivered) -> None:
    picture["messages"].remove(event.message._asdict())


def _part(picture: Picture, checkpoint: int, subtask: str) -> Picture | None:
    entry = picture["checkpoints"].get(str(checkpoint))
    found: Picture | None = entry["subtasks"].get(subtask) if entry else None
    return found


def _barrier_arrived(picture: Picture, event: e.BarrierArrived) -> None:
    part = _part(picture, event.checkpoint, event.subtask)
    if part is not None and part["first_barrier"] is None:
        part["first_barrier"] = picture["step"]
        inputs = picture["subtasks"][event.subtask]["inputs"]
        if sum("feedback" not in picture["channels"][name] for name in inputs) > 1:
            part["status"] = "aligning"


def _input_blocked(picture: Picture, event: e.InputBlocked) -> None:
    subtask = picture["subtasks"][event.subtask]
    subtask["inputs"][event.input]["blocked"] = True
    aligning = subtask["aligning"]
    if aligning is None or aligning["checkpoint"] != event.checkpoint:
        aligning = subtask["aligning"] = {"checkpoint": event.checkpoint, "received": []}
    aligning["received"].append(event.input)


def _inputs_released(picture: Picture, event: e.InputsReleased) -> None:
    part = _part(picture, event.checkpoint, event.subtask)
    if part is not None:
        part["held"] = event.held
    subtask = picture["subtasks"][event.subtask]
    for held in subtask["inputs"].values():
        held["blocked"] = False
    subtask["aligning"] = None


def _barrier_overtook(picture: Picture, event: e.BarrierOvertook) -> None:
    picture["channels"][event.channel]["priority"].append(event.checkpoint)


def _priority_barrier_taken(picture: Picture, event: e.PriorityBarrierTaken) -> None:
    picture["channels"][event.channel]["priority"].pop(0)


def _elements_saved(picture: Picture, event: e.ElementsSaved) -> None:
    part = _part(picture, event.checkpoint, event.subtask)
    if part is not None:
        part["saved"] += len(event.elements)
        part["saved_bytes"] += event.bytes
        if picture["job"]["upload_bytes"]:
            part["left"] += event.bytes


def _channel_state_completed(picture: Picture, event: e.ChannelStateCompleted) -> None:
    part = _part(picture, event.checkpoint, event.subtask)
    if part is not None:
        part["complete"] = picture["step"]


def _snapshot_uploaded(picture: Picture, event: e.SnapshotUploaded) -> None:
    part = _part(picture, event.checkpoint, event.subtask)
    if part is not None:
        status = "uploading" if event.left else "uploaded"
        part.update(status=status, uploaded=picture["step"], left=event.left)


def _upload_refused(picture: Picture, event: e.UploadRefused) -> None:
    picture["subtasks"][event.subtask]["upload_refused"] = event.pending


def _snapshot_dropped(picture: Picture, event: e.SnapshotDropped) -> None:
    part = _part(picture, event.checkpoint, event.subtask)
    if part is not None:
        drop_part(part, picture["step"], event.reason)


def _snapshot_declined(picture: Picture, event: e.SnapshotDeclined) -> None:
    part = _part(picture, event.checkpoint, event.subtask)
    if part is not None:
        part["status"] = "declined"


def _sources_paused(picture: Picture, event: e.SourcesPaused) -> None:
    picture["job"]["paused"] = event.checkpoint


def _sources_resumed(picture: Picture, event: e.SourcesResumed) -> None:
    picture["job"]["paused"] = None


def _snapshot_taken(picture: Picture, event: e.SnapshotTaken) -> None:
    part = _part(picture, event.checkpoint, event.subtask)
    if part is not None:
        part.update(
            status="snapshotted",
            snapshot=picture["step"],
            bytes=event.bytes,
            written=event.written,
            left=event.written if picture["job"]["upload_bytes"] else 0,
        )


def _snapshot_acknowledged(picture: Picture, event: e.SnapshotAcknowledged) -> None:
    part = _part(picture, event.checkpoint, event.subtask)
    if part is not None:
        part.update(status="acknowledged", acknowledged=picture["step"])


def _checkpoint_completed(picture: Picture, event: e.CheckpointCompleted) -> None:
    entry = picture["checkpoints"][str(event.checkpoint)]
    entry.update(
        status="completed", ended=picture["step"], bytes=event.bytes, written=event.written
    )
    picture["last_completed"] = max(event.checkpoint, picture["last_completed"] or 0)


def _checkpoint_aborted(picture: Picture, event: e.CheckpointAborted) -> None:
    picture["checkpoints"][str(event.checkpoint)].update(
        status="aborted", failure=event.failure, reason=event.reason, ended=picture["step"]
    )


def _subtask_failed(picture: Picture, event: e.SubtaskFailed) -> None:
    for name, subtask in picture["subtasks"].items():
        subtask["status"] = "failed" if name == event.subtask else "cancelled"
        subtask["aligning"] = None
        for held in subtask["inputs"].values():
            held["blocked"] = False
    for channel in picture["channels"].values():
        channel["taken"] += len(channel["queue"])
        channel["queue"] = []
        channel["priority"] = []
    picture["messages"] = []
    picture["job"]["paused"] = None


def _job_state_changed(picture: Picture, event: e.JobStateChanged) -> None:
    picture["job"].update(state=event.state, reason=event.reason)


def _subtask_finished(picture: Picture, event: e.SubtaskFinished) -> None:
    picture["subtasks"][event.subtask]["status"] = "finished"


def _nothing(picture: Picture, event: Any) -> None:
    """For events that only tell what others show."""


_RULES: dict[type[Any], Callable[[Picture, Any], None]] = {
    e.Deployed: _deployed,
    e.ClockAdvanced: _clock_advanced,
    e.RecordRead: _record_read,
    e.RecordSkipped: _record_skipped,
    e.SplitWatermark: _split_watermark,
    e.ScriptRead: _script_read,
    e.SplitStatus: _split_status,
    e.SplitPaused: _split_paused,
    e.SplitEnded: _split_ended,
    e.ElementTaken: _element_taken,
    e.ElementEmitted: _element_emitted,
    e.InputWatermark: _input_watermark,
    e.InputStatus: _input_status,
    e.InputEnded: _input_ended,
    e.SubtaskStatus: _subtask_status,
    e.WatermarkAdvanced: _watermark_advanced,
    e.StatePut: _state_put,
    e.StateRemoved: _state_removed,
    e.TimerSet: _timer_set,
    e.TimerRemoved: _timer_gone,
    e.TimerFired: _timer_gone,
    e.WindowFired: _nothing,
    e.WindowsMerged: _nothing,
    e.WindowCleaned: _nothing,
    e.RecordLate: _record_late,
    e.Warned: _nothing,
    e.ResultWritten: _result_written,
    e.CheckpointTriggered: _checkpoint_triggered,
    e.MessageSent: _message_sent,
    e.MessageDelivered: _message_delivered,
    e.BarrierArrived: _barrier_arrived,
    e.InputBlocked: _input_blocked,
    e.InputsReleased: _inputs_released,
    e.BarrierOvertook: _barrier_overtook,
    e.PriorityBarrierTaken: _priority_barrier_taken,
    e.AlignmentTimedOut: _nothing,
    e.ElementsSaved: _elements_saved,
    e.ChannelStateCompleted: _channel_state_completed,
    e.SnapshotUploaded: _snapshot_uploaded,
    e.UploadRefused: _upload_refused,
    e.SnapshotDropped: _snapshot_dropped,
    e.SnapshotDeclined: _snapshot_declined,
    e.SourcesPaused: _sources_paused,
    e.ChannelsDrained: _nothing,
    e.SourcesResumed: _sources_resumed,
    e.SnapshotTaken: _snapshot_taken,
    e.SnapshotAcknowledged: _snapshot_acknowledged,
    e.CheckpointCompleted: _checkpoint_completed,
    e.CheckpointAborted: _checkpoint_aborted,
    e.SubtaskFailed: _subtask_failed,
    e.JobStateChanged: _job_state_changed,
    e.SubtaskFinished: _subtask_finished,
    e.LoopEmptied: _nothing,
    e.RescaleRequested: _nothing,
    e.RescaleAborted: _nothing,
    e.Restored: _nothing,
}
