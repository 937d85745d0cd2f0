"""The closures that the runtime's loop calls: each takes up to so many elements of one input of one subtask.

They return how many they took. Taking k at once does what taking one k times does, or takes fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Protocol

from engine.elements import (
    BARRIER,
    CANCEL,
    MAX_TIMESTAMP,
    PROBE,
    RECORD,
    STATUS,
    WATERMARK,
    Element,
)
from engine.errors import USER_ERRORS
from engine.events import ElementTaken, PriorityBarrierTaken
from engine.network.result_partition import shown_element
from engine.operators.sink import SinkOperator
from engine.operators.source import SourceOperator
from engine.operators.split import Split
from engine.subtask import Subtask

Taker = Callable[[int], int]


class Drain(Protocol):
    """Who waits until nothing is in flight. patience: how many more elements it lets come back in a loop."""

    patience: int

    def maybe_drained(self) -> None: ...
    def came_back(self, elements: int) -> None: ...


class RetryAtomically(Exception):
    """A user function raised inside a burst; single steps have to find out at which element."""


def channel_taker(subtask: Subtask, index: int) -> Taker:
    """The closure that takes elements from input `index` of `subtask`."""
    host = subtask.host
    trace = host.trace
    channel = subtask.inputs[index]
    queue = channel.queue
    popleft = queue.popleft
    release = channel.release
    operator = subtask.operator
    process = operator.process2 if subtask.gate_of[index] else operator.process
    side = operator.side
    out = subtask.out
    output = subtask.output
    send, emit, free, credit = output.send, output.emit, output.free, output.credit
    watermark_arrived = subtask.watermark_arrived
    simple = not operator.context.exclude_ended
    alone = simple and len(subtask.inputs) == 1
    valve = subtask.valves[0]
    on_watermark, forwards = operator.on_watermark, operator.forwards_watermarks
    mixes = operator.mixes and alone
    swallows = simple and isinstance(operator, SinkOperator) and not output.channels
    readiness, others = channel.readiness, ~channel.bit
    fanout = operator.fanout

    def take(limit: int) -> int:
        if limit > 1 and len(queue) > 1 and queue[0][0] <= WATERMARK and trace.events is None:
            return burst(min(limit, len(queue)))
        element = popleft()
        if element[0] or trace.events is not None:
            return take_openly(element)
        channel.taken += 1
        if channel.full:
            release()
        elif not queue:
            readiness.nonempty &= others
        try:
            process((element,), out)
            if out:
                emit(out)
                out.clear()
            if side:
                output.send_side(side)
        except USER_ERRORS as error:
            out.clear()
            side.clear()
            host.fail(subtask.id, error)
        return 1

    def take_openly(element: Element) -> int:
        """A control element, or any while somebody listens."""
        channel.taken += 1
        if element[0] > WATERMARK:
            channel.riders -= 1
        release()
        try:
            if trace.events is not None:
                announce(element)
            if element[0] == WATERMARK:
                watermark_arrived(index, element[1])
            elif element[0]:
                control(element)
            else:
                process((element,), out)
            if out:
                send(out)
                out.clear()
            if side:
                output.send_side(side)
        except USER_ERRORS as error:
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
        if kind == BARRIER:
            subtask.snapshots.barrier_arrived(index, element[1])
        elif kind == CANCEL:
            subtask.snapshots.cancel_arrived(element[1])
        elif kind == STATUS:
            subtask.status_arrived(index, element[1])
        elif kind == PROBE:
            subtask.probe_arrived(index, element[1])
        else:
            subtask.input_ended(index)

    def burst(count: int) -> int:
        room = max(1, free())
        if fanout is not None:
            count = min(count, max(1, room // (fanout or 1)))
        if channel.riders:
            ready = 0
            while ready < count and queue[ready][0] <= WATERMARK:
                ready += 1
            count = ready
        if count == len(queue):
            elements = list(queue)
            queue.clear()
        else:
            elements = [popleft() for _ in repeat(None, count)]
        done = 0
        base = trace.step
        try:
            if fanout is None or output.side:
                # Records of side outputs and watermarks of the main output share channels: keep their order.
                done = one_by_one(elements)
            elif swallows:
                done = count
                swallow(elements)
            elif mixes and valve.simple:
                done = in_one_go(elements, room)
            else:
                done = one_after_another(elements, room)
            if out:
                emit(out)
                out.clear()
            if side:
                output.send_side(side)
        except USER_ERRORS as error:
            raise RetryAtomically from error
        trace.step = base
        if done < count:
            queue.extendleft(reversed(elements[done:]))
        channel.taken += done
        release()
        return done

    def swallow(elements: list[Element]) -> None:
        """A sink emits nothing and writes whatever the watermark is, so all its records can go at once."""
        kinds = [element[0] for element in elements]
        if WATERMARK in kinds:
            watermark_arrived(index, max([element[1] for element in elements if element[0]]))
            out.clear()
            elements = [element for element in elements if not element[0]]
        if elements:
            process(elements, out)

    def in_one_go(elements: list[Element], room: int) -> int:
        """The operator treats watermarks itself, and the subtask's own view of them is brought up to date."""
        done = operator.process_mixed(elements, out, room)
        if valve.advance(0, operator.watermark):
            subtask.watermark = valve.output
        return done

    def one_after_another(elements: list[Element], room: int) -> int:
        """Records between two watermarks go to the operator at once. Ends where more came out than was counted for."""
        kinds = [element[0] for element in elements]
        count = len(elements)
        base = trace.step
        done = 0
        while done < count:
            trace.step = base + done
            if kinds[done]:
                timestamp = elements[done][1]
                done += 1
                if not alone:
                    watermark_arrived(index, timestamp)
                elif valve.advance(0, timestamp) and valve.output > subtask.watermark:
                    subtask.watermark = timestamp = valve.output
                    on_watermark(timestamp, out)
                    if forwards:
                        out.append((WATERMARK, timestamp))
                if len(out) + (count - done - 1) * (fanout or 0) >= room:
                    break
            else:
                try:
                    end = kinds.index(WATERMARK, done)
                except ValueError:
                    end = count
                process(elements[done:end] if done or end < count else elements, out)
                done = end
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


def priority_taker(subtask: Subtask, index: int) -> Taker:
    """The closure that takes barriers from before the queue of input `index`."""
    host = subtask.host
    channel = subtask.inputs[index]

    def take(limit: int) -> int:
        barrier, overtaken = channel.take_priority()
        if host.trace.events is not None:
            host.trace.events.append(PriorityBarrierTaken(channel.name, barrier.checkpoint))
        try:
            subtask.snapshots.barrier_arrived(index, barrier.checkpoint, overtaken)
        except USER_ERRORS as error:
            host.fail(subtask.id, error)
        return 1

    return take


def upload_taker(subtask: Subtask) -> Taker:
    """The closure that brings a piece of a snapshot to the storage."""

    def take(limit: int) -> int:
        subtask.snapshots.upload()
        return 1

    return take


def recording_taker(plain: Taker, subtask: Subtask, index: int) -> Taker:
    """`plain`, one element at a time, each of which belongs to a snapshot that is not complete."""
    channel = subtask.inputs[index]

    def take(limit: int) -> int:
        subtask.snapshots.taken_while_recording(index, channel.queue[0])
        return plain(1)

    return take


def draining_taker(plain: Taker, drain: Drain, feedback: bool) -> Taker:
    """`plain`, after which somebody wants to know whether anything is left in flight."""

    def take(limit: int) -> int:
        taken = plain(limit)
        drain.maybe_drained()
        return taken

    def take_back(limit: int) -> int:
        taken = plain(min(limit, drain.patience))
        drain.came_back(taken)
        drain.maybe_drained()
        return taken

    return take_back if feedback else take


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
        if limit > 1 and trace.events is None and not operator.one_by_one:
            count = min(limit, left, max(1, output.free() // operator.most))
        try:
            read(split, count, out)
            if out:
                if trace.events is None:
                    emit(out)
                else:
                    output.send(out)
                out.clear()
            if operator.one_by_one:
                if split.ready_at is not None:
                    host.readiness.nonempty &= ~split.bit
                host.align(operator.spec.alignment)
        except USER_ERRORS as error:
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
        host.align(operator.spec.alignment)
        return 1

    return end_of_split
