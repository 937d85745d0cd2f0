"""Rescaling by savepoint and restart: state follows its key group, splits follow their subtask."""

from __future__ import annotations

import pytest

from engine import ImpossibleAction, Policy, Recording
from engine.events import RescaleAborted, Restored
from engine.operators.split import SplitData
from engine.state.key_groups import assign_to_key_group, operator_index_for_key_group
from engine.testing import keyed_state, run_job, run_to_idle

from ..small import MANUAL, act, in_order, job, possible, reasons, results, state_of

WORDS = [f"word {number % 17}" for number in range(60)]


def count(env):
    splits = [SplitData(f"p{i}", [(word, i) for word in WORDS[i::3]]) for i in range(3)]
    stream = env.from_splits(splits, in_order(), "source").set_parallelism(2)
    keyed = stream.map(lambda pair: (pair[0], 1)).key_by(lambda pair: pair[0])
    keyed.reduce(lambda a, b: (a[0], a[1] + b[1])).name("count").set_parallelism(2).print("out")


def rescaled(recording: Recording, operator: str, parallelism: int) -> Recording:
    recording.apply({"kind": "rescale", "operator": operator, "parallelism": parallelism})
    while state_of(recording) == "stopping":
        assert recording.step(1, events=True)
    return recording


@pytest.mark.parametrize(
    ("operator", "parallelism"),
    [
        ("source", 1),
        ("source", 3),
        ("source", 5),
        ("map", 2),
        ("map", 5),
        ("count", 1),
        ("count", 5),
        ("out", 3),
    ],
)
def test_counts_are_the_same_after_rescaling_any_operator(operator, parallelism):
    undisturbed = run_job(job(count))
    recording = Recording(job(count), Policy("random", 4), 3)
    recording.step(60)
    rescaled(recording, operator, parallelism)
    run_to_idle(recording)
    assert state_of(recording) == "finished"
    assert keyed_state(recording) == keyed_state(undisturbed)
    # stop with savepoint writes nothing twice
    assert sorted(results(recording)) == sorted(results(undisturbed))


@pytest.mark.parametrize("parallelism", [1, 3, 5, 128])
def test_each_row_is_at_the_owner_of_its_key_group(parallelism):
    recording = Recording(job(count))
    recording.step(120)
    rescaled(recording, "count", parallelism)
    rows = 0
    for subtask in recording.view()["subtasks"].values():
        for row in subtask["state"].values():
            group = assign_to_key_group(row["key"], 128)
            assert row["key_group"] == group
            assert subtask["index"] == operator_index_for_key_group(128, parallelism, group)
            first, last = subtask["key_groups"]
            assert first <= group <= last
            rows += 1
    assert rows > 5


def test_it_says_how_many_key_groups_moved():
    recording = Recording(job(count))
    recording.step(20)
    recording.apply({"kind": "rescale", "operator": "count", "parallelism": 4})
    restored = [
        event
        for step in recording.step(200, events=True)
        for event in step.events
        if isinstance(event, Restored)
    ]
    # subtask 0 had 0..63 and keeps 0..31; subtask 1 had 64..127 and gets 32..63
    assert restored == [Restored(1, 2, "rescale", 96)]


def test_splits_of_a_rescaled_source_go_on_where_they_were():
    recording = Recording(job(count))
    recording.step(30)
    before = offsets(recording)
    rescaled(recording, "source", 3)
    after = offsets(recording)
    assert all(after[name] >= offset > 0 for name, offset in before.items())
    assert set(recording.view()["subtasks"]["source[2]"]["splits"]) == {"source[2]/p2"}


def offsets(recording: Recording) -> dict[str, int]:
    return {
        split["name"]: split["offset"]
        for subtask in recording.view()["subtasks"].values()
        for split in subtask["splits"].values()
    }


def test_up_and_down_again_keeps_everything():
    recording = Recording(job(count))
    for parallelism in (5, 1, 3, 2):
        recording.step(15)
        rescaled(recording, "count", parallelism)
    run_to_idle(recording)
    assert keyed_state(recording) == keyed_state(run_job(job(count)))
    assert recording.view()["job"]["attempt"] == 5


def one(env):
    env.from_splits([SplitData("a", [("k", 1), ("k", 2)])], in_order(), "source").print("out")


RESCALE = {"kind": "rescale", "operator": "out", "parallelism": 2}
READ = "read:source[0]/a"


def test_a_source_reads_nothing_after_the_barrier_of_the_savepoint():
    recording = Recording(job(one), MANUAL)
    recording.apply(RESCALE)
    assert READ in possible(recording)
    act(recording, "trigger:source[0]")
    assert reasons(recording) == {READ: "its source has stopped with a savepoint"}


def test_a_source_emits_no_watermark_after_the_barrier_of_the_savepoint():
    def build(env):
        env.get_config().set_auto_watermark_interval(10)
        one(env)

    recording = act(Recording(job(build), MANUAL), READ, "clock")
    recording.apply(RESCALE)
    act(recording, "trigger:source[0]")
    assert reasons(recording)["timer:source[0]"] == "its source has stopped with a savepoint"
    act(recording, *["take:source[0]>out[0]"] * 2, "ack:source[0]", "ack:out[0]", "restart")
    act(recording, "clock", "timer:source[0]")  # it goes on after the restart


def aborted(recording: Recording, steps: list) -> list[RescaleAborted]:
    return [e for step in steps for e in step.events if isinstance(e, RescaleAborted)]


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_a_failure_gives_a_rescale_up(after):
    recording = Recording(job(one))
    recording.apply(RESCALE)
    recording.step(after)
    step = recording.apply({"kind": "fail", "subtask": "source[0]"})
    assert aborted(recording, [step]) == [RescaleAborted("out", "source[0] failed")]
    run_to_idle(recording)
    assert list(recording.view()["subtasks"]) == ["source[0]", "out[0]"]
    assert state_of(recording) == "finished"


def test_a_job_that_finishes_first_gives_a_rescale_up():
    recording = act(Recording(job(one), MANUAL), *[READ] * 3)
    recording.apply(RESCALE)
    steps = [recording.act("take:source[0]>out[0]") for _ in range(6)]
    assert state_of(recording) == "finished"
    assert aborted(recording, steps) == [RescaleAborted("out", "the job has finished")]


def fixed(env):
    stream = env.from_collection([1]).map(lambda value: value).set_max_parallelism(4)
    stream.forward().filter(bool).name("kept").print("out")


@pytest.mark.parametrize(
    ("operator", "parallelism", "reason"),
    [
        ("nobody", 2, "there is no operator 'nobody'; the job has source, map, kept, out"),
        ("map", 0, "the parallelism of map must be from 1 to its max parallelism 4"),
        ("map", 5, "the parallelism of map must be from 1 to its max parallelism 4"),
        ("map", 1, "map has parallelism 1 already"),
        ("map", 2, "the forward edge map -> kept needs equal parallelism"),
    ],
)
def test_a_rescale_that_is_not_possible_says_why(operator, parallelism, reason):
    recording = Recording(job(fixed))
    with pytest.raises(ImpossibleAction) as refused:
        recording.apply({"kind": "rescale", "operator": operator, "parallelism": parallelism})
    assert reason in str(refused.value)
    assert recording.position == 0
