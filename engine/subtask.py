"""A subtask: an operator between its inputs and its outputs.

`channel_taker` and `split_taker` make the closures that the runtime's loop calls. Each takes up to so many elements of
one input and returns how many it took; taking k at once does what taking one k times does, or it takes fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any, Protocol

from engine.checkpointing.aligned import (
    WAITING,
    AlignmentState,
    AllBarriersReceived,
    CollectingBarriers,
    barrier_received,
)
from engine.checkpointing.coordinator import COORDINATOR, Coordinator
from engine.elements import BARRIER, END_OF_INPUT, MAX_TIMESTAMP, RECORD, WATERMARK, Element
from engine.event_time.watermarks import Valve
from engine.events import (
    BarrierArrived,
    ElementTaken,
    InputBlocked,
    InputEnded,
    InputsReleased,
    InputWatermark,
    Message,
    SnapshotTaken,
    SubtaskFinished,
    WatermarkAdvanced,
)
from engine.network.channel import Channel
from engine.network.credit import Readiness
from engine.network.result_partition import ResultPartition, shown_element
from engine.operators.base import Operator
from engine.operators.source import SourceOperator, Split
from engine.state.sizes import estimated_bytes
from engine.trace import Trace

Taker = Callable[[int], int]


class RetryAtomically(Exception):
    """A user function raised inside a burst; single steps have to find out at which element."""


class Host(Protocol):
    """What a subtask needs of the runtime."""

    trace: Trace
    readiness: Readiness
    coordinator: Coordinator

    def fail(self, subtask: str, error: Exception) -> None: ...
    def message_sent(self, subtask: str, kind: str) -> None: ...
    def subtask_finished(self) -> None: ...


class Subtask:
    """One parallel instance of an operator, with the state that the runtime moves."""

    def __init__(
        self,
        host: Host,
        subtask_id: str,
        vertex: str,
        index: int,
        operator: Operator,
        inputs: list[Channel],
        output: ResultPartition,
    ) -> None:
        self.host = host
        self.id = subtask_id
        self.vertex = vertex
        self.index = index
        self.operator = operator
        self.inputs = inputs
        self.output = output
        self.valve = Valve(len(inputs))
        self.alignment: AlignmentState = WAITING
        self.ended = [False] * len(inputs)
        self.finished = False
        self.failed = False
        self.out: list[Element] = []

    def flush(self) -> None:
        """Send what the operator has put into `out` and into its side outputs."""
        if self.out:
            self.output.send(self.out)
            self.out.clear()
        if self.operator.side:
            self.output.send_side(self.operator.side)

    # Watermarks

    def watermark_arrived(self, index: int, timestamp: int) -> None:
        """A watermark came on input `index`: results first, then the watermark itself."""
        valve = self.valve
        events = self.host.trace.events
        old = valve.output
        if events is None:
            if not valve.advance(index, timestamp):
                return
        else:
            before = valve.inputs[index]
            rose = valve.advance(index, timestamp)
            if valve.inputs[index] != before:
                events.append(InputWatermark(self.id, self.inputs[index].name, timestamp))
            if not rose:
                return
            events.append(WatermarkAdvanced(self.id, old, valve.output))
        self.operator.on_watermark(valve.output, self.out)
        if getattr(self.operator, "forwards_watermarks", True):
            self.out.append((WATERMARK, valve.output))

    # Barriers

    def barrier_arrived(self, index: int, checkpoint: int) -> None:
        channel = self.inputs[index]
        emit = self.host.trace.events
        if emit is not None:
            emit.append(BarrierArrived(self.id, channel.name, checkpoint))
        self.host.coordinator.barrier_arrived(self.id, checkpoint, len(self.inputs))
        state = barrier_received(self.alignment, index, checkpoint, len(self.inputs))
        if isinstance(state, CollectingBarriers):
            self.alignment = state
            self.host.readiness.blocked |= channel.bit
            if emit is not None:
                emit.append(InputBlocked(self.id, channel.name, checkpoint))
            return
        assert isinstance(state, AllBarriersReceived)
        self.checkpoint(checkpoint)
        if len(self.inputs) > 1:
            self.release_inputs()
            if emit is not None:
                emit.append(InputsReleased(self.id, checkpoint))

    def release_inputs(self) -> None:
        self.alignment = WAITING
        for channel in self.inputs:
            self.host.readiness.blocked &= ~channel.bit

    def checkpoint(self, checkpoint: int) -> None:
        """Copy the state, forward the barrier, and send the copy to the coordinator."""
        part = self.operator.snapshot()
        size = estimated_bytes(part)
        events = self.host.trace.events
        if events is not None:
            events.append(SnapshotTaken(self.id, checkpoint, size, self.operator.entries()))
        self.host.coordinator.snapshot_taken(self.id, checkpoint, size)
        self.output.broadcast((BARRIER, checkpoint))
        self.host.coordinator.send(Message(COORDINATOR, self.id, "acknowledge", checkpoint), part)
        self.host.message_sent(self.id, "acknowledge")

    # End of input

    def input_ended(self, index: int) -> None:
        if self.host.trace.events is not None:
            self.host.trace.events.append(InputEnded(self.id, self.inputs[index].name))
        self.ended[index] = True
        self.watermark_arrived(index, MAX_TIMESTAMP)
        if all(self.ended):
            self.finish()

    def finish(self) -> None:
        """All input has ended and was processed."""
        self.flush()
        self.finished = True
        self.output.broadcast(END_OF_INPUT)
        if self.host.trace.events is not None:
            self.host.trace.events.append(SubtaskFinished(self.id))
        self.host.subtask_finished()

    # Stepping back

    def keyframe(self) -> Any:
        return (
            self.operator.keyframe(), self.output.keyframe(), self.valve.keyframe(),
            self.alignment, list(self.ended), self.finished, self.failed,
        )  # fmt: skip

    def rewind(self, frame: Any) -> None:
        self.out.clear()  # a burst that raised leaves here what it had not sent yet
        self.operator.side.clear()
        self.operator.rewind(frame[0])
        self.output.rewind(frame[1])
        self.valve.rewind(frame[2])
        self.alignment, ended, self.finished, self.failed = frame[3:]
        self.ended[:] = ended


def channel_taker(subtask: Subtask, index: int) -> Taker:
    """The closure that takes elements from input `index` of `subtask`."""
    host = subtask.host
    trace = host.trace
    channel = subtask.inputs[index]
    queue = channel.queue
    popleft = queue.popleft
    release = channel.release
    operator = subtask.operator
    process = operator.process
    side = operator.side
    out = subtask.out
    output = subtask.output
    send, emit, free, credit = output.send, output.emit, output.free, output.credit
    watermark_arrived = subtask.watermark_arrived
    readiness, bit = channel.readiness, channel.bit
    fanout = operator.fanout

    def take(limit: int) -> int:
        if limit > 1 and len(queue) > 1 and queue[0][0] <= WATERMARK and trace.events is None:
            return burst(min(limit, len(queue)))
        element = popleft()
        channel.taken += 1
        kind = element[0]
        if kind > WATERMARK:
            channel.riders -= 1
        if channel.full:
            release()
        elif not queue:
            readiness.nonempty &= ~bit
        events = trace.events
        try:
            if events is not None:
                announce(element)
            if kind == RECORD:
                process((element,), out)
            else:
                control(element)
            if out:
                if events is None:
                    emit(out)
                else:
                    send(out)
                out.clear()
            if side:
                output.send_side(side)
        except Exception as error:
            out.clear()
            side.clear()
            host.fail(subtask.id, error)
        return 1

    def announce(element: Element) -> None:
        shown = shown_element(channel, channel.taken - 1, element, None)
        taken = ElementTaken(channel.name, shown.id, shown.kind, shown.key, shown.timestamp)
        trace.events.append(taken)  # type: ignore[union-attr]

    def control(element: Element) -> None:
        kind = element[0]
        if kind == WATERMARK:
            watermark_arrived(index, element[1])
        elif kind == BARRIER:
            subtask.barrier_arrived(index, element[1])
        else:
            subtask.input_ended(index)

    def burst(count: int) -> int:
        if fanout:
            count = min(count, max(1, free() // fanout))
        elif fanout == 0:
            count = min(count, max(1, free()))
        if channel.riders:
            ready = 0
            while ready < count and queue[ready][0] <= WATERMARK:
                ready += 1
            count = ready
        elements = [popleft() for _ in repeat(None, count)]
        done = 0
        base = trace.step
        try:
            if fanout is None or output.side:
                # Records of side outputs and watermarks of the main output share channels: keep their order.
                done = one_by_one(elements)
            else:
                kinds = [element[0] for element in elements]
                budget = fanout or 1
                while done < count:
                    trace.step = base + done
                    if kinds[done] == RECORD:
                        try:
                            end = kinds.index(WATERMARK, done)
                        except ValueError:
                            end = count
                        process(elements[done:end] if done or end < count else elements, out)
                        done = end
                    else:
                        watermark_arrived(index, elements[done][1])
                        done += 1
                        if len(out) > done * budget:
                            break  # it fired: more came out than the credit was counted for
                if out:
                    send(out)
                    out.clear()
                if side:
                    output.send_side(side)
        except Exception as error:
            raise RetryAtomically from error
        trace.step = base
        if done < count:
            queue.extendleft(reversed(elements[done:]))
        channel.taken += done
        release()
        return done

    def one_by_one(elements: list[Element]) -> int:
        done = 0
        for element in elements:
            if element[0] == RECORD:
                process((element,), out)
            else:
                watermark_arrived(index, element[1])
            done += 1
            if out:
                send(out)
                out.clear()
            if side:
                output.send_side(side)
            if credit.full:
                break
            trace.step += 1
        return done

    return take


def split_taker(subtask: Subtask, operator: SourceOperator, split: Split) -> Taker:
    """The closure that reads entries of a split, or ends it where there is none left."""
    host = subtask.host
    trace = host.trace
    out = subtask.out
    output = subtask.output
    read, emit = operator.read, output.emit
    total = len(split.entries)
    end_of_split = _split_ender(subtask, operator, split)

    def take(limit: int) -> int:
        left = total - split.offset
        if left == 0:
            return end_of_split()
        count = 1
        if limit > 1 and trace.events is None:
            count = min(limit, left, max(1, output.free() // operator.most))
        try:
            read(split, count, out)
            if out:
                if trace.events is None:
                    emit(out)
                else:
                    output.send(out)
                out.clear()
        except Exception as error:
            if count > 1:
                raise RetryAtomically from error
            out.clear()
            host.fail(subtask.id, error)
        return count

    return take


def _split_ender(subtask: Subtask, operator: SourceOperator, split: Split) -> Callable[[], int]:
    def end_of_split() -> int:
        host = subtask.host
        host.readiness.nonempty &= ~split.bit
        if operator.end(split, subtask.out):
            if operator.emitted != MAX_TIMESTAMP:
                operator.raise_watermark(MAX_TIMESTAMP, subtask.out)
            subtask.finish()
        else:
            subtask.flush()
        return 1

    return end_of_split
