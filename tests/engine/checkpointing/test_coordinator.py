"""The coordinator: one checkpoint at a time, aborted by a failure, restored from by a restart."""

from __future__ import annotations

import pytest

from engine import ImpossibleAction, Recording
from engine.testing import run_to_idle

from ..jobs import set_backend
from ..small import MANUAL, act, job, possible, results, state_of

CHECKPOINT = {"kind": "checkpoint"}


def simple(env):
    env.from_collection([1, 2, 3]).print("out")


def count(env):
    stream = env.from_collection(["a", "b", "a", "c", "a", "b"]).map(lambda word: (word, 1))
    stream.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).name(
        "count"
    ).print("out")


def complete_a_checkpoint(recording: Recording) -> Recording:
    recording.apply(CHECKPOINT)
    assert recording.run_until({"kind": "checkpoint_completes"}, 500)
    return recording


def test_there_is_one_checkpoint_at_a_time():
    recording = Recording(job(simple), MANUAL)
    recording.apply(CHECKPOINT)
    with pytest.raises(ImpossibleAction, match="checkpoint 1 is still in progress"):
        recording.apply(CHECKPOINT)
    offered = {command["kind"]: command for command in recording.commands()}
    assert not offered["checkpoint"]["possible"]
    assert not offered["rescale"]["possible"]
    assert offered["fail"]["possible"]


def test_messages_are_delivered_by_actions_of_their_own():
    recording = Recording(job(simple), MANUAL)
    recording.apply(CHECKPOINT)
    assert possible(recording) == ["read:source[0]/collection", "trigger:source[0]"]
    act(recording, "trigger:source[0]")
    assert recording.view()["messages"] == [
        {"to": "coordinator", "sender": "source[0]", "kind": "acknowledge", "checkpoint": 1}
    ]
    act(recording, "take:source[0]>out[0]", "ack:out[0]", "ack:source[0]")
    assert recording.view()["last_completed"] == 1


def test_a_failure_aborts_the_checkpoint_and_loses_its_messages():
    recording = Recording(job(simple), MANUAL)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]")
    recording.apply({"kind": "fail", "subtask": "out[0]"})
    view = recording.view()
    assert view["checkpoints"]["1"]["status"] == "aborted"
    assert view["checkpoints"]["1"]["reason"] == "out[0] failed"
    assert view["messages"] == []
    assert [mark[1:] for mark in recording.marks][1:] == [
        ["failed", "out[0]"],
        ["checkpoint_aborted", "1"],
    ]
    assert possible(recording) == ["restart"]


def test_after_an_abort_another_checkpoint_can_complete():
    recording = Recording(job(simple))
    recording.apply(CHECKPOINT)
    recording.apply({"kind": "fail", "subtask": "out[0]"})
    recording.step(1)
    complete_a_checkpoint(recording)
    assert recording.view()["last_completed"] == 2


def test_without_a_checkpoint_a_job_restarts_from_the_beginning():
    recording = Recording(job(simple))
    recording.step(4)
    recording.apply({"kind": "fail", "subtask": "source[0]"})
    assert "no checkpoint" in recording.possible()[0]["label"]
    run_to_idle(recording)
    assert results(recording) == [1, 2, 1, 2, 3]


def test_a_restart_takes_state_and_offsets_from_the_last_completed_checkpoint():
    recording = Recording(job(count))
    recording.step(8)
    complete_a_checkpoint(recording)
    recording.step(6)
    before = results(recording)
    recording.apply({"kind": "fail", "subtask": "count[0]"})
    run_to_idle(recording)
    # A plain sink shows what was written twice; the counts themselves are right.
    undisturbed = [("a", 1), ("b", 1), ("a", 2), ("c", 1), ("a", 3), ("b", 2)]
    assert before == undisturbed[: len(before)]
    assert (
        results(recording)[len(before) :] == undisturbed[-len(results(recording)) + len(before) :]
    )
    assert len(undisturbed) < len(results(recording)) < len(undisturbed) + len(before)


def test_nothing_is_offered_once_the_job_has_finished():
    recording = run_to_idle(Recording(job(simple)))
    for command in (CHECKPOINT, {"kind": "fail", "subtask": "out[0]"}):
        with pytest.raises(ImpossibleAction, match="the job has finished"):
            recording.apply(command)
    assert possible(recording) == []


def periodic(env):
    env.enable_checkpointing(100)
    simple(env)


def test_a_periodic_checkpoint_is_triggered_by_the_clock():
    recording = Recording(job(periodic), MANUAL)
    act(recording, "clock")
    assert recording.view()["time"] == 100_000
    assert possible(recording) == ["read:source[0]/collection", "timer:coordinator"]
    act(recording, "timer:coordinator")
    assert recording.view()["checkpoints"]["1"]["kind"] == "checkpoint"
    act(recording, "clock")
    assert recording.view()["time"] == 200_000


def test_a_periodic_checkpoint_is_left_out_while_another_is_in_progress():
    recording = Recording(job(periodic), MANUAL)
    act(recording, "clock", "timer:coordinator", "clock", "timer:coordinator")
    assert list(recording.view()["checkpoints"]) == ["1"]


def test_no_periodic_checkpoint_starts_between_a_savepoint_and_the_restart():
    recording = Recording(job(periodic), MANUAL)
    act(recording, "clock")
    recording.apply({"kind": "rescale", "operator": "out", "parallelism": 2})
    act(recording, "trigger:source[0]", "take:source[0]>out[0]", "ack:source[0]", "ack:out[0]")
    act(recording, "timer:coordinator", "restart")
    assert list(recording.view()["checkpoints"]) == ["1"]
    recording.apply(CHECKPOINT)  # nothing is left pending that would forbid it


def test_the_clock_stops_with_the_job():
    recording = Recording(job(periodic), MANUAL)
    act(recording, "clock", *["read:source[0]/collection"] * 4, *["take:source[0]>out[0]"] * 5)
    assert state_of(recording) == "finished"
    assert possible(recording) == []


def all_of(recording, *kinds):
    """Take every action of these kinds until there is none."""
    while actions := [one for one in possible(recording) if one.startswith(kinds)]:
        act(recording, actions[0])


def test_what_an_incremental_checkpoint_refers_to_and_what_of_it_is_new():
    def counting(env):
        set_backend(env, "lsm")
        words = [f"word {number % 40}" for number in range(200)]
        stream = env.from_collection(words).map(lambda word: (word, 1))
        stream.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).name(
            "count"
        ).print("out")

    recording = Recording(job(counting), MANUAL)
    for reads in (60, 5):
        for _ in range(reads):
            act(recording, "read:source[0]/collection")
            all_of(recording, "take:")
        recording.apply(CHECKPOINT)
        all_of(recording, "trigger:", "take:", "ack:")
    first, second = recording.view()["checkpoints"].values()
    assert first["written"] == first["bytes"]
    assert 0 < second["written"] < second["bytes"] / 4
    part = second["subtasks"]["count[0]"]
    shared = part["bytes"] - part["written"]
    assert shared == first["subtasks"]["count[0]"]["bytes"]
    assert second["bytes"] - second["written"] == shared, "of the others everything is new"
