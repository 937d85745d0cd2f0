"""Generated jobs: plain data that describes a job, and the job that it describes.

Plain data so that hypothesis can shrink it and print it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from engine.datastream import (
    AggregateFunction,
    Duration,
    EmbeddedRocksDBStateBackend,
    FlatMapFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.graph.job_graph import JobGraph
from engine.operators.split import Skip, SplitData

ODD = OutputTag("odd")


class At(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]


class Twice(FlatMapFunction):
    def flat_map(self, value):
        yield value
        if value[2] % 2:
            yield (value[0], value[1], value[2] + 1)


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        yield value
        if value[2] % 2:
            yield ODD, value


class CountAndRemember(KeyedProcessFunction):
    """Counts per key in value state, per value in map state, and in an attribute of its own."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.values = runtime_context.get_map_state(MapStateDescriptor("values"))

    def process_element(self, value, ctx):
        count = self.count.value() or {"n": 0}
        count["n"] += 1
        self.count.update(count)
        self.values.put(value[2], (self.values.get(value[2]) or 0) + 1)
        self.seen.append(value)
        if ctx.timestamp() is not None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 20)
        yield (ctx.get_current_key(), value[1], count["n"])

    def on_timer(self, timestamp, ctx):
        self.count.clear()
        yield (ctx.get_current_key(), timestamp, -1)


class Commutative(KeyedProcessFunction):
    """State that does not depend on the order of records."""

    def open(self, runtime_context):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))
        self.values = runtime_context.get_map_state(MapStateDescriptor("values"))

    def process_element(self, value, ctx):
        self.sum.update((self.sum.value() or 0) + value[2])
        self.values[value[1] % 5] = (self.values[value[1] % 5] or 0) + 1
        yield (value[0], value[1], 0)


class Collect(AggregateFunction):
    """A mutable accumulator, mutated in place: the engine has to keep it by value."""

    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value[2])
        return accumulator

    def get_result(self, accumulator):
        return tuple(sorted(accumulator))

    def merge(self, acc_a, acc_b):
        acc_a.extend(acc_b)
        return acc_a


class WithWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        for element in elements:
            yield (key, context.window().start, len(element))


def set_backend(env: StreamExecutionEnvironment, name: str) -> None:
    """One of BACKENDS; the changelog writes a new base often."""
    if name == "changelog":
        env.enable_changelog_state_backend(True).set_changelog_materialization(9)
    elif name == "lsm":
        env.set_state_backend(EmbeddedRocksDBStateBackend(True))


def set_checkpointing(env: StreamExecutionEnvironment, settings: dict[str, Any]) -> None:
    """Settings by the names of `CheckpointSettings`."""
    config = env.get_checkpoint_config()
    setters = {
        "scheme": config.set_scheme,
        "aligned_timeout": lambda ms: config.set_aligned_checkpoint_timeout(Duration.of_millis(ms)),
        "interval": config.set_checkpoint_interval,
        "min_pause": config.set_min_pause_between_checkpoints,
        "timeout": config.set_checkpoint_timeout,
        "max_concurrent": config.set_max_concurrent_checkpoints,
        "tolerated_failures": config.set_tolerable_checkpoint_failure_number,
        "upload_bytes": config.set_upload_bytes,
    }
    for name, value in settings.items():
        setters[name](value)


EXACTLY_ONCE = ("aligned", "unaligned", "unaligned", "stop_the_world", "none")


@st.composite
def checkpointings(
    draw: st.DrawFn, schemes: tuple[str, ...] = (*EXACTLY_ONCE, "at_least_once")
) -> dict[str, Any]:
    """Settings that fit together; failures of checkpoints are tolerated, so that every job ends."""
    scheme = draw(st.sampled_from(schemes))
    settings: dict[str, Any] = {"scheme": scheme, "tolerated_failures": 1000}
    if scheme == "unaligned" and draw(st.booleans()):
        settings["aligned_timeout"] = draw(st.sampled_from([1, 50]))
    if scheme in ("aligned", "at_least_once") and draw(st.booleans()):
        settings["max_concurrent"] = draw(st.integers(2, 3))
    if draw(st.booleans()):
        settings["interval"] = draw(st.sampled_from([10, 100]))
    if "max_concurrent" not in settings and draw(st.booleans()):
        settings["min_pause"] = 30
    if draw(st.booleans()):
        settings["timeout"] = draw(st.sampled_from([20, 500]))
    if draw(st.booleans()):
        settings["upload_bytes"] = draw(st.sampled_from([10, 200]))
    return settings


def make_job(spec: dict[str, Any]) -> Callable[[], JobGraph]:
    """A factory of the job that `spec` describes."""

    def factory() -> JobGraph:
        env = StreamExecutionEnvironment()
        env.set_buffers_per_channel(spec["buffers"])
        set_checkpointing(env, spec.get("checkpointing", {}))
        env.get_config().set_auto_watermark_interval(spec.get("periodic", 0))
        set_backend(env, spec.get("backend", "heap"))
        splits = [SplitData(f"p{number}", entries) for number, entries in enumerate(spec["splits"])]
        strategy = WatermarkStrategy.no_watermarks()
        if spec["bound"] is not None:
            strategy = WatermarkStrategy.for_bounded_out_of_orderness(
                Duration.of_millis(spec["bound"])
            ).with_timestamp_assigner(At())
        stream = env.from_splits(splits, strategy, "source").set_parallelism(spec["sources"])
        for kind, partitioner, parallelism in spec["stages"]:
            if partitioner == "custom":
                stream = stream.partition_custom(
                    lambda key, count: key % count, lambda value: value[2]
                )
            elif partitioner:
                stream = getattr(stream, partitioner)()
            if kind == "map":
                stream = stream.map(lambda value: (value[0], value[1], value[2]))
            elif kind == "filter":
                stream = stream.filter(lambda value: value[2] != 3)
            elif kind == "flat_map":
                stream = stream.flat_map(Twice())
            else:
                stream = stream.process(Split())
                stream.get_side_output(ODD).print("odd")
            stream.set_parallelism(parallelism)
        keyed = stream.key_by(lambda value: value[0])
        if spec["keyed"] == "reduce":
            stream = keyed.reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
        elif spec["keyed"] == "process":
            stream = keyed.process(CountAndRemember())
        elif spec["keyed"] == "commutative":
            stream = keyed.process(Commutative())
        else:
            windows = TumblingEventTimeWindows.of(Time.milliseconds(spec["window"]))
            late = OutputTag("late")
            stream = (
                keyed.window(windows).side_output_late_data(late).aggregate(Collect(), WithWindow())
            )
            stream.get_side_output(late).print("late")
        stream.name("keyed").set_parallelism(spec["keyed_parallelism"])
        stream.print("out").set_parallelism(spec["sinks"])
        return env.get_job_graph("generated")

    return factory


BACKENDS = ["heap", "changelog", "lsm"]
KEYS = st.sampled_from(["a", "b", "c", 1, True, 2.5, ("x", 1), "k5", "k6", "k7"])


@st.composite
def job_specs(
    draw: st.DrawFn,
    keyed: tuple[str, ...] = ("reduce", "process", "commutative", "window"),
    schemes: tuple[str, ...] = (*EXACTLY_ONCE, "at_least_once"),
) -> dict[str, Any]:
    """A description of a small job with up to three sources and two stages before the keyed operator."""
    kind = draw(st.sampled_from(keyed))
    record = st.tuples(KEYS, st.integers(-50, 150), st.integers(0, 9))
    entry = st.one_of(record, record, record, record, st.just(Skip(None, "nothing here")))
    stage = st.tuples(
        st.sampled_from(["map", "filter", "flat_map", "process"]),
        st.sampled_from(["", "rebalance", "rescale", "shuffle", "broadcast", "global_", "custom"]),
        st.integers(1, 3),
    )
    return {
        "splits": draw(st.lists(st.lists(entry, max_size=12), min_size=1, max_size=3)),
        "sources": draw(st.integers(1, 3)),
        "bound": draw(st.integers(0, 40))
        if kind == "window"
        else draw(st.none() | st.integers(0, 40)),
        "stages": draw(st.lists(stage, max_size=2, unique_by=lambda s: s[0])),
        "keyed": kind,
        "keyed_parallelism": draw(st.integers(1, 3)),
        "window": draw(st.sampled_from([7, 20, 50])),
        "sinks": draw(st.integers(1, 2)),
        "buffers": draw(st.integers(1, 4)),
        "backend": draw(st.sampled_from(BACKENDS)),
        "periodic": draw(st.sampled_from([0, 0, 0, 10])),
        "checkpointing": draw(checkpointings(schemes)),
    }


POLICIES = st.tuples(st.sampled_from(["round_robin", "random"]), st.sampled_from([1, 1, 2, 3, 8]))


@st.composite
def commands(draw: st.DrawFn, stops: bool = True) -> dict[str, Any]:
    """A command that fits most generated jobs; one that is not possible is skipped by the test."""
    kinds = ["checkpoint"] * 4 + ["fail", "rescale", "rescale_from_checkpoint", "savepoint"]
    kind = draw(st.sampled_from([*kinds, "refuse_upload", *(["stop"] * stops)]))
    operator = draw(st.sampled_from(["source", "keyed", "out"]))
    if kind in ("fail", "refuse_upload"):
        return {"kind": kind, "subtask": f"{operator}[{draw(st.integers(0, 2))}]"}
    if kind in ("rescale", "rescale_from_checkpoint"):
        return {"kind": kind, "operator": operator, "parallelism": draw(st.integers(1, 4))}
    if kind == "stop":
        return {"kind": kind, "drain": draw(st.booleans())}
    return {"kind": kind}
