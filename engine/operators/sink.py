"""Sinks write to the outside world, which no failure rewinds.

A sink appends to a log that outlives restarts; `cursor` is how much of it has been written at this step of the run. A
replay writes the same results to the same places, so stepping back only moves the cursor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.elements import Element
from engine.events import ResultWritten
from engine.operators.base import Context, Operator
from engine.values import text


class ResultLog:
    """What one sink subtask has written: results[:cursor]."""

    __slots__ = ("cursor", "results")

    def __init__(self) -> None:
        self.results: list[Any] = []
        self.cursor = 0

    def written(self) -> list[Any]:
        return self.results[: self.cursor]


class SinkOperator(Operator):
    """A plain sink: a result is visible at once, and written again after a failure."""

    fanout = 0

    def __init__(self, context: Context, log: ResultLog) -> None:
        super().__init__(context)
        self.log = log

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        log = self.log
        cursor = log.cursor
        if len(records) == 1 and cursor == len(log.results) and self.trace.events is None:
            log.results.append(records[0][1])
            log.cursor = cursor + 1
            return
        log.cursor = end = cursor + len(records)
        log.results[cursor:end] = [record[1] for record in records]
        if self.trace.events is not None:
            for index, record in enumerate(records, cursor):
                self.trace.events.append(
                    ResultWritten(self.context.subtask, index, text(record[1]))
                )
