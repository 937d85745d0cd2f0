"""Map, flat map and filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from engine.elements import Element
from engine.errors import InvalidJob
from engine.operators.base import Context
from engine.operators.function_operator import FunctionOperator
from engine.values import IMMUTABLE, by_value, is_immutable

MOST_RESULTS = 100_000
"""How many results a function may make of one record: a loop without an end must not hang the engine."""
_NONE = object()


def refuse_more(remaining: Iterator[Any], place: str) -> None:
    """InvalidJob where there are still results after `MOST_RESULTS` were taken."""
    if next(remaining, _NONE) is not _NONE:
        raise InvalidJob(
            "too_many_results",
            f"A function made more than {MOST_RESULTS:,} results of one record or timer.",
            place=place,
            mend="Let its loop end.",
        )


class OneMethod(FunctionOperator):
    """An operator that calls one method of its function; `call` is that method, or the function itself."""

    method = "map"

    def __init__(self, context: Context, function: Any) -> None:
        super().__init__(context, function)
        self.call: Any = getattr(self.function.instance, self.method, self.function.instance)


class MapOperator(OneMethod):
    """One record out for each record in."""

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        call = self.call
        for _, value, timestamp, _ in records:
            result = call(value)
            if type(result) not in IMMUTABLE and not is_immutable(result):
                result = by_value(result)
            out.append((0, result, timestamp, None))


class FilterOperator(OneMethod):
    """The records for which the function is true."""

    method = "filter"

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        call = self.call
        for _, value, timestamp, _ in records:
            if call(value):
                out.append((0, value, timestamp, None))


class FlatMapOperator(OneMethod):
    """Any number of records out for each record in."""

    fanout = None
    method = "flat_map"

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        call = self.call
        for _, value, timestamp, _ in records:
            results = call(value)
            if results is not None:
                remaining = iter(results)
                for result in islice(remaining, MOST_RESULTS):
                    out.append((0, by_value(result), timestamp, None))
                refuse_more(remaining, self.context.subtask)
