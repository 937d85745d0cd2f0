"""What a student's code can import of the engine: the names it needs, and nothing behind them.

The engine itself stays outside. A state handle, a timer service, a context ask for what they need, one message a
call; which key, which subtask, which clock is known outside alone.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

Do = Callable[..., Any]
"""(target, operation, arguments...) -> what the engine answers; Refused where it refuses."""


class Refused(Exception):
    """The engine does not do this; the message says why."""


class Function:
    """The base of all user functions: opened once per deployment."""

    def open(self, runtime_context: Any) -> None:
        pass

    def close(self) -> None:
        pass


class ProcessFunction(Function):
    """Yields values, and pairs (OutputTag, value) for side outputs."""


class KeyedProcessFunction(ProcessFunction):
    """A process function with state and timers of the current key."""

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return None


class ProcessWindowFunction(Function):
    """Sees a window's key, context and elements when it fires."""


class AggregateFunction(Function):
    """Folds values into an accumulator."""


class ReduceFunction(Function):
    """Combines two values of one type into one."""


@dataclass(frozen=True, init=False)
class OutputTag:
    """Names a side output."""

    tag_id: str

    def __init__(self, tag_id: str, type_info: Any = None) -> None:
        object.__setattr__(self, "tag_id", tag_id)


class TimeWindow(NamedTuple):
    """[start, end) in ms; its last timestamp is end - 1."""

    start: int
    end: int

    def max_timestamp(self) -> int:
        return self.end - 1


class TimeDomain:
    """Which clock a timer was set on."""

    EVENT_TIME = "event"
    PROCESSING_TIME = "processing"


class Block(NamedTuple):
    """Take nothing from this input until it is resumed."""

    input: int


class Resume(NamedTuple):
    """Take from this input again."""

    input: int


class Trigger(NamedTuple):
    """Snapshot now and forward the barrier."""

    checkpoint: int
    unaligned: bool = False


class Abort(NamedTuple):
    """The checkpoint is given up."""

    checkpoint: int
    reason: str


DECISIONS = (Block, Resume, Trigger, Abort)


class Types:
    """Declared types. They mean nothing inside: keys are hashed by the engine."""

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *of: name


class Descriptor:
    """The name of some state."""

    def __init__(self, name: str, *of: Any) -> None:
        self.name = name
        self.function = of[0] if of else None

    def enable_time_to_live(self, ttl_config: Any) -> None:
        raise Refused("State with a time to live cannot be used in a submission yet.")


class ValueState:
    """One value per key."""

    def __init__(self, do: Do, handle: int) -> None:
        self._do = do
        self._handle = handle

    def _ask(self, operation: str, *arguments: Any) -> Any:
        return self._do(self._handle, operation, *arguments)

    def value(self) -> Any:
        return self._ask("value")

    def update(self, value: Any) -> None:
        self._ask("update", value)

    def clear(self) -> None:
        self._ask("clear")


class ListState(ValueState):
    """A list per key."""

    def get(self) -> Any:
        return self._ask("get")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add(self, value: Any) -> None:
        self._ask("add", value)

    def add_all(self, values: Any) -> None:
        self._ask("add_all", list(values))


class MapState(ValueState):
    """A map per key."""

    def get(self, key: Any) -> Any:
        return self._ask("get", key)

    def put(self, key: Any, value: Any) -> None:
        self._ask("put", key, value)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self._ask("remove", key)

    def contains(self, key: Any) -> bool:
        return bool(self._ask("contains", key))

    def is_empty(self) -> bool:
        return bool(self._ask("is_empty"))

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._ask("items"))

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        return (value for _, value in self.items())

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return self.keys()


class ReducingState(ValueState):
    """A value per key that every added value is reduced into."""

    def __init__(self, do: Do, handle: int, function: Any) -> None:
        super().__init__(do, handle)
        self._reduce = getattr(function, "reduce", function)

    def get(self) -> Any:
        return self.value()

    def add(self, value: Any) -> None:
        held = self.value()
        self.update(value if held is None else self._reduce(held, value))


class AggregatingState(ValueState):
    """An accumulator per key that every added value is folded into."""

    def __init__(self, do: Do, handle: int, function: Any) -> None:
        super().__init__(do, handle)
        self._function = function

    def get(self) -> Any:
        held = self.value()
        return None if held is None else self._function.get_result(held)

    def add(self, value: Any) -> None:
        held = self.value()
        accumulator = self._function.create_accumulator() if held is None else held
        self.update(self._function.add(value, accumulator))


class RuntimeContext:
    """What a function sees of its subtask when it is opened."""

    def __init__(self, do: Do, fields: dict[str, Any]) -> None:
        self._do = do
        self._fields = fields

    def get_task_name(self) -> Any:
        return self._fields["task"].rpartition("[")[0]

    def get_task_name_with_subtasks(self) -> Any:
        return self._fields["task"]

    def get_number_of_parallel_subtasks(self) -> Any:
        return self._fields["parallelism"]

    def get_index_of_this_subtask(self) -> Any:
        return self._fields["index"]

    def _handle(self, kind: str, descriptor: Descriptor) -> int:
        return int(self._do("runtime", kind, descriptor.name))

    def get_state(self, state_descriptor: Descriptor) -> ValueState:
        return ValueState(self._do, self._handle("value", state_descriptor))

    def get_list_state(self, state_descriptor: Descriptor) -> ListState:
        return ListState(self._do, self._handle("list", state_descriptor))

    def get_map_state(self, state_descriptor: Descriptor) -> MapState:
        return MapState(self._do, self._handle("map", state_descriptor))

    def get_reducing_state(self, state_descriptor: Descriptor) -> ReducingState:
        handle = self._handle("value", state_descriptor)
        return ReducingState(self._do, handle, state_descriptor.function)

    def get_aggregating_state(self, state_descriptor: Descriptor) -> AggregatingState:
        handle = self._handle("value", state_descriptor)
        return AggregatingState(self._do, handle, state_descriptor.function)


class Context:
    """The context and the timer service of a process function, or the context of a window function."""

    def __init__(self, do: Do, fields: dict[str, Any]) -> None:
        self._do = do
        self._fields = fields

    def timestamp(self) -> Any:
        return self._fields["timestamp"]

    def get_current_key(self) -> Any:
        return self._fields["key"]

    def time_domain(self) -> Any:
        return self._fields["domain"]

    def timer_service(self) -> Context:
        return self

    def window(self) -> Any:
        return self._fields["window"]

    def current_watermark(self) -> Any:
        return self._fields["watermark"]

    def current_processing_time(self) -> Any:
        return self._fields["now"]

    def register_event_time_timer(self, timestamp: int) -> None:
        self._do("timers", "register_event_time_timer", timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._do("timers", "delete_event_time_timer", timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._do("timers", "register_processing_time_timer", timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._do("timers", "delete_processing_time_timer", timestamp)


OBJECTS = {"RuntimeContext": RuntimeContext, "Context": Context}
KNOWN = (OutputTag, TimeWindow, *DECISIONS)

MAX_TIMESTAMP = (1 << 63) - 1
MIN_TIMESTAMP = -(1 << 63)


def modules() -> dict[str, types.ModuleType]:
    """Modules under the names from which the same is imported outside."""
    functions = [
        Function,
        ProcessFunction,
        KeyedProcessFunction,
        ProcessWindowFunction,
        AggregateFunction,
        ReduceFunction,
        OutputTag,
        TimeWindow,
        TimeDomain,
        RuntimeContext,
    ]
    stream: dict[str, Any] = {kind.__name__: kind for kind in functions}
    stream["Types"] = Types()
    for kind in ("Value", "List", "Map", "Reducing", "Aggregating"):
        stream[f"{kind}StateDescriptor"] = Descriptor
    decisions = {kind.__name__: kind for kind in DECISIONS}
    times = {"MAX_TIMESTAMP": MAX_TIMESTAMP, "MIN_TIMESTAMP": MIN_TIMESTAMP}
    contents: dict[str, dict[str, Any]] = {
        "engine": {},
        "engine.datastream": stream,
        "engine.elements": times,
        "engine.checkpointing": {},
        "engine.checkpointing.barrier_handler": decisions,
        "engine.event_time": {},
        "engine.event_time.windows": {"TimeWindow": TimeWindow},
        "pyflink": {},
        "pyflink.common": {"Types": stream["Types"]},
        "pyflink.common.typeinfo": {"Types": stream["Types"]},
        "pyflink.datastream": stream,
        "pyflink.datastream.functions": stream,
        "pyflink.datastream.state": stream,
    }
    made = {}
    for name, held in contents.items():
        made[name] = types.ModuleType(name)
        made[name].__dict__.update(held)
        made[name].__path__ = []
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(made[parent], last, made[name])
    return made
