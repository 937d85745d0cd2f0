"""Loops: the laws of the engine over generated ones, and how one comes to its end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidJob, Policy, Recording
from engine.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.datastream.extensions import ScriptedSource, SetIdle, Wait, iterate
from engine.event_time.windows import TimeWindow
from engine.events import LoopEmptied
from engine.operators.split import SplitData
from engine.testing import keyed_state, run_job, run_to_idle

from . import laws
from .checkpointing.schemes import to_the_end
from .jobs import EXACTLY_ONCE, POLICIES
from .laws import CHOICES, CUTS, LAWS, QUANTA, ROUNDS, TARGETS, apply_if_possible, recover
from .loops import BACK, BODY, HEAD, IN, countdown, loop_commands, loop_specs, make_loop
from .small import MANUAL, act, in_order, job, possible, queue, results, state_of

PLANS = st.lists(st.tuples(st.integers(0, 40), loop_commands()), max_size=4)
PLANS_WITHOUT_STOP = st.lists(st.tuples(st.integers(0, 40), loop_commands(stops=False)), max_size=4)
SEEDS = st.integers(0, 5)


def starter(spec, seed):
    return lambda policy, log=(): Recording(make_loop(spec), policy, seed, log)


@LAWS
@given(loop_specs(), POLICIES, SEEDS, PLANS, CHOICES)
def test_folding_the_events_gives_the_view_at_every_step(spec, policy, seed, plan, choices):
    laws.folding_gives_the_view(starter(spec, seed)(Policy(*policy)), plan, choices)


@LAWS
@given(loop_specs(), POLICIES, SEEDS, PLANS, CUTS)
def test_watching_and_cutting_change_nothing(spec, policy, seed, plan, cuts):
    laws.watching_and_cutting_change_nothing(starter(spec, seed), Policy(*policy), plan, cuts)


@LAWS
@given(loop_specs(), st.sampled_from(["round_robin", "random"]), QUANTA, SEEDS, PLANS)
def test_a_burst_schedule_replayed_atomically_is_identical(spec, policy, quantum, seed, plan):
    laws.a_burst_is_its_actions(starter(spec, seed), Policy(policy, quantum), plan)


@LAWS
@given(loop_specs(), POLICIES, SEEDS, PLANS, TARGETS)
def test_seeking_shows_what_was_shown(spec, policy, seed, plan, targets):
    laws.seeking_shows_what_was_shown(starter(spec, seed)(Policy(*policy)), plan, targets)


@LAWS
@given(loop_specs(EXACTLY_ONCE), POLICIES, SEEDS, PLANS_WITHOUT_STOP, ROUNDS)
def test_a_failure_anywhere_leaves_keyed_state_as_without_it(spec, policy, seed, plan, rounds):
    """Also the state inside the loop: what was on its way back is there again, once."""
    undisturbed = run_job(make_loop(spec), Policy(*policy), seed)
    disturbed = Recording(make_loop(spec), Policy(*policy), seed)
    for steps, command in plan:
        disturbed.step(steps)
        apply_if_possible(disturbed, command, events=False)
    recover(disturbed, rounds)
    run_to_idle(disturbed)
    assert disturbed.view()["job"]["state"] == "finished"
    assert keyed_state(disturbed) == keyed_state(undisturbed)


@LAWS
@given(loop_specs(EXACTLY_ONCE), POLICIES, SEEDS)
def test_every_record_goes_round_as_often_as_it_says(spec, policy, seed):
    """The sum of all laps, by a model that knows nothing of channels."""
    recording = run_job(make_loop(spec), Policy(*policy), seed)
    sums: dict = {}
    for key, _, number in [record for split in spec["splits"] for record in split]:
        laps = max(number, 1)
        found = [number - lap for lap in range(1, laps + 1)]
        sums[key] = sums.get(key, 0) + sum(found)
    held = {
        row.rpartition("/")[2]: value
        for row, value in keyed_state(recording).items()
        if row.startswith("keyed/sum/")
    }
    assert sorted(held.values()) == sorted(str(total) for total in sums.values())


# Refused


def refused(build) -> InvalidJob:
    with pytest.raises(InvalidJob) as error:
        job(build)()
    return error.value


def test_a_loop_that_is_never_closed_is_refused():
    error = refused(lambda env: iterate(env.from_collection([1])).name("head").print())
    assert (error.code, error.place) == ("open_loop", "head")


def test_a_loop_is_closed_with_a_stream_that_comes_from_it():
    def elsewhere(env):
        stream = env.from_collection([1])
        iterate(stream).name("head").close_with(stream.map(abs).name("aside"))

    error = refused(elsewhere)
    assert error.code == "feedback"
    assert error.sentence == "aside does not get its records from head, so this closes no loop."

    def of_another(env):
        other = StreamExecutionEnvironment().from_collection([1])
        iterate(env.from_collection([1])).close_with(other)

    assert "another environment" in refused(of_another).sentence
    assert "is not a stream" in refused(
        lambda env: iterate(env.from_collection([1])).close_with(1)
    ).sentence  # fmt: skip


def test_loops_within_loops_are_refused():
    def nested(env):
        outer = iterate(env.from_collection([1])).name("outer")
        inner = iterate(outer.map(abs)).name("inner")
        inner.close_with(inner.filter(bool).name("again"))
        outer.close_with(inner.map(abs))

    error = refused(nested)
    assert error.code == "nested_loops"
    assert {"outer", "inner"} <= set(error.sentence.replace(",", "").split())


def test_a_feedback_edge_leads_to_the_head_of_a_loop():
    graph = countdown(3)()
    graph.edges[-1].target = "body"
    graph.edges[-1].source = "done"
    with pytest.raises(InvalidJob, match="no head of a loop"):
        graph.validated()


def test_a_cycle_without_a_feedback_edge_is_refused_as_before():
    graph = countdown(3)()
    graph.edges[-1].feedback = False
    with pytest.raises(InvalidJob, match="The job has a cycle: .*head"):
        graph.validated()


def test_columns_do_not_count_the_way_back():
    assert countdown(3)().columns() == {
        "source": 0, "head": 1, "body": 2, "again": 3, "done": 3, "out": 4
    }  # fmt: skip
    edges = Recording(countdown(3)).view()["graph"]["edges"]
    assert ["feedback" in edge for edge in edges] == [False] * 5 + [True]


# The end


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
@pytest.mark.parametrize("policy", ["round_robin", "random"])
def test_a_loop_ends_when_nothing_is_left_in_it(parallelism, policy):
    for seed in range(8):
        factory = countdown(*range(1, 12), buffers=12, parallelism=parallelism)
        recording = run_job(factory, Policy(policy), seed)
        assert state_of(recording) == "finished"
        assert results(recording) == [0] * 11
        assert all(not channel["queue"] for channel in recording.view()["channels"].values())


def test_a_record_that_comes_back_starts_the_count_of_quiet_laps_anew():
    recording = Recording(countdown(2, 2), MANUAL)
    act(recording, *["read:source[0]/collection"] * 3, *[f"take:{IN}"] * 2)
    act(recording, *[f"take:{HEAD}"] * 2, *[f"take:{BODY}"] * 2, f"take:{BACK}")
    act(recording, *[f"take:{IN}"] * 2)  # the end of event time, and the end
    assert queue(recording, HEAD) == ["1", "watermark", "probe"]
    act(recording, f"take:{BACK}", *[f"take:{HEAD}"] * 3, *[f"take:{BODY}"] * 3, f"take:{BACK}")
    assert not recording.runtime.deployment.subtasks["head[0]"].loop_end.closed
    assert queue(recording, HEAD) == ["1", "probe"]
    laps = []
    while possible(recording):
        events = recording.act(possible(recording)[0]).events
        laps += [event.laps for event in events if isinstance(event, LoopEmptied)]
    assert laps == [1]
    assert results(recording) == [0, 0]


def second_way_in(env):
    """A loop into whose body another source leads, too."""
    env.set_buffers_per_channel(20)
    head = iterate(env.from_collection([3])).name("head")
    late = env.from_splits(
        ScriptedSource({"s": [Wait(500), 2, Wait(500), 4]}).splits(),
        WatermarkStrategy.no_watermarks(),
        "late",
    )
    body = head.union(late).map(lambda value: value - 1).name("body")
    head.close_with(body.filter(lambda value: value > 0).name("again"))
    body.print("out")


def test_a_loop_does_not_end_before_another_input_of_it_has():
    recording = run_job(job(second_way_in))
    assert sorted(results(recording)) == [0, 0, 0, 1, 1, 1, 2, 2, 3]
    assert state_of(recording) == "finished"


class Retry(KeyedProcessFunction):
    """Sends a record on 100 ms later, by a timer of the clock."""

    def open(self, runtime_context):
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value, ctx):
        self.held.update(value)
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 100)

    def on_timer(self, timestamp, ctx):
        yield self.held.value() - 1


def test_a_timer_of_the_clock_in_a_loop_holds_its_end_back():
    def build(env):
        head = iterate(env.from_collection([3])).name("head")
        body = head.key_by(lambda value: "k").process(Retry()).name("body")
        head.close_with(body.filter(lambda value: value > 0).name("again"))
        body.print("out")

    recording = run_job(job(build))
    assert results(recording) == [2, 1, 0]
    assert recording.view()["time"] == 300_000


# Event time


def windowed_loop(env):
    values = [("k", 10, 2), ("k", 60, 0), ("k", 61, 0)]
    stream = env.from_splits([SplitData("s", values)], in_order(), "source")
    head = iterate(stream).name("head")
    body = head.map(lambda value: (*value[:2], value[2] - 1)).name("body")
    head.close_with(body.filter(lambda value: value[2] > 0).name("again"))
    windowed = body.key_by(lambda value: value[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(50))
    )
    windowed.process(Listed()).name("window").print("out")


def test_watermarks_do_not_go_back_and_records_that_do_keep_their_timestamps():
    recording = Recording(job(windowed_loop), MANUAL)
    act(recording, *["read:source[0]/s"] * 3, *["take:source[0]>head[0]"] * 5)
    assert recording.view()["subtasks"]["head[0]"]["watermark"] == 59
    act(recording, *["take:head[0]>body[0]"] * 4, *["take:body[0]>again[0]"] * 4)
    assert queue(recording, "again[0]>head[0]") == ["('k', 10, 1)"]
    assert recording.view()["channels"]["again[0]>head[0]"]["queue"][0]["timestamp"] == 10
    to_the_end(recording)
    # The second lap of the first record comes behind watermark 59: late by the rules of every window.
    assert results(recording) == [(0, [1]), (50, [-1, -1])]
    assert recording.view()["subtasks"]["window[0]"]["late"] == 1


class Listed(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield context.window().start, [value[2] for value in elements]


def test_a_silent_source_makes_the_loop_idle():
    def build(env):
        splits = ScriptedSource({"s": [1, SetIdle(), Wait(10), 1]}).splits()
        head = iterate(env.from_splits(splits, WatermarkStrategy.no_watermarks(), "source")).name(
            "head"
        )
        body = head.map(lambda value: value - 1).name("body")
        head.close_with(body.filter(lambda value: value > 0).name("again"))
        body.print("out")

    recording = Recording(job(build), MANUAL)
    act(recording, *["read:source[0]/s"] * 2, *["take:source[0]>head[0]"] * 2)
    act(recording, *["take:head[0]>body[0]"] * 2, *["take:body[0]>again[0]"] * 2)
    assert recording.view()["subtasks"]["again[0]"]["idle"]
    assert queue(recording, "again[0]>head[0]") == []
    assert results(to_the_end(recording)) == [0, 0]


# Full loops


def doubling(env):
    env.set_buffers_per_channel(1)
    head = iterate(env.from_collection([1])).name("head")
    body = head.flat_map(lambda value: [value, value]).name("body")
    head.close_with(body)


def test_m21_a_loop_with_an_expansion_deadlocks_and_says_so():
    recording = Recording(job(doubling))
    recording.step(1000)
    assert recording.position < 20
    assert possible(recording) == []
    assert state_of(recording) == "running"
    told = {action["id"]: action["reason"] for action in recording.impossible()}
    assert {reason["code"] for reason in told.values()} == {"deadlock"}
    assert told["take:body[0]>head[0]"]["sentence"] == (
        "no credit towards body[0], and none will come: the loop is full, "
        "head[0] waits for body[0], and body[0] waits for head[0]"
    )


def test_nothing_is_lost_by_a_deadlock_and_a_restart_meets_it_again():
    recording = Recording(job(doubling))
    recording.step(1000)
    held = recording.view()["channels"]
    assert sum(len(channel["queue"]) for channel in held.values()) >= 3
    recording.apply({"kind": "fail", "subtask": "head[0]"})
    recording.step(1000)
    assert possible(recording) == []
    assert recording.view()["channels"] != held
    assert recording.view()["job"]["attempt"] == 2


def test_executing_a_job_that_gets_stuck_says_why():
    env = StreamExecutionEnvironment()
    doubling(env)
    with pytest.raises(InvalidJob, match="none will come: the loop is full"):
        env.execute("stuck")


def test_a_full_channel_outside_a_loop_is_no_deadlock():
    recording = Recording(countdown(5, 5, 5, buffers=1), MANUAL)
    act(recording, "read:source[0]/collection")
    act(recording, f"take:{IN}", "read:source[0]/collection")
    told = {action["id"]: action["reason"]["code"] for action in recording.impossible()}
    assert told[f"take:{IN}"] == "credit"


# Questions


def test_a_result_of_many_laps_knows_where_it_came_from():
    recording = run_job(countdown(1, 4))
    assert [origin.offset for origin in recording.lineage("out[0]#0")] == [0]
    assert [origin.offset for origin in recording.lineage("out[0]#1")] == [1]


def test_the_question_why_a_window_has_not_fired_does_not_go_round_for_ever():
    recording = Recording(job(windowed_loop), MANUAL)
    act(recording, *["read:source[0]/s"] * 3, "take:source[0]>head[0]", "take:head[0]>body[0]")
    act(recording, "take:body[0]>window[0]")
    facts = recording.explain_window("window[0]", "k", TimeWindow(0, 50))
    told = " ".join(fact.sentence for fact in facts)
    assert "The watermark of head[0] is −∞: its input is" in told
    assert "again" not in told
    facts = recording.explain_late("window[0]", 10, 59)
    assert any("The watermark of window[0] was 59" in fact.sentence for fact in facts)
    assert any("had promised that much since offset 1" in fact.sentence for fact in facts)
