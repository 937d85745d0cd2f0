"""The programming interface: the names of pyflink.datastream and pyflink.common, for the subset that is implemented."""

from engine.datastream.common import (
    Duration,
    MapStateDescriptor,
    Time,
    TypeInformation,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.datastream.connectors import FileSource, StreamFormat
from engine.datastream.data_stream import DataStream, DataStreamSink, KeyedStream, WindowedStream
from engine.datastream.environment import JobExecutionResult, StreamExecutionEnvironment
from engine.datastream.functions import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    TimestampAssigner,
)
from engine.datastream.window import TimeWindow, TumblingEventTimeWindows
from engine.operators.process import OutputTag
from engine.operators.runtime_context import RuntimeContext

__all__ = [
    "AggregateFunction",
    "DataStream",
    "DataStreamSink",
    "Duration",
    "FileSource",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "JobExecutionResult",
    "KeySelector",
    "KeyedProcessFunction",
    "KeyedStream",
    "MapFunction",
    "MapStateDescriptor",
    "OutputTag",
    "Partitioner",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "StreamExecutionEnvironment",
    "StreamFormat",
    "Time",
    "TimeWindow",
    "TimestampAssigner",
    "TumblingEventTimeWindows",
    "TypeInformation",
    "Types",
    "ValueStateDescriptor",
    "WatermarkStrategy",
    "WindowedStream",
]
