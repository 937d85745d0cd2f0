"""Bounded channels: who may take input, and what waits."""

from __future__ import annotations

from engine import Recording
from engine.elements import END_OF_INPUT
from engine.network.channel import Channel, Link
from engine.network.credit import Credit, Readiness

from ..small import MANUAL, act, in_order, job, possible, queue, reasons

READ, TAKE = "read:source[0]/collection", "take:source[0]>map[0]"


LINK = Link(0, 0, 0)


def two_buffers(env):
    env.set_buffers_per_channel(2)
    env.from_collection([1, 2, 3, 4]).map(lambda value: value).print("out")


def test_a_sender_takes_no_input_while_its_output_is_full():
    recording = act(Recording(job(two_buffers), MANUAL), READ, READ)
    assert possible(recording) == [TAKE]
    assert reasons(recording) == {READ: "no credit towards map[0]"}
    assert possible(act(recording, TAKE)) == [READ, TAKE, "take:map[0]>out[0]"]


def test_one_full_output_of_several_is_enough_to_stop_a_sender():
    def build(env):
        env.set_buffers_per_channel(1)
        stream = env.from_collection([1, 2])
        stream.print("left")
        stream.print("right")

    recording = act(Recording(job(build), MANUAL), READ, "take:source[0]>left[0]")
    assert reasons(recording) == {READ: "no credit towards right[0]"}
    assert possible(act(recording, "take:source[0]>right[0]")) == [READ]


def test_what_one_input_makes_beyond_the_capacity_waits_and_moves_up():
    def build(env):
        env.set_buffers_per_channel(2)
        stream = env.from_collection([1, 2]).flat_map(lambda value: [value] * 4).name("map")
        stream.print("out")

    recording = act(Recording(job(build), MANUAL), READ, READ, TAKE)
    assert queue(recording, "map[0]>out[0]") == ["1", "1", "1", "1"]
    for _ in range(2):
        act(recording, "take:map[0]>out[0]")
        assert reasons(recording)[TAKE] == "no credit towards out[0]"
    act(recording, "take:map[0]>out[0]")
    assert TAKE in possible(recording)


def test_a_barrier_enters_a_full_channel():
    recording = act(Recording(job(two_buffers), MANUAL), READ, READ)
    recording.apply({"kind": "checkpoint"})
    act(recording, "trigger:source[0]")
    assert queue(recording, "source[0]>map[0]") == ["1", "2", "barrier"]


def test_barriers_and_ends_take_no_buffer():
    credit = Credit()
    channel = Channel("s>r", "s", "r", 1, 0, Readiness(), credit, LINK)
    channel.push((2, 1))
    channel.push(END_OF_INPUT)
    assert (channel.free(), credit.full) == (1, 0)
    channel.push((0, "a", None, None))
    assert (channel.free(), credit.full) == (0, 1)


def test_a_watermark_takes_a_buffer():
    channel = Channel("s>r", "s", "r", 1, 0, Readiness(), Credit(), LINK)
    channel.push((1, 5))
    assert channel.free() == 0


def test_a_periodic_watermark_waits_for_credit():
    def build(env):
        env.set_buffers_per_channel(1)
        env.get_config().set_auto_watermark_interval(10)
        env.from_splits(splits(("k", 5), ("k", 6)), in_order(), "source").print("out")

    recording = act(Recording(job(build), MANUAL), "read:source[0]/a", "clock")
    assert reasons(recording)["timer:source[0]"] == "no credit towards out[0]"
    act(recording, "take:source[0]>out[0]", "timer:source[0]")
    assert queue(recording, "source[0]>out[0]") == ["watermark"]


def splits(*entries):
    from engine.operators.split import SplitData

    return [SplitData("a", list(entries))]
