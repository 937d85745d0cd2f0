"""Explanations name what holds a window back, and are true."""

from __future__ import annotations

import pytest
from hypothesis import given

from engine import LearnerMistake, Policy, Recording
from engine.datastream import (
    CountTrigger,
    Duration,
    EventTimeSessionWindows,
    GlobalWindows,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from engine.datastream.extensions import AfterCount
from engine.events import ElementEmitted
from engine.explain import open_windows
from engine.narration import TimeFormat
from engine.operators.split import SetIdle, SplitData
from engine.searches import LineageSearch

from .jobs import POLICIES, Collect, job_specs, make_job
from .laws import LAWS


class Own(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def strategy(bound=0):
    return WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(bound)
    ).with_timestamp_assigner(Own())


def counting(*splits, sources=1, assigner=None, bound=0, trigger=None):
    def factory():
        env = StreamExecutionEnvironment()
        data = [SplitData(name, list(entries)) for name, entries in zip("ab", splits, strict=False)]
        stream = env.from_splits(data, strategy(bound), "source").set_parallelism(sources)
        windows = assigner or TumblingEventTimeWindows.of(Time.milliseconds(10))
        window = stream.key_by(lambda value: value[0]).window(windows)
        if trigger is not None:
            window = window.trigger(trigger)
        window.aggregate(Collect()).print("out")
        return env.get_job_graph("counting")

    return factory


def value(key, timestamp):
    return (key, timestamp, 1)


def sentences(facts):
    return " ".join(fact.sentence for fact in facts)


def test_the_chain_goes_down_to_the_split_and_to_the_record_that_will_fire_the_window():
    fast, slow = [value("x", 1), value("x", 30)], [value("x", 2), value("x", 5), value("x", 12)]
    recording = Recording(counting(fast, slow, sources=2))
    for source in ("source[0]/a", "source[1]/b"):
        recording.act(f"read:{source}")
        recording.act(f"read:{source}")
    for channel in ["source[0]>window[0]"] * 4 + ["source[1]>window[0]"] * 4:
        recording.act(f"take:{channel}")
    facts = recording.explain_window("window[0]", "x", (0, 10))
    told = sentences(facts)
    assert "fires when the watermark of window[0] reaches 9" in told
    assert "behind is source[1]" in told
    assert "the record of 12 at offset 2 will move it far enough" in told
    assert facts[-1].kind == "split"
    assert facts[-1].id == "source[1]/b"


def test_an_idle_input_is_said_to_hold_nothing_back():
    recording = Recording(
        counting([value("x", 1)] * 9, [SetIdle(), SetIdle(False), value("x", 30)], sources=2)
    )
    recording.act("read:source[1]/b")
    recording.act("take:source[1]>window[0]")
    recording.act("read:source[0]/a")
    recording.act("take:source[0]>window[0]")
    told = sentences(recording.explain_window("window[0]", "x", (0, 10)))
    assert "source[1] → window[0] is idle and holds nothing back" in told


def test_a_watermark_that_is_under_way_is_pointed_at():
    recording = Recording(counting([value("x", 1), value("x", 30)]), Policy("manual"))
    for action in ("read:source[0]/a", "read:source[0]/a", "take:source[0]>window[0]"):
        recording.act(action)
    facts = recording.explain_window("window[0]", "x", (0, 10))
    assert facts[-1].kind == "element"
    assert "number 3 in its queue" in facts[-1].sentence
    held = recording.view()["channels"]["source[0]>window[0]"]["queue"][2]
    assert facts[-1].id == held["id"]
    assert held["kind"] == "watermark"


@pytest.mark.parametrize(
    ("assigner", "trigger", "sentence"),
    [
        (GlobalWindows.create(), None, "It never fires: its trigger is NeverTrigger"),
        (GlobalWindows.create(), CountTrigger.of(9), "its trigger CountTrigger decides"),
        (None, AfterCount(1), "Its trigger AfterCount has finished"),
        (None, AfterCount(2), "It is the trigger AfterCount that decides"),
    ],
)
def test_a_window_that_waits_for_its_trigger_is_said_to(assigner, trigger, sentence):
    recording = Recording(counting([value("x", 1)], assigner=assigner, trigger=trigger))
    while not open_windows(recording.runtime):
        recording.step()
    ((subtask, key, window),) = open_windows(recording.runtime)
    assert sentence in sentences(recording.explain_window(subtask, key, window))


def test_a_window_that_is_not_open_is_said_to_be_none():
    recording = Recording(counting([value("x", 1)]))
    assert "is not open" in sentences(recording.explain_window("window[0]", "x", (0, 10)))


@pytest.mark.parametrize(
    ("subtask", "code"), [("window[9]", "unknown_subtask"), ("out[0]", "no_window")]
)
def test_a_question_about_nothing_is_a_mistake(subtask, code):
    with pytest.raises(LearnerMistake) as caught:
        Recording(counting([value("x", 1)])).explain_window(subtask, "x", (0, 10))
    assert caught.value.code == code


def test_the_record_that_made_another_late_is_named():
    recording = Recording(counting([value("x", 1), value("x", 25), value("x", 3)]))
    late = next(
        event
        for step in recording.step(50, events=True)
        for event in step.events
        if type(event).__name__ == "RecordLate"
    )
    told = sentences(recording.explain_late(late.subtask, late.timestamp, late.watermark))
    assert "belongs to 0–10" in told
    assert "a had promised that much since offset 1: a record of 25" in told
    assert "Kept 16 ms longer" in told


def test_lengths_are_told_on_a_clock():
    times = TimeFormat(clock=True)
    assert [times.length(ms) for ms in (0, 1, 60_000, 5_400_000, 3_601_000)] == [
        "0 s", "1 s", "1 min", "1 h 30 min", "1 h 1 s",
    ]  # fmt: skip


@LAWS
@given(job_specs(keyed=("window",)), POLICIES)
def test_every_open_window_has_an_explanation_at_every_step(spec, policy):
    recording = Recording(make_job(spec), Policy(*policy))
    for _ in range(60):
        before = recording.position
        recording.step(3)
        for subtask, key, window in open_windows(recording.runtime):
            facts = recording.explain_window(subtask, key, window)
            assert facts
            assert all(fact.sentence.endswith(".") for fact in facts)
        if recording.position == before:
            break


def new_results(recording):
    """The ids of the results that the window sends from here on."""
    return [
        event.element.id
        for step in recording.step(200, events=True)
        for event in step.events
        if isinstance(event, ElementEmitted)
        and event.element.kind == "record"
        and event.channel.startswith("window")
    ]


def origins_of_results(recording):
    """The offsets of the records behind each result of the window."""
    results = new_results(recording)
    return [[origin.offset for origin in recording.lineage(result)] for result in results]


def test_a_result_of_a_window_comes_from_the_records_in_it():
    entries = [value("x", 1), value("y", 2), value("x", 4), value("x", 12), value("x", 30)]
    recording = Recording(counting(entries))
    assert origins_of_results(recording) == [[0, 2], [1], [3], [4]]


def test_a_merged_session_comes_from_all_that_were_merged():
    entries = [value("x", 1), value("x", 9), value("y", 2), value("x", 5), value("x", 40)]
    sessions = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    recording = Recording(counting(entries, assigner=sessions, bound=20))
    assert origins_of_results(recording) == [[2], [0, 1, 3], [4]]


def test_what_state_held_at_a_checkpoint_is_made_of_nothing_that_is_known():
    entries = [value("x", 1), value("x", 2), value("x", 3), value("x", 30)]
    driven = Recording(counting(entries), Policy("manual"))
    read, take, pass_on = "read:source[0]/a", "take:source[0]>window[0]", "take:window[0]>out[0]"
    for action in [read, take, take, read, take, take]:
        driven.act(action)
    driven.apply({"kind": "checkpoint"})
    for action in ["trigger:source[0]", take, *[pass_on] * 3]:
        driven.act(action)
    for subtask in ("source", "window", "out"):
        driven.act(f"ack:{subtask}[0]")
    assert driven.view()["last_completed"] == 1
    driven.apply({"kind": "fail", "subtask": "window[0]"})
    recording = Recording(counting(entries), log=driven.log)
    recording.seek(recording.head)
    assert origins_of_results(recording) == [[2], [3]]


def test_the_elements_behind_a_result_do_not_include_it():
    recording = Recording(counting([value("x", 1), value("x", 30)]))
    result = new_results(recording)[0]
    search = LineageSearch(recording)
    while not search.slice(3):
        pass
    assert search.elements(result) == ["source[0]>window[0]:0"]


def test_lineage_of_a_long_run_is_refused():
    recording = Recording(counting([value("x", 1), value("x", 30)]))
    result = new_results(recording)[0]
    assert recording.lineage(result, limit=recording.position)
    with pytest.raises(LearnerMistake, match="more than"):
        recording.lineage(result, limit=recording.position - 1)
