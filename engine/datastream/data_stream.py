"""Streams: the fluent interface, with the names, argument order and defaults of pyflink.datastream.

What PyFlink has and this subset has not raises NotImplementedError naming the method, at the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from engine.datastream.common import TypeInformation, WatermarkStrategy
from engine.datastream.functions import KeySelector
from engine.datastream.functions import Partitioner as PartitionerFunction
from engine.datastream.transformation import Transformation, caller
from engine.datastream.window import TumblingEventTimeWindows
from engine.errors import InvalidJob
from engine.network import partitioners
from engine.operators.map import FilterOperator, FlatMapOperator, MapOperator
from engine.operators.process import (
    KeyedProcessOperator,
    OutputTag,
    ProcessOperator,
    redistribute_keyed_process,
)
from engine.operators.reduce import ReduceOperator, redistribute_tables
from engine.operators.sink import SinkOperator
from engine.operators.timestamps import TimestampsOperator
from engine.operators.window import TumblingWindowOperator, redistribute_windows

if TYPE_CHECKING:
    from engine.datastream.environment import StreamExecutionEnvironment

Stream = TypeVar("Stream", bound="DataStream")

_PYFLINK_ONLY = frozenset(
    [
        "union",
        "connect",
        "join",
        "co_group",
        "interval_join",
        "window_all",
        "count_window_all",
        "start_new_chain",
        "disable_chaining",
        "slot_sharing_group",
        "set_buffer_timeout",
        "set_resources",
        "set_description",
        "project",
        "min",
        "max",
        "sum",
        "min_by",
        "max_by",
        "count_window",
        "execute_and_collect",
        "add_sink",
        "cache",
        "force_non_parallel",
        "set_uid_hash",
    ]
)


def _function(function: Any, method: str, place: str) -> Any:
    if not callable(function) and not hasattr(function, method):
        raise InvalidJob(
            "function",
            f"{function!r} is neither callable nor has it a method {method}.",
            place=place,
            mend=f"Pass a function or an object with {method}.",
        )
    return function


class DataStream:
    """A stream of records, and how its next operator is to be connected."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        transformation: Transformation,
        partitioner: partitioners.Partitioner | None = None,
        tag: str | None = None,
    ) -> None:
        self._environment = environment
        self._transformation = transformation
        self._partitioner = partitioner or partitioners.Automatic()
        self._tag = tag

    def __getattr__(self, name: str) -> Any:
        if name in _PYFLINK_ONLY:
            raise NotImplementedError(
                f"{type(self).__name__}.{name} is not implemented in StreamLab yet."
            )
        raise AttributeError(f"{type(self).__name__} has no method {name!r}.")

    def _then(self, kind: str, make: Callable[..., Any], **properties: Any) -> Transformation:
        transformation = Transformation(
            kind,
            make,
            [(self._transformation, self._partitioner, self._tag)],
            place=caller(),
            **properties,
        )
        self._environment.add(transformation)
        return transformation

    def _stream(self, kind: str, make: Callable[..., Any], **properties: Any) -> DataStream:
        return DataStream(self._environment, self._then(kind, make, **properties))

    # Properties of the last operator

    def name(self: Stream, name: str) -> Stream:
        self._transformation.name = name
        return self

    def uid(self: Stream, uid: str) -> Stream:
        self._transformation.uid = uid
        return self

    def set_parallelism(self: Stream, parallelism: int) -> Stream:
        if type(parallelism) is not int or parallelism < 1:
            raise InvalidJob(
                "parallelism",
                f"Parallelism must be an integer of at least 1, not {parallelism!r}.",
                place=caller(),
                mend="Use 1 or more.",
            )
        self._transformation.parallelism = parallelism
        return self

    def set_max_parallelism(self: Stream, max_parallelism: int) -> Stream:
        if type(max_parallelism) is not int or not 1 <= max_parallelism <= 32768:
            raise InvalidJob(
                "max_parallelism",
                f"Max parallelism must be an integer from 1 to 32768, not {max_parallelism!r}.",
                place=caller(),
                mend="Flink's default is 128.",
            )
        self._transformation.max_parallelism = max_parallelism
        return self

    def get_name(self) -> str:
        return self._transformation.name or self._transformation.kind

    # Operators

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        function = _function(func, "map", caller())
        return self._stream("map", lambda context, splits, log: MapOperator(context, function))

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        function = _function(func, "flat_map", caller())
        return self._stream(
            "flat map", lambda context, splits, log: FlatMapOperator(context, function)
        )

    def filter(self, func: Any) -> DataStream:
        function = _function(func, "filter", caller())
        return self._stream(
            "filter", lambda context, splits, log: FilterOperator(context, function)
        )

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        function = _function(func, "process_element", caller())
        return self._stream(
            "process", lambda context, splits, log: ProcessOperator(context, function)
        )

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        spec = watermark_strategy.spec()
        return self._stream(
            "timestamps", lambda context, splits, log: TimestampsOperator(context, spec)
        )

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        return DataStream(self._environment, self._transformation, tag=output_tag.tag_id)

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
        declared = (
            key_type.name if key_type is not None and key_type.name in ("INT", "LONG") else None
        )
        return KeyedStream(
            self._environment,
            self._transformation,
            partitioners.Hash(selector, declared),
            self._tag,
        )

    def _partitioned(self, partitioner: partitioners.Partitioner) -> DataStream:
        return DataStream(self._environment, self._transformation, partitioner, self._tag)

    def forward(self) -> DataStream:
        return self._partitioned(partitioners.Forward())

    def rebalance(self) -> DataStream:
        return self._partitioned(partitioners.Rebalance())

    def rescale(self) -> DataStream:
        return self._partitioned(partitioners.Rescale())

    def shuffle(self) -> DataStream:
        return self._partitioned(partitioners.Shuffle())

    def broadcast(self, *broadcast_state_descriptors: Any) -> DataStream:
        if broadcast_state_descriptors:
            raise NotImplementedError(
                "DataStream.broadcast with state descriptors is not implemented in StreamLab yet."
            )
        return self._partitioned(partitioners.Broadcast())

    def global_(self) -> DataStream:
        return self._partitioned(partitioners.Global())

    def partition_custom(self, partitioner: Any, key_selector: Any) -> DataStream:
        partition = (
            partitioner.partition if isinstance(partitioner, PartitionerFunction) else partitioner
        )
        selector = key_selector.get_key if isinstance(key_selector, KeySelector) else key_selector
        return self._partitioned(partitioners.Custom(partition, selector))

    # Sinks

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        return self._sink(sink_identifier)

    def sink_to(self, sink: Any) -> DataStreamSink:
        return self._sink(getattr(sink, "sink_name", None))

    def _sink(self, name: str | None) -> DataStreamSink:
        transformation = self._then("sink", lambda context, splits, log: SinkOperator(context, log))
        transformation.name = name
        return DataStreamSink(transformation)


class DataStreamSink:
    """The end of a stream."""

    def __init__(self, transformation: Transformation) -> None:
        self._transformation = transformation

    def name(self, name: str) -> DataStreamSink:
        self._transformation.name = name
        return self

    def uid(self, uid: str) -> DataStreamSink:
        self._transformation.uid = uid
        return self

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        if type(parallelism) is not int or parallelism < 1:
            raise InvalidJob(
                "parallelism",
                f"Parallelism must be an integer of at least 1, not {parallelism!r}.",
                place=caller(),
                mend="Use 1 or more.",
            )
        self._transformation.parallelism = parallelism
        return self


class KeyedStream(DataStream):
    """A stream whose next operator is keyed."""

    def _keyed(
        self,
        kind: str,
        make: Callable[..., Any],
        redistribute: Callable[..., list[Any]],
        **properties: Any,
    ) -> DataStream:
        partitioner = self._partitioner
        assert isinstance(partitioner, partitioners.Hash)
        return self._stream(
            kind,
            make,
            redistribute=redistribute,
            keyed=True,
            key_type=partitioner.key_type,
            results=True,
            **properties,
        )

    def reduce(self, func: Any) -> DataStream:
        function = _function(func, "reduce", caller())
        return self._keyed(
            "reduce",
            lambda context, splits, log: ReduceOperator(context, function),
            redistribute_tables,
        )

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        function = _function(func, "process_element", caller())
        return self._keyed(
            "process",
            lambda context, splits, log: KeyedProcessOperator(context, function),
            redistribute_keyed_process,
        )

    def window(self, window_assigner: Any) -> WindowedStream:
        if not isinstance(window_assigner, TumblingEventTimeWindows):
            raise NotImplementedError(
                f"Windows of type {type(window_assigner).__name__} are not implemented in StreamLab yet."
            )
        return WindowedStream(self, window_assigner)


class WindowedStream:
    """A keyed stream in windows."""

    def __init__(self, stream: KeyedStream, assigner: TumblingEventTimeWindows) -> None:
        self._stream = stream
        self._assigner = assigner
        self._late_tag: str | None = None

    def __getattr__(self, name: str) -> Any:
        if name in {"trigger", "evictor", "allowed_lateness", "reduce", "apply", "process"}:
            raise NotImplementedError(f"WindowedStream.{name} is not implemented in StreamLab yet.")
        raise AttributeError(f"WindowedStream has no method {name!r}.")

    def side_output_late_data(self, output_tag: OutputTag) -> WindowedStream:
        self._late_tag = output_tag.tag_id
        return self

    def aggregate(
        self,
        aggregate_function: Any,
        window_function: Any = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        for method in ("create_accumulator", "add", "get_result"):
            if not hasattr(aggregate_function, method):
                raise InvalidJob(
                    "aggregate",
                    f"The aggregate function has no {method}.",
                    place=caller(),
                    mend="Derive it from AggregateFunction.",
                )
        spec, late_tag = self._assigner.spec, self._late_tag
        return self._stream._keyed(
            "window",
            lambda context, splits, log: TumblingWindowOperator(
                context, spec, aggregate_function, window_function, late_tag
            ),
            redistribute_windows,
            detail=f"tumbling {_span(spec.size)}",
        )


def _span(milliseconds: int) -> str:
    for size, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if milliseconds % size == 0:
            return f"{milliseconds // size} {unit}"
    return f"{milliseconds} ms"
