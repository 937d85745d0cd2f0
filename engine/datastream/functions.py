"""User functions, with PyFlink's names (pyflink.datastream.functions)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.operators.runtime_context import RuntimeContext


class Function:
    """The base of all user functions: opened once per deployment."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called before the first record; get state handles here."""

    def close(self) -> None:
        """PyFlink calls this at the end of a task; the engine has nothing to release."""


class MapFunction(Function):
    """One value out for each value in."""

    def map(self, value: Any) -> Any:
        raise NotImplementedError("MapFunction.map")


class FlatMapFunction(Function):
    """Any number of values out for each value in."""

    def flat_map(self, value: Any) -> Iterable[Any] | None:
        raise NotImplementedError("FlatMapFunction.flat_map")


class FilterFunction(Function):
    """Keeps the values for which it is true."""

    def filter(self, value: Any) -> bool:
        raise NotImplementedError("FilterFunction.filter")


class ReduceFunction(Function):
    """Combines two values of one type into one."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        raise NotImplementedError("ReduceFunction.reduce")


class KeySelector(Function):
    """The key of a value; must be deterministic."""

    def get_key(self, value: Any) -> Any:
        raise NotImplementedError("KeySelector.get_key")


class Partitioner(Function):
    """The receiver of a key, from 0 to num_partitions - 1."""

    def partition(self, key: Any, num_partitions: int) -> int:
        raise NotImplementedError("Partitioner.partition")


class AggregateFunction(Function):
    """Folds values into an accumulator (PyFlink: AggregateFunction)."""

    def create_accumulator(self) -> Any:
        raise NotImplementedError("AggregateFunction.create_accumulator")

    def add(self, value: Any, accumulator: Any) -> Any:
        raise NotImplementedError("AggregateFunction.add")

    def get_result(self, accumulator: Any) -> Any:
        raise NotImplementedError("AggregateFunction.get_result")

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Only merging windows need it."""
        raise NotImplementedError("AggregateFunction.merge")


class ProcessFunction(Function):
    """Yields values, and pairs (OutputTag, value) for side outputs."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        raise NotImplementedError("ProcessFunction.process_element")


class KeyedProcessFunction(ProcessFunction):
    """A process function with state and timers of the current key."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        """Called when a timer of the current key is due."""
        return None


class ProcessWindowFunction(Function):
    """Sees a window's key, bounds and elements when it fires."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any] | None:
        raise NotImplementedError("ProcessWindowFunction.process")


class WindowFunction(Function):
    """Sees a window's key, bounds and elements when it fires."""

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any] | None:
        raise NotImplementedError("WindowFunction.apply")


class CoMapFunction(Function):
    """One value out for each value of either input."""

    def map1(self, value: Any) -> Any:
        raise NotImplementedError("CoMapFunction.map1")

    def map2(self, value: Any) -> Any:
        raise NotImplementedError("CoMapFunction.map2")


class CoFlatMapFunction(Function):
    """Any number of values out for each value of either input."""

    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        raise NotImplementedError("CoFlatMapFunction.flat_map1")

    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        raise NotImplementedError("CoFlatMapFunction.flat_map2")


class CoProcessFunction(Function):
    """Yields values and side outputs for either input."""

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        raise NotImplementedError("CoProcessFunction.process_element1")

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        raise NotImplementedError("CoProcessFunction.process_element2")


class KeyedCoProcessFunction(CoProcessFunction):
    """A CoProcessFunction with state and timers of the current key, which both inputs share."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        """Called when a timer of the current key is due."""
        return None


class BroadcastProcessFunction(Function):
    """Reads broadcast state for each record, and changes it for each broadcast one."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        raise NotImplementedError("BroadcastProcessFunction.process_element")

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        raise NotImplementedError("BroadcastProcessFunction.process_broadcast_element")


class KeyedBroadcastProcessFunction(BroadcastProcessFunction):
    """A BroadcastProcessFunction with state and timers of the current key."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        """Called when a timer of the current key is due."""
        return None


class ProcessJoinFunction(Function):
    """Sees each pair of an interval join (Java: ProcessJoinFunction)."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any] | None:
        raise NotImplementedError("ProcessJoinFunction.process_element")


class JoinFunction(Function):
    """One value for each pair of a window join (Java: JoinFunction)."""

    def join(self, first: Any, second: Any) -> Any:
        raise NotImplementedError("JoinFunction.join")


class CoGroupFunction(Function):
    """Sees all values of both sides of a window (Java: CoGroupFunction)."""

    def co_group(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        raise NotImplementedError("CoGroupFunction.co_group")


class TimestampAssigner:
    """The timestamp of a value, integer ms (pyflink.common.watermark_strategy)."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        raise NotImplementedError("TimestampAssigner.extract_timestamp")
