"""What stands in the engine where code of a student belongs, and asks it call by call.

Each keeps what is a fact - what has arrived, what is blocked - and takes decisions from the student's code. What is no
decision of the right kind is refused with a sentence, as an error of a user function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from engine.checkpointing.barrier_handler import (
    CANCELLED,
    SUBSUMED,
    Abort,
    Alignment,
    BarrierHandler,
    Block,
    Decision,
    Resume,
    Trigger,
)
from engine.datastream import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    ProcessWindowFunction,
    ValueStateDescriptor,
)
from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from engine.errors import InvalidJob
from engine.event_time.watermarks import Valve
from engine.graph.checkpoint_settings import CheckpointSettings
from engine.runtime import Runtime
from engine.state.handles import Handle, ListState, MapState, ValueState
from engine.subtask import Subtask
from engine.subtask_snapshots import SubtaskSnapshots
from engine.values import text
from labs.grading.calls import Calls, Instance
from labs.grading.jail import api
from labs.grading.jail.codec import NotAValue, Sent
from labs.grading.sandbox import Stopped

OPERATIONS: dict[type[Handle], frozenset[str]] = {
    ValueState: frozenset({"value", "update", "clear"}),
    ListState: frozenset({"get", "add", "add_all", "update", "clear"}),
    MapState: frozenset({"get", "put", "remove", "contains", "is_empty", "items", "clear"}),
}
TIMERS = frozenset(
    f"{verb}_{clock}_time_timer"
    for verb in ("register", "delete")
    for clock in ("event", "processing")
)


def _not_given() -> Stopped:
    return Stopped("misfit", "The code asked for something that it was not given.")


# Functions


class AskedFunction:
    """What the functions share: an instance in the sandbox for each subtask, and the handles that it was given."""

    def __init__(self, calls: Calls, name: str) -> None:
        self.calls = calls
        self.name = name
        self.handles: list[Handle] = []

    def __deepcopy__(self, memo: Any) -> Any:
        """Another subtask's: not made before it is opened."""
        return type(self)(self.calls, self.name)

    def open(self, runtime_context: Any) -> None:
        self.runtime_context = runtime_context
        self.instance: Instance = self.calls.make(self.name)
        context = Sent(
            "RuntimeContext",
            task=runtime_context.get_task_name_with_subtasks(),
            parallelism=runtime_context.get_number_of_parallel_subtasks(),
            index=runtime_context.get_index_of_this_subtask(),
        )
        self.instance.call("open", context, serve=self._serve_open)

    def _serve_open(self, target: Any, operation: Any, arguments: list[Any]) -> Any:
        if target != "runtime":
            return self._serve(target, operation, arguments)
        (name,) = arguments
        if type(name) is not str:
            raise TypeError("The name of state is a text.")
        context = self.runtime_context
        handle: Handle
        if operation == "value":
            handle = context.get_state(ValueStateDescriptor(name))
        elif operation == "list":
            handle = context.get_list_state(ListStateDescriptor(name))
        elif operation == "map":
            handle = context.get_map_state(MapStateDescriptor(name))
        else:
            raise _not_given()
        self.handles.append(handle)
        return len(self.handles) - 1

    def _serve(self, target: Any, operation: Any, arguments: list[Any]) -> Any:
        if type(target) is not int or not 0 <= target < len(self.handles):
            raise _not_given()
        handle = self.handles[target]
        if operation not in OPERATIONS[type(handle)]:
            raise _not_given()
        found = getattr(handle, operation)(*arguments)
        return list(found) if operation == "items" else found


def _results(found: Any) -> Iterable[Any] | None:
    """What a function yielded, with the engine's tags in place of the sandbox's."""
    if found is None:
        return None
    if type(found) is not list:
        raise NotAValue("A list of results was expected.")
    return [
        (OutputTag(item[0].tag_id), item[1])
        if type(item) is tuple and len(item) == 2 and isinstance(item[0], api.OutputTag)
        else item
        for item in found
    ]


class AskedProcessFunction(AskedFunction, KeyedProcessFunction):
    """A keyed process function that is in the sandbox."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self._ask("process_element", value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        return self._ask("on_timer", timestamp, ctx)

    def _ask(self, method: str, value: Any, ctx: Any) -> Iterable[Any] | None:
        timers = ctx.timer_service()

        def serve(target: Any, operation: Any, arguments: list[Any]) -> Any:
            if target != "timers":
                return self._serve(target, operation, arguments)
            if operation not in TIMERS:
                raise _not_given()
            return getattr(timers, operation)(*arguments)

        context = Sent(
            "Context",
            timestamp=ctx.timestamp(),
            key=ctx.get_current_key(),
            domain=ctx.time_domain(),
            watermark=timers.current_watermark(),
            now=timers.current_processing_time(),
        )
        return _results(self.instance.call(method, value, context, many=True, serve=serve))


class AskedWindowFunction(AskedFunction, ProcessWindowFunction):
    """A window function that is in the sandbox."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any] | None:
        shown = Sent(
            "Context",
            window=context.window(),
            watermark=context.current_watermark(),
            now=context.current_processing_time(),
        )
        found = self.instance.call("process", key, shown, list(elements), many=True)
        return _results(found) or ()


def asked_watermark(calls: Calls, name: str) -> Any:
    """For `extensions.punctuated`: the watermark after a record, or None."""

    def watermark(value: Any, timestamp: int | None) -> int | None:
        found = calls.function(name, value, timestamp)
        if found is None:
            return None
        return _timestamp(found, calls.refuse)

    return watermark


def _timestamp(found: Any, refuse: Callable[[str], InvalidJob]) -> int:
    if type(found) is not int or not MIN_TIMESTAMP <= found <= MAX_TIMESTAMP:
        raise refuse(f"A watermark is an integer in ms that fits 64 bits, not {text(found)}.")
    return found


# The valve


class AskedValve(Valve):
    """Which watermark and status leave a gate is what the student's code says; what has arrived is noted here."""

    __slots__ = ("instance",)

    def __init__(self, inputs: int, exclude_ended: bool, calls: Calls, name: str) -> None:
        super().__init__(inputs, exclude_ended)
        self.simple = False
        self.instance = calls.make(name, inputs)

    def _ask(self, method: str, *arguments: Any) -> tuple[bool, bool]:
        """(the output rose, the status changed)"""
        found = self.instance.call(method, *arguments)
        if type(found) is not tuple or len(found) != 2 or type(found[1]) is not bool:
            raise self.instance.refuse(
                f"The valve's {method} returns a pair (watermark, whether the output is idle), not {text(found)}."
            )
        watermark = _timestamp(found[0], self.instance.refuse)
        rose, changed = watermark > self.output, found[1] != self.idle
        self.output, self.idle = watermark, found[1]
        return rose, changed

    def advance(self, index: int, timestamp: int) -> bool:
        self.inputs[index] = max(timestamp, self.inputs[index])
        return self._ask("watermark", index, timestamp)[0]

    def set_idle(self, index: int) -> tuple[bool, bool]:
        self.idles[index] = True
        return self._ask("status", index, True)

    def set_active(self, index: int) -> bool:
        self.idles[index] = False
        return any(self._ask("status", index, False))

    def end(self, index: int) -> tuple[bool, bool]:
        self.ended[index] = True
        self.inputs[index] = MAX_TIMESTAMP
        return self._ask("end", index)

    def keyframe(self) -> Any:
        raise _cannot_step_back()


def _cannot_step_back() -> TypeError:
    return TypeError("A run with code in the sandbox steps back by starting anew.")


# The barrier handler


class AskedHandler(BarrierHandler):
    """What to block, resume, trigger and give up is what the student's code says; which barriers came is noted here."""

    __slots__ = ("_blocked", "inputs", "instance")

    def __init__(self, inputs: int, calls: Calls, name: str) -> None:
        super().__init__(inputs)
        self.inputs = inputs
        self._blocked: tuple[int, ...] = ()
        self.instance = calls.make(name, inputs)

    def barrier(self, index: int, checkpoint: int, unaligned: bool = False) -> list[Decision]:
        if checkpoint > self.checkpoint:
            self.checkpoint, self.pending, self.received = checkpoint, True, ()
        if checkpoint == self.checkpoint:
            self.received = (*self.received, index)
        return self._decided(self.instance.call("barrier", index, checkpoint))

    def cancel(self, checkpoint: int) -> list[Decision]:
        if checkpoint > self.checkpoint:
            self.checkpoint, self.received = checkpoint, ()
        return self._decided(self.instance.call("cancel", checkpoint))

    def end(self, index: int) -> list[Decision]:
        self.open -= {index}
        return self._decided(self.instance.call("end", index))

    def time_out(self, checkpoint: int) -> list[Decision]:
        return []

    def reset(self) -> None:
        """The subtask was cancelled; the deployment that follows has a handler of its own."""
        super().reset()
        self._blocked = ()

    def alignment(self) -> Alignment | None:
        return Alignment(self.checkpoint, self.received) if self.pending else None

    def blocked(self) -> tuple[int, ...]:
        return self._blocked

    def _decided(self, found: Any) -> list[Decision]:
        if found is None:
            found = []
        if type(found) is not list:
            raise self.instance.refuse(
                f"The handler returns a list of decisions, not {text(found)}."
            )
        for decision in found:
            self._check(decision)
            if isinstance(decision, Block):
                self._blocked = (*self._blocked, decision.input)
            elif isinstance(decision, Resume):
                self._blocked = tuple(one for one in self._blocked if one != decision.input)
            else:
                self.pending = False
        return found

    def _check(self, decision: Any) -> None:
        if isinstance(decision, Block | Resume):
            number = decision.input
            fits = type(number) is int and 0 <= number < self.inputs
            if fits and isinstance(decision, Block) and number in self._blocked:
                raise self.instance.refuse(f"{decision} blocks an input that is blocked already.")
            if fits and isinstance(decision, Resume) and number not in self._blocked:
                raise self.instance.refuse(f"{decision} resumes an input that is not blocked.")
            mend = f"this subtask has the inputs 0 to {self.inputs - 1}"
        elif isinstance(decision, Trigger):
            fits = decision.checkpoint == self.checkpoint and decision.unaligned is False
            mend = f"the checkpoint whose barriers come is {self.checkpoint}, and it is aligned"
        elif isinstance(decision, Abort):
            fits = (
                type(decision.checkpoint) is int
                and 0 <= decision.checkpoint <= self.checkpoint
                and decision.reason in (SUBSUMED, CANCELLED)
            )
            mend = f"reasons are {SUBSUMED} and {CANCELLED}"
        else:
            fits, mend = False, "decisions are Block, Resume, Trigger and Abort"
        if not fits:
            raise self.instance.refuse(f"{text(decision)} cannot be carried out: {mend}.")

    def keyframe(self) -> Any:
        raise _cannot_step_back()


# Runtimes with one piece replaced


class _AskingRuntime(Runtime):
    """A runtime that cannot be copied: part of its state is in the sandbox."""

    def copyable(self) -> bool:
        return False


def runtime_with_valve(calls: Calls, name: str) -> type[Runtime]:
    """A runtime whose subtasks with more than one input ask for their watermarks."""

    class AskingSubtask(Subtask):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.valves = [
                AskedValve(len(valve.inputs), valve.exclude_ended, calls, name)
                if len(valve.inputs) > 1
                else valve
                for valve in self.valves
            ]

    class AskingRuntime(_AskingRuntime):
        subtask_type = AskingSubtask

    return AskingRuntime


def runtime_with_handler(calls: Calls, name: str) -> type[Runtime]:
    """A runtime whose subtasks with more than one input ask what to do about barriers."""

    class AskingSnapshots(SubtaskSnapshots):
        def __init__(self, subtask: Subtask, settings: CheckpointSettings) -> None:
            super().__init__(subtask, settings)
            if len(subtask.inputs) > 1:
                self.handler = AskedHandler(len(subtask.inputs), calls, name)

    class AskingSubtask(Subtask):
        snapshots_type = AskingSnapshots

    class AskingRuntime(_AskingRuntime):
        subtask_type = AskingSubtask

    return AskingRuntime
