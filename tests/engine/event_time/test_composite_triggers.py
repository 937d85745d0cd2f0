"""Triggers of triggers, and the panes of a window that a finished trigger closes."""

from __future__ import annotations

import pytest

from engine import Policy, Recording
from engine.datastream import (
    AggregateFunction,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    KeyedProcessFunction,
    ProcessWindowFunction,
    PurgingTrigger,
    Time,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from engine.datastream.extensions import (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterWatermark,
    Bundle,
    Repeatedly,
    ResultTime,
    non_touching_sessions,
    with_panes,
    with_retractions,
)
from engine.elements import MAX_TIMESTAMP
from engine.errors import InvalidJob
from engine.operators.split import At

from ..small import job, results, step_and_fold
from .scripts import LATE, Run, Times, first_field, splits, wm

TEN = Time.milliseconds(10)
FIXED = TumblingEventTimeWindows.of(TEN)


class Panes(ProcessWindowFunction):
    """(timestamps, timing, index, index among those on time and late, last)"""

    def process(self, key, context, elements):
        pane = context.pane()
        times = [element[1] for element in elements]
        yield times, pane.timing.value, pane.index, pane.on_time_index, pane.last


def paned(script, trigger=None, assigner=FIXED, lateness=0, function=None, **settings):
    """What a window with panes gives for a script, and what was late."""

    def build(env):
        window = splits(env, script, bound=None).key_by(first_field).window(assigner)
        if trigger is not None:
            window = window.trigger(trigger)
        window = window.allowed_lateness(lateness).side_output_late_data(LATE)
        result = with_panes(window, **settings).process(function or Panes()).name("window")
        result.print("out")
        result.get_side_output(LATE).print("late")

    run = Run(build)
    run.read(*[0] * (len(script) + 1))
    return run


def panes(*arguments, **settings):
    return paned(*arguments, **settings).out()


def test_a_count_fires_once_and_closes_the_window():
    assert panes([1, 2, 3, 4, 5], AfterCount(2)) == [([1, 2], "early", 0, -1, True)]


def test_repeatedly_begins_anew_and_the_rest_is_never_told():
    assert panes([1, 2, 3, 4, 5], Repeatedly(AfterCount(2))) == [
        ([1, 2], "early", 0, -1, False),
        ([1, 2, 3, 4], "early", 1, -1, False),
    ]


def test_discarding_panes_hold_what_is_new():
    assert panes([1, 2, 3, 4], Repeatedly(AfterCount(2)), discarding=True) == [
        ([1, 2], "early", 0, -1, False),
        ([3, 4], "early", 1, -1, False),
    ]


def test_early_on_time_and_late_panes():
    trigger = AfterWatermark(early=AfterCount(2), late=AfterCount(1))
    assert panes([1, 2, 3, wm(9), 4, wm(14), 5, wm(15), 6], trigger, lateness=5) == [
        ([1, 2], "early", 0, -1, False),
        ([1, 2, 3], "on time", 1, 0, False),
        ([1, 2, 3, 4], "late", 2, 1, False),
        ([1, 2, 3, 4, 5], "late", 3, 2, False),
    ]


def test_a_record_is_on_time_for_lateness_to_the_last_millisecond():
    """Beam drops what is behind the last timestamp plus the lateness; Flink drops what is at it, too."""
    trigger = AfterWatermark(late=AfterCount(1))
    script = [1, wm(9), 2, wm(14), 3, wm(15), 4]
    run = paned(script, trigger, lateness=5)
    assert [held for held, *_ in run.out()] == [[1], [1, 2], [1, 2, 3]]
    assert run.late() == [4]


def test_without_a_late_trigger_the_end_closes_the_window():
    assert panes([1, wm(9), 2], AfterWatermark(), lateness=5) == [([1], "on time", 0, 0, True)]


def test_the_end_fires_a_window_that_was_emptied():
    trigger = AfterWatermark(early=AfterCount(1))
    assert panes([1, wm(9)], trigger, discarding=True) == [
        ([1], "early", 0, -1, False),
        ([], "on time", 1, 0, True),
    ]


def test_the_default_trigger_fires_at_the_end_and_for_each_late_record():
    assert panes([1, wm(9), 2, 3], lateness=5) == [
        ([1], "on time", 0, 0, False),
        ([1, 2], "late", 1, 1, False),
        ([1, 2, 3], "late", 2, 2, False),
    ]


def test_any_is_ready_with_the_first_and_all_with_the_last():
    count_or_end = Repeatedly(AfterAny(AfterCount(3), AfterWatermark()))
    count_and_end = Repeatedly(AfterAll(AfterCount(3), AfterWatermark()))
    script = [1, 2, 3, 4, wm(9), 5, 6]
    told = [held for held, *_ in panes(script, count_or_end, lateness=99)]
    assert told == [[1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]]
    assert [held for held, *_ in panes(script, count_and_end, lateness=99)] == [[1, 2, 3, 4]]


def test_one_after_the_other():
    script = [1, 2, 3, 4, 5, 6, 7]
    trigger = AfterEach(AfterCount(1), AfterCount(2), AfterCount(3))
    told = [[1], [1, 2, 3], [1, 2, 3, 4, 5, 6]]
    assert [held for held, *_ in panes(script, trigger)] == told
    assert [held for held, *_ in panes(script, Repeatedly(trigger))] == [*told, script]


def test_a_bundle_is_asked_about_once():
    bundle = At(Bundle(tuple((("k", time), time) for time in (1, 2, 3, 11))), 0)

    def build(env):
        stream = splits(env, [bundle], bound=None).key_by(lambda value: "k").window(FIXED)
        with_panes(stream.trigger(Repeatedly(AfterCount(2)))).process(Panes()).print("out")

    run = Run(build)
    run.recording.act(next(a["id"] for a in run.recording.possible()))
    run.flow()
    assert run.out() == [([1, 2, 3], "early", 0, -1, False)]


@pytest.mark.parametrize(
    ("result_time", "times"),
    [
        (ResultTime.END_OF_WINDOW, [9, 9, 9]),
        (ResultTime.EARLIEST, [3, 3, 9]),
        (ResultTime.LATEST, [7, 7, 9]),
    ],
)
def test_the_timestamp_of_a_result(result_time, times):
    """A late pane has no record that was not behind the watermark: its timestamp is the end of the window."""
    trigger = AfterWatermark(early=AfterCount(2), late=AfterCount(1))

    def build(env):
        stream = splits(env, [7, 3, wm(9), 4], bound=None).key_by(first_field).window(FIXED)
        window = stream.trigger(trigger).allowed_lateness(5)
        result = with_panes(window, result_time=result_time).process(Panes())
        result.key_by(lambda value: "k").process(Stamp()).print("out")

    run = Run(build)
    for _ in range(5):
        reads = [f"read:{split}" for split in run.recording.runtime.deployment.splits]
        run.recording.act(reads[0])
        run.flow()
    assert run.out() == times


class Stamp(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.timestamp()


def test_sessions_that_meet_count_their_panes_anew_and_keep_what_was_counted():
    sessions = non_touching_sessions(TEN)
    trigger = Repeatedly(AfterCount(2))
    assert panes([1, 2, 20, 11, 12, 40], trigger, sessions) == [
        ([1, 2], "early", 0, -1, False),
        ([1, 2, 20, 11], "early", 0, -1, False),
    ]


def test_a_session_that_takes_in_a_closed_one_is_closed():
    sessions = non_touching_sessions(TEN)
    assert panes([1, 2, 9, 15, 40, 41], AfterCount(2), sessions) == [
        ([1, 2], "early", 0, -1, True),
        ([40, 41], "early", 0, -1, True),
    ]


def test_a_late_record_is_judged_before_it_is_merged():
    """Its own window has ended, though the session that it touches has not."""
    sessions = non_touching_sessions(TEN)
    run = paned([20, wm(19), 15, 5], Repeatedly(AfterCount(1)), sessions)
    assert [held for held, *_ in run.out()] == [[20], [20, 15]]
    assert run.late() == [5]


def test_the_global_window_has_panes_and_an_end():
    trigger = AfterWatermark(early=AfterCount(2))
    assert panes([5, wm(4), 1, 3], trigger, GlobalWindows.create()) == [
        ([5, 1], "early", 0, -1, False),
        ([5, 1, 3], "on time", 1, 0, True),
    ]


def test_nothing_is_left_of_windows_that_no_record_can_reach():
    for assigner in (FIXED, non_touching_sessions(TEN), EventTimeSessionWindows.with_gap(TEN)):
        run = paned([1, 2, 40, wm(MAX_TIMESTAMP)], AfterCount(2), assigner, lateness=7)
        operator = run.operator("window")
        assert operator.state.entries() == 0
        assert operator.entries() == 0


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, first, second):
        return first + second


def test_an_aggregate_of_nothing_is_told_and_retracted():
    def build(env):
        window = splits(env, [1, wm(9)], bound=None).key_by(first_field).window(FIXED)
        window = window.trigger(AfterWatermark(early=AfterCount(1)))
        with_retractions(with_panes(window, discarding=True)).aggregate(Count()).print("out")

    run = Run(build)
    for _ in range(3):
        reads = [f"read:{split}" for split in run.recording.runtime.deployment.splits]
        run.recording.act(reads[0])
        run.flow()
    assert run.out() == [(True, 1), (False, 1), (True, 0)]


def test_panes_are_folded_and_survive_stepping_back():
    trigger = AfterWatermark(early=AfterCount(2), late=AfterEach(AfterCount(1), AfterCount(2)))

    def build(env):
        script = [1, 2, 20, wm(25), 11, 12, wm(30), 22, 23, 24, wm(60), 50]
        sessions = non_touching_sessions(TEN)
        window = splits(env, script, bound=None).key_by(first_field).window(sessions)
        window = window.trigger(trigger).allowed_lateness(20)
        with_panes(window, result_time=ResultTime.EARLIEST).process(Panes()).print("out")

    recording = Recording(job(build), Policy("random"), 3)
    end = step_and_fold(recording)
    told = results(recording)
    assert len(told) > 3
    for step in range(0, recording.head, 7):
        recording.seek(step)
        recording.view()
        recording.seek(recording.head)
        assert recording.view() == end
        assert results(recording) == told


@pytest.mark.parametrize("purging", [False, True])
def test_composite_triggers_work_on_flinks_windows(purging):
    """Without panes nothing closes: the window is kept for its lateness and does not fire again."""
    trigger = AfterWatermark(early=AfterCount(2))

    def build(env):
        window = splits(env, [1, 2, 3, wm(9), 4], bound=None).key_by(first_field).window(FIXED)
        window = window.trigger(PurgingTrigger.of(trigger) if purging else trigger)
        window.allowed_lateness(5).process(Times()).name("window").print("out")

    run = Run(build)
    run.read(0, 0, 0, 0, 0, 0)
    assert [held for _, _, held in run.out()] == ([[1, 2], [3]] if purging else [[1, 2], [1, 2, 3]])


def test_composite_triggers_merge_on_flinks_sessions():
    def build(env):
        sessions = EventTimeSessionWindows.with_gap(TEN)
        window = splits(env, [1, 20, 11, 40], bound=None).key_by(first_field).window(sessions)
        window = window.trigger(AfterAny(AfterCount(3), AfterWatermark()))
        window.process(Times()).name("window").print("out")

    run = Run(build)
    run.read(0, 0, 0, 0, 0)
    assert run.out() == [(1, 30, [1, 20, 11]), (40, 50, [40])]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: AfterCount(0), "AfterCount needs an integer > 0, not 0"),
        (lambda: AfterAny(), "AfterAny was given no trigger"),
        (lambda: Repeatedly(CountTrigger.of(2)), "Repeatedly was given CountTrigger"),
        (lambda: panes([1], CountTrigger.of(2)), "CountTrigger cannot say so"),
        (
            lambda: panes([1], assigner=TumblingProcessingTimeWindows.of(TEN)),
            "these windows are of the engine's clock",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(make, sentence):
    with pytest.raises(InvalidJob, match=sentence):
        make()


def test_a_plain_window_has_no_panes():
    def build(env):
        window = splits(env, [1], bound=None).key_by(first_field).window(FIXED)
        window.process(Panes()).name("window").print("out")

    run = Run(build)
    run.read(0, 0)
    failure = run.recording.view()["job"]
    assert "with_panes" in str(failure)
