"""Bad timestamps, bad windows, bad gaps: an error or a warning that names the operator and the line of the job file."""

from __future__ import annotations

import re
from typing import Any

import pytest

from engine import Policy, Recording
from engine.datastream import (
    AggregateFunction,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    Time,
    TimestampAssigner,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WatermarkStrategy,
)
from engine.datastream.extensions import non_touching_sessions
from engine.errors import InvalidJob
from engine.event_time.magnitude import FAR_FUTURE, doubt
from engine.events import Warned
from engine.operators import silence
from engine.operators.split import SplitData
from engine.testing import run_job, run_to_idle

from ..small import in_order, job, results, state_of, step_and_fold

LINE = r"test_bad_input\.py, line \d+"
YEAR_2024 = 1_704_067_200_000


def ms(milliseconds: Any) -> Time:
    return Time.milliseconds(milliseconds)


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator


def counted(env, timestamps, assigner=None, strategy=None, trigger=None, bound=0):
    """Counts per window of records ("k", timestamp)."""
    entries = [("k", timestamp) for timestamp in timestamps]
    stream = env.from_splits([SplitData("p", entries)], strategy or in_order(bound), "source")
    window = stream.key_by(lambda value: value[0]).window(
        assigner or TumblingEventTimeWindows.of(ms(1000))
    )
    if trigger is not None:
        window = window.trigger(trigger)
    window.aggregate(Count()).name("window").print("out")


def failure(build) -> str:
    recording = run_job(job(build))
    assert state_of(recording) == "failed"
    return recording.view()["job"]["reason"]


def warnings(build, quantum=1) -> list[Warned]:
    recording = Recording(job(build), Policy("round_robin", quantum))
    found: list[Warned] = []
    while steps := recording.step(100, events=True):
        found += [event for step in steps for event in step.events if isinstance(event, Warned)]
    return found


# Timestamps


@pytest.mark.parametrize("timestamp", [1.5, "08:00", None, True, 2**63, -(2**63)])
def test_a_timestamp_that_is_no_integer_in_range(timestamp):
    reason = failure(lambda env: counted(env, [5, timestamp]))
    assert re.search(rf"an integer in milliseconds is needed\. \(source\[0\], {LINE}\)", reason)


def test_a_timestamp_assigner_that_raises():
    class Missing(TimestampAssigner):
        def extract_timestamp(self, value, record_timestamp):
            return value["ts"]

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Missing())

    def build(env):
        stream = env.from_splits([SplitData("p", [{"time": 1}])], strategy, "source")
        stream.print("out")

    assert re.search(rf"source\[0\] failed .* KeyError: 'ts' \({LINE}\)", failure(build))


@pytest.mark.parametrize("trigger", [None, GlobalWindows.create().default_trigger])
def test_no_timestamp_in_an_event_time_window(trigger):
    strategy = WatermarkStrategy.no_watermarks()
    reason = failure(lambda env: counted(env, [5], strategy=strategy, trigger=trigger))
    assert "A record without a timestamp reached an event-time window." in reason
    assert re.search(rf"\(window\[0\], {LINE}\)", reason)


def test_before_1970_is_in_order():
    build = lambda env: counted(env, [-5000, -4500, -10])  # noqa: E731
    assert warnings(build) == []
    assert results(run_job(job(build))) == [2, 1]


def test_seconds_instead_of_milliseconds():
    (warned,) = warnings(lambda env: counted(env, [YEAR_2024 // 1000, YEAR_2024 // 1000 + 60]))
    assert (warned.subtask, warned.code) == ("source[0]", "timestamp_in_seconds")
    assert "1704067200 is only 19 days after 1970" in warned.text
    assert re.search(LINE, warned.text)


@pytest.mark.parametrize("start", [0, 27 * 3_600_000, YEAR_2024, -YEAR_2024, 10**11])
def test_what_looks_like_milliseconds(start):
    assert warnings(lambda env: counted(env, range(start, start + 100, 10))) == []


@pytest.mark.parametrize(
    ("timestamp", "unit"),
    [(YEAR_2024 * 1000, "microseconds"), (YEAR_2024 * 1_000_000, "nanoseconds")],
)
def test_the_far_future(timestamp, unit):
    (warned,) = warnings(lambda env: counted(env, [timestamp]))
    assert warned.code == "timestamp_in_far_future"
    assert f"looks like {unit}" in warned.text


def test_one_record_of_the_far_future_among_others():
    """It makes all that follow late, so it is told wherever it comes; but once."""
    (warned,) = warnings(
        lambda env: counted(env, [YEAR_2024, FAR_FUTURE, YEAR_2024, FAR_FUTURE + 1])
    )
    assert str(FAR_FUTURE) in warned.text
    assert doubt(FAR_FUTURE - 1) is None


def test_timestamps_that_are_assigned_in_mid_stream():
    def build(env):
        stream = env.from_collection([("k", 1_704_067_200), ("k", FAR_FUTURE)])
        stream.assign_timestamps_and_watermarks(in_order()).print("out")

    assert [(warned.subtask, warned.code) for warned in warnings(build)] == [
        ("timestamps[0]", "timestamp_in_seconds"),
        ("timestamps[0]", "timestamp_in_far_future"),
    ]


# Windows


@pytest.mark.parametrize("size", [0, -5, 2.5, "10", None])
@pytest.mark.parametrize(
    "make",
    [
        lambda size: TumblingEventTimeWindows.of(ms(size)),
        lambda size: TumblingProcessingTimeWindows.of(ms(size)),
        lambda size: SlidingEventTimeWindows.of(ms(size), ms(5)),
        lambda size: SlidingEventTimeWindows.of(ms(10), ms(size)),
        lambda size: SlidingProcessingTimeWindows.of(ms(size), ms(5)),
        lambda size: EventTimeSessionWindows.with_gap(ms(size)),
        lambda size: ProcessingTimeSessionWindows.with_gap(ms(size)),
        lambda size: non_touching_sessions(ms(size)),
    ],
)
def test_a_window_size_that_is_not_possible(make, size):
    with pytest.raises(InvalidJob, match="must be an integer > 0") as refused:
        make(size)
    assert re.fullmatch(LINE, refused.value.place)


@pytest.mark.parametrize("offset", [10, -10, 0.5])
def test_an_offset_that_is_not_possible(offset):
    with pytest.raises(InvalidJob, match="is not smaller than the size 10 ms") as refused:
        TumblingEventTimeWindows.of(ms(10), ms(offset))
    assert re.fullmatch(LINE, refused.value.place)


def test_a_number_where_a_time_is_needed():
    with pytest.raises(InvalidJob, match="10 is not a Time") as refused:
        TumblingEventTimeWindows.of(10)  # type: ignore[arg-type]
    assert re.fullmatch(LINE, refused.value.place)


@pytest.mark.parametrize("gap", [0, -1, 2.5, "5", None])
def test_a_session_gap_function_that_returns_nonsense(gap):
    sessions = DynamicEventTimeSessionWindows.with_dynamic_gap(lambda value: gap)
    reason = failure(lambda env: counted_sessions(env, sessions))
    assert f"The session gap function returned {gap} for ('k', 5)" in reason
    assert re.search(rf"\(window\[0\], {LINE}\)", reason)


def counted_sessions(env, assigner):
    stream = env.from_splits([SplitData("p", [("k", 5)])], in_order(), "source")
    window = stream.key_by(lambda value: value[0]).window(assigner)
    window.reduce(lambda a, b: a).name("window").print("out")


# Windows that never fire


class Continue(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        return TriggerResult.CONTINUE


@pytest.fixture(autouse=True)
def _early_warnings(monkeypatch):
    monkeypatch.setattr(silence, "FIRST_WARNING", 100)


@pytest.mark.parametrize(
    ("assigner", "trigger", "strategy", "why"),
    [
        (GlobalWindows.create(), None, None, "the trigger NeverTrigger waits for no time"),
        (GlobalWindows.create(), Continue(), None, "the trigger Continue waits for no time"),
        (TumblingEventTimeWindows.of(ms(1000)), Continue(), None, "windows have ended without it"),
        (TumblingEventTimeWindows.of(ms(1000)), None, "none", "no watermark has reached"),
        (SlidingEventTimeWindows.of(ms(2000), ms(1000)), None, "none", "no watermark has reached"),
    ],
)
def test_windows_that_never_fire(assigner, trigger, strategy, why):
    """Told after so many records, and after twice as many."""
    if strategy == "none":
        strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(in_order()._assigner)

    def build(env):
        counted(env, range(0, 25_000, 100), assigner, strategy, trigger)

    found = warnings(build)
    assert [(warned.subtask, warned.code) for warned in found] == [
        ("window[0]", "windows_never_fire")
    ] * 2
    assert found[0].text.startswith("100 records have come and no window has fired: ")
    assert found[1].text.startswith("200 records have come")
    assert all(why in warned.text and re.search(LINE, warned.text) for warned in found)


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(Time.days(1)),
        SlidingEventTimeWindows.of(Time.days(1), Time.hours(1)),
    ],
)
def test_a_long_window_is_no_reason_to_warn(assigner):
    assert warnings(lambda env: counted(env, range(1000), assigner)) == []


def test_the_picture_takes_warnings():
    build = lambda env: counted(env, range(0, 25_000, 100), GlobalWindows.create())  # noqa: E731
    assert step_and_fold(Recording(job(build)), 5000)["job"]["state"] == "finished"


@pytest.mark.parametrize("quantum", [7, 64])
def test_bursts_warn_at_the_same_steps(quantum):
    """A warning leaves a mark, so that it is seen in a run that nobody watched."""

    def build(env):
        strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(in_order()._assigner)
        times = [*range(YEAR_2024 // 1000, YEAR_2024 // 1000 + 450), FAR_FUTURE]
        counted(env, times, strategy=strategy)
        entries = [("k", time) for time in times]
        stream = env.from_splits([SplitData("p", entries)], in_order(), "other")
        stream.key_by(lambda value: value[0]).window(GlobalWindows.create()).aggregate(
            Count()
        ).print()

    burst = Recording(job(build), Policy("round_robin", quantum))
    burst.runtime.schedule = schedule = []
    run_to_idle(burst)
    atomic = Recording(job(build), Policy("manual"))
    for action, count in schedule:
        for _ in range(count):
            atomic.act(action, events=True)
    kinds = [text.partition(" ")[0] for _, kind, text in burst.marks if kind == "warned"]
    assert len(kinds) >= 5
    assert atomic.marks == burst.marks
