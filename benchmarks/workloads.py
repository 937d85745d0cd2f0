"""The work that is measured, as data and as jobs of `engine.datastream`.

W1  keyed word count: 3,000 words; every record puts out (word, count so far).
W2  windowed count: 100 keys, one record per ms out of order by up to 5 ms, tumbling windows of 100 ms, watermarks 5 ms
    behind; every window puts out the count of each of its keys, in the order of their first records.
W3  W1 with a checkpoint every 10,000 records.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from engine import Policy, Recording
from engine.datastream import (
    AggregateFunction,
    Duration,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from engine.datastream.window import WindowAssigner
from engine.graph.job_graph import JobGraph
from engine.operators.split import SplitData
from engine.runtime import Runtime

WORDS = 3_000
KEYS = 100
OUT_OF_ORDER = 5
WINDOW = 100
CHECKPOINT_EVERY = 10_000

Word = tuple[str, int]
Reading = tuple[str, int]
FOREVER = 1 << 60
CHECKPOINT = {"kind": "checkpoint"}


def words(count: int, different: int = WORDS) -> list[Word]:
    """(word, 1), the words evenly and randomly distributed; each a string of its own, as a file's lines would give."""
    chance = random.Random(1)
    return [(f"word{chance.randrange(different)}", 1) for _ in range(count)]


def readings(count: int, keys: int = KEYS) -> list[Reading]:
    """(key, timestamp in ms), out of order by up to 5 ms."""
    chance = random.Random(2)
    return [
        (f"key{chance.randrange(keys)}", time + chance.randint(0, OUT_OF_ORDER))
        for time in range(count)
    ]


class ReadingTime(TimestampAssigner):
    def extract_timestamp(self, value: Reading, record_timestamp: int | None) -> int:
        return value[1]


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Reading, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def add_counts(left: Word, right: Word) -> Word:
    return left[0], left[1] + right[1]


def first(value: tuple[str, int]) -> str:
    return value[0]


def word_count(data: Sequence[Word], buffers: int) -> JobGraph:
    """W1 and W3 in three tasks: source, reduce, sink."""
    env = _environment(buffers)
    env.from_collection(data).key_by(first).reduce(add_counts).print()
    return env.get_job_graph("word count")


TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(WINDOW))
SLIDING = SlidingEventTimeWindows.of(Time.milliseconds(2 * WINDOW), Time.milliseconds(WINDOW))
SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(WINDOW // 2))


def windowed_count(
    data: Sequence[Reading], buffers: int, windows: WindowAssigner = TUMBLING
) -> JobGraph:
    """W2 in three tasks: source, window, sink."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(OUT_OF_ORDER)
    ).with_timestamp_assigner(ReadingTime())
    env = _environment(buffers)
    (
        env.from_splits([SplitData("readings", data)], strategy, "source")
        .key_by(first)
        .window(windows)
        .aggregate(Count())
        .print()
    )
    return env.get_job_graph("windowed count")


def word_count_in_ten_tasks(data: Sequence[Word], buffers: int) -> JobGraph:
    """W1 with 2 sources, 2 maps, 3 counts and 3 sinks, over 11 channels."""
    env = _environment(buffers)
    splits = [SplitData("even", data[::2]), SplitData("odd", data[1::2])]
    (
        env.from_splits(splits, WatermarkStrategy.no_watermarks(), "source")
        .set_parallelism(2)
        .map(lambda value: value)
        .set_parallelism(2)
        .key_by(first)
        .reduce(add_counts)
        .set_parallelism(3)
        .print()
        .set_parallelism(3)
    )
    return env.get_job_graph("word count in ten tasks")


def _environment(buffers: int) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment()
    env.set_buffers_per_channel(buffers)
    return env


# Runs


def finish(recording: Recording) -> None:
    """Step by the policy until nothing can happen."""
    while True:
        before = recording.position
        recording.step(100_000)
        if recording.position == before:
            return


def finish_with_checkpoints(recording: Recording) -> None:
    """The same, with the checkpoint command after every 10,000 records (three steps each)."""
    while True:
        before = recording.position
        recording.step(3 * CHECKPOINT_EVERY)
        if recording.position == before:
            return
        if recording.runtime.state == "running":
            recording.apply(CHECKPOINT, events=False)


def with_history(job: JobGraph, policy: Policy) -> Recording:
    return Recording(lambda: job, policy, seed=1)


def without_history(job: JobGraph, policy: Policy) -> Runtime:
    """The bare engine: no log of choices, no keyframes, no digests."""
    return Runtime(job, policy, 1)


def results(runtime: Runtime) -> list[Any]:
    """What all sinks have written, one subtask after the other."""
    return [result for log in runtime.logs.values() for result in log.written()]
