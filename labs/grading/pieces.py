"""What can be implemented, one entry each: what the student writes, how the engine asks it, and who stands in for it.

A new piece is an entry in `PIECES`, and a stand-in where the engine has to ask for it in a way of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.checkpointing.barrier_handler import Abort, Block, Resume, Trigger
from engine.errors import InvalidJob
from engine.event_time.windows import TimeWindow
from engine.runtime import Runtime
from labs.grading.calls import Calls
from labs.grading.jail import api
from labs.grading.stand_ins import (
    AskedProcessFunction,
    AskedWindowFunction,
    asked_watermark,
    runtime_with_handler,
    runtime_with_valve,
)

Names = Mapping[str, Any]
"""What a reference solution defines, executed here: it is trusted."""


@dataclass(frozen=True)
class Plugged:
    """A piece in its place. function: what the job is built with. runtime: what it runs on."""

    function: Any = None
    runtime: type[Runtime] = Runtime


@dataclass(frozen=True)
class Piece:
    """One kind of code that can be implemented.

    entry: the class or function that the submission defines. contract: what it has to do, for the page.
    starter: what a student sees first. knows: types beyond Python's own that it may return.
    ask: (calls) -> the piece in the engine. trust: (names) -> the reference in the engine.
    A piece without `ask` is a function that is called with cases, and compared.
    """

    name: str
    entry: str
    contract: str
    starter: str
    knows: tuple[type, ...] = ()
    ask: Callable[[Calls], Plugged] | None = None
    trust: Callable[[Names], Plugged] | None = None


class Trusted:
    """Answers like `Calls`, from a reference that is executed here."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def make(self, name: str, *arguments: Any) -> TrustedInstance:
        return TrustedInstance(self.names[name](*arguments), self.refuse)

    def function(self, name: str, *arguments: Any) -> Any:
        return self.names[name](*arguments)

    def refuse(self, sentence: str) -> InvalidJob:
        return InvalidJob("wrong_answer", sentence, place="the reference")


class TrustedInstance:
    """Answers like `calls.Instance`."""

    def __init__(self, held: Any, refuse: Callable[[str], InvalidJob]) -> None:
        self._held = held
        self.refuse = refuse

    def call(self, method: str, *arguments: Any, **_: Any) -> Any:
        return getattr(self._held, method)(*arguments)


def _runtime(make: Callable[[Any, str], type[Runtime]], entry: str) -> dict[str, Any]:
    """A piece of the engine's own machinery; the engine itself is the reference where there is no other."""

    def trust(names: Names) -> Plugged:
        return Plugged(runtime=make(Trusted(names), entry)) if entry in names else Plugged()

    return {"ask": lambda calls: Plugged(runtime=make(calls, entry)), "trust": trust}


PROCESS = Piece(
    "process function",
    "Process",
    "A KeyedProcessFunction with the names of PyFlink: open, process_element, on_timer. It yields values, and pairs "
    "(OutputTag, value) for side outputs. State and timers are those of the current key.",
    """from engine.datastream import KeyedProcessFunction, ValueStateDescriptor


class Process(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value, ctx):
        yield value
""",
    (api.OutputTag, TimeWindow),
    lambda calls: Plugged(AskedProcessFunction(calls, "Process")),
    lambda names: Plugged(names["Process"]()),
)

WINDOW = Piece(
    "window function",
    "Window",
    "A ProcessWindowFunction with the names of PyFlink: process(key, context, elements) yields results; "
    "context.window() has start and end in ms.",
    """from engine.datastream import ProcessWindowFunction


class Window(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, len(list(elements))
""",
    (api.OutputTag, TimeWindow),
    lambda calls: Plugged(AskedWindowFunction(calls, "Window")),
    lambda names: Plugged(names["Window"]()),
)

WATERMARK = Piece(
    "watermark generator",
    "watermark",
    "watermark(value, timestamp) is called after each record and returns a watermark in ms, or None. The job takes it with "
    "extensions.punctuated.",
    """def watermark(value, timestamp):
    return timestamp - 1
""",
    (),
    lambda calls: Plugged(asked_watermark(calls, "watermark")),
    lambda names: Plugged(names["watermark"]),
)

VALVE = Piece(
    "watermark valve",
    "Valve",
    "Valve(channels) merges the watermarks of the input channels of one subtask (Flink: StatusWatermarkValve). "
    "watermark(channel, timestamp), status(channel, idle) and end(channel) tell it what has arrived; each returns the pair "
    "(output watermark, whether the output is idle).",
    """class Valve:
    def __init__(self, channels):
        self.watermarks = [-(1 << 63)] * channels

    def watermark(self, channel, timestamp):
        return self.watermarks[0], False

    def status(self, channel, idle):
        return self.watermarks[0], False

    def end(self, channel):
        return self.watermarks[0], False
""",
    **_runtime(runtime_with_valve, "Valve"),
)

HANDLER = Piece(
    "barrier handler",
    "BarrierHandler",
    "BarrierHandler(inputs) decides what a subtask does about barriers of aligned checkpoints. barrier(input, checkpoint), "
    "cancel(checkpoint) and end(input) tell it what has arrived; each returns a list of Block(input), Resume(input), "
    "Trigger(checkpoint) and Abort(checkpoint, reason).",
    """from engine.checkpointing.barrier_handler import Abort, Block, Resume, Trigger


class BarrierHandler:
    def __init__(self, inputs):
        self.inputs = inputs

    def barrier(self, input, checkpoint):
        return [Trigger(checkpoint)]

    def cancel(self, checkpoint):
        return []

    def end(self, input):
        return []
""",
    (Block, Resume, Trigger, Abort),
    **_runtime(runtime_with_handler, "BarrierHandler"),
)

MERGE = Piece(
    "session merge",
    "merge_windows",
    "merge_windows(windows) is given TimeWindows in any order and returns a list of pairs (merged window, list of the windows "
    "in it, sorted), sorted, one for every group of two or more that overlap or touch (Flink: TimeWindow.mergeWindows).",
    """from engine.datastream import TimeWindow


def merge_windows(windows):
    return []
""",
    (TimeWindow,),
)

KEY_GROUP = Piece(
    "key-group arithmetic",
    "key_group_range",
    "key_group_range(max_parallelism, parallelism, index) returns the first and the last key group of a subtask, both included "
    "(Flink: computeKeyGroupRangeForOperatorIndex).",
    """def key_group_range(max_parallelism, parallelism, index):
    return 0, max_parallelism - 1
""",
)

OWNER = Piece(
    "key-group owner",
    "operator_index_for_key_group",
    "operator_index_for_key_group(max_parallelism, parallelism, key_group) returns the subtask that owns a key group (Flink: "
    "computeOperatorIndexForKeyGroup).",
    """def operator_index_for_key_group(max_parallelism, parallelism, key_group):
    return 0
""",
)

PARTITIONER = Piece(
    "partitioner",
    "partition",
    "partition(key, num_partitions) returns the receiver of a key, from 0 to num_partitions - 1 (Flink: Partitioner). The job "
    "takes it with partition_custom.",
    """def partition(key, num_partitions):
    return 0
""",
    (),
    lambda calls: Plugged(lambda key, count: calls.function("partition", key, count)),
    lambda names: Plugged(names["partition"]),
)

PIECES = {
    piece.name: piece
    for piece in (
        PROCESS,
        WINDOW,
        WATERMARK,
        VALVE,
        HANDLER,
        MERGE,
        KEY_GROUP,
        OWNER,
        PARTITIONER,
    )
}
