"""Process functions: unkeyed, and keyed with state and timers; with one input or with two.

Sources: Flink's `ProcessOperator`, `KeyedProcessOperator`, `CoProcessOperator` and `KeyedCoProcessOperator`. A function
yields values; what it yields as a pair (OutputTag, value) goes to that side output, as in PyFlink.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from engine.elements import Element
from engine.errors import InvalidJob
from engine.operators.base import Context, Operator
from engine.operators.function_operator import FunctionOperator
from engine.operators.keyed import EVENT, PROCESSING, KeyedOperator
from engine.operators.keyed_function import KeyedFunctionOperator
from engine.operators.map import MOST_RESULTS, refuse_more
from engine.operators.user_function import UserFunction
from engine.state.key_groups import original
from engine.values import Attached, by_value


class OutputTag:
    """Names a side output (PyFlink: OutputTag). Two tags with one id are the same output."""

    def __init__(self, tag_id: str, type_info: Any = None) -> None:
        if not tag_id:
            raise InvalidJob(
                "output_tag",
                "An OutputTag needs a name that is not empty.",
                mend="OutputTag('late')",
            )
        self.tag_id = tag_id
        self.type_info = type_info

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"


def collect(
    operator: Operator, results: Iterable[Any] | None, timestamp: int | None, out: list[Element]
) -> None:
    """Append what a function yielded to the main output or to a side output."""
    if results is None:
        return
    key = operator.state.key if isinstance(operator, KeyedOperator) else None
    remaining = iter(results)
    for result in islice(remaining, MOST_RESULTS):
        if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
            operator.side.setdefault(result[0].tag_id, []).append(
                (0, by_value(result[1]), timestamp, None)
            )
        else:
            out.append((0, by_value(result), timestamp, key))
    refuse_more(remaining, operator.context.subtask)


class TimerService(Attached):
    """PyFlink's TimerService; unkeyed functions may only read the clocks."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def current_watermark(self) -> int:
        return self._operator.watermark

    def current_processing_time(self) -> int:
        """The engine's clock in ms."""
        return self._operator.context.now() // 1000

    def _keyed(self) -> KeyedOperator:
        if not isinstance(self._operator, KeyedOperator):
            raise InvalidJob(
                "timer_without_key",
                "Timers can only be set on a keyed stream.",
                place=self._operator.context.subtask,
                mend="Call key_by before process.",
            )
        return self._operator

    def register_event_time_timer(self, timestamp: int) -> None:
        self._keyed().set_timer(EVENT, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._keyed().delete_timer(EVENT, timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._keyed().set_timer(PROCESSING, timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._keyed().delete_timer(PROCESSING, timestamp)


class TimeDomain:
    """Which clock a timer was set on (pyflink.datastream.TimeDomain)."""

    EVENT_TIME = EVENT
    PROCESSING_TIME = PROCESSING


class FunctionContext(Attached):
    """PyFlink's ProcessFunction.Context and OnTimerContext."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._timers = TimerService(operator)
        self.current_timestamp: int | None = None
        self.domain = EVENT

    def timestamp(self) -> int | None:
        """Timestamp of the record, or of the timer, in ms; None where the record has none."""
        return self.current_timestamp

    def timer_service(self) -> TimerService:
        return self._timers

    def time_domain(self) -> str:
        return self.domain

    def get_current_key(self) -> Any:
        if not isinstance(self._operator, KeyedOperator):
            raise InvalidJob(
                "no_key",
                "This stream has no key.",
                place=self._operator.context.subtask,
                mend="Call key_by before process.",
            )
        return original(self._operator.state.key)


def attach(function: UserFunction, context: FunctionContext) -> None:
    """Let copies of the function for another deployment hold that deployment's context."""
    for held in (context, context.timer_service()):
        function.attached[held.attachment()] = held


class ProcessFunctionCaller(Operator):
    """What the two process operators share: one method of the function for each input, and the context it is given."""

    function: UserFunction

    def bind(self, methods: Sequence[str]) -> None:
        """Find the methods; a plain function stands for itself."""
        instance = self.function.instance
        self.calls = [
            getattr(instance, method, instance) for method in methods or ("process_element",)
        ]
        self.function_context = FunctionContext(self)

    def open(self) -> None:
        super().open()
        attach(self.function, self.function_context)

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        self._process(self.calls[0], records, out)

    def process2(self, records: Sequence[Element], out: list[Element]) -> None:
        self._process(self.calls[1], records, out)

    def _process(self, call: Any, records: Sequence[Element], out: list[Element]) -> None:
        raise NotImplementedError(f"{type(self).__name__}._process")


class ProcessOperator(ProcessFunctionCaller, FunctionOperator):
    """An unkeyed process function; `methods` are those for the first and the second input."""

    fanout = None

    def __init__(self, context: Context, function: Any, *methods: str) -> None:
        super().__init__(context, function)
        self.bind(methods)

    def _process(self, call: Any, records: Sequence[Element], out: list[Element]) -> None:
        context = self.function_context
        for _, value, timestamp, _ in records:
            context.current_timestamp = timestamp
            collect(self, call(value, context), timestamp, out)


class KeyedProcessOperator(ProcessFunctionCaller, KeyedFunctionOperator):
    """A keyed process function; `methods` are those for the first and the second input."""

    fanout = None

    def __init__(self, context: Context, function: Any, *methods: str) -> None:
        super().__init__(context, function)
        self.bind(methods)

    def _process(self, call: Any, records: Sequence[Element], out: list[Element]) -> None:
        context = self.function_context
        state = self.state
        for _, value, timestamp, key in records:
            state.key = key
            context.current_timestamp = timestamp
            collect(self, call(value, context), timestamp, out)

    def on_timer(self, clock: str, timestamp: int, namespace: Any, out: list[Element]) -> None:
        call = getattr(self.function.instance, "on_timer", None)
        if call is None:
            return
        context = self.function_context
        context.current_timestamp, context.domain = timestamp, clock
        # A result of a processing-time timer has no timestamp in Flink.
        collect(self, call(timestamp, context), timestamp if clock == EVENT else None, out)
