"""Seek, rewind, fork, logs, breakpoints, and what is caught when a function is not deterministic."""

from __future__ import annotations

import itertools
import json
import threading

import pytest

from engine import (
    EngineBug,
    ImpossibleAction,
    InvalidJob,
    LearnerMistake,
    Policy,
    Recording,
    WouldBranch,
)
from engine import keyframes as keyframes_module
from engine.datastream import (
    KeyedProcessFunction,
    MapFunction,
    MapStateDescriptor,
    Time,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
)
from engine.log import Log
from engine.operators.split import SetIdle, SplitData
from engine.testing import run_to_idle

from .small import MANUAL, act, in_order, job, possible, results, state_of

READ, TAKE = "read:source[0]/collection", "take:source[0]>out[0]"


def simple(env):
    env.from_collection([1, 2, 3]).print("out")


# The log


def test_steps_by_the_policy_are_one_entry():
    recording = Recording(job(simple))
    recording.step(2)
    recording.step(1, events=True)
    recording.run_until({"kind": "step", "step": 4}, 10)
    assert recording.log == (["policy", 4],)


def test_actions_and_commands_are_entries_of_their_own():
    recording = Recording(job(simple))
    recording.step(1)
    recording.act(TAKE)
    recording.apply({"kind": "checkpoint"})
    recording.step(2)
    assert recording.log == (
        ["policy", 1], ["action", TAKE], ["command", {"kind": "checkpoint"}], ["policy", 2],
    )  # fmt: skip


def test_the_step_after_the_last_is_not_logged():
    recording = run_to_idle(Recording(job(simple)))
    before = recording.log
    assert recording.step(5) == []
    assert recording.log == before


def test_a_log_finds_the_entry_of_a_step():
    log = Log([["policy", 3], ["action", "a"], ["policy", 2], ["policy", 4], ["policy", 0]])
    assert log.entries == [["policy", 3], ["action", "a"], ["policy", 6]]
    assert [log.at(step) for step in (0, 2, 3, 4, 9)] == [
        ("policy", 3, 3), ("policy", 3, 1), ("action", "a", 1), ("policy", 6, 6), ("policy", 6, 1),
    ]  # fmt: skip
    assert log.prefix(5) == [["policy", 3], ["action", "a"], ["policy", 1]]
    assert log.prefix(3) == [["policy", 3]]


@pytest.mark.parametrize("entry", [["policy", -1], ["policy", True], ["policy", "3"], ["dance", 1]])
def test_a_log_entry_that_makes_no_sense_is_refused(entry):
    with pytest.raises(LearnerMistake) as refused:
        Log([entry])
    assert refused.value.code == "log"


def test_a_saved_log_is_replayed_in_slices():
    recording = Recording(job(simple))
    recording.step(3)
    recording.act(possible(recording)[-1])
    recording.apply({"kind": "fail", "subtask": "out[0]"})
    recording.step(20)

    saved = json.loads(json.dumps(recording.log))
    rebuilt = Recording(job(simple), log=saved)
    assert (rebuilt.position, rebuilt.head) == (0, recording.head)
    slices = 1
    while not rebuilt.replay_slice(4):
        slices += 1
    assert slices == -(-recording.head // 4)
    assert rebuilt.view() == recording.view()
    assert results(rebuilt) == results(recording)


def test_a_log_that_goes_on_where_the_job_does_not_is_a_bug():
    with pytest.raises(EngineBug, match="the job does not"):
        Recording(job(simple), log=[["policy", 1000]]).step(1000)


# Going back and acting


def test_acting_in_the_past_would_branch_and_a_fork_may():
    recording = Recording(job(simple))
    recording.step(6)
    recording.seek(2)
    with pytest.raises(WouldBranch):
        recording.apply({"kind": "checkpoint"})
    assert (recording.position, recording.head) == (2, 6)

    fork = recording.fork()
    fork.apply({"kind": "checkpoint"})
    assert (fork.position, fork.head) == (3, 3)
    assert recording.view()["checkpoints"] == {}


def test_the_choice_that_the_recorded_future_makes_is_no_branch():
    recording = Recording(job(simple))
    recording.act(READ)
    recording.apply({"kind": "checkpoint"})
    recording.step(2)
    log = recording.log
    recording.seek(0)
    recording.act(READ)
    recording.apply({"kind": "checkpoint"})
    recording.act(recording.next_action())
    assert recording.position == 3
    assert recording.log == log


@pytest.mark.parametrize("step", [-1, 4, "1", True, 1.0, None])
def test_there_is_no_step_beyond_the_run(step):
    recording = Recording(job(simple))
    recording.step(3)
    with pytest.raises(LearnerMistake, match="from 0 to 3"):
        recording.seek(step)


def test_the_next_action_is_the_one_that_is_taken():
    recording = Recording(job(simple), Policy("random"), seed=5)
    for _ in range(40):
        expected = recording.next_action()
        assert expected == recording.next_action(), "asking changes nothing"
        steps = recording.step(1, events=True)
        assert [step.action for step in steps] == ([expected] if expected else [])


def test_a_fork_shows_what_sinks_of_a_later_parallelism_wrote():
    recording = Recording(job(lambda env: env.from_collection(range(100)).rebalance().print("out")))
    recording._interval = 20
    recording.step(10)
    recording.apply({"kind": "rescale", "operator": "out", "parallelism": 3})
    recording.step(150)
    fork = recording.fork()
    assert fork.view() == recording.view()
    assert sorted(results(fork)) == sorted(results(recording))


def test_impossible_and_unknown_actions_say_why():
    recording = Recording(job(simple), MANUAL)
    with pytest.raises(ImpossibleAction, match="There is no action 'dance'"):
        recording.act("dance")
    with pytest.raises(ImpossibleAction, match="there is nothing to take"):
        recording.act(TAKE)
    with pytest.raises(LearnerMistake, match="stepped by hand"):
        recording.step(1)
    assert recording.position == 0
    assert recording.log == ()


@pytest.mark.parametrize(
    "command",
    [None, [], "checkpoint", {}, {"kind": "dance"}, {"kind": []}, {"kind": {}}, {"kind": "fail"},
     {"kind": "fail", "subtask": 3}, {"kind": "checkpoint", "now": True},
     {"kind": "rescale", "operator": "out", "parallelism": True},
     {"kind": "rescale", "operator": "out", "parallelism": "2"}],
    ids=str,
)  # fmt: skip
def test_a_malformed_command_is_refused(command):
    recording = Recording(job(simple))
    with pytest.raises(LearnerMistake):
        recording.apply(command)
    assert recording.position == 0


# What functions keep


class Keeps(KeyedProcessFunction):
    """Keeps handles in nested attributes, a list, and the context of the last call."""

    def __init__(self):
        self.seen = []

    def open(self, runtime_context):
        self.handles = {"count": [runtime_context.get_state(ValueStateDescriptor("count"))]}
        self.words = runtime_context.get_map_state(MapStateDescriptor("words"))

    def process_element(self, value, ctx):
        self.last = ctx
        self.seen.append(value)
        count = self.handles["count"][0]
        count.update((count.value() or 0) + 1)
        self.words[value] = len(self.seen)
        yield (self.last.get_current_key(), count.value(), len(self.seen))


def keeps(env):
    stream = env.from_collection([f"w{number % 5}" for number in range(40)])
    stream.key_by(lambda word: word).process(Keeps()).set_parallelism(2).print("out")


def views(recording: Recording, steps: int) -> list[str]:
    found = [json.dumps(recording.view())]
    while recording.position < steps and recording.step(1) is not None:
        if len(found) > recording.position:
            break
        found.append(json.dumps(recording.view()))
    return found


def test_attributes_and_handles_are_right_after_seeking_over_a_restart():
    recording = Recording(job(keeps))
    recording._interval = 10
    before = views(recording, 40)
    recording.apply({"kind": "fail", "subtask": "process[0]"})
    recording.step(60)
    last, out = json.dumps(recording.view()), results(recording)
    for step in (3, 35, 17):
        recording.seek(step)
        assert json.dumps(recording.view()) == before[step]
        recording.seek(recording.head)
        assert json.dumps(recording.view()) == last
        assert results(recording) == out
    recording.step(200)
    fresh = Recording(job(keeps), log=recording.log)
    fresh.seek(fresh.head)
    assert results(fresh) == results(recording)


class Counter:
    def __init__(self):
        self.count = 0

    def next(self, value):
        self.count += 1
        return self.count


class Slotted:
    __slots__ = ("count",)

    def __init__(self):
        self.count = 0

    def map(self, value):
        self.count += 1
        return self.count


class Locked(MapFunction):
    """Cannot be copied from the beginning."""

    def __init__(self):
        self.lock = threading.Lock()
        self.count = 0

    def map(self, value):
        self.count += 1
        return self.count


class LazilyLocked(MapFunction):
    """Cannot be copied once it has seen a record."""

    def __init__(self):
        self.numbers = None

    def map(self, value):
        self.numbers = self.numbers or itertools.chain(x for x in range(1, 1000))
        return next(self.numbers)


@pytest.mark.parametrize(
    ("function", "replay_only"),
    [
        (lambda: Counter().next, False),
        (Slotted, True),
        (Locked, True),
        (LazilyLocked, True),
    ],
    ids=["bound method", "slots", "lock", "lazy generator"],
)
def test_seeking_works_whatever_a_function_keeps(function, replay_only):
    recording = Recording(
        job(lambda env: env.from_collection(range(60)).map(function()).print("out"))
    )
    recording._interval = 20
    recording.step(150)
    before, out = json.dumps(recording.view()), results(recording)
    assert recording.replay_only == replay_only
    recording.seek(70)
    assert results(recording) == out[: len(results(recording))]
    fork = recording.fork()
    fork.step(80)
    assert results(fork) == out
    recording.seek(recording.head)
    assert json.dumps(recording.view()) == before
    assert results(recording) == out == list(range(1, len(out) + 1))


def test_a_replay_only_run_survives_a_function_that_raises_in_a_burst():
    class Raises(Locked):
        def map(self, value):
            if value == 30:
                raise ValueError("thirty")
            return super().map(value)

    raising = job(lambda env: env.from_collection(range(60)).map(Raises()).print("out"))
    recording = run_to_idle(Recording(raising, Policy("round_robin", 16)))
    assert state_of(recording) == "failed"
    again = Recording(raising, Policy("round_robin", 16), log=recording.log)
    again.seek(again.head)
    assert again.view() == recording.view()
    assert results(again) == results(recording) != []


# Functions that are not deterministic


@pytest.mark.parametrize(("every", "place"), [(47, "guilty[0]"), (50, "out[0]")])
def test_a_function_that_depends_on_something_outside_is_caught(monkeypatch, every, place):
    """The operator named is the first at which the difference shows: itself while its output is queued, else the sink."""
    monkeypatch.setattr("engine.digest.EVERY", every)
    outside = itertools.count()

    def build(env):
        stream = env.from_collection(range(100)).map(lambda value: value).name("innocent")
        stream.map(lambda value: next(outside)).name("guilty").print("out")

    recording = Recording(job(build))
    recording.step(200)
    recording.seek(10)
    with pytest.raises(InvalidJob) as caught:
        recording.seek(200)
    assert caught.value.code == "non_deterministic_function"
    assert caught.value.place == place
    assert f"step {every}" in str(caught.value)


def test_digests_of_an_earlier_execution_are_compared(monkeypatch):
    monkeypatch.setattr("engine.digest.EVERY", 20)
    first = Recording(job(simple_counting(1)))
    first.step(80)
    second = Recording(job(simple_counting(1)), log=first.log)
    second.expected = first.digests
    second.seek(second.head)
    changed = Recording(job(simple_counting(2)), log=first.log)
    changed.expected = first.digests
    with pytest.raises(InvalidJob, match="not deterministic"):
        changed.seek(changed.head)


def simple_counting(factor):
    return lambda env: env.from_collection(range(50)).map(lambda value: value * factor).print("out")


# Run until


def windows(env):
    entries = [("k", 1), ("k", 12), ("k", 3), ("k", 25)]
    stream = env.from_splits([SplitData("a", entries)], in_order(), "source")
    keyed = stream.key_by(lambda value: value[0])
    windowed = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    windowed.aggregate(Count()).name("window").print("out")


class Count:
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator


@pytest.mark.parametrize(
    ("breakpoint", "matched"),
    [
        ({"kind": "window_fires"}, "a window of window[0] fired"),
        ({"kind": "window_fires", "subtask": "window[0]"}, "a window of window[0] fired"),
        ({"kind": "window_fires", "subtask": "window[1]"}, None),
        ({"kind": "late_record"}, "a record came late to window[0]"),
        ({"kind": "watermark_passes", "timestamp": 11}, "the watermark of window[0] passed"),
        ({"kind": "checkpoint_completes"}, None),
        ({"kind": "step", "step": 7}, "step 7 is reached"),
        ({"kind": "end"}, None),
    ],
    ids=str,
)
def test_run_until(breakpoint, matched):
    recording = Recording(job(windows))
    assert recording.run_until(breakpoint, 500) == matched
    if matched is None:
        assert state_of(recording) == "finished"
    else:
        recording.seek(recording.position - 1)
        assert recording.run_until(breakpoint, 1) == matched, "it stopped at the very step"


def test_a_watermark_passes_a_time_by_reaching_it():
    recording, again = Recording(job(windows)), Recording(job(windows))
    assert recording.run_until({"kind": "watermark_passes", "timestamp": 11}, 500)
    reached = recording.view()["subtasks"]["window[0]"]["watermark"]
    assert again.run_until({"kind": "watermark_passes", "timestamp": reached}, 500)
    assert again.position == recording.position


def test_run_until_has_a_limit_and_what_holds_already_takes_no_step():
    recording = Recording(job(windows))
    assert recording.run_until({"kind": "window_fires"}, 3) is None
    assert recording.position == 3
    assert recording.run_until({"kind": "step", "step": 2}, 10) == "step 3 is reached"
    assert recording.position == 3


@pytest.mark.parametrize(
    "breakpoint",
    [None, {}, {"kind": []}, {"kind": "dance"}, {"kind": "step"}, {"kind": "step", "step": True},
     {"kind": "watermark_passes"}, {"kind": "window_fires", "subtask": 1}, {"kind": "end", "x": 1}],
    ids=str,
)  # fmt: skip
def test_a_malformed_breakpoint_is_refused(breakpoint):
    with pytest.raises(LearnerMistake):
        Recording(job(windows)).run_until(breakpoint, 10)


def test_keyframes_stand_further_apart_with_more_state():
    def build(env):
        stream = env.from_collection(range(6000)).key_by(lambda value: value)
        stream.reduce(lambda a, b: a).print("out")

    recording = run_to_idle(Recording(job(build)))
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(recording._frames)]
    assert gaps[0] == keyframes_module.FIRST_INTERVAL
    assert gaps == sorted(gaps)
    assert gaps[-1] > 2 * gaps[0]


def test_actions_possible_and_impossible_are_told_apart():
    recording = act(Recording(job(simple), MANUAL), READ)
    (read, take) = recording.possible()
    assert (read["kind"], read["split"], read["label"]) == (
        "read", "source[0]/collection", "Read collection at offset 1 into source[0]",
    )  # fmt: skip
    assert (take["kind"], take["channel"], take["element"]["text"], take["label"]) == (
        "take", "source[0]>out[0]", "1", "Deliver a record source[0] → out[0]",
    )  # fmt: skip
    assert recording.impossible() == []
    act(recording, READ, READ)
    assert recording.possible()[0]["label"] == "End collection at source[0]"


def test_every_kind_of_element_has_a_label_of_its_own():
    def build(env):
        entries = [("a", 5), SetIdle(), SetIdle(False)]
        env.from_splits([SplitData("s", entries)], in_order(), "source").print("out")

    recording = act(Recording(job(build), MANUAL), *["read:source[0]/s"] * 2)
    recording.apply({"kind": "checkpoint"})
    act(recording, "trigger:source[0]", *["read:source[0]/s"] * 2)
    labels = []
    while TAKE in possible(recording):
        (label,) = [held["label"] for held in recording.possible() if held["id"] == TAKE]
        labels.append(label.removeprefix("Deliver ").removesuffix(" source[0] → out[0]"))
        act(recording, TAKE)
    assert labels == [
        "a record", "a watermark", "the status idle", "barrier 1", "the status active", "a watermark",
        "the end of input",
    ]  # fmt: skip
