"""A subtask: an operator between its inputs and its outputs.

`channel_taker` and `split_taker` make the closures that the runtime's loop calls. Each takes up to so many elements of
one input and returns how many it took; taking k at once does what taking one k times does, or it takes fewer.
"""

from __future__ import annotations

from typing import Any, Protocol

from engine.checkpointing.coordinator import Coordinator
from engine.clock import Clock
from engine.elements import (
    END_OF_INPUT,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    STATUS,
    WATERMARK,
    Element,
)
from engine.event_time.watermarks import AlignmentGroup, Combined, Valve
from engine.events import (
    InputEnded,
    InputStatus,
    InputWatermark,
    SubtaskFinished,
    SubtaskStatus,
    WatermarkAdvanced,
)
from engine.graph.checkpoint_settings import CheckpointSettings
from engine.loop_end import LoopEnd, LoopPlace
from engine.network.channel import Channel
from engine.network.credit import Readiness
from engine.network.result_partition import ResultPartition
from engine.operators.base import Operator
from engine.operators.source import SourceOperator
from engine.subtask_snapshots import SubtaskSnapshots
from engine.trace import Trace


class Host(Protocol):
    """What a subtask needs of the runtime."""

    trace: Trace
    clock: Clock
    readiness: Readiness
    coordinator: Coordinator
    subtask_type: type[Subtask]

    def fail(self, subtask: str, error: BaseException) -> None: ...
    def wake(self, subtask: str, time: int) -> None: ...
    def message_sent(self, subtask: str, kind: str) -> None: ...
    def has_upload(self, subtask: str, waiting: bool) -> None: ...
    def record(self, subtask: Subtask, index: int, channel: Channel, on: bool) -> None: ...
    def subtask_finished(self) -> None: ...
    def align(self, group: AlignmentGroup | None) -> None: ...


class Subtask:
    """One parallel instance of an operator, with the state that the runtime moves."""

    snapshots_type: type[SubtaskSnapshots] = SubtaskSnapshots
    """Who takes its snapshots; another one where a protocol is wrong on purpose (`explore/wrong_barriers.py`)."""

    def __init__(
        self,
        host: Host,
        subtask_id: str,
        vertex: str,
        index: int,
        operator: Operator,
        inputs: list[Channel],
        gate_of: list[int],
        output: ResultPartition,
        settings: CheckpointSettings,
        loop: LoopPlace | None = None,
    ) -> None:
        self.host = host
        self.id = subtask_id
        self.vertex = vertex
        self.index = index
        self.operator = operator
        self.inputs = inputs
        self.output = output
        gates = max(gate_of) + 1 if gate_of else 1
        self.gate_of = gate_of
        """Which gate each input belongs to; a two-input operator has two."""
        sizes = [gate_of.count(gate) for gate in range(gates)]
        self.valves = [Valve(size, operator.context.exclude_ended) for size in sizes]
        self.place = [gate_of[:index].count(gate) for index, gate in enumerate(gate_of)]
        """The place of each input in its gate."""
        self.combined = Combined(gates, operator.context.exclude_ended)
        self.feedback = frozenset(index for index, channel in enumerate(inputs) if channel.feedback)
        """The inputs on which records of a loop come back; they say nothing about event time."""
        self.loop_end = LoopEnd(self, loop) if loop else None
        self.watermark = MIN_TIMESTAMP
        self.idle = False
        self.snapshots = self.snapshots_type(self, settings)
        self.ended = [False] * len(inputs)
        self.finished = False
        self.failed = False
        self.stopped = False
        """A source that has stopped with a savepoint reads nothing more."""
        self.out: list[Element] = []
        operator.broadcast = self.broadcast

    def flush(self) -> None:
        """Send what the operator has put into `out` and into its side outputs."""
        if self.out:
            self.output.send(self.out)
            self.out.clear()
        if self.operator.side:
            self.output.send_side(self.operator.side)

    def broadcast(self, element: Element) -> None:
        """Send what the operator has emitted so far, then a control element to everybody."""
        self.flush()
        self.output.broadcast(element)

    # Watermarks and statuses

    def watermark_arrived(self, index: int, timestamp: int) -> None:
        """A watermark came on input `index`: results first, then the watermark itself."""
        if timestamp == MAX_TIMESTAMP and self.operator.context.exclude_ended:
            self._time_ended(index)  # the end of the input is right behind it
            return
        gate = self.gate_of[index]
        valve = self.valves[gate]
        place = self.place[index]
        events = self.host.trace.events
        if events is None:
            if valve.advance(place, timestamp):
                self._gate_changed(gate)
            return
        before = valve.inputs[place]
        rose = valve.advance(place, timestamp)
        if valve.inputs[place] != before:
            events.append(InputWatermark(self.id, self.inputs[index].name, timestamp))
        if rose:
            self._gate_changed(gate)

    def status_arrived(self, index: int, idle: bool) -> None:
        """Input `index` fell silent or woke up."""
        gate = self.gate_of[index]
        valve, place = self.valves[gate], self.place[index]
        if self.host.trace.events is not None and valve.idles[place] != idle:
            self.host.trace.events.append(InputStatus(self.id, self.inputs[index].name, idle))
        if idle:
            rose, gate_idle = valve.set_idle(place)
            if rose or gate_idle:
                self._gate_changed(gate)
        elif valve.set_active(place):
            self._gate_changed(gate)

    def _gate_changed(self, gate: int) -> None:
        """A gate's watermark rose, or its status changed: combine the gates, and tell the operator and everybody below."""
        valve = self.valves[gate]
        if len(self.valves) == 1 or self.feedback:
            watermark, idle = valve.output, valve.idle
        else:
            self.combined.update(gate, valve.output, valve.idle, all(valve.ended))
            watermark, idle = self.combined.output, self.combined.idle
        if watermark > self.watermark:
            self._advance(watermark)
        if idle != self.idle:
            self.idle = idle
            if self.host.trace.events is not None:
                self.host.trace.events.append(SubtaskStatus(self.id, idle))
            if self.operator.forwards_watermarks:
                self.broadcast((STATUS, idle))

    def _advance(self, watermark: int) -> None:
        if self.host.trace.events is not None:
            self.host.trace.events.append(WatermarkAdvanced(self.id, self.watermark, watermark))
        self.watermark = watermark
        self.operator.on_watermark(watermark, self.out)
        if self.operator.forwards_watermarks:
            self.out.append((WATERMARK, watermark))

    # The clock

    def clock(self, now: int) -> bool:
        """The clock reached a time that the operator asked for; True where more is due."""
        more = self.operator.on_clock(now, self.out)
        self.flush()
        if isinstance(self.operator, SourceOperator):
            for split in self.operator.splits:
                if not split.ended and split.ready_at is None:
                    self.host.readiness.nonempty |= split.bit
            self.host.align(self.operator.spec.alignment)
        if self.loop_end is not None:
            self.loop_end.settle()
        return more

    def cancelled(self) -> None:
        """The job was cancelled: drop what is half done."""
        self.snapshots.cancelled()
        self.out.clear()
        self.operator.side.clear()

    # End of input

    def input_ended(self, index: int) -> None:
        if self.host.trace.events is not None:
            self.host.trace.events.append(InputEnded(self.id, self.inputs[index].name))
        self.ended[index] = True
        if index not in self.feedback:
            self._time_ended(index)
        if self.loop_end is not None:
            self.loop_end.settle()
        if all(self.ended):
            self.finish()

    def probe_arrived(self, index: int, quiet: int) -> None:
        """Somebody asks whether anything is left in this subtask's loop."""
        if self.loop_end is not None:
            self.loop_end.probe_arrived(index, quiet)

    def _time_ended(self, index: int) -> None:
        """Input `index` has no more to say about event time."""
        gate = self.gate_of[index]
        valve, place = self.valves[gate], self.place[index]
        before, idle_before = valve.inputs[place], valve.idles[place]
        rose, gate_idle = valve.end(place)
        if self.host.trace.events is not None:
            if valve.inputs[place] != before:
                self.host.trace.events.append(
                    InputWatermark(self.id, self.inputs[index].name, valve.inputs[place])
                )
            if valve.idles[place] != idle_before:
                self.host.trace.events.append(
                    InputStatus(self.id, self.inputs[index].name, valve.idles[place])
                )
        if rose or gate_idle or valve.idle != self.idle or all(valve.ended):
            self._gate_changed(gate)

    def finish(self) -> None:
        """All input has ended and was processed."""
        self.flush()
        self.finished = True
        if self.loop_end is None or not self.loop_end.closed:
            self.output.broadcast(END_OF_INPUT)
        if self.host.trace.events is not None:
            self.host.trace.events.append(SubtaskFinished(self.id))
        self.host.subtask_finished()

    # Stepping back

    def keyframe(self) -> Any:
        scalars = (
            self.watermark,
            self.idle,
            self.snapshots.keyframe(),
            self.finished,
            self.failed,
            self.stopped,
        )
        valves = [valve.keyframe() for valve in self.valves]
        return (
            self.operator.keyframe(),
            self.output.keyframe(),
            valves,
            self.combined.keyframe(),
            list(self.ended),
            scalars,
            None if self.loop_end is None else self.loop_end.keyframe(),
        )

    def rewind(self, frame: Any) -> None:
        operator, output, valves, combined, ended, scalars, loop_end = frame
        self.out.clear()  # a burst that raised leaves here what it had not sent yet
        self.operator.side.clear()
        self.operator.rewind(operator)
        self.output.rewind(output)
        for valve, held in zip(self.valves, valves, strict=True):
            valve.rewind(held)
        self.combined.rewind(combined)
        self.ended[:] = ended
        self.watermark, self.idle, snapshots, self.finished, self.failed, self.stopped = scalars
        self.snapshots.rewind(snapshots)
        if self.loop_end is not None:
            self.loop_end.rewind(loop_end)
