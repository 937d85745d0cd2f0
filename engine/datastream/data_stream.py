"""Streams: the fluent interface, with the names, argument order and defaults of pyflink.datastream.

What PyFlink has and this subset has not raises NotImplementedError naming the method, at the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from engine.datastream.checks import check_integer, check_max_parallelism, check_parallelism
from engine.datastream.common import TypeInformation, WatermarkStrategy
from engine.datastream.functions import KeySelector
from engine.datastream.functions import Partitioner as PartitionerFunction
from engine.datastream.transformation import Input, Transformation, caller, function_with
from engine.datastream.window import GlobalWindows, WindowAssigner
from engine.datastream.windowed_stream import WindowedStream
from engine.errors import InvalidJob
from engine.event_time.evictors import CountEvictor
from engine.event_time.triggers import CountTrigger, PurgingTrigger
from engine.network import partitioners
from engine.operators.keyed import redistribute_keyed
from engine.operators.map import FilterOperator, FlatMapOperator, MapOperator
from engine.operators.process import KeyedProcessOperator, OutputTag, ProcessOperator
from engine.operators.reduce import ReduceOperator
from engine.operators.sink import SinkOperator
from engine.operators.timestamps import TimestampsOperator
from engine.state.operator_state import redistribute_operator_state
from engine.values import text

if TYPE_CHECKING:
    from engine.datastream.connected import BroadcastStream, ConnectedStreams
    from engine.datastream.environment import StreamExecutionEnvironment

Stream = TypeVar("Stream", bound="DataStream")

_PYFLINK_ONLY = frozenset(
    [
        "window_all",
        "count_window_all",
        "start_new_chain",
        "disable_chaining",
        "slot_sharing_group",
        "set_buffer_timeout",
        "set_resources",
        "set_description",
        "project",
        "execute_and_collect",
        "add_sink",
        "cache",
        "force_non_parallel",
        "set_uid_hash",
    ]
)


class Properties:
    """What can be set on the last operator of a stream."""

    _transformation: Transformation

    def name(self: Any, name: str) -> Any:
        self._transformation.name = name
        return self

    def uid(self: Any, uid: str) -> Any:
        """What the operator's state is found by in a savepoint, also once the job has changed. Without one, its name."""
        if not isinstance(uid, str) or not uid:
            raise InvalidJob(
                "uid",
                f"A uid must be a text that is not empty, not {text(uid)}.",
                place=caller(),
                mend="uid('count-per-user')",
            )
        self._transformation.uid = uid
        return self

    def set_parallelism(self: Any, parallelism: int) -> Any:
        self._transformation.parallelism = check_parallelism(parallelism)
        return self

    def set_max_parallelism(self: Any, max_parallelism: int) -> Any:
        self._transformation.max_parallelism = check_max_parallelism(max_parallelism)
        return self

    def get_name(self) -> str:
        return self._transformation.name or self._transformation.kind


class DataStream(Properties):
    """A stream of records, and how its next operator is to be connected. A union has several inputs."""

    def __init__(self, environment: StreamExecutionEnvironment, inputs: list[Input]) -> None:
        self._environment = environment
        self._inputs = inputs
        self._transformation = inputs[0].upstream

    def __getattr__(self, name: str) -> Any:
        if name in _PYFLINK_ONLY:
            raise NotImplementedError(
                f"{type(self).__name__}.{name} is not implemented in StreamLab yet."
            )
        raise AttributeError(f"{type(self).__name__} has no method {name!r}.")

    def then(
        self,
        kind: str,
        make: Callable[..., Any],
        inputs: list[Input] | None = None,
        **properties: Any,
    ) -> Transformation:
        """Add an operator that reads this stream."""
        transformation = Transformation(
            kind, make, inputs or self._inputs, place=caller(), **properties
        )
        self._environment.add(transformation)
        return transformation

    def stream(
        self,
        kind: str,
        make: Callable[..., Any],
        inputs: list[Input] | None = None,
        **properties: Any,
    ) -> DataStream:
        """The output of an operator that reads this stream."""
        transformation = self.then(kind, make, inputs, **properties)
        return DataStream(self._environment, [Input(transformation, partitioners.Automatic())])

    # Operators

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        function = function_with(func, "map", caller())
        return self.stream(
            "map",
            lambda context, splits, log: MapOperator(context, function),
            redistribute=redistribute_operator_state,
        )

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        function = function_with(func, "flat_map", caller())
        return self.stream(
            "flat map",
            lambda context, splits, log: FlatMapOperator(context, function),
            redistribute=redistribute_operator_state,
        )

    def filter(self, func: Any) -> DataStream:
        function = function_with(func, "filter", caller())
        return self.stream(
            "filter",
            lambda context, splits, log: FilterOperator(context, function),
            redistribute=redistribute_operator_state,
        )

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        function = function_with(func, "process_element", caller())
        return self.stream(
            "process",
            lambda context, splits, log: ProcessOperator(context, function),
            redistribute=redistribute_operator_state,
        )

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        spec = watermark_strategy.spec()
        interval = self._environment.get_config().get_auto_watermark_interval
        return self.stream(
            "timestamps", lambda context, splits, log: TimestampsOperator(context, spec, interval())
        )

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        return DataStream(
            self._environment,
            [Input(self._transformation, partitioners.Automatic(), output_tag.tag_id)],
        )

    def union(self, *streams: DataStream) -> DataStream:
        """All records of all streams through one input; the watermark is the lowest of all of them."""
        return DataStream(
            self._environment, [entry for stream in (self, *streams) for entry in stream._inputs]
        )

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams:
        """Two inputs of one operator."""
        from engine.datastream.connected import ConnectedStreams

        return ConnectedStreams(self, ds)

    # Partitioning

    def key_by(self, key_selector: Any, key_type: TypeInformation | None = None) -> KeyedStream:
        selector = key_selector.get_key if isinstance(key_selector, KeySelector) else key_selector
        if not callable(selector):
            raise InvalidJob(
                "key_selector",
                f"{key_selector!r} is not a key selector.",
                place=caller(),
                mend="Pass a function or a KeySelector.",
            )
        declared = key_type.name if key_type is not None else None
        return KeyedStream(
            self._environment,
            self.partitioned(partitioners.Hash(selector, declared))._inputs,
            declared,
        )

    def partitioned(self, partitioner: partitioners.Partitioner) -> DataStream:
        """This stream, connected by `partitioner`."""
        return DataStream(
            self._environment,
            [Input(entry.upstream, partitioner, entry.tag) for entry in self._inputs],
        )

    def forward(self) -> DataStream:
        return self.partitioned(partitioners.Forward())

    def rebalance(self) -> DataStream:
        return self.partitioned(partitioners.Rebalance())

    def rescale(self) -> DataStream:
        return self.partitioned(partitioners.Rescale())

    def shuffle(self) -> DataStream:
        return self.partitioned(partitioners.Shuffle())

    def broadcast(self, *broadcast_state_descriptors: Any) -> Any:
        """Every record to every subtask; with descriptors, the broadcast side of a `connect`."""
        stream = self.partitioned(partitioners.Broadcast())
        if not broadcast_state_descriptors:
            return stream
        from engine.datastream.connected import BroadcastStream

        return BroadcastStream(stream)

    def global_(self) -> DataStream:
        return self.partitioned(partitioners.Global())

    def partition_custom(self, partitioner: Any, key_selector: Any) -> DataStream:
        partition = (
            partitioner.partition if isinstance(partitioner, PartitionerFunction) else partitioner
        )
        selector = key_selector.get_key if isinstance(key_selector, KeySelector) else key_selector
        return self.partitioned(partitioners.Custom(partition, selector))

    # Sinks

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        return self._sink(sink_identifier)

    def sink_to(self, sink: Any) -> DataStreamSink:
        return self._sink(getattr(sink, "sink_name", None))

    def _sink(self, name: str | None) -> DataStreamSink:
        transformation = self.then("sink", lambda context, splits, log: SinkOperator(context, log))
        transformation.name = name
        return DataStreamSink(transformation)


class DataStreamSink(Properties):
    """The end of a stream."""

    def __init__(self, transformation: Transformation) -> None:
        self._transformation = transformation


class KeyedStream(DataStream):
    """A stream whose next operator is keyed."""

    def __init__(
        self, environment: StreamExecutionEnvironment, inputs: list[Input], key_type: str | None
    ) -> None:
        super().__init__(environment, inputs)
        self.key_type = key_type

    def keyed(self, kind: str, make: Callable[..., Any], **properties: Any) -> DataStream:
        """The output of a keyed operator."""
        properties.setdefault("redistribute", redistribute_keyed)
        return self.stream(
            kind, make, keyed=True, key_type=self.key_type, results=True, **properties
        )

    def reduce(self, func: Any) -> DataStream:
        function = function_with(func, "reduce", caller())
        return self.keyed("reduce", lambda context, splits, log: ReduceOperator(context, function))

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        function = function_with(func, "process_element", caller())
        return self.keyed(
            "process", lambda context, splits, log: KeyedProcessOperator(context, function)
        )

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        return self._rolling("sum", position_to_sum, lambda held, value: held + value)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        return self._rolling("min", position_to_min, min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        return self._rolling("max", position_to_max, max)

    def _rolling(
        self, kind: str, position: int | str, combine: Callable[[Any, Any], Any]
    ) -> DataStream:
        """PyFlink's rolling aggregations of one field of a tuple: the other fields keep their first value."""
        if not isinstance(position, int):
            raise NotImplementedError(
                f"KeyedStream.{kind} by field name is not implemented in StreamLab yet."
            )

        def reduce(held: Any, value: Any) -> Any:
            if not isinstance(held, tuple):
                return combine(held, value)
            return (
                *held[:position],
                combine(held[position], value[position]),
                *held[position + 1 :],
            )

        return self.reduce(reduce).name(kind)  # type: ignore[no-any-return]

    def window(self, window_assigner: WindowAssigner) -> WindowedStream:
        if not isinstance(window_assigner, WindowAssigner):
            raise NotImplementedError(
                f"Windows of type {type(window_assigner).__name__} are not implemented in StreamLab."
            )
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of `size` records per key; with a slide, of the last `size` records every `slide` records."""
        for what, count in (("size", size), ("slide", slide or 1)):
            check_integer("count_window", f"The {what} of a count window", count, 1)
        windowed = WindowedStream(self, GlobalWindows.create())
        if slide:
            return windowed.evictor(CountEvictor.of(size)).trigger(CountTrigger.of(slide))
        return windowed.trigger(PurgingTrigger.of(CountTrigger.of(size)))
