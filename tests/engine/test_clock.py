"""Virtual time moves to the next due time and never by itself."""

from __future__ import annotations

from engine import Recording
from engine.clock import Clock
from engine.events import TimerFired
from engine.narration import TimeFormat, narrate
from engine.operators.split import SplitData

from .small import MANUAL, act, in_order, job, possible, queue


def test_what_is_due_at_one_time_comes_in_order_of_registration():
    clock = Clock()
    for time, name in [(20, "b"), (10, "a"), (20, "a"), (30, "c")]:
        clock.wake(time, name)
    assert (clock.next_due(), clock.advance(), clock.now) == (10, ["a"], 10)
    assert (clock.advance(), clock.now) == (["b", "a"], 20)
    assert (clock.advance(), clock.advance(), clock.now) == (["c"], [], 30)


def test_nobody_is_woken_in_the_past():
    clock = Clock()
    clock.wake(20, "a")
    clock.advance()
    clock.wake(5, "late")
    assert (clock.advance(), clock.now) == (["late"], 20)


def test_a_rewound_clock_wakes_again():
    clock = Clock()
    clock.wake(20, "a")
    frame = clock.keyframe()
    clock.advance()
    clock.rewind(frame)
    assert (clock.now, clock.advance()) == (0, ["a"])


def periodic(env):
    env.get_config().set_auto_watermark_interval(200)
    env.from_splits([SplitData("a", [("k", 5), ("k", 9)])], in_order(), "source").print("out")


def test_periodic_watermarks_come_with_the_clock_and_only_where_they_rose():
    recording = act(Recording(job(periodic), MANUAL), *["read:source[0]/a"] * 2)
    assert queue(recording, "source[0]>out[0]") == ["('k', 5)", "('k', 9)"]
    act(recording, "clock", "timer:source[0]")
    assert queue(recording, "source[0]>out[0]")[2:] == ["watermark"]
    act(recording, "clock", "timer:source[0]")
    assert queue(recording, "source[0]>out[0]")[2:] == ["watermark"]
    assert recording.view()["time"] == 400_000


def test_the_clock_moves_by_itself_only_when_nothing_else_can_happen():
    recording = Recording(job(periodic))
    while len(possible(recording)) > 1:
        assert recording.next_action() != "clock"
        recording.step(1)
    assert recording.view()["time"] == 0


def test_a_timer_of_the_clock_is_told_in_the_clock_s_time():
    times = TimeFormat(zone_minutes=60, clock=True)
    due = TimerFired("count[0]", "row", "x", 5_400_000, "processing")
    assert narrate(due, times) == "The timer of x at 1 h 30 min of the clock fired in count[0]."
    assert (
        narrate(due._replace(clock="event"), times) == "The timer of x at 02:30 fired in count[0]."
    )
