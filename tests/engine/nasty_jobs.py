"""Generated jobs that misbehave: functions that raise, mutable values, splits without records, several ways out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from engine.datastream import (
    AggregateFunction,
    Duration,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.graph.job_graph import JobGraph
from engine.operators.split import Broken, Skip, SplitData

from .jobs import BACKENDS, set_backend

BAD = 9
"""A record whose third field is this one makes the raising function of a job raise."""
SIDE, LATE = OutputTag("side"), OutputTag("late")


class At(TimestampAssigner):
    def __init__(self, raises: bool) -> None:
        self.raises = raises

    def extract_timestamp(self, value, record_timestamp):
        if self.raises and value[2] == BAD:
            raise ValueError("no timestamp in here")
        return value[1]


class Tired(MapFunction):
    """Raises at the `limit`-th record after it was opened: with checkpoints in between the job gets past it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def open(self, runtime_context):
        self.count = 0

    def map(self, value):
        self.count += 1
        if self.count == self.limit:
            raise RuntimeError("tired")
        return [*value[:2], value[2]]


class Mutating(MapFunction):
    """Keeps what it was given and changes it afterwards."""

    def __init__(self, raises: bool) -> None:
        self.raises = raises
        self.kept: list[Any] = []

    def map(self, value):
        value = list(value)
        for kept in self.kept:
            kept[0] = "spoiled"
        self.kept.append(value)
        if self.raises and value[2] == BAD:
            raise ValueError(f"bad record {value}")
        return value


class HalfWay(FlatMapFunction):
    """Raises after it has yielded something."""

    def __init__(self, raises: bool) -> None:
        self.raises = raises

    def flat_map(self, value):
        yield value
        if self.raises and value[2] == BAD:
            raise ValueError("half-way")
        if value[2] % 3 == 0:
            yield [value[0], value[1] - 5, value[2]]


class Sides(ProcessFunction):
    def __init__(self, raises: bool) -> None:
        self.raises = raises

    def process_element(self, value, ctx):
        yield SIDE, value
        if self.raises and value[2] == BAD:
            raise ValueError("after a side output")
        if value[2] % 2:
            yield value


class Busy(KeyedProcessFunction):
    """Value and map state, timers that set timers, and handles in nested attributes."""

    def __init__(self, raises: bool) -> None:
        self.raises = raises

    def open(self, runtime_context):
        self.handles = {
            "value": runtime_context.get_state(ValueStateDescriptor("value")),
            "map": [runtime_context.get_map_state(MapStateDescriptor("map"))],
        }

    def process_element(self, value, ctx):
        state, entries = self.handles["value"], self.handles["map"][0]
        held = state.value() or []
        held.append(value[2])
        state.update(held[-3:])
        entries.put((value[2] % 3, True), [value[1]])
        if value[2] == 4:
            entries.remove((1, True))
        if value[2] == 5:
            entries.clear()
        if self.raises and value[2] == BAD:
            raise ValueError("after an update")
        if ctx.timestamp() is not None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 3)
            ctx.timer_service().delete_event_time_timer(ctx.timestamp() + 4)
        yield [ctx.get_current_key(), value[1], len(held)]

    def on_timer(self, timestamp, ctx):
        if timestamp % 4 == 0:
            ctx.timer_service().register_event_time_timer(timestamp + 1)
        if self.raises and timestamp % 7 == 0:
            raise ValueError("in on_timer")
        yield [ctx.get_current_key(), timestamp, 0]


class Gather(AggregateFunction):
    def __init__(self, raises: bool) -> None:
        self.raises = raises

    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        if self.raises and value[2] == BAD:
            raise ValueError("in add")
        accumulator.append(value[2])
        return accumulator

    def get_result(self, accumulator):
        if self.raises and len(accumulator) == 3:
            raise ValueError("in get_result")
        return ["w", 0, len(accumulator)]


def selector(raises: bool) -> Callable[[Any], Any]:
    def key(value: Any) -> Any:
        if raises and value[2] == BAD:
            raise ValueError("no key in here")
        return value[0]

    return key


def make_nasty_job(spec: dict[str, Any]) -> Callable[[], JobGraph]:
    """A factory of the job that `spec` describes; `spec["raises"]` names the operators that raise at a bad record."""
    raising = spec["raises"]

    def factory() -> JobGraph:
        env = StreamExecutionEnvironment()
        env.set_buffers_per_channel(spec["buffers"])
        env.get_config().set_auto_watermark_interval(spec["periodic"])
        set_backend(env, spec["backend"])
        if spec["checkpoints"]:
            env.enable_checkpointing(spec["checkpoints"])
        splits = [
            SplitData(f"p{number}", [list(e) if type(e) is tuple else e for e in entries])
            for number, entries in enumerate(spec["splits"])
        ]
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(spec["bound"])
        ).with_timestamp_assigner(At("assigner" in raising))
        first = WatermarkStrategy.no_watermarks() if spec["midstream"] else strategy
        stream = env.from_splits(splits, first, "source").set_parallelism(spec["sources"])
        if spec["midstream"]:
            stream = stream.assign_timestamps_and_watermarks(strategy)
        for number, (kind, partitioner, parallelism) in enumerate(spec["stages"]):
            if partitioner == "custom":
                raises = "partitioner" in raising
                stream = stream.partition_custom(
                    lambda key, count, raises=raises: (
                        count if raises and key == BAD else key % count
                    ),
                    lambda value: value[2],
                )
            elif partitioner:
                stream = getattr(stream, partitioner)()
            if kind == "mutating":
                stream = stream.map(Mutating("map" in raising))
            elif kind == "tired":
                stream = stream.map(Tired(spec["tired"]))
            elif kind == "filter":
                stream = stream.filter(lambda value: value[2] != 3)
            elif kind == "half-way":
                stream = stream.flat_map(HalfWay("flat_map" in raising))
            else:
                stream = stream.process(Sides("process" in raising))
                stream.get_side_output(SIDE).rebalance().print("side").set_parallelism(2)
            stream.set_parallelism(parallelism)
            if spec["taps"]:
                stream.print(f"tap {number}")
        for number, (kind, parallelism) in enumerate(spec["keyed"]):
            keyed = stream.key_by(selector("selector" in raising and number == 0))
            if kind == "reduce":
                result = keyed.reduce(lambda a, b: [a[0], max(a[1], b[1]), a[2] + b[2]])
            elif kind == "process":
                result = keyed.process(Busy("keyed" in raising))
            else:
                windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
                result = windows.side_output_late_data(LATE).aggregate(Gather("window" in raising))
                result.get_side_output(LATE).print(f"late {number}")
            result.name(f"keyed {number}").set_parallelism(parallelism).set_max_parallelism(8)
            if spec["chained"]:
                stream = result
            result.print(f"out {number}")
        return env.get_job_graph("nasty")

    return factory


PLACES = ["assigner", "partitioner", "map", "flat_map", "process", "selector", "keyed", "window"]


@st.composite
def nasty_specs(draw: st.DrawFn, raises: bool = True) -> dict[str, Any]:
    """A description of a job with up to four stages and three keyed operators, of which some raise."""
    record = st.tuples(
        st.sampled_from(["a", "b", 1, True, 1.0, ("a", 1)]),
        st.integers(0, 60),
        st.integers(0, BAD) if raises else st.integers(0, BAD - 1),
    )
    entry = st.one_of(record, record, record, record, st.just(Skip(3, "a reason")))
    if raises:
        entry = st.one_of(*[entry] * 8, st.just(Broken(3, "a reason", "a file")))
    stage = st.tuples(
        st.sampled_from(
            ["mutating", "filter", "half-way", "sides", *(["tired"] if raises else [])]
        ),
        st.sampled_from(["", "rebalance", "rescale", "shuffle", "broadcast", "global_", "custom"]),
        st.integers(1, 3),
    )
    return {
        "splits": draw(st.lists(st.lists(entry, max_size=10), max_size=4)),
        "sources": draw(st.integers(1, 4)),
        "bound": draw(st.integers(0, 20)),
        "midstream": draw(st.booleans()),
        "periodic": draw(st.sampled_from([0, 0, 10])),
        "backend": draw(st.sampled_from(BACKENDS)),
        "checkpoints": draw(st.sampled_from([0, 0, 10, 25])),
        "stages": draw(st.lists(stage, max_size=4)),
        "keyed": draw(
            st.lists(
                st.tuples(st.sampled_from(["reduce", "process", "window"]), st.integers(1, 3)),
                min_size=1,
                max_size=3,
            )
        ),
        "chained": draw(st.booleans()),
        "taps": draw(st.booleans()),
        "buffers": draw(st.sampled_from([1, 1, 2, 3, 8])),
        "tired": draw(st.integers(1, 20)),
        "raises": draw(st.sets(st.sampled_from(PLACES), max_size=2).map(sorted)) if raises else [],
    }


NASTY_POLICIES = st.tuples(
    st.sampled_from(["round_robin", "random"]), st.sampled_from([1, 2, 3, 8, 64])
)


@st.composite
def nasty_commands(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["checkpoint", "fail", "rescale", "rescale"]))
    operator = draw(
        st.sampled_from(["source", "keyed 0", "keyed 1", "out 0", "map", "side", "process"])
    )
    if kind == "fail":
        return {"kind": "fail", "subtask": f"{operator}[{draw(st.integers(0, 2))}]"}
    if kind == "rescale":
        return {"kind": "rescale", "operator": operator, "parallelism": draw(st.integers(1, 4))}
    return {"kind": "checkpoint"}
