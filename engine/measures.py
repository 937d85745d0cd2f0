"""What a run has cost and brought so far, told from its events alone: the figures by which two snapshot schemes are compared.

`Meter` is a fold like `engine.fold`: it starts from a picture, reads one step after another, and looks at nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engine import events as e
from engine.trace import StepTrace

Results = Mapping[str, Mapping[str, int]]
"""{sink operator: {text of a result: how often it was written}}."""


class Checkpoint(NamedTuple):
    """A checkpoint or savepoint: "triggered", "completed" or "aborted"; steps of its beginning and end; bytes saved.

    state: bytes of state; in_flight: bytes of elements that were saved with it, which alignment makes unnecessary.
    """

    kind: str
    status: str
    triggered: int
    ended: int | None
    state: int
    in_flight: int


class Measures(NamedTuple):
    """After `step` steps. All but `waiting` never fall.

    position   entries of the splits that have been read at least once: how far into its input the run ever was
    read       records read, those that were read again after a failure included
    waiting    records that stand in blocked inputs at this step
    held       record-steps: the sum of `waiting` over all steps so far
    blocked    {subtask: steps in which at least one of its inputs was blocked}
    paused     steps in which the sources stood still for a snapshot
    saved      bytes that snapshots have copied so far, those of aborted checkpoints included
    in_flight  what of `saved` is elements in flight
    written    results written by all sinks
    repeated   results written more often than by the undisturbed run, which has written them, too
    foreign    results that the undisturbed run never writes
    The last two are None where no undisturbed run is known.
    """

    step: int
    position: int
    read: int
    waiting: int
    held: int
    blocked: Mapping[str, int]
    checkpoints: Mapping[int, Checkpoint]
    completed: int
    aborted: int
    paused: int
    saved: int
    in_flight: int
    failures: int
    written: int
    repeated: int | None
    foreign: int | None


class Meter:
    """Measures a run step by step, from its picture at step 0. `expected`: what the undisturbed run writes in all."""

    def __init__(self, picture: Mapping[str, Any], expected: Results | None = None) -> None:
        self.expected = expected
        self.results: dict[str, Counter[str]] = {}
        self.furthest: dict[tuple[str, str], int] = {}
        self.receiver: dict[str, str] = {}
        self.queued: dict[str, int] = {}
        self.gates: set[str] = set()
        self.paused = False
        self.vertex: dict[str, str] = {}
        self.splits: dict[str, tuple[str, str]] = {}
        known = None if expected is None else 0
        self.now = Measures(0, 0, 0, 0, 0, {}, {}, 0, 0, 0, 0, 0, 0, 0, known, known)
        self._deploy(picture["subtasks"], picture["channels"])

    def read(self, trace: StepTrace) -> Measures:
        """The measures after the next step."""
        self.now = self.now._replace(step=trace.step)
        for event in trace.events:
            rule = _RULES.get(type(event))
            if rule is not None:
                rule(self, event)
        if self.gates:
            self._count_waiting()
        elif self.now.waiting:
            self._add(waiting=-self.now.waiting)
        if self.paused:
            self._add(paused=1)
        return self.now

    def missing(self) -> int | None:
        """Results of the undisturbed run that this one has not written up to here."""
        if self.expected is None:
            return None
        return sum(
            max(0, times - self.results.get(sink, Counter())[text])
            for sink, texts in self.expected.items()
            for text, times in texts.items()
        )

    def _add(self, **amounts: int) -> None:
        self.now = self.now._replace(
            **{name: getattr(self.now, name) + amount for name, amount in amounts.items()}
        )

    def _count_waiting(self) -> None:
        waiting = sum(self.queued[channel] for channel in self.gates)
        blocked = dict(self.now.blocked)
        for subtask in {self.receiver[channel] for channel in self.gates}:
            blocked[subtask] = blocked.get(subtask, 0) + 1
        held = self.now.held + waiting
        self.now = self.now._replace(waiting=waiting, held=held, blocked=blocked)

    def _deploy(self, subtasks: Mapping[str, Any], channels: Mapping[str, Any]) -> None:
        self.gates = {
            name
            for subtask in subtasks.values()
            for name, held in subtask["inputs"].items()
            if held["blocked"]
        }
        self.receiver = {name: channel["to"] for name, channel in channels.items()}
        self.queued = {
            name: sum(element["kind"] == "record" for element in channel["queue"])
            for name, channel in channels.items()
        }
        self.vertex = {name: subtask["vertex"] for name, subtask in subtasks.items()}
        self.splits = {
            number: (subtask["vertex"], split["name"])
            for subtask in subtasks.values()
            for number, split in subtask["splits"].items()
        }

    def _entry_read(self, event: e.RecordRead | e.RecordSkipped | e.ScriptRead) -> None:
        # After a restart with another parallelism a split has another reader, and keeps its name.
        split = self.splits[event.split]
        before = self.furthest.get(split, 0)
        if event.offset + 1 > before:
            self.furthest[split] = event.offset + 1
            self._add(position=event.offset + 1 - before)

    def _record_read(self, event: e.RecordRead) -> None:
        self._add(read=1)
        self._entry_read(event)

    def _taken(self, event: e.ElementTaken) -> None:
        if event.kind == "record":
            self.queued[event.channel] -= 1

    def _emitted(self, event: e.ElementEmitted) -> None:
        if event.element.kind == "record":
            self.queued[event.channel] += 1

    def _blocked(self, event: e.InputBlocked) -> None:
        self.gates.add(event.input)

    def _released(self, event: e.InputsReleased) -> None:
        self.gates = {gate for gate in self.gates if self.receiver[gate] != event.subtask}

    def _failed(self, event: e.SubtaskFailed) -> None:
        self.gates = set()
        self.queued = dict.fromkeys(self.queued, 0)
        self.paused = False
        self._add(failures=1)

    def _deployed(self, event: e.Deployed) -> None:
        self._deploy(event.subtasks, event.channels)

    def _set_checkpoint(self, number: int, entry: Checkpoint) -> None:
        self.now = self.now._replace(checkpoints={**self.now.checkpoints, number: entry})

    def _triggered(self, event: e.CheckpointTriggered) -> None:
        entry = Checkpoint(event.kind, "triggered", self.now.step, None, 0, 0)
        self._set_checkpoint(event.checkpoint, entry)

    def _snapshot(self, event: e.SnapshotTaken) -> None:
        entry = self.now.checkpoints[event.checkpoint]
        self._set_checkpoint(event.checkpoint, entry._replace(state=entry.state + event.bytes))
        self._add(saved=event.bytes)

    def _elements_saved(self, event: e.ElementsSaved) -> None:
        entry = self.now.checkpoints[event.checkpoint]
        in_flight = entry.in_flight + event.bytes
        self._set_checkpoint(event.checkpoint, entry._replace(in_flight=in_flight))
        self._add(saved=event.bytes, in_flight=event.bytes)

    def _sources_paused(self, event: e.SourcesPaused) -> None:
        self.paused = True

    def _sources_resumed(self, event: e.SourcesResumed) -> None:
        self.paused = False

    def _completed(self, event: e.CheckpointCompleted) -> None:
        self._ended(event.checkpoint, "completed")
        self._add(completed=1)

    def _aborted(self, event: e.CheckpointAborted) -> None:
        self._ended(event.checkpoint, "aborted")
        self._add(aborted=1)

    def _ended(self, number: int, status: str) -> None:
        entry = self.now.checkpoints[number]
        self._set_checkpoint(number, entry._replace(status=status, ended=self.now.step))

    def _written(self, event: e.ResultWritten) -> None:
        sink = self.vertex[event.subtask]
        texts = self.results.setdefault(sink, Counter())
        texts[event.text] += 1
        self._add(written=1)
        if self.expected is None:
            return
        wanted = self.expected.get(sink, {}).get(event.text, 0)
        if not wanted:
            self._add(foreign=1)
        elif texts[event.text] > wanted:
            self._add(repeated=1)


_RULES: dict[type[Any], Callable[[Meter, Any], None]] = {
    e.Deployed: Meter._deployed,
    e.RecordRead: Meter._record_read,
    e.RecordSkipped: Meter._entry_read,
    e.ScriptRead: Meter._entry_read,
    e.ElementTaken: Meter._taken,
    e.ElementEmitted: Meter._emitted,
    e.InputBlocked: Meter._blocked,
    e.InputsReleased: Meter._released,
    e.SubtaskFailed: Meter._failed,
    e.CheckpointTriggered: Meter._triggered,
    e.SnapshotTaken: Meter._snapshot,
    e.ElementsSaved: Meter._elements_saved,
    e.SourcesPaused: Meter._sources_paused,
    e.SourcesResumed: Meter._sources_resumed,
    e.CheckpointCompleted: Meter._completed,
    e.CheckpointAborted: Meter._aborted,
    e.ResultWritten: Meter._written,
}
