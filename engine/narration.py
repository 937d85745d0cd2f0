"""Every event as a sentence, and every step as one.

`narrate` gives the sentence of one event. `narrate_step` tells a whole step: what happened first, then what followed from
it. Times are shown as plain numbers, or as hours and minutes of the lab's zone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from engine import events as e
from engine.clock import on_clock
from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from engine.trace import StepTrace

DAY = 86_400_000


class TimeFormat(NamedTuple):
    """How event time is written. zone_minutes: offset from UTC; clock: hours and minutes instead of a number."""

    zone_minutes: int = 0
    clock: bool = False

    def show(self, timestamp: int | None) -> str:
        if timestamp is None:
            return "no time"
        if timestamp == MIN_TIMESTAMP:
            return "−∞"
        if timestamp == MAX_TIMESTAMP:
            return "the end of time"
        if not self.clock:
            return str(timestamp)
        local = timestamp + self.zone_minutes * 60_000
        minutes, milliseconds = divmod(local % DAY, 60_000)
        shown = f"{minutes // 60:02d}:{minutes % 60:02d}"
        if milliseconds % 1000:
            return f"{shown}:{milliseconds / 1000:06.3f}"
        return f"{shown}:{milliseconds // 1000:02d}" if milliseconds else shown

    def mark(self, watermark: int | None) -> str:
        """A watermark. On a clock, "08:00" says that everything before 08:00 is complete: the last ms is left out."""
        if watermark is None or not self.clock or watermark in (MIN_TIMESTAMP, MAX_TIMESTAMP):
            return self.show(watermark)
        return self.show(watermark + 1)

    def length(self, milliseconds: int) -> str:
        """A length of time, in the largest units that need no fraction, rounded up to seconds on a clock."""
        if not self.clock:
            return f"{milliseconds} ms"
        minutes, seconds = divmod(-(-milliseconds // 1000), 60)
        hours, minutes = divmod(minutes, 60)
        parts = [f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes)
        return " ".join(parts + [f"{seconds} s"] * bool(seconds)) or "0 s"

    def span(self, start: int, end: int) -> str:
        return f"{self.show(start)}–{self.show(end)}"


NUMBERS = TimeFormat()


def narrate(event: e.Event, times: TimeFormat = NUMBERS) -> str:
    """One sentence, with its full stop."""
    return _SENTENCES[type(event)](event, times) + "."


def narrate_step(step: StepTrace, times: TimeFormat = NUMBERS) -> str:
    """The step in one sentence: its first telling event, then what followed, joined by semicolons."""
    by_type: dict[type[Any], list[Any]] = {}
    for event in step.events:
        by_type.setdefault(type(event), []).append(event)
    clauses = _lead(step, by_type, times)
    clauses += [
        _SENTENCES[type(event)](event, times) for event in step.events if type(event) in _FOLLOWING
    ]
    if not clauses:
        clauses = [_SENTENCES[type(event)](event, times) for event in step.events[:2]] or [
            "Nothing was seen to happen"
        ]
    shown = clauses[:4]
    if len(clauses) > 4:
        shown.append(f"and {len(clauses) - 4} more")
    return "; ".join(shown) + "."


def _lead(step: StepTrace, by_type: dict[type[Any], list[Any]], times: TimeFormat) -> list[str]:
    """What happened first, with its immediate effect in the same clause."""
    if e.RecordRead in by_type:
        read: e.RecordRead = by_type[e.RecordRead][0]
        return [_SENTENCES[e.RecordRead](read, times) + _sent(by_type, times)]
    if e.PriorityBarrierTaken in by_type:
        overtaking: e.PriorityBarrierTaken = by_type[e.PriorityBarrierTaken][0]
        sender, _, receiver = overtaking.channel.partition(">")
        receiver = receiver.partition("#")[0]
        return [
            f"{receiver} received barrier {overtaking.checkpoint} from {sender}, before what was sent ahead of it"
        ]
    if e.ElementTaken not in by_type:
        return []
    taken: e.ElementTaken = by_type[e.ElementTaken][0]
    sender, _, receiver = taken.channel.partition(">")
    receiver = receiver.partition("#")[0]
    if taken.kind == "watermark":
        clause = f"{receiver} received watermark {times.mark(taken.timestamp)} from {sender}"
        if e.WatermarkAdvanced in by_type:
            advanced: e.WatermarkAdvanced = by_type[e.WatermarkAdvanced][0]
            return [
                f"{clause}, so its own watermark rose from {times.mark(advanced.old)} to {times.mark(advanced.new)}",
                *_fired(by_type, times),
            ]
        return [f"{clause}; its own watermark stays: another input is behind"]
    if taken.kind == "barrier":
        arrived: e.BarrierArrived = by_type[e.BarrierArrived][0]
        return [f"{receiver} received barrier {arrived.checkpoint} from {sender}"]
    if taken.kind == "cancel":
        return [f"{receiver} was told by {sender} that a checkpoint is given up"]
    if taken.kind == "status":
        return [f"{receiver} received a status from {sender}"]
    if taken.kind == "probe":
        return [f"{receiver} received a probe from {sender}: is anything left in the loop"]
    if taken.kind == "end":
        return [f"{receiver} received the end of input from {sender}", *_fired(by_type, times)]
    if e.ResultWritten in by_type:
        return []
    what = f"record {taken.key}" if taken.key is not None else "a record"
    return [f"{receiver} took {what} from {sender}" + _sent(by_type, times)]


def _fired(by_type: dict[type[Any], list[Any]], times: TimeFormat) -> list[str]:
    windows: dict[tuple[int, int], list[str]] = {}
    for fired in by_type.get(e.WindowFired, ()):
        windows.setdefault((fired.start, fired.end), []).append(fired.key)
    return [f"{times.span(*window)} fired for {_list(keys)}" for window, keys in windows.items()]


def _sent(by_type: dict[type[Any], list[Any]], times: TimeFormat) -> str:
    """Where records went and how far the sender's watermark rose."""
    receivers: list[str] = []
    watermark = None
    for emitted in by_type.get(e.ElementEmitted, ()):
        if emitted.element.kind == "record":
            receiver = emitted.channel.partition(">")[2].partition("#")[0]
            if receiver not in receivers:
                receivers.append(receiver)
        elif emitted.element.kind == "watermark":
            watermark = emitted.element.timestamp
    clause = f" and sent it to {_list(receivers)}" if receivers else ""
    if watermark is not None:
        clause += (
            f", with watermark {times.mark(watermark)} behind it"
            if receivers
            else f" and sent watermark {times.mark(watermark)}"
        )
    return clause


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


def _split(split: str) -> str:
    """The split without the subtask that reads it."""
    return split.rpartition("/")[2]


def _channel(name: str) -> str:
    return name.replace(">", " → ")


def _a(kind: str) -> str:
    return {"end": "An end", "cancel": "A cancellation"}.get(kind, f"A {kind}")


def _due(timer: e.TimerSet | e.TimerFired, times: TimeFormat) -> str:
    """When a timer is due, on the clock on which it was set."""
    if timer.clock == "event":
        return times.show(timer.time)
    return f"{on_clock(timer.time * 1000)} of the clock"


def _list(items: list[str]) -> str:
    if len(items) > 6:
        items = [*items[:5], f"{len(items) - 5} more"]
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def _state(event: e.StatePut, times: TimeFormat) -> str:
    if event.window is not None:
        return f"{event.key} in {times.span(*event.window)} is now {event.value}"
    entry = f", entry {event.entry}," if event.entry is not None else ""
    return f"state {event.name} of {event.key}{entry} is now {event.value}"


def _restored(event: e.Restored, times: TimeFormat) -> str:
    source = (
        f"checkpoint {event.checkpoint}"
        if event.checkpoint is not None
        else "the beginning, for there is no checkpoint"
    )
    if event.why == "rescale":
        groups = "1 key group" if event.moved == 1 else f"{event.moved} key groups"
        return f"The job restarted from {source} with the new parallelism; {groups} changed owner"
    return f"The job restarted from {source}; the sources went back to their offsets then"


def _size(event: e.SnapshotTaken | e.CheckpointCompleted) -> str:
    new = "" if event.written == event.bytes else f", {event.written} B of it new"
    return f"{event.bytes} B{new}"


_SENTENCES: dict[type[Any], Callable[[Any, TimeFormat], str]] = {
    e.Deployed: lambda v, t: f"Attempt {v.job['attempt']} was deployed",
    e.ClockAdvanced: lambda v, t: f"The clock moved to {on_clock(v.time)}",
    e.RecordRead: lambda v, t: (
        f"{v.subtask} read {v.text} at offset {v.offset} of {_split(v.split)}"
    ),
    e.RecordSkipped: lambda v, t: (
        f"{v.subtask} skipped offset {v.offset} of {_split(v.split)}"
        + (f" (line {v.line})" if v.line is not None else "")
        + f": {v.reason}"
    ),
    e.SplitWatermark: lambda v, t: f"The watermark of {v.split} rose to {t.mark(v.watermark)}",
    e.ScriptRead: lambda v, t: (
        f"{v.subtask} followed {v.text} at offset {v.offset} of {_split(v.split)}"
    ),
    e.SplitStatus: lambda v, t: (
        f"{_split(v.split)} is idle now: it holds no watermark back"
        if v.idle
        else f"{_split(v.split)} is active again"
    ),
    e.SplitPaused: lambda v, t: (
        f"{_split(v.split)} is paused: it ran too far ahead of its alignment group"
        if v.paused
        else f"{_split(v.split)} may be read again"
    ),
    e.SplitEnded: lambda v, t: f"{v.subtask} reached the end of {_split(v.split)}",
    e.ElementTaken: lambda v, t: f"{_a(v.kind)} left the channel {_channel(v.channel)}",
    e.ElementEmitted: lambda v, t: (
        f"{_a(v.element.kind)} entered the channel {_channel(v.channel)}"
    ),
    e.InputWatermark: lambda v, t: (
        f"The watermark of {_channel(v.input)} rose to {t.mark(v.watermark)}"
    ),
    e.InputStatus: lambda v, t: (
        f"{_channel(v.input)} is idle now: it holds no watermark back"
        if v.idle
        else f"{_channel(v.input)} is active again"
    ),
    e.SubtaskStatus: lambda v, t: (
        f"{v.subtask} is idle, since all its inputs are"
        if v.idle
        else f"{v.subtask} is active again"
    ),
    e.InputEnded: lambda v, t: f"{_channel(v.input)} ended",
    e.WatermarkAdvanced: lambda v, t: (
        f"The watermark of {v.subtask} rose from {t.mark(v.old)} to {t.mark(v.new)}"
    ),
    e.StatePut: _state,
    e.StateRemoved: lambda v, t: f"A row of {v.subtask}'s state was removed",
    e.TimerSet: lambda v, t: f"{v.subtask} set a timer for {v.key} at {_due(v, t)}",
    e.TimerRemoved: lambda v, t: f"{v.subtask} deleted a timer",
    e.TimerFired: lambda v, t: f"The timer of {v.key} at {_due(v, t)} fired in {v.subtask}",
    e.WindowFired: lambda v, t: (
        f"{t.span(v.start, v.end)} fired for {v.key} in {v.subtask}: {v.text}"
    ),
    e.WindowsMerged: lambda v, t: (
        f"the windows {_list([t.span(*window) for window in v.merged])} of {v.key} became {t.span(v.start, v.end)}"
    ),
    e.WindowCleaned: lambda v, t: f"{t.span(v.start, v.end)} of {v.key} was removed",
    e.RecordLate: lambda v, t: (
        f"{v.subtask} dropped {v.key} of {t.show(v.timestamp)} as late: its watermark is {t.mark(v.watermark)} already"
    ),
    e.Warned: lambda v, t: f"look at {v.subtask}: {v.text.rstrip('.')}",
    e.ResultWritten: lambda v, t: f"{v.subtask} wrote result {v.index}: {v.text}",
    e.CheckpointTriggered: lambda v, t: (
        f"The coordinator triggered {v.kind} {v.checkpoint}; {len(v.subtasks)} subtasks have to acknowledge it"
    ),
    e.MessageSent: lambda v, t: (
        f"{v.message.sender} sent a {v.message.kind} message to {v.message.to}"
    ),
    e.MessageDelivered: lambda v, t: (
        f"The {v.message.kind} message of checkpoint {v.message.checkpoint} reached {v.message.to}"
    ),
    e.BarrierArrived: lambda v, t: (
        f"Barrier {v.checkpoint} reached {v.subtask} on {_channel(v.input)}"
    ),
    e.InputBlocked: lambda v, t: (
        f"{_channel(v.input)} is blocked until barrier {v.checkpoint} has come on every input"
    ),
    e.InputsReleased: lambda v, t: (
        f"{v.subtask} reads every input again"
        + (f"; {_records(v.held)} had to wait" if v.held else "")
    ),
    e.BarrierOvertook: lambda v, t: (
        f"barrier {v.checkpoint} overtook {_elements(v.overtaken)} on {_channel(v.channel)}"
    ),
    e.PriorityBarrierTaken: lambda v, t: (
        f"Barrier {v.checkpoint} left {_channel(v.channel)} before what was sent ahead of it"
    ),
    e.AlignmentTimedOut: lambda v, t: (
        f"checkpoint {v.checkpoint} has aligned for too long, so its barriers overtake at {v.subtask} from here on"
    ),
    e.ElementsSaved: lambda v, t: (
        f"{_elements(len(v.elements))} in flight on {_channel(v.channel)} became part of checkpoint {v.checkpoint}"
    ),
    e.ChannelStateCompleted: lambda v, t: (
        f"nothing more in flight belongs to {v.subtask}'s part of checkpoint {v.checkpoint}"
    ),
    e.SnapshotUploaded: lambda v, t: (
        f"{v.subtask}'s part of checkpoint {v.checkpoint} is in the storage"
        if not v.left
        else f"the storage got a piece of {v.subtask}'s part of checkpoint {v.checkpoint}; {v.left} B are left"
    ),
    e.UploadRefused: lambda v, t: (
        f"the storage will refuse the next snapshot of {v.subtask}"
        if v.pending
        else f"the storage refused the snapshot of {v.subtask}"
    ),
    e.SnapshotDropped: lambda v, t: (
        f"{v.subtask} gave up its part of checkpoint {v.checkpoint} ({v.reason})"
    ),
    e.SnapshotDeclined: lambda v, t: (
        f"the coordinator knows that {v.subtask} has no part of checkpoint {v.checkpoint} ({v.reason})"
    ),
    e.SourcesPaused: lambda v, t: (
        f"the sources pause until checkpoint {v.checkpoint} is over, and the channels drain"
    ),
    e.ChannelsDrained: lambda v, t: (
        f"nothing is in flight any more, so every subtask is told to copy its state for checkpoint {v.checkpoint}"
    ),
    e.SourcesResumed: lambda v, t: f"the sources read again after checkpoint {v.checkpoint}",
    e.SnapshotTaken: lambda v, t: (
        f"{v.subtask} copied its state for checkpoint {v.checkpoint} ({v.entries} {'entry' if v.entries == 1 else 'entries'}, {_size(v)})"
    ),
    e.SnapshotAcknowledged: lambda v, t: (
        f"The coordinator has {v.subtask}'s part of checkpoint {v.checkpoint}"
    ),
    e.CheckpointCompleted: lambda v, t: f"checkpoint {v.checkpoint} is complete ({_size(v)})",
    e.CheckpointAborted: lambda v, t: (
        f"checkpoint {v.checkpoint} was given up: {v.reason} ({v.failure})"
    ),
    e.SubtaskFailed: lambda v, t: (
        f"{v.subtask or 'the job'} failed: {v.reason}; everything in the channels is lost"
    ),
    e.JobStateChanged: lambda v, t: f"the job is {v.state}" + (f": {v.reason}" if v.reason else ""),
    e.SubtaskFinished: lambda v, t: f"{v.subtask} has finished",
    e.LoopEmptied: lambda v, t: (
        f"{v.subtask} knows that its loop is empty"
        + (f", after {v.laps} quiet {'lap' if v.laps == 1 else 'laps'}" if v.laps else "")
    ),
    e.RescaleRequested: lambda v, t: (
        f"{v.vertex} is to run with parallelism {v.parallelism}, from "
        + (f"checkpoint {v.checkpoint}" if v.checkpoint else "the beginning")
    ),
    e.RescaleAborted: lambda v, t: f"the rescale of {v.vertex} was given up: {v.reason}",
    e.Restored: _restored,
}

_FOLLOWING = frozenset({
        e.ScriptRead, e.SplitStatus, e.SplitPaused, e.InputStatus, e.SubtaskStatus, e.WindowsMerged,
    e.ClockAdvanced, e.RecordSkipped, e.SplitEnded, e.StatePut, e.RecordLate, e.Warned, e.ResultWritten, e.CheckpointTriggered,
    e.InputBlocked, e.SnapshotTaken, e.InputsReleased, e.BarrierOvertook, e.AlignmentTimedOut, e.ElementsSaved,
    e.ChannelStateCompleted, e.SnapshotUploaded, e.UploadRefused, e.SnapshotDropped, e.SnapshotDeclined, e.SourcesPaused,
    e.ChannelsDrained, e.SourcesResumed, e.SnapshotAcknowledged, e.CheckpointCompleted, e.CheckpointAborted,
    e.SubtaskFailed, e.SubtaskFinished, e.LoopEmptied, e.RescaleRequested, e.RescaleAborted, e.Restored,
})  # fmt: skip
"""What a step's sentence tells after its lead."""
