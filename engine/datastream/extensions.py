"""What PyFlink lacks. A job that imports this module does not promise to run on PyFlink."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from engine.datastream.common import Time, WatermarkStrategy
from engine.datastream.connectors import read_lines
from engine.datastream.data_stream import DataStream
from engine.datastream.environment import StreamExecutionEnvironment
from engine.datastream.iteration import IterativeStream, iterate
from engine.datastream.joins import IntervalJoin, Joined, co_group, interval_join, join
from engine.datastream.transformation import caller
from engine.datastream.window import WindowAssigner, placed, span
from engine.datastream.windowed_stream import WindowedStream
from engine.errors import InvalidJob
from engine.event_time.composite_triggers import (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterWatermark,
    CompositeTrigger,
    DefaultTrigger,
    Repeatedly,
)
from engine.event_time.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor
from engine.event_time.triggers import EventTimeTrigger
from engine.event_time.watermarks import WatermarkSpec
from engine.event_time.windows import SessionWindows
from engine.operators.panes import Bundle, Pane, PaneRules, ResultTime, Timing
from engine.operators.split import At, Broken, EmitWatermark, SetIdle, Skip, SplitData, Wait
from engine.state.codec import writable

Stream = TypeVar("Stream", bound=DataStream)

__all__ = [
    "AfterAll",
    "AfterAny",
    "AfterCount",
    "AfterEach",
    "AfterWatermark",
    "At",
    "Bundle",
    "CompositeTrigger",
    "CountEvictor",
    "CsvSource",
    "DefaultTrigger",
    "DeltaEvictor",
    "EmitWatermark",
    "Evictor",
    "IntervalJoin",
    "IterativeStream",
    "Joined",
    "NamedSink",
    "Pane",
    "Repeatedly",
    "ResultTime",
    "ScriptedSource",
    "SetIdle",
    "SkipRow",
    "TimeEvictor",
    "Timing",
    "Wait",
    "co_group",
    "describe",
    "interval_join",
    "iterate",
    "join",
    "non_touching_sessions",
    "punctuated",
    "snapshot_scheme",
    "upload_in_steps",
    "with_panes",
    "with_retractions",
    "writable",
]


def punctuated(watermark: Callable[[Any, int | None], int | None]) -> WatermarkStrategy:
    """A strategy that asks `watermark(value, timestamp)` about each record: a watermark in ms, or None."""
    return WatermarkStrategy(WatermarkSpec(None, None, punctuated=watermark))


def with_retractions(windowed: WindowedStream) -> WindowedStream:
    """Results become pairs (True, result); a window that fires again first takes back what it gave: (False, result)."""
    return windowed.retracting()


def with_panes(
    windowed: WindowedStream,
    *,
    discarding: bool = False,
    result_time: ResultTime = ResultTime.END_OF_WINDOW,
) -> WindowedStream:
    """Results become numbered panes by Apache Beam's rules; a window function is told which: `context.pane()`.

    The trigger must be a composite one; it is Beam's default trigger where none is set. Once it has finished, the window is
    closed. `discarding`: a pane holds only what came since the one before it. `result_time`: the timestamp of the results.
    Records whose value is a `Bundle` are taken as several that arrive together.
    """
    return windowed.paned(PaneRules(discarding, result_time))


def non_touching_sessions(gap: Time) -> WindowAssigner:
    """Event-time sessions that merge only where they overlap, as in Beam; Flink merges those that touch, too."""
    milliseconds = gap.to_milliseconds()
    spec = placed(SessionWindows, milliseconds, True, False)
    return WindowAssigner(spec, EventTimeTrigger(), f"session {span(milliseconds)}, not touching")


class SkipRow(Exception):
    """Raised by a `parse` function for a row that is sound but holds no record; it is counted with its reason."""


class CsvSource:
    """A replayable source over CSV files with a header: one split per file.

    parse: (row as dict) -> value; raises SkipRow for a row without a record, ValueError or KeyError for a broken one.
    broken: "skip" counts a broken row and goes on; "refuse" fails the source when it reads it. Both name file and line.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        parse: Callable[[dict[str, str]], Any],
        *,
        broken: str = "skip",
    ) -> None:
        if broken not in ("skip", "refuse"):
            raise InvalidJob(
                "broken_rows",
                f"broken must be 'skip' or 'refuse', not {broken!r}.",
                place=caller(),
                mend="Choose one.",
            )
        self._paths = [Path(path) for path in paths]
        self._parse = parse
        self._broken = broken

    def splits(self) -> list[SplitData]:
        return [SplitData(path.stem, self._entries(path)) for path in self._paths]

    def _entries(self, path: Path) -> list[Any]:
        lines = read_lines(str(path), "utf-8-sig")
        if not lines:
            raise InvalidJob(
                "no_header",
                f"The file {path.name} is empty.",
                place=f"{path.name}, line 1",
                mend="Its first line must name the columns.",
            )
        reader = csv.reader(f"{line}\n" for line in lines)
        header = next(reader)
        entries: list[Any] = []
        while reader.line_num < len(lines):
            line = reader.line_num + 1
            try:
                fields = next(reader)
            except csv.Error as error:
                entries.append(self._bad(path, line, str(error)))
                continue
            if not fields:
                continue
            if len(fields) != len(header):
                entries.append(
                    self._bad(
                        path, line, f"{len(fields)} fields where the header has {len(header)}"
                    )
                )
                continue
            try:
                entries.append(self._parse(dict(zip(header, fields, strict=True))))
            except SkipRow as reason:
                entries.append(Skip(line, str(reason)))
            except (ValueError, KeyError, TypeError) as error:
                what = f"no column {error}" if isinstance(error, KeyError) else str(error)
                entries.append(self._bad(path, line, what))
        return entries

    def _bad(self, path: Path, line: int, what: str) -> Skip | Broken:
        reason = f"broken row: {what}"
        return Skip(line, reason) if self._broken == "skip" else Broken(line, reason, path.name)


class ScriptedSource:
    """A replayable source whose splits are written down: {name: entries}.

    An entry is a value, or `At` (a value with its timestamp), `EmitWatermark`, `SetIdle`, or `Wait`, which keeps the split
    silent for so many ms of the engine's clock. The clock moves when nothing else can happen.
    """

    def __init__(self, splits: Mapping[str, Sequence[Any]]) -> None:
        self._splits = [SplitData(name, list(entries)) for name, entries in splits.items()]

    def splits(self) -> list[SplitData]:
        return list(self._splits)


class NamedSink:
    """A sink whose operator has this name; its results are kept by the run."""

    def __init__(self, sink_name: str = "sink") -> None:
        self.sink_name = sink_name


def snapshot_scheme(env: StreamExecutionEnvironment, scheme: str) -> None:
    """How snapshots are taken: "aligned", "unaligned", "at_least_once", "none" or "stop_the_world"."""
    env.get_checkpoint_config().set_scheme(scheme)


def upload_in_steps(env: StreamExecutionEnvironment, size: int) -> None:
    """Snapshots go to the storage asynchronously, `size` bytes a step; without this they are there at once."""
    env.get_checkpoint_config().set_upload_bytes(size)


def describe(
    stream: Stream, *, detail: str | None = None, brief: Callable[[Any], str] | None = None
) -> Stream:
    """How the last operator is labelled in the picture: a detail under its name, and at most 8 characters per value."""
    transformation = stream._transformation
    if detail is not None:
        transformation.detail = detail
    if brief is not None:
        transformation.brief = brief
    return stream
