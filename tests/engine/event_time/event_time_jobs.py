"""Generated jobs over everything that event time has: statuses, waits, idleness, windows of all kinds, two inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from engine.datastream import (
    BroadcastProcessFunction,
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    Duration,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    ProcessingTimeSessionWindows,
    ProcessWindowFunction,
    PurgingTrigger,
    ReducingStateDescriptor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    StateTtlConfig,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.datastream.extensions import (
    CountEvictor,
    TimeEvictor,
    co_group,
    interval_join,
    join,
    with_retractions,
)
from engine.graph.job_graph import JobGraph
from engine.operators.split import At, EmitWatermark, SetIdle, Skip, SplitData, Wait

from ..jobs import At as OwnTimestamp
from ..jobs import Collect

LATE = OutputTag("late")
RULES = MapStateDescriptor("rules")


def key(value: Any) -> Any:
    return value[0]


class Show(ProcessWindowFunction):
    """Result: key, bounds and the sorted values of the window's elements."""

    def process(self, key, context, elements):
        window = context.window()
        yield (key, window.start, window.end, tuple(sorted(map(str, elements))))


class Timers(KeyedCoProcessFunction):
    """State of most kinds with a time to live, and timers on both clocks."""

    def open(self, runtime_context):
        ttl = (
            StateTtlConfig.new_builder(Time.milliseconds(30)).cleanup_incrementally(2, True).build()
        )
        count, seen, last = (
            ReducingStateDescriptor("count", lambda a, b: a + b),
            MapStateDescriptor("seen"),
            ListStateDescriptor("last"),
        )
        for descriptor in (count, seen):
            descriptor.enable_time_to_live(ttl)
        self.count = runtime_context.get_reducing_state(count)
        self.seen = runtime_context.get_map_state(seen)
        self.last = runtime_context.get_list_state(last)

    def _seen(self, value, ctx, side):
        self.count.add(1)
        self.seen.put(value[2], side)
        self.last.add(value[2])
        timers = ctx.timer_service()
        timers.register_event_time_timer((ctx.timestamp() or 0) + value[2])
        timers.register_processing_time_timer(timers.current_processing_time() + value[2])
        if value[2] % 3 == 0:
            timers.delete_event_time_timer((ctx.timestamp() or 0) + value[2])
        yield (ctx.get_current_key(), side, self.count.get(), sorted(self.seen.keys()))

    def process_element1(self, value, ctx):
        return self._seen(value, ctx, "left")

    def process_element2(self, value, ctx):
        return self._seen(value, ctx, "right")

    def on_timer(self, timestamp, ctx):
        if len(self.last.get()) > 2:
            self.last.clear()
        yield (ctx.get_current_key(), ctx.time_domain(), timestamp, self.count.get())


class Rules(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield (value[0], ctx.get_broadcast_state(RULES).get(value[2]))

    def process_broadcast_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[2], value[1])
        if value[2] == 0:
            rules.clear()


class UnkeyedRules(Rules, BroadcastProcessFunction):
    pass


class Expiring(KeyedProcessFunction):
    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("value")
        descriptor.enable_time_to_live(
            StateTtlConfig.new_builder(Time.milliseconds(20)).update_ttl_on_read_and_write().build()
        )
        self.value = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        held = self.value.value() or []
        held.append(value[2])
        self.value.update(held[-3:])
        yield (value[0], tuple(held))


ASSIGNERS: dict[str, Callable[[], Any]] = {
    "tumbling": lambda: TumblingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(3)),
    "sliding": lambda: SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(8)),
    "gaps": lambda: SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(9)),
    "session": lambda: EventTimeSessionWindows.with_gap(Time.milliseconds(12)),
    "dynamic": lambda: EventTimeSessionWindows.with_dynamic_gap(lambda value: 1 + value[2]),
    "global": GlobalWindows.create,
    "clock sliding": lambda: SlidingProcessingTimeWindows.of(
        Time.milliseconds(20), Time.milliseconds(10)
    ),
    "clock session": lambda: ProcessingTimeSessionWindows.with_gap(Time.milliseconds(15)),
}
TRIGGERS: dict[str, Callable[[], Any] | None] = {
    "default": None,
    "count": lambda: CountTrigger.of(3),
    "purging": lambda: PurgingTrigger.of(CountTrigger.of(2)),
    "purging at the end": lambda: PurgingTrigger.of(EventTimeTrigger.create()),
    "continuous": lambda: ContinuousEventTimeTrigger.of(Time.milliseconds(6)),
    "continuous clock": lambda: ContinuousProcessingTimeTrigger.of(Time.milliseconds(6)),
}
EVICTORS: dict[str, Callable[[], Any] | None] = {
    "none": None,
    "count": lambda: CountEvictor.of(2),
    "count after": lambda: CountEvictor.of(1, True),
    "time": lambda: TimeEvictor.of(Time.milliseconds(5)),
}


def make_event_time_job(spec: dict[str, Any]) -> Callable[[], JobGraph]:
    """A factory of the job that `spec` describes."""

    def factory() -> JobGraph:
        env = StreamExecutionEnvironment()
        env.set_buffers_per_channel(spec["buffers"])
        env.set_finished_inputs(spec["finished"])
        env.get_config().set_auto_watermark_interval(spec["interval"])
        strategy = WatermarkStrategy.no_watermarks()
        if spec["bound"] is not None:
            strategy = WatermarkStrategy.for_bounded_out_of_orderness(
                Duration.of_millis(spec["bound"])
            )
        strategy = strategy.with_timestamp_assigner(OwnTimestamp())
        if spec["idleness"]:
            strategy = strategy.with_idleness(Duration.of_millis(spec["idleness"]))
        if spec["drift"] is not None:
            strategy = strategy.with_watermark_alignment("group", Duration.of_millis(spec["drift"]))
        streams = []
        for number, splits in enumerate(spec["sources"]):
            data = [SplitData(f"p{index}", entries) for index, entries in enumerate(splits)]
            stream = env.from_splits(data, strategy, f"source{number}")
            streams.append(stream.set_parallelism(spec["source_parallelism"]))
        build_middle(spec, *streams).name("middle").set_parallelism(spec["parallelism"]).print(
            "out"
        )
        return env.get_job_graph("generated")

    return factory


def build_middle(spec: dict[str, Any], first: Any, second: Any) -> Any:
    kind = spec["middle"]
    if kind == "window":
        return windowed(spec, first.union(second).key_by(key))
    if kind == "timers":
        return first.connect(second).key_by(key, key).process(Timers())
    if kind == "broadcast":
        return first.key_by(key).connect(second.broadcast(RULES)).process(Rules())
    if kind == "unkeyed broadcast":
        return first.connect(second.broadcast(RULES)).process(UnkeyedRules())
    if kind == "interval join":
        between = interval_join(first.key_by(key), second.key_by(key)).between(
            Time.milliseconds(-10), Time.milliseconds(spec["lateness"])
        )
        return between.process(
            lambda left, right, ctx: [(left[0], left[1], right[1], ctx.timestamp())]
        )
    if kind == "window join":
        joined = join(first, second).where(key).equal_to(key).window(ASSIGNERS["tumbling"]())
        return joined.apply(lambda left, right: (left[0], left[2], right[2]))
    if kind == "co-group":
        grouped = co_group(first, second).where(key).equal_to(key).window(ASSIGNERS["session"]())
        return grouped.apply(lambda left, right: [(len(left), len(right))])
    return first.union(second).key_by(key).process(Expiring())


def windowed(spec: dict[str, Any], stream: Any) -> Any:
    window = stream.window(ASSIGNERS[spec["assigner"]]()).allowed_lateness(spec["lateness"])
    trigger, evictor = TRIGGERS[spec["trigger"]], EVICTORS[spec["evictor"]]
    if trigger is not None:
        window = window.trigger(trigger())
    if evictor is not None:
        window = window.evictor(evictor())
    if spec["retract"]:
        window = with_retractions(window)
    window = window.side_output_late_data(LATE)
    if spec["contents"] == "list":
        result = window.process(Show())
    elif spec["contents"] == "reduce":
        result = window.reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]), Show())
    else:
        result = window.aggregate(Collect(), Show())
    result.get_side_output(LATE).print("late")
    return result


RECORDS = st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(-30, 120), st.integers(0, 9))
ENTRIES = st.one_of(
    RECORDS,
    RECORDS,
    RECORDS,
    st.builds(At, RECORDS, st.integers(-30, 120)),
    st.builds(EmitWatermark, st.integers(-30, 120)),
    st.builds(SetIdle, st.booleans()),
    st.builds(Wait, st.integers(1, 500)),
    st.just(Skip(None, "nothing here")),
)


@st.composite
def event_time_specs(draw: st.DrawFn) -> dict[str, Any]:
    """A description of a job with two sources and one operator that cares about time."""
    splits = st.lists(st.lists(ENTRIES, max_size=10), min_size=1, max_size=2)
    windows = {"window"} | set()
    middle = draw(
        st.sampled_from(
            [
                *windows,
                "window",
                "window",
                "timers",
                "broadcast",
                "unkeyed broadcast",
                "interval join",
                "window join",
                "co-group",
                "ttl",
            ]
        )
    )
    assigner = draw(st.sampled_from(sorted(ASSIGNERS)))
    # A global window never ends: at the end of input this trigger would fire without end, which the engine refuses.
    triggers = [t for t in sorted(TRIGGERS) if (assigner, t) != ("global", "continuous")]
    return {
        "sources": [draw(splits), draw(splits)],
        "source_parallelism": draw(st.integers(1, 2)),
        "parallelism": draw(st.integers(1, 2)),
        "bound": draw(st.none() | st.integers(0, 20)),
        "idleness": draw(st.sampled_from([0, 0, 100])),
        "drift": draw(st.sampled_from([None, None, 5])),
        "interval": draw(st.sampled_from([0, 0, 50])),
        "finished": draw(st.sampled_from(["max", "excluded"])),
        "middle": middle,
        "assigner": assigner,
        "trigger": draw(st.sampled_from(triggers)),
        "evictor": draw(st.sampled_from(sorted(EVICTORS))),
        "contents": draw(st.sampled_from(["aggregate", "reduce", "list"])),
        "lateness": draw(st.sampled_from([0, 0, 5, 40])),
        "retract": draw(st.booleans()),
        "buffers": draw(st.integers(1, 4)),
    }
