"""Whole scripts of windows, joins and timers, as Flink ran them step by step."""

from __future__ import annotations

import json
from typing import Any

from engine.conformance.report import Outcome
from engine.conformance.stepper import Emitted, Stepper
from engine.datastream import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    DataStream,
    Duration,
    EventTimeSessionWindows,
    GlobalWindows,
    KeyedCoProcessFunction,
    OutputTag,
    ProcessWindowFunction,
    PurgingTrigger,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from engine.datastream.extensions import (
    CountEvictor,
    TimeEvictor,
    co_group,
    interval_join,
    join,
    punctuated,
)
from engine.elements import MAX_TIMESTAMP
from engine.graph.job_graph import JobGraph
from engine.operators.split import At, EmitWatermark, SetIdle, SplitData

LATE, LEFT_LATE, RIGHT_LATE = OutputTag("late"), OutputTag("left_late"), OutputTag("right_late")


class OwnTimestamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value["ts"])


class Everything(ProcessWindowFunction):
    """The key, the bounds, the values and their sum, and the watermark at which the window fired."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        values = [element["value"] for element in elements]
        window = context.window()
        result = {
            "key": key,
            "values": values,
            "sum": sum(values),
            "current_wm": context.current_watermark(),
        }
        if window.max_timestamp() < MAX_TIMESTAMP:
            result |= {"start": window.start, "end": window.end}
        return [result]


class Timers(KeyedCoProcessFunction):
    """Sets a timer `value` ms after each record, and tells when it fires."""

    def _seen(self, side: str, value: Any, ctx: Any) -> Any:
        timer = ctx.timestamp() + value["value"]
        ctx.timer_service().register_event_time_timer(timer)
        yield {
            "key": ctx.get_current_key(),
            "in": side,
            "value": value["value"],
            "timer": timer,
            "current_wm": ctx.timer_service().current_watermark(),
        }

    def process_element1(self, value: Any, ctx: Any) -> Any:
        return self._seen("left", value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return self._seen("right", value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield {
            "key": ctx.get_current_key(),
            "fired": timestamp,
            "current_wm": ctx.timer_service().current_watermark(),
        }


def run_file(path: str) -> list[Outcome]:
    with open(path, encoding="utf-8") as file:
        return [run_case(case) for case in json.load(file)["cases"]]


def run_case(case: dict[str, Any]) -> Outcome:
    try:
        stepper = Stepper(lambda: build(case), "out")
    except NotImplementedError as reason:
        return Outcome(case["name"], unsupported=str(reason))
    for number, step in enumerate(case["steps"]):
        source = step["op"].get("src", 0) if "op" in step else step["end_of_source"]
        got = normal([shown(emitted) for emitted in stepper.read(f"source{source}")])
        wanted = normal(step["emits"])
        if got != wanted:
            return Outcome(case["name"], f"step {number} gave {got} instead of {wanted}")
    return Outcome(case["name"])


def build(case: dict[str, Any]) -> JobGraph:
    """The job that a case describes."""
    env = StreamExecutionEnvironment()
    env.set_buffers_per_channel(1000)
    streams = [source(env, case, number) for number in range(case.get("sources", 1))]
    out = {
        "window": windowed,
        "interval_join": interval_joined,
        "window_join": window_joined,
        "cogroup": co_grouped,
        "connect_timers": with_timers,
    }.get(case["kind"])
    if out is None:
        raise NotImplementedError(f"cases of kind {case['kind']}")
    out(case, streams).print("out")
    return env.get_job_graph(case["name"])


def source(env: StreamExecutionEnvironment, case: dict[str, Any], number: int) -> DataStream:
    ops = [
        step["op"] for step in case["steps"] if "op" in step and step["op"].get("src", 0) == number
    ]
    kind = case["watermarks"]["type"]
    if kind == "per_record_bounded":
        bound = Duration.of_millis(case["watermarks"]["bound"])
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound).with_timestamp_assigner(
            OwnTimestamp()
        )
    elif kind == "punctuated":
        strategy = punctuated(lambda value, timestamp: timestamp if value.get("punct") else None)
    elif kind == "explicit":
        strategy = WatermarkStrategy.no_watermarks()
    else:
        raise NotImplementedError(f"watermarks of type {kind}")
    entries: list[Any] = []
    for op in ops:
        if "wm" in op:
            entries.append(EmitWatermark(op["wm"]))
        elif "idle" in op:
            entries.append(SetIdle(bool(op["idle"])))
        elif "active" in op:
            entries.append(SetIdle(not op["active"]))
        else:
            entries.append(At(op, op["ts"]))
    return env.from_splits([SplitData("script", entries)], strategy, f"source{number}")


def key(value: Any) -> Any:
    return value["key"]


def assigner(window: dict[str, Any]) -> Any:
    kind = window["type"]
    offset = Time.milliseconds(window.get("offset", 0))
    if kind == "tumbling":
        return TumblingEventTimeWindows.of(Time.milliseconds(window["size"]), offset)
    if kind == "sliding":
        return SlidingEventTimeWindows.of(
            Time.milliseconds(window["size"]), Time.milliseconds(window["slide"]), offset
        )
    if kind == "session":
        return EventTimeSessionWindows.with_gap(Time.milliseconds(window["gap"]))
    if kind == "dynamic_session":
        return EventTimeSessionWindows.with_dynamic_gap(lambda value: value["value"])
    if kind == "global":
        return GlobalWindows.create()
    raise NotImplementedError(f"windows of type {kind}")


def trigger(description: dict[str, Any]) -> Any:
    kind = description["type"]
    if kind == "count":
        return CountTrigger.of(description["n"])
    if kind == "purging_count":
        return PurgingTrigger.of(CountTrigger.of(description["n"]))
    if kind == "continuous":
        return ContinuousEventTimeTrigger.of(Time.milliseconds(description["interval"]))
    raise NotImplementedError(f"triggers of type {kind}")


def evictor(description: dict[str, Any]) -> Any:
    after = bool(description.get("after"))
    if description["type"] == "count":
        return CountEvictor.of(description["n"], after)
    if description["type"] == "time":
        return TimeEvictor.of(Time.milliseconds(description["window"]), after)
    raise NotImplementedError(f"evictors of type {description['type']}")


def windowed(case: dict[str, Any], streams: list[DataStream]) -> DataStream:
    stream = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
    window = stream.key_by(key).window(assigner(case["window"]))
    if "trigger" in case:
        window = window.trigger(trigger(case["trigger"]))
    if "evictor" in case:
        window = window.evictor(evictor(case["evictor"]))
    window = window.allowed_lateness(case.get("allowed_lateness", 0))
    side = case.get("side_output", True)
    if side:
        window = window.side_output_late_data(LATE)
    result = window.process(Everything())
    if side:
        result.get_side_output(LATE).print("late")
    return result


def interval_joined(case: dict[str, Any], streams: list[DataStream]) -> DataStream:
    left, right = (stream.key_by(key) for stream in streams)
    joined = interval_join(left, right).between(
        Time.milliseconds(case["lower"]), Time.milliseconds(case["upper"])
    )
    if case.get("lower_exclusive"):
        joined = joined.lower_bound_exclusive()
    if case.get("upper_exclusive"):
        joined = joined.upper_bound_exclusive()
    joined = joined.side_output_left_late_data(LEFT_LATE).side_output_right_late_data(RIGHT_LATE)

    def pair(first: Any, second: Any, ctx: Any) -> Any:
        yield {
            "key": first["key"],
            "left": first["value"],
            "right": second["value"],
            "left_ts": first["ts"],
            "right_ts": second["ts"],
            "ts": ctx.timestamp(),
        }

    result = joined.process(pair)
    result.get_side_output(LEFT_LATE).print("left_late")
    result.get_side_output(RIGHT_LATE).print("right_late")
    return result


def window_joined(case: dict[str, Any], streams: list[DataStream]) -> DataStream:
    joined = join(*streams).where(key).equal_to(key).window(assigner(case["window"]))
    joined = joined.allowed_lateness(case.get("allowed_lateness", 0))
    return joined.apply(
        lambda first, second: {
            "key": first["key"],
            "left": first["value"],
            "right": second["value"],
        }
    )


def co_grouped(case: dict[str, Any], streams: list[DataStream]) -> DataStream:
    grouped = co_group(*streams).where(key).equal_to(key).window(assigner(case["window"]))
    grouped = grouped.allowed_lateness(case.get("allowed_lateness", 0))

    def both(first: list[Any], second: list[Any]) -> Any:
        left, right = ([value["value"] for value in side] for side in (first, second))
        yield {"key": (first or second)[0]["key"], "left": left, "right": right}

    return grouped.apply(both)


def with_timers(case: dict[str, Any], streams: list[DataStream]) -> DataStream:
    first, second = streams
    return first.connect(second).key_by(key, key).process(Timers())


def shown(emitted: Emitted) -> dict[str, Any]:
    output, value, timestamp = emitted
    if output in ("wm", "status"):
        return {output: value}
    if output == "out":
        return {"out": {**value, "record_ts": timestamp}}
    return {output: {name: value[name] for name in ("key", "value", "ts")}}


def normal(emits: list[dict[str, Any]]) -> list[str]:
    """Comparable: outputs between two watermarks as a set, values of a window as a multiset.

    Within one advance of the watermark, Flink fires in the order of a heap; only the firing time orders its outputs.
    """
    groups: list[list[str]] = [[]]
    for emit in emits:
        ((output, value),) = emit.items()
        if output in ("wm", "status"):
            groups += [[f"{output} {value}"], []]
            continue
        fields = {
            name: sorted(held) if isinstance(held, list) else held for name, held in value.items()
        }
        groups[-1].append(f"{output} {json.dumps(fields, sort_keys=True)}")
    return [line for group in groups for line in sorted(group)]
