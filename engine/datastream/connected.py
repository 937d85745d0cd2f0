"""Two streams that one operator reads (pyflink.datastream: ConnectedStreams, BroadcastConnectedStream)."""

from __future__ import annotations

from typing import Any

from engine.datastream.common import TypeInformation
from engine.datastream.data_stream import DataStream, KeyedStream
from engine.datastream.transformation import Input, caller
from engine.errors import InvalidJob
from engine.operators.broadcast import BroadcastProcessOperator, redistribute_broadcast
from engine.operators.keyed import redistribute_keyed
from engine.operators.process import KeyedProcessOperator, ProcessOperator
from engine.state.operator_state import redistribute_operator_state


class BroadcastStream:
    """A stream whose records every subtask of the other side sees."""

    def __init__(self, stream: DataStream) -> None:
        self.stream = stream


class _PerInput:
    """A CoMap or CoFlatMap function as a process function."""

    def __init__(self, function: Any, method: str, many: bool) -> None:
        self.function = function
        self.method = method
        self.many = many

    def open(self, runtime_context: Any) -> None:
        if hasattr(self.function, "open"):
            self.function.open(runtime_context)

    def _call(self, number: int, value: Any) -> Any:
        result = getattr(self.function, f"{self.method}{number}")(value)
        return result if self.many else [result]

    def process_element1(self, value: Any, ctx: Any) -> Any:
        return self._call(1, value)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return self._call(2, value)


class ConnectedStreams:
    """Two inputs with a watermark each; the operator's is the lower one."""

    def __init__(self, first: DataStream, second: DataStream | BroadcastStream) -> None:
        self._first = first
        self._second = second

    def key_by(
        self, key_selector1: Any, key_selector2: Any, key_type: TypeInformation | None = None
    ) -> ConnectedStreams:
        if isinstance(self._second, BroadcastStream):
            raise InvalidJob(
                "key_by_broadcast",
                "The broadcast side of a connection has no key.",
                place=caller(),
                mend="Call key_by on the other stream, before connect.",
            )
        return ConnectedStreams(
            self._first.key_by(key_selector1, key_type),
            self._second.key_by(key_selector2, key_type),
        )

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        return self._process(_PerInput(func, "map", False), "co-map")

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        return self._process(_PerInput(func, "flat_map", True), "co-flat map")

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """A CoProcessFunction, a KeyedCoProcessFunction, or a BroadcastProcessFunction for a broadcast side."""
        if isinstance(self._second, BroadcastStream):
            return self._broadcast(func)
        return self._process(func, "co-process")

    def _inputs(self, second: DataStream) -> list[Input]:
        return [*self._first._inputs, *(entry._replace(gate=1) for entry in second._inputs)]

    def _process(self, function: Any, kind: str) -> DataStream:
        second = self._second
        if isinstance(second, BroadcastStream):
            raise InvalidJob(
                "broadcast_function",
                "A broadcast connection is processed by a BroadcastProcessFunction.",
                place=caller(),
                mend="Use process.",
            )
        methods = ("process_element1", "process_element2")
        keyed = [isinstance(stream, KeyedStream) for stream in (self._first, second)]
        if all(keyed):
            assert isinstance(self._first, KeyedStream)
            return self._first.keyed(
                kind,
                lambda context, splits, log: KeyedProcessOperator(context, function, *methods),
                inputs=self._inputs(second),
                redistribute=redistribute_keyed,
            )
        if any(keyed):
            raise InvalidJob(
                "half_keyed",
                "One of two connected streams is keyed and the other is not.",
                place=caller(),
                mend="Call key_by on both or on neither.",
            )
        return self._first.stream(
            kind,
            lambda context, splits, log: ProcessOperator(context, function, *methods),
            self._inputs(second),
            redistribute=redistribute_operator_state,
        )

    def _broadcast(self, function: Any) -> DataStream:
        assert isinstance(self._second, BroadcastStream)
        inputs = self._inputs(self._second.stream)
        make = lambda context, splits, log: BroadcastProcessOperator(context, function)  # noqa: E731
        if isinstance(self._first, KeyedStream):
            return self._first.keyed(
                "broadcast process", make, inputs=inputs, redistribute=redistribute_broadcast
            )
        return self._first.stream(
            "broadcast process", make, inputs, redistribute=redistribute_broadcast
        )
