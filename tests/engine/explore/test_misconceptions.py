"""Counterexamples of what people believe, found by the explorer, and the right rule or protocol in every schedule.

The numbers are those of the table of misconceptions: M5 is that barriers need no alignment.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import Recording, TriggerCheckpoint
from engine.commands import RefuseUpload
from engine.datastream import (
    BroadcastProcessFunction,
    EventTimeSessionWindows,
    MapStateDescriptor,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from engine.datastream.extensions import ScriptedSource
from engine.explore.beliefs import (
    BEHIND_IS_DROPPED,
    BROADCAST_IS_ORDERED,
    CHECKPOINTS_STOP_THE_PIPELINE,
    DROPPED_IS_BEHIND,
    JOB_ENDS,
    LOCAL_STATES_SUFFICE,
    NOTHING_IS_LATE,
    fires_by_the_clock,
    fires_by_the_watermark,
    same_results,
    waits_for_lateness,
)
from engine.explore.invariants import first_broken
from engine.explore.job_invariants import exactly_once, keyed_state
from engine.explore.minimize import minimize
from engine.explore.network_invariants import RECORDED_STATE_OCCURRED, SNAPSHOT_CONSERVES
from engine.explore.registry import MUTANTS
from engine.explore.request import log_of
from engine.explore.results import Exhausted, Violated
from engine.explore.search import search, system_of
from engine.graph.checkpoint_settings import CheckpointSettings
from engine.operators.split import At, EmitWatermark, SetIdle, SplitData, Wait
from engine.runtime import Runtime

from ..checkpointing.networks import pair
from ..small import MANUAL, in_order, job
from .test_job import ONCE, ONE, counting


def violated(subject, rule, commands=None, protocol=None):
    """(the system after a shortest counterexample, why): no single step can be missing, and a job's opens as a run."""
    result = search(subject, [rule], commands=commands, protocol=protocol)
    assert isinstance(result, Violated), result.told()
    system = system_of(subject, [rule], commands, protocol)
    assert minimize(system, result.actions, rule) == result.actions
    if callable(subject):
        log = log_of(system, result.actions)
        run = Recording(subject, MANUAL, 0, log, runtime=protocol or Runtime)
        run.step(len(log))
        assert run.position == len(log)
    found = first_broken(system, result.actions, [rule])
    assert found == (len(result.actions), (rule.name, result.sentence))
    return system, result.sentence


def exhausted(subject, rule, commands=None, protocol=None):
    result = search(subject, [rule], way="depth first", commands=commands, protocol=protocol)
    assert isinstance(result, Exhausted), result.told()


def with_scheme(factory, **settings):
    return lambda: replace(factory(), checkpointing=CheckpointSettings(**settings))


def scripted(*splits, build):
    """A source for each script, united; `build` declares the rest."""

    def declare(env):
        env.set_buffers_per_channel(2)
        streams = [
            env.from_source(
                ScriptedSource({"s": list(entries)}),
                WatermarkStrategy.no_watermarks(),
                f"source{n}",
            )
            for n, entries in enumerate(splits)
        ]
        united = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
        build(united)

    return job(declare)


def counted_windows(stream, lateness=0):
    windows = stream.key_by(lambda value: value[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(10))
    )
    if lateness:
        windows = windows.allowed_lateness(lateness)
    windows.reduce(lambda one, other: one).name("window").print("out")


def one_source(*timestamps, bound=0, lateness=0):
    """Records ("k", timestamp) in this order, watermarks `bound` behind, windows of 10 ms."""

    def build(env):
        env.set_buffers_per_channel(2)
        source = env.from_splits(
            [SplitData("s", [("k", timestamp) for timestamp in timestamps])],
            in_order(bound),
            "source",
        )
        counted_windows(source, lateness)

    return job(build)


# Snapshots of networks


def test_m1_a_snapshot_is_no_instant():
    violated(pair(), RECORDED_STATE_OCCURRED)
    exhausted(pair(), SNAPSHOT_CONSERVES)


@pytest.mark.parametrize(("mutant", "totals"), [("not-fifo", (1, 3)), ("late-markers", (3,))])
def test_m2_m3_order_and_haste_are_needed(mutant, totals):
    system, _ = violated(pair(), SNAPSHOT_CONSERVES, protocol=MUTANTS[mutant].make)
    assert system.recorded_state(1).total() in totals


def test_m4_the_processes_alone_are_not_all():
    system, sentence = violated(pair(), LOCAL_STATES_SUFFICE)
    recorded = system.recorded_state(1)
    assert recorded.links
    assert sum(recorded.tokens.values()) != system.network.total() == recorded.total()
    assert "on P>Q" in sentence or "on Q>P" in sentence


# Checkpoints


def test_m5_barriers_need_alignment():
    rule = exactly_once(ONE)
    system, _ = violated(ONE, rule, ONCE, MUTANTS["no-alignment"].make)
    assert list(keyed_state(system.runtime).values()) == ["2"]
    exhausted(ONE, rule, ONCE)


def test_m6_unaligned_is_exactly_once_by_what_it_stores():
    unaligned = with_scheme(ONE, scheme="unaligned")
    rule = exactly_once(unaligned)
    system, _ = violated(unaligned, rule, ONCE, MUTANTS["unaligned-without-channel-state"].make)
    assert list(keyed_state(system.runtime).values()) == []
    exhausted(unaligned, rule, ONCE)


def test_m7_a_checkpoint_does_not_stop_the_pipeline():
    checkpoint = {TriggerCheckpoint(): 1}
    _, sentence = violated(ONE, CHECKPOINTS_STOP_THE_PIPELINE, checkpoint)
    assert "took a record from source0[0]>count[0]" in sentence
    stopped = with_scheme(ONE, scheme="stop_the_world")
    exhausted(stopped, CHECKPOINTS_STOP_THE_PIPELINE, checkpoint)


def test_m23_a_snapshot_of_live_objects():
    uploaded = with_scheme(ONE, upload_bytes=10_000)
    rule = exactly_once(uploaded)
    system, _ = violated(uploaded, rule, ONCE, MUTANTS["aliased-snapshot"].make)
    assert list(keyed_state(system.runtime).values()) != ["1"]
    exhausted(uploaded, rule, ONCE)


def test_who_does_not_hear_of_a_cancellation_waits_for_ever():
    uploaded = with_scheme(counting([], []), tolerated_failures=3)
    commands = {TriggerCheckpoint(): 1, RefuseUpload("source0[0]"): 1}
    _, sentence = violated(uploaded, JOB_ENDS, commands, MUTANTS["forgets-cancel"].make)
    assert "count[0] waits for the barrier of checkpoint 1" in sentence
    exhausted(uploaded, JOB_ENDS, commands)


# Event time


def test_m8_a_watermark_is_no_guarantee():
    system, _ = violated(one_source(16, 3, bound=5), NOTHING_IS_LATE)
    assert system.runtime.deployment.subtasks["window[0]"].operator.late == 1
    exhausted(one_source(8, 3, bound=5), NOTHING_IS_LATE)


def test_m9_what_is_behind_the_watermark_may_be_accepted():
    _, sentence = violated(one_source(1, 6, 3), BEHIND_IS_DROPPED)
    assert sentence == "window[0] accepted a record of time 3 behind its watermark 5."
    exhausted(one_source(1, 6, 3, 12, 4), DROPPED_IS_BEHIND)


def test_m10_no_window_fires_by_the_clock():
    def waiting():
        return scripted([At(("k", 1), 1), Wait(50)], build=counted_windows)()

    system, _ = violated(waiting, fires_by_the_clock(10))
    assert system.runtime.clock.now > 10_000
    exhausted(waiting, fires_by_the_watermark("window", 10))


def test_m11_lateness_delays_no_result():
    late, bounded = one_source(3, 10, 15, lateness=5), one_source(3, 10, 15, bound=5)
    violated(late, waits_for_lateness("window", 10, 5))
    exhausted(late, fires_by_the_watermark("window", 10))
    exhausted(bounded, fires_by_the_watermark("window", 10))


TWO_IN_ORDER = scripted(
    [At(("k", 2), 2), EmitWatermark(2), EmitWatermark(20)],
    [At(("k", 3), 3), EmitWatermark(3), EmitWatermark(20)],
    build=counted_windows,
)


@pytest.mark.parametrize("mutant", ["highest-watermark", "latest-watermark", "mean-watermark"])
def test_m12_the_watermark_is_the_least(mutant):
    """Both sources are in order, so what is dropped was on time by its own."""
    protocol = MUTANTS[mutant].make
    if mutant == "mean-watermark":
        factory = scripted(
            [EmitWatermark(0), EmitWatermark(40)],
            [EmitWatermark(0), At(("k", 3), 3)],
            build=counted_windows,
        )
    else:
        factory = TWO_IN_ORDER
    violated(factory, NOTHING_IS_LATE, protocol=protocol)
    exhausted(factory, NOTHING_IS_LATE)


def test_m13_leaving_out_the_idle_is_not_free():
    def sources(idle):
        first = [SetIdle(), At(("k", 4), 4)] if idle else [At(("k", 4), 4)]
        second = [At(("k", 1), 1), EmitWatermark(10)]
        return scripted(first, second, build=counted_windows)

    system, _ = violated(sources(True), NOTHING_IS_LATE)
    assert system.runtime.deployment.subtasks["window[0]"].operator.late == 1
    exhausted(sources(False), NOTHING_IS_LATE)


def sessions(stream):
    stream.key_by(lambda value: value[0]).window(
        EventTimeSessionWindows.with_gap(Time.milliseconds(2))
    ).reduce(lambda one, other: (one[0], one[1] + other[1])).name("window").print("out")


def test_m14_sessions_depend_on_the_order():
    """Windows [1, 3) and [3, 5) touch: they are merged, unless the first has fired before the second record."""
    touching = scripted(
        [At(("k", 1), 1), EmitWatermark(2), EmitWatermark(30)],
        [EmitWatermark(2), At(("k", 3), 3), EmitWatermark(30)],
        build=sessions,
    )
    _, sentence = violated(touching, same_results(touching))
    assert "instead of" in sentence
    apart = scripted(
        [At(("k", 1), 1), EmitWatermark(2), EmitWatermark(30)],
        [EmitWatermark(2), At(("k", 13), 13), EmitWatermark(30)],
        build=sessions,
    )
    exhausted(apart, same_results(apart))


# Determinism


class LastWins(BroadcastProcessFunction):
    rules = MapStateDescriptor("rules")

    def process_element(self, value, ctx):
        yield value

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(self.rules).put("r", value)


class NewestWins(LastWins):
    def process_broadcast_element(self, value, ctx):
        state = ctx.get_broadcast_state(self.rules)
        state.put("r", max(value, state.get("r") or 0))


def broadcasting(function):
    def build(env):
        env.set_buffers_per_channel(2)
        records = env.from_splits(
            [SplitData("s", [])], WatermarkStrategy.no_watermarks(), "records"
        )
        first, second = (
            env.from_splits([SplitData("s", [n])], WatermarkStrategy.no_watermarks(), f"rules{n}")
            for n in (1, 2)
        )
        rules = first.union(second).broadcast(LastWins.rules)
        records.rebalance().connect(rules).process(function()).set_parallelism(2).name("apply")

    return job(build)


def test_m24_broadcast_is_no_total_order():
    _, sentence = violated(broadcasting(LastWins), BROADCAST_IS_ORDERED)
    assert sentence == "apply[0] and apply[1] end with different broadcast state."
    exhausted(broadcasting(NewestWins), BROADCAST_IS_ORDERED)


def merging(function):
    def build(env):
        env.set_buffers_per_channel(2)
        first, second = (
            env.from_splits(
                [SplitData("s", [("k", n)])], WatermarkStrategy.no_watermarks(), f"source{n}"
            )
            for n in (1, 2)
        )
        first.union(second).key_by(lambda value: value[0]).reduce(function).name("merge")

    return job(build)


def test_m26_deterministic_functions_give_different_results():
    first_wins, highest = merging(lambda one, other: one), merging(max)
    violated(first_wins, exactly_once(first_wins))
    exhausted(highest, exactly_once(highest))
