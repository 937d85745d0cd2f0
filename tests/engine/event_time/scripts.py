"""Scripts of event time: each input is a list of records and instructions, read one at a time.

A record is written as its timestamp, or as At(value, timestamp); values are (key, timestamp).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine import Recording
from engine.datastream import (
    DataStream,
    Duration,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from engine.elements import MIN_TIMESTAMP
from engine.operators.split import At, EmitWatermark, SetIdle, SplitData
from engine.testing import written

from ..small import MANUAL, job

LATE = OutputTag("late")
IDLE = SetIdle(True)
NEVER = MIN_TIMESTAMP


def wm(timestamp: int) -> EmitWatermark:
    return EmitWatermark(timestamp)


def scripted(script: Sequence[Any]) -> list[Any]:
    return [At(("k", entry), entry) if type(entry) is int else entry for entry in script]


def bounded(bound: int | None) -> WatermarkStrategy:
    """A watermark after each record, `bound` ms behind; with None only those of the script."""
    if bound is None:
        return WatermarkStrategy.no_watermarks()
    return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))


def splits(
    env: StreamExecutionEnvironment, *scripts: Sequence[Any], bound: int | None = 0
) -> DataStream:
    """One source, with a split for each script."""
    data = [SplitData(f"p{number}", scripted(script)) for number, script in enumerate(scripts)]
    return env.from_splits(data, bounded(bound), "source")


def channels(
    env: StreamExecutionEnvironment, *scripts: Sequence[Any], bound: int | None = 0
) -> DataStream:
    """The union of sources of one split each: source0, source1, ..."""
    first, *others = sources(env, *scripts, bound=bound)
    return first.union(*others)


def sources(
    env: StreamExecutionEnvironment, *scripts: Sequence[Any], bound: int | None = 0
) -> list[DataStream]:
    return [
        env.from_splits([SplitData("p", scripted(script))], bounded(bound), f"source{number}")
        for number, script in enumerate(scripts)
    ]


class Times(ProcessWindowFunction):
    """(start, end, the timestamps in the window)"""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield window.start, window.end, [element[1] for element in elements]


def first_field(value: Any) -> Any:
    return value[0]


def windowed(stream: DataStream, assigner: Any, **settings: Any) -> DataStream:
    """Windows by the first field into the sink "out", what is late into the sink "late"."""
    window = stream.key_by(first_field).window(assigner).side_output_late_data(LATE)
    for setting, value in settings.items():
        window = getattr(window, setting)(value)
    result = window.process(Times()).name("window")
    result.print("out")
    result.get_side_output(LATE).print("late")
    return result


class Run:
    """A job that is driven one script entry at a time."""

    def __init__(self, build: Callable[[StreamExecutionEnvironment], Any]) -> None:
        def roomy(env: StreamExecutionEnvironment) -> None:
            env.set_buffers_per_channel(1000)
            build(env)

        self.recording = Recording(job(roomy), MANUAL)

    def read(self, *numbers: int) -> list[int]:
        """Read the next entry (or the end) of each of these inputs; the window's watermark after each."""
        return [self._read(number) for number in numbers]

    def _read(self, number: int) -> int:
        reads = [f"read:{split}" for split in self.recording.runtime.deployment.splits]
        self.recording.act(reads[number])
        self.flow()
        return self.watermark("window")

    def flow(self) -> None:
        """Take everything that is in a channel."""
        while takes := [
            action["id"] for action in self.recording.possible() if action["id"].startswith("take:")
        ]:
            self.recording.act(takes[0])

    def watermark(self, operator: str) -> int:
        return self.recording.runtime.deployment.subtasks[f"{operator}[0]"].watermark

    def operator(self, name: str) -> Any:
        return self.recording.runtime.deployment.subtasks[f"{name}[0]"].operator

    def out(self, sink: str = "out") -> list[Any]:
        return written(self.recording)[f"{sink}[0]"]

    def counts(self) -> list[tuple[int, int, int]]:
        """(start, end, number of records) of each firing."""
        return [(start, end, len(held)) for start, end, held in self.out()]

    def late(self) -> list[int]:
        return [value[1] for value in self.out("late")]
