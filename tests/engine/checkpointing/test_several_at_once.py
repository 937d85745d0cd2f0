"""Several checkpoints in progress at once: one that ends does nothing to the others but what Flink does to them."""

from __future__ import annotations

import pytest

from engine import Recording, fold
from engine.checkpointing.barrier_handler import CANCELLED, SUBSUMED, Abort, Trigger
from engine.checkpointing.barrier_tracker import BarrierTracker
from engine.fold import KEPT_CHECKPOINTS

from ..small import MANUAL, act, queue, reasons, state_of
from .schemes import CHECKPOINT, OUT, A, B, counting, counts, part_of, read, to_the_end

SOURCES = ("trigger:source[0]", "trigger:source[1]")
STOP = {"kind": "stop", "drain": True}
RESCALE = {"kind": "rescale", "operator": "count", "parallelism": 2}


def refuse(subtask):
    return {"kind": "refuse_upload", "subtask": subtask}


def statuses(recording):
    return {int(n): one["status"] for n, one in recording.view()["checkpoints"].items()}


def pass_on(recording):
    """Barriers of one checkpoint go down to the sink, and every part is answered."""
    act(recording, f"take:{A}", f"take:{B}", f"take:{OUT}")
    act(recording, *(f"ack:{name}" for name in ("source[0]", "source[1]", "count[0]", "out[0]")))


@pytest.mark.parametrize("command", [STOP, RESCALE])
def test_a_job_does_not_stop_with_a_checkpoint_that_was_in_progress_before_its_savepoint(command):
    recording = Recording(counting(max_concurrent=2), MANUAL)
    recording.apply(CHECKPOINT)
    recording.apply(command)
    act(recording, *SOURCES)
    assert queue(recording, A) == ["barrier"], "the end of event time belongs to the savepoint"
    assert "read:source[0]/a" in [one["id"] for one in recording.possible()]
    pass_on(recording)
    assert statuses(recording) == {1: "completed", 2: "triggered"}
    assert state_of(recording) == "stopping"
    act(recording, *SOURCES)
    while state_of(recording) == "stopping" and "restart" not in str(recording.possible()):
        act(recording, recording.possible()[0]["id"])
    assert statuses(recording) == {1: "completed", 2: "completed"}
    if command is RESCALE:
        act(recording, "restart")
        assert recording.marks[-1][1:] == ["rescaled", "2"]
        assert counts(to_the_end(recording)) == {"k": 4}
    else:
        assert recording.view()["job"]["reason"] == "drained with savepoint 2"


def test_a_job_goes_on_stopping_where_only_an_older_checkpoint_is_given_up():
    recording = Recording(counting(max_concurrent=2, tolerated_failures=1), MANUAL)
    recording.apply(refuse("source[0]"))
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]")
    recording.apply(STOP)
    act(recording, "ack:source[0]")
    assert statuses(recording) == {1: "aborted", 2: "triggered"}
    assert state_of(recording) == "stopping"
    act(recording, "trigger:source[0]", *["trigger:source[1]"] * 2)
    to_the_end(recording)
    assert recording.view()["job"]["reason"] == "drained with savepoint 2"


@pytest.mark.parametrize(
    ("scheme", "older"), [("aligned", "completed"), ("at_least_once", "aborted")]
)
def test_a_newer_checkpoint_that_is_given_up_leaves_no_older_one_behind(scheme, older):
    """The news of it can be quicker than what is under way of the older one, which aligns all the same.

    A tracker gives the older one up as well, and says so (Flink's `CheckpointBarrierTracker`).
    """
    recording = Recording(counting(scheme=scheme, max_concurrent=2, tolerated_failures=1), MANUAL)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]")
    recording.apply(refuse("source[0]"))
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", *["ack:source[0]"] * 2)
    assert statuses(recording) == {1: "triggered", 2: "aborted"}
    act(recording, *(f"abort:{name}" for name in ("source[0]", "source[1]", "count[0]", "out[0]")))
    act(recording, "trigger:source[1]")
    assert queue(recording, B) == ["barrier"]
    act(recording, "trigger:source[1]")
    assert queue(recording, B) == ["barrier", "cancel"]
    to_the_end(recording)
    assert statuses(recording) == {1: older, 2: "aborted"}
    assert recording.view()["job"]["attempt"] == 1, "only the refusal counts as a failure"
    assert not reasons(recording)


def test_barriers_of_a_checkpoint_known_to_be_given_up_go_no_further():
    recording = Recording(counting(timeout=100, tolerated_failures=1), MANUAL)
    recording.apply(CHECKPOINT)
    act(recording, *SOURCES, "clock", "expire", "abort:count[0]")
    assert queue(recording, OUT) == []
    act(recording, f"take:{A}")
    assert queue(recording, OUT) == ["cancel"]
    assert not recording.view()["subtasks"]["count[0]"]["inputs"][A]["blocked"]
    assert part_of(recording, "count[0]")["status"] == "dropped"
    act(recording, f"take:{B}")
    assert queue(recording, OUT) == ["cancel"], "it is told once"
    recording.apply(CHECKPOINT)
    to_the_end(recording)
    assert statuses(recording) == {1: "aborted", 2: "completed"}
    assert all(
        subtask.snapshots.given_up <= {1} and subtask.snapshots.seen == 2
        for subtask in recording.runtime.deployment.subtasks.values()
    )


def test_what_is_counted_of_an_older_checkpoint_is_declined_when_a_newer_one_is_cancelled():
    tracker = BarrierTracker(2)
    assert tracker.barrier(0, 1) == []
    assert tracker.cancel(2) == [Abort(1, SUBSUMED), Abort(2, CANCELLED)]
    assert tracker.barrier(1, 1) == [] == tracker.barrier(1, 2)
    assert tracker.barrier(0, 3) == []
    assert tracker.barrier(1, 3) == [Trigger(3, False)]


def test_a_savepoint_is_not_subsumed_and_does_not_hide_a_newer_checkpoint():
    """The savepoint holds all state and takes steps to upload, the checkpoint behind it has nothing new to bring."""
    recording = Recording(counting(max_concurrent=2, upload_bytes=1), MANUAL)
    recording.apply({"kind": "savepoint"})
    recording.apply(CHECKPOINT)
    picture = recording.view()
    older = recording.runtime.coordinator.pending[1]
    recording.runtime.coordinator._complete(  # as though its parts had been uploaded first
        recording.runtime.coordinator.pending[2]
    )
    assert list(recording.runtime.coordinator.pending.values()) == [older]
    recording.runtime.coordinator._complete(older)
    assert recording.runtime.coordinator.storage.latest().checkpoint == 2
    assert picture["last_completed"] is None
    assert recording.view()["last_completed"] == 2


def test_a_checkpoint_in_progress_stays_in_the_picture_however_many_end_meanwhile():
    recording = Recording(counting(max_concurrent=2, tolerated_failures=1000), MANUAL)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", "ack:source[0]")
    picture = recording.view()
    for _ in range(KEPT_CHECKPOINTS + 5):
        fold(picture, recording.apply(refuse("source[0]")))
        fold(picture, recording.apply(CHECKPOINT))
        for action in ("trigger:source[0]", "ack:source[0]"):
            fold(picture, recording.act(action))
    assert picture == recording.view()
    assert len(statuses(recording)) == KEPT_CHECKPOINTS
    to_the_end(recording)
    assert statuses(recording)[1] == "completed"


def test_a_job_that_has_finished_does_not_fail_any_more():
    recording = Recording(counting(1, 1), MANUAL)
    recording.apply(CHECKPOINT)
    act(recording, *SOURCES)
    recording.apply(refuse("out[0]"))
    while state_of(recording) == "running":
        act(recording, next(one["id"] for one in recording.possible() if one["id"][:3] != "ack"))
    to_the_end(recording)
    assert statuses(recording) == {1: "aborted"}
    assert state_of(recording) == "finished"


def test_a_stop_the_world_checkpoint_that_was_given_up_sends_no_barriers():
    recording = Recording(
        counting(scheme="stop_the_world", timeout=100, tolerated_failures=1), MANUAL
    )
    read(recording, 0)
    recording.apply(CHECKPOINT)
    act(recording, *[f"take:{A}"] * 2, f"take:{OUT}")
    act(recording, "clock", "expire", *SOURCES, "trigger:count[0]")
    assert queue(recording, A) == queue(recording, OUT) == []
    assert counts(to_the_end(recording)) == {"k": 4}


def test_one_that_ends_takes_no_other_s_time_to_expire_with_it():
    recording = Recording(counting(max_concurrent=2, timeout=100, tolerated_failures=2), MANUAL)
    recording.apply(refuse("source[0]"))
    recording.apply(CHECKPOINT)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", "ack:source[0]")
    assert statuses(recording) == {1: "aborted", 2: "triggered"}
    act(recording, "clock", "expire")
    assert statuses(recording) == {1: "aborted", 2: "aborted"}
