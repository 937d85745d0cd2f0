"""What shares a channel keeps its order, however many elements a turn takes."""

from __future__ import annotations

from engine import Policy, Recording
from engine.datastream import OutputTag, Time, TumblingEventTimeWindows
from engine.operators.split import SplitData

from ..jobs import Collect
from ..small import MANUAL, act, in_order, job, queue

LATE = OutputTag("late")
# after 25 the watermark is 24: 3 and 4 are late, and 26 and 27 raise the watermark without firing a window
ENTRIES = [("k", time, 0) for time in (25, 3, 26, 4, 27)]


def late(env):
    stream = env.from_splits([SplitData("a", ENTRIES)], in_order(), "source")
    windows = stream.key_by(lambda value: value[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(10))
    )
    windowed = windows.side_output_late_data(LATE).aggregate(Collect()).name("window")
    windowed.print("out")
    windowed.get_side_output(LATE).print("late")


def test_a_burst_puts_late_records_between_the_same_watermarks_as_single_steps():
    expected = ["watermark", "('k', 3, 0)", "watermark", "('k', 4, 0)", "watermark"]
    reads, takes = ["read:source[0]/a"] * 5, ["take:source[0]>window[0]"] * 8
    atomic = act(Recording(job(late), MANUAL), *reads, *takes)
    assert queue(atomic, "window[0]>late[0]") == expected

    burst = act(Recording(job(late), Policy("round_robin", 64)), *reads)
    while burst.next_action() != "take:source[0]>window[0]":
        assert burst.step(1) == []
    burst.step(8)
    assert burst.position >= 13
    assert queue(burst, "window[0]>late[0]") == expected
