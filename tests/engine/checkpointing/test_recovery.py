"""Failures: by command, by functions that raise, again and again, and in the middle of a burst."""

from __future__ import annotations

import sys

import pytest

from engine import ImpossibleAction, InvalidJob, Policy, Recording, fold
from engine.datastream import (
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.events import Restored, SubtaskFailed
from engine.operators.split import SplitData, Wait
from engine.testing import run_job, run_to_idle

from ..small import MANUAL, act, in_order, job, possible, results, state_of, step_and_fold


class Tired(MapFunction):
    """Raises at the third record after it was opened."""

    def open(self, runtime_context):
        self.count = 0

    def map(self, value):
        self.count += 1
        if self.count == 3:
            raise ValueError("tired")
        return value


def tired(env: StreamExecutionEnvironment) -> None:
    env.from_collection(range(6)).map(Tired()).print("out")


DECLARED = f"test_recovery.py, line {tired.__code__.co_firstlineno + 1}"
"""Where the operator that fails was declared."""


def test_a_failure_loses_channels_and_cancels_the_other_subtasks():
    recording = act(Recording(job(tired), MANUAL), "read:source[0]/collection")
    recording.apply({"kind": "fail", "subtask": "map[0]"})
    view = recording.view()
    assert {name: held["status"] for name, held in view["subtasks"].items()} == {
        "source[0]": "cancelled", "map[0]": "failed", "out[0]": "cancelled",
    }  # fmt: skip
    assert view["channels"]["source[0]>map[0]"]["queue"] == []
    assert view["channels"]["source[0]>map[0]"]["taken"] == 1
    assert possible(recording) == ["restart"]
    with pytest.raises(ImpossibleAction, match="the job is restarting"):
        act(recording, "read:source[0]/collection")


def test_a_function_that_raises_fails_its_subtask_with_what_it_said():
    recording = Recording(job(tired))
    while state_of(recording) == "running":
        (step,) = recording.step(1, events=True)
    (reason,) = [event.reason for event in step.events if isinstance(event, SubtaskFailed)]
    assert reason == f"ValueError: tired ({DECLARED})"
    assert state_of(recording) == "restarting"


def test_restarts_are_bounded():
    recording = run_job(job(tired))
    view = recording.view()["job"]
    assert view["state"] == "failed"
    assert view["attempt"] == 4
    told = f"map[0] failed 4 times; 3 restarts are allowed. ValueError: tired ({DECLARED})"
    assert view["reason"] == told
    assert possible(recording) == []


def test_failures_on_command_do_not_count():
    recording = Recording(job(lambda env: env.from_collection([1]).print("out")))
    for _ in range(10):
        recording.apply({"kind": "fail", "subtask": "out[0]"})
        recording.step(1)
    assert state_of(run_to_idle(recording)) == "finished"


def test_with_a_checkpoint_in_between_a_job_gets_past_its_failures():
    recording = Recording(job(tired))
    for _ in range(3):
        recording.step(4)
        recording.apply({"kind": "checkpoint"})
        assert recording.run_until({"kind": "checkpoint_completes"}, 60)
        recording.apply({"kind": "fail", "subtask": "map[0]"})  # which opens the function anew
        recording.step(1)
    assert state_of(run_to_idle(recording)) == "finished"
    assert set(results(recording)) == set(range(6))


def raising_at(place: str, error: type[BaseException] = ValueError):
    """A job whose function named `place` raises at the record ("k", 7, ...)."""

    def check(here, value):
        if here == place and value[1] == 7:
            raise error(f"seven in {here}")
        return value

    class Process(KeyedProcessFunction):
        def open(self, runtime_context):
            self.state = runtime_context.get_state(ValueStateDescriptor("count"))

        def process_element(self, value, ctx):
            self.state.update((self.state.value() or 0) + 1)
            yield value
            check("process", value)
            ctx.timer_service().register_event_time_timer(value[1])

        def on_timer(self, timestamp, ctx):
            yield (ctx.get_current_key(), timestamp + 1000)
            check("timer", (None, timestamp))

    def build(env):
        entries = [("k", number) for number in (1, 2, 3, 2, 5, 6, 7, 8)]
        stream = env.from_splits([SplitData("a", entries)], in_order(), "source")
        stream = stream.map(lambda value: check("map", value))
        stream = stream.flat_map(lambda value: [value, check("flat map", value)])
        stream = stream.partition_custom(
            lambda key, count: check("partitioner", (0, key))[1] % count, lambda value: value[1]
        )
        stream = stream.filter(lambda value: check("filter", value)).set_parallelism(2)
        stream = stream.key_by(lambda value: check("selector", value)[0]).process(Process())
        stream.print("out").set_parallelism(2)

    return build


PLACES = ["map", "flat map", "partitioner", "filter", "selector", "process", "timer"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("quantum", [2, 5, 64])
@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_a_function_that_raises_in_a_burst_fails_at_the_step_of_the_atomic_replay(
    place, quantum, error
):
    burst = Recording(job(raising_at(place, error)), Policy("round_robin", quantum))
    burst.runtime.schedule = schedule = []
    burst.step(10_000)
    assert state_of(burst) == "failed"
    assert f"{error.__name__}: seven in {place}" in burst.view()["job"]["reason"]

    atomic = Recording(job(raising_at(place, error)), MANUAL)
    picture = atomic.view()
    for action, taken in schedule:
        for _ in range(taken):
            fold(picture, atomic.act(action))
    assert atomic.view() == burst.view() == picture
    assert results(atomic) == results(burst)
    assert atomic.marks == burst.marks


def test_marks_of_a_burst_that_is_taken_back_are_not_shown_twice():
    class Gather:
        def create_accumulator(self):
            return 0

        def add(self, value, accumulator):
            if value[1] == 99:
                raise ValueError("99")
            return accumulator + 1

        def get_result(self, accumulator):
            return accumulator

    def build(env):
        entries = [("k", time) for time in (50, 1, 2, 60, 3, 99)]
        stream = env.from_splits([SplitData("a", entries)], in_order(), "source")
        windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
        stream.key_by(lambda value: value[0]).window(windows).aggregate(Gather()).print("out")

    recording = Recording(job(build), Policy("round_robin", 64))
    recording.step(200)
    steps = [step for step, _, _ in recording.marks]
    assert steps == sorted(steps)
    assert len({(step, kind) for step, kind, _ in recording.marks}) == len(recording.marks)


def test_elements_sent_before_a_selector_raised_are_lost_and_shown_as_lost():
    def selector(value):
        if value == "bad":
            raise ValueError("no key")
        return value

    def build(env):
        stream = env.from_collection([1]).flat_map(lambda value: ["good", "bad"]).name("split")
        stream.key_by(selector).reduce(lambda a, b: a).set_parallelism(2).print("out")

    picture = step_and_fold(Recording(job(build)))
    channels = picture["channels"]
    assert channels["split[0]>reduce[0]"]["taken"] + channels["split[0]>reduce[1]"]["taken"] == 4


class CannotOpen(MapFunction):
    """Opens once, in the first attempt only."""

    opened = 0

    def open(self, runtime_context):
        type(self).opened += 1
        if type(self).opened > 1:
            raise RuntimeError("still locked")

    def map(self, value):
        return value


def test_a_function_that_cannot_be_opened_again_fails_the_job_in_the_end():
    class Stubborn(CannotOpen):
        opened = 0

    recording = Recording(job(lambda env: env.from_collection([1]).map(Stubborn()).print("out")))
    recording.apply({"kind": "fail", "subtask": "out[0]"})
    step_and_fold(recording)
    assert state_of(recording) == "failed"
    assert "RuntimeError: still locked" in recording.view()["job"]["reason"]
    recording.seek(2)
    assert state_of(recording) == "restarting"


def test_a_job_whose_function_cannot_be_opened_at_all_is_refused():
    class Never(CannotOpen):
        opened = 1

    with pytest.raises(InvalidJob, match="still locked") as refused:
        Recording(job(lambda env: env.from_collection([1]).map(Never()).print("out")))
    assert refused.value.place.startswith("map[0], test_recovery.py, line ")


class Leaving(KeyedProcessFunction):
    """Calls `sys.exit()` in the method named `place`."""

    def __init__(self, place: str) -> None:
        self.place = place

    def leave(self, place: str) -> None:
        if place == self.place:
            sys.exit(f"leaving in {place}")

    def open(self, runtime_context):
        self.leave("open")

    def process_element(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(5)
        self.leave("process_element")

    def on_timer(self, timestamp, ctx):
        self.leave("on_timer")


@pytest.mark.parametrize("place", ["process_element", "on_timer"])
def test_leaving_the_process_is_a_failure_of_the_subtask(place):
    def build(env):
        waits = env.from_splits(
            [SplitData("a", [1, Wait(10)])], WatermarkStrategy.no_watermarks(), "source"
        )
        waits.key_by(str).process(Leaving(place)).print("out")

    recording = run_job(job(build))
    assert state_of(recording) == "failed"
    assert f"SystemExit: leaving in {place}" in recording.view()["job"]["reason"]


def test_leaving_the_process_when_opened_is_refused():
    with pytest.raises(InvalidJob, match="SystemExit: leaving in open"):
        Recording(
            job(lambda env: env.from_collection([1]).key_by(str).process(Leaving("open")).print())
        )


def test_memory_addresses_in_a_message_are_left_out():
    def raises(value):
        raise ValueError(f"odd thing {object()}")

    recording = run_job(job(lambda env: env.from_collection([1]).map(raises).print("out")))
    assert "ValueError: odd thing <object object>" in recording.view()["job"]["reason"]


def test_a_restart_tells_from_which_checkpoint():
    recording = Recording(job(tired))
    recording.apply({"kind": "checkpoint"})
    recording.run_until({"kind": "checkpoint_completes"}, 60)
    recording.apply({"kind": "fail", "subtask": "out[0]"})
    (step,) = recording.step(1, events=True)
    assert [event for event in step.events if isinstance(event, Restored)] == [
        Restored(1, 2, "failure", 0)
    ]
