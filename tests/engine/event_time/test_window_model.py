"""Windows and joins against a slow model, over generated streams; and what the schedule may change."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Policy
from engine.datastream import (
    AggregateFunction,
    EventTimeSessionWindows,
    EventTimeTrigger,
    ProcessWindowFunction,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from engine.datastream.extensions import interval_join, non_touching_sessions, with_retractions
from engine.operators.split import At, EmitWatermark, SplitData
from engine.testing import run_job, written

from ..small import job
from .scripts import LATE, Run, first_field
from .slow_model import NEVER, model

SOME = settings(
    max_examples=int(os.environ.get("STREAMLAB_LAW_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TIMES = st.integers(-60, 120)
KEYS = st.sampled_from(["a", "b", 7])
RECORDS = st.tuples(KEYS, TIMES, st.integers(0, 9))
SCRIPTS = st.lists(st.one_of(RECORDS, RECORDS, RECORDS, TIMES), max_size=25)
LATENESS = st.sampled_from([0, 0, 1, 7, 30])
POLICIES = st.tuples(st.sampled_from(["round_robin", "random"]), st.sampled_from([1, 2, 3, 64]))


def ms(milliseconds: int) -> Time:
    return Time.milliseconds(milliseconds)


def starts(timestamp: int, size: int, slide: int, offset: int) -> list[tuple[int, int]]:
    """Every window of `size` that holds the timestamp and starts at offset plus a multiple of `slide`."""
    return [
        (start, start + size)
        for start in range(timestamp - size + 1, timestamp + 1)
        if (start - offset) % slide == 0
    ]


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """A window spec: the engine's assigner, and the model's arguments."""
    kind = draw(st.sampled_from(["tumbling", "sliding", "session", "dynamic", "apart"]))
    size, slide = draw(st.integers(1, 30)), draw(st.integers(1, 30))
    if kind == "tumbling":
        offset = draw(st.integers(1 - size, size - 1))
        assigner = TumblingEventTimeWindows.of(ms(size), ms(offset))
        return {"assigner": assigner, "assign": lambda t, v: starts(t, size, size, offset)}
    if kind == "sliding":
        offset = draw(st.integers(1 - slide, slide - 1))
        assigner = SlidingEventTimeWindows.of(ms(size), ms(slide), ms(offset))
        return {"assigner": assigner, "assign": lambda t, v: starts(t, size, slide, offset)}
    found: dict[str, Any] = {
        "assign": lambda t, v: [(t, t + size)],
        "merges": lambda s1, e1, s2, e2: s1 <= e2 and s2 <= e1,
    }
    if kind == "session":
        return {**found, "assigner": EventTimeSessionWindows.with_gap(ms(size))}
    if kind == "apart":
        found["merges"] = lambda s1, e1, s2, e2: s1 < e2 and s2 < e1
        return {**found, "assigner": non_touching_sessions(ms(size))}
    found["assign"] = lambda t, v: [(t, t + size + 3 * v)]
    gap = lambda record: size + 3 * record[2]  # noqa: E731
    return {**found, "assigner": EventTimeSessionWindows.with_dynamic_gap(gap)}


def model_of(script: list[Any], spec: dict[str, Any], lateness: int = 0) -> Any:
    return model(script, spec["assign"], lateness, spec.get("merges"))


# The engine's side


class Values(AggregateFunction):
    """The values of a window in order of size."""

    def create_accumulator(self):
        return ()

    def add(self, value, accumulator):
        return tuple(sorted((*accumulator, value[2])))

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return tuple(sorted((*acc_a, *acc_b)))


class WithBounds(ProcessWindowFunction):
    def process(self, key, context, elements):
        for values in elements:
            yield key, context.window().start, context.window().end, values


class Collected(ProcessWindowFunction):
    def process(self, key, context, elements):
        values = tuple(sorted(element[2] for element in elements))
        yield key, context.window().start, context.window().end, values


class SlowerTrigger(EventTimeTrigger):
    """Any trigger but the default one keeps the fast operator out."""


def source(env: StreamExecutionEnvironment, script: list[Any], name: str = "source") -> Any:
    entries = [
        EmitWatermark(entry) if isinstance(entry, int) else At(entry, entry[1]) for entry in script
    ]
    return env.from_splits([SplitData("p", entries)], WatermarkStrategy.no_watermarks(), name)


def window_job(script, spec, lateness=0, how="process", parallelism=1, trigger=None, net=False):
    def build(env):
        env.set_buffers_per_channel(2)
        window = source(env, script).key_by(first_field).window(spec["assigner"])
        window = window.allowed_lateness(lateness).side_output_late_data(LATE)
        if trigger is not None:
            window = window.trigger(trigger)
        if net:
            window = with_retractions(window)
        if how == "aggregate":
            result = window.aggregate(Values(), WithBounds())
        else:
            result = window.process(Collected())
        result.name("window").set_parallelism(parallelism)
        result.print("out").set_parallelism(1)
        result.get_side_output(LATE).print("late").set_parallelism(1)

    return job(build)


def results(recording: Any) -> tuple[Counter, Counter]:
    assert recording.runtime.state == "finished", recording.runtime.reason
    sinks = written(recording)
    return counted(sinks["out[0]"]), counted(sinks["late[0]"])


def counted(values: list[Any]) -> Counter:
    """A multiset that tells 1 from True."""
    return Counter(map(repr, values))


def left_over(recording: Any, operator: str) -> int:
    subtasks = recording.runtime.deployment.subtasks
    return sum(
        subtask.operator.entries()
        for name, subtask in subtasks.items()
        if name.startswith(operator)
    )


@SOME
@given(SCRIPTS, specs(), LATENESS, st.sampled_from(["process", "aggregate"]))
def test_windows_are_those_of_the_model(script, spec, lateness, how):
    recording = run_job(window_job(script, spec, lateness, how))
    wanted = model_of(script, spec, lateness)
    assert results(recording) == (counted(wanted.fired), counted(wanted.late))
    assert left_over(recording, "window") == 0


@SOME
@given(SCRIPTS, specs(), LATENESS)
def test_retractions_net_out_to_the_last_result(script, spec, lateness):
    recording = run_job(window_job(script, spec, lateness, net=True))
    net: Counter = Counter()
    for added, result in written(recording)["out[0]"]:
        net[repr(result)] += 1 if added else -1
        assert net[repr(result)] >= 0
    last = model_of(script, spec, lateness).last
    assert +net == Counter({repr(result): count for result, count in last.items()})


@SOME
@given(SCRIPTS, st.integers(1, 30), st.data(), POLICIES)
def test_the_fast_operator_does_what_the_general_one_does(script, size, data, policy):
    offset = data.draw(st.integers(1 - size, size - 1))
    spec = {"assigner": TumblingEventTimeWindows.of(ms(size), ms(offset))}
    fast = window_job(script, spec, how="aggregate", parallelism=2)
    slow = window_job(script, spec, how="aggregate", parallelism=2, trigger=SlowerTrigger())
    kinds = {
        type(run_job(made).runtime.deployment.subtasks["window[0]"].operator).__name__
        for made in (fast, slow)
    }
    assert kinds == {"TumblingWindowOperator", "WindowOperator"}
    first, second = (run_job(made, Policy(*policy), seed=1) for made in (fast, slow))
    assert results(first) == results(second)
    if policy == ("round_robin", 1):
        assert written(first) == written(second)  # even in the same order


@SOME
@given(st.lists(RECORDS, max_size=25), st.integers(1, 6), st.none() | st.integers(1, 6), POLICIES)
def test_count_windows(records, size, slide, policy):
    """`size` records of a key; or, every `slide` records, the last `size` of them."""

    def build(env):
        keyed = source(env, records).key_by(first_field)
        window = keyed.count_window(size) if slide is None else keyed.count_window(size, slide)
        window.process(Collected()).print("out")

    got = [
        (key, values)
        for key, _, _, values in written(run_job(job(build), Policy(*policy)))["out[0]"]
    ]
    wanted, seen = [], {}
    for record in records:
        values = seen.setdefault(repr(record[0]), [])
        values.append(record[2])
        if len(values) % (slide or size) == 0:
            wanted.append((record[0], tuple(sorted(values[-size:]))))
    assert counted(got) == counted(wanted)


# Schedules


@SOME
@given(SCRIPTS, specs(), LATENESS, st.integers(1, 3), POLICIES, st.integers(0, 1000))
def test_with_one_input_no_schedule_changes_results(script, spec, lateness, width, policy, seed):
    """Not even what is late: a record and the watermarks around it come through one channel."""
    made = window_job(script, spec, lateness, parallelism=width)
    wanted = model_of(script, spec, lateness)
    assert results(run_job(made, Policy(*policy), seed)) == (
        counted(wanted.fired),
        counted(wanted.late),
    )


def truthful(records: list[Any]) -> list[Any]:
    """The records, and behind each a watermark that makes no later one late.

    It is 1 ms lower than it could be: sessions that touch are merged, so that the one before must not have fired yet.
    """
    script: list[Any] = []
    for number, record in enumerate(records):
        later = [timestamp for _, timestamp, _ in records[number + 1 :]]
        script += [record, min(later) - 2] if later else [record]
    return script


def two_sources(first, second, assigner):
    def build(env):
        env.set_buffers_per_channel(2)
        stream = source(env, first, "source0").union(source(env, second, "source1"))
        window = stream.key_by(first_field).window(assigner).side_output_late_data(LATE)
        result = window.process(Collected()).name("window").set_parallelism(2)
        result.print("out").set_parallelism(1)
        result.get_side_output(LATE).print("late").set_parallelism(1)

    return job(build)


@SOME
@given(
    st.lists(RECORDS, max_size=12),
    st.lists(RECORDS, max_size=12),
    specs(),
    POLICIES,
    st.integers(0, 1000),
)
def test_with_two_inputs_and_nothing_late_no_schedule_changes_results(
    first, second, spec, policy, seed
):
    made = two_sources(truthful(first), truthful(second), spec["assigner"])
    wanted = model_of([*first, *second], spec)
    assert results(run_job(made, Policy(*policy), seed)) == (counted(wanted.fired), Counter())


def test_with_two_inputs_what_is_late_depends_on_the_schedule():
    """A record behind its own input's watermark is late only if the other input has let the watermark pass."""
    late = [("a", 15, 1), 20, ("a", 5, 2)]
    made = two_sources(late, [("b", 30, 3), 25], TumblingEventTimeWindows.of(ms(10)))
    outcomes = {
        tuple(written(run_job(made, Policy("random"), seed))["late[0]"]) for seed in range(60)
    }
    assert outcomes == {(), (("a", 5, 2),)}


# Interval join


def join_job(first, second, lower, upper):
    def build(env):
        env.set_buffers_per_channel(1000)
        left, right = (
            source(env, script, f"source{number}").key_by(first_field)
            for number, script in enumerate((first, second))
        )
        joined = interval_join(left, right).between(ms(lower), ms(upper))
        joined = joined.side_output_left_late_data(LATE).side_output_right_late_data(LATE)
        result = joined.process(lambda a, b, ctx: [(a, b, ctx.timestamp())]).name("window")
        result.print("out")
        result.get_side_output(LATE).print("late")

    return build


BOUNDS = st.tuples(st.integers(-20, 20), st.integers(-20, 20)).map(sorted)


def nested_loop(left, right, lower, upper):
    return [
        (a, b, max(a[1], b[1]))
        for a in left
        for b in right
        if repr(a[0]) == repr(b[0]) and a[1] + lower <= b[1] <= a[1] + upper
    ]


@SOME
@given(
    st.lists(RECORDS, max_size=15),
    st.lists(RECORDS, max_size=15),
    BOUNDS,
    POLICIES,
    st.integers(0, 1000),
)
def test_an_interval_join_is_a_nested_loop(first, second, bounds, policy, seed):
    made = job(join_job(truthful(first), truthful(second), *bounds))
    recording = run_job(made, Policy(*policy), seed)
    assert results(recording) == (counted(nested_loop(first, second, *bounds)), Counter())
    assert left_over(recording, "window") == 0


@SOME
@given(st.lists(st.tuples(st.booleans(), st.one_of(RECORDS, RECORDS, TIMES)), max_size=30), BOUNDS)
def test_an_interval_join_drops_what_is_behind_the_watermark(script, bounds):
    """In a given order of arrival: the nested loop over what was not late."""
    sides = [[entry for right, entry in script if right == side] for side in (False, True)]
    run = Run(join_job(*sides, *bounds))
    watermarks = [NEVER, NEVER]
    kept: list[list[Any]] = [[], []]
    late = []
    for side, entry in script:
        run.read(int(side))
        if isinstance(entry, int):
            watermarks[side] = max(watermarks[side], entry)
        elif entry[1] < min(watermarks):
            late.append(entry)
        else:
            kept[side].append(entry)
    assert counted(run.out()) == counted(nested_loop(*kept, *bounds))
    assert counted(run.out("late")) == counted(late)


@pytest.mark.parametrize("slide", [3, 10, 14])
def test_the_model_knows_slides_below_at_and_above_the_size(slide):
    windows = model([("a", t, t) for t in range(30)], lambda t, v: starts(t, 10, slide, 0)).fired
    assert {end - start for _, start, end, _ in windows} == {10}
    assert {start % slide for _, start, _, _ in windows} == {0}
