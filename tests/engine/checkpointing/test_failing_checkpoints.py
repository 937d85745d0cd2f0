"""Checkpoints that fail: expired, refused by the storage, subsumed, and how many of them a job tolerates."""

from __future__ import annotations

import pytest

from engine import ImpossibleAction, Policy, Recording
from engine.checkpointing.failure_reasons import ASYNC_EXCEPTION, EXPIRED, REASONS, SUBSUMED
from engine.datastream import WatermarkStrategy
from engine.datastream.extensions import ScriptedSource, Wait
from engine.testing import run_to_idle

from ..jobs import set_checkpointing
from ..small import MANUAL, act, job, possible, queue, reasons, state_of
from .schemes import CHECKPOINT, OUT, A, B, counting, counts, part_of, read, to_the_end

REFUSE = {"kind": "refuse_upload", "subtask": "count[0]"}


def checkpoint_of(recording, number=1):
    return recording.view()["checkpoints"][str(number)]


def aligning(**settings):
    """Barrier 1 has come from source a, and a record waits behind it; b's barrier has not been sent."""
    recording = Recording(counting(**settings), MANUAL)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", f"take:{A}")
    read(recording, 0)
    assert recording.view()["subtasks"]["count[0]"]["inputs"][A]["blocked"]
    return recording


def test_f38_a_checkpoint_that_expires_is_cancelled_everywhere_and_its_inputs_open():
    """Eight records before the barrier of A, one taken a second, a timeout of 5 s: the barrier would come at 8."""
    recording = Recording(counting(8, 8, buffers=16, timeout=5000, tolerated_failures=1), MANUAL)
    for _ in range(8):
        read(recording, 0)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", "trigger:source[1]", f"take:{B}")
    assert recording.view()["subtasks"]["count[0]"]["inputs"][B]["blocked"]
    act(recording, *[f"take:{A}"] * 5)
    act(recording, "clock", "expire")
    assert checkpoint_of(recording)["failure"] == EXPIRED
    assert state_of(recording) == "running"

    act(recording, "abort:count[0]")
    assert not recording.view()["subtasks"]["count[0]"]["inputs"][B]["blocked"]
    assert part_of(recording, "count[0]")["status"] == "dropped"
    assert queue(recording, OUT)[-1] == "cancel"
    while queue(recording, A):
        act(recording, f"take:{A}" if f"take:{A}" in possible(recording) else f"take:{OUT}")
    assert not recording.view()["subtasks"]["count[0]"]["inputs"][A]["blocked"], (
        "the barrier of a checkpoint that is over blocks nothing"
    )
    assert counts(to_the_end(recording)) == {"k": 16}


def test_f38_unaligned_the_same_checkpoint_is_done_at_once_with_eight_records_in_it():
    recording = Recording(counting(8, 8, buffers=16, scheme="unaligned", timeout=5000), MANUAL)
    for _ in range(8):
        read(recording, 0)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", "trigger:source[1]", f"barrier:{B}", f"barrier:{A}")
    act(recording, f"take:{OUT}")
    for subtask in ("source[0]", "source[1]", "count[0]", "out[0]"):
        act(recording, f"ack:{subtask}")
    assert checkpoint_of(recording)["status"] == "completed"
    assert part_of(recording, "count[0]")["saved"] == 9, "eight records and a watermark"
    assert recording.view()["time"] == 0


def test_an_expired_checkpoint_fails_the_job_where_none_is_tolerated():
    recording = aligning(timeout=100)
    act(recording, "clock", "expire")
    assert state_of(recording) == "restarting"
    assert recording.view()["job"]["reason"] == (
        "the job failed: 1 checkpoint in a row failed, and 0 may: it was not complete within the checkpoint timeout"
    )
    assert counts(to_the_end(recording)) == {"k": 4}


def test_a_cancellation_goes_down_behind_what_was_sent_before_it():
    recording = aligning(timeout=100, tolerated_failures=1)
    act(recording, "clock", "expire", "abort:source[1]")
    assert queue(recording, B) == [], "an older barrier may still have to go first"
    act(recording, "trigger:source[1]")
    assert queue(recording, B) == ["cancel"], "a source that knows of the abort sends no barrier"
    act(recording, f"take:{B}")
    assert not recording.view()["subtasks"]["count[0]"]["inputs"][A]["blocked"]
    assert queue(recording, OUT) == ["cancel"]
    act(recording, f"take:{OUT}", "abort:count[0]", "abort:out[0]", "abort:source[0]")
    assert reasons(recording) == {}


def test_a_snapshot_that_the_storage_refuses_gives_the_checkpoint_up():
    recording = Recording(counting(tolerated_failures=1), MANUAL)
    recording.apply(REFUSE)
    assert recording.view()["subtasks"]["count[0]"]["upload_refused"]
    with pytest.raises(ImpossibleAction, match="refuses the next snapshot of count"):
        recording.apply(REFUSE)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", "trigger:source[1]", f"take:{A}", f"take:{B}")
    part = part_of(recording, "count[0]")
    dropped = recording.view()["step"]
    assert (part["status"], part["dropped"], part["reason"]) == (
        "dropped", dropped, ASYNC_EXCEPTION,
    )  # fmt: skip
    act(recording, "ack:count[0]")
    assert part_of(recording, "count[0]") == part | {"status": "declined"}
    found = checkpoint_of(recording)
    assert (found["status"], found["failure"]) == ("aborted", ASYNC_EXCEPTION)
    assert found["reason"] == "the storage refused a snapshot of count[0]"
    assert not recording.view()["subtasks"]["count[0]"]["upload_refused"]
    # The next one is none the worse for it.
    recording.apply(CHECKPOINT)
    assert recording.view()["checkpoints"]["2"]["status"] == "triggered"


def test_failures_are_counted_in_a_row():
    recording = Recording(counting(40, 40, tolerated_failures=1), Policy("round_robin"))
    for refused in (True, False, True, True):
        assert state_of(recording) == "running"
        if refused:
            recording.apply(REFUSE)
        number = recording.runtime.coordinator.next_id
        recording.apply(CHECKPOINT)
        for _ in range(100):
            if recording.view()["checkpoints"][str(number)]["status"] != "triggered":
                break
            recording.step(1)
    assert state_of(recording) == "restarting"


def test_the_count_of_failures_begins_anew_after_the_job_has_failed():
    recording = Recording(counting(40, 40, tolerated_failures=1), Policy("round_robin"))
    for failures in (2, 1):
        for _ in range(failures):
            assert state_of(recording) == "running"
            recording.apply(REFUSE)
            number = str(recording.runtime.coordinator.next_id)
            recording.apply(CHECKPOINT)
            while recording.view()["checkpoints"][number]["status"] == "triggered":
                recording.step(1)
        if failures == 2:
            assert state_of(recording) == "restarting"
            recording.act("restart")
    assert state_of(recording) == "running", "one failure after the restart is tolerated again"


def test_records_are_held_watermarks_are_not():
    """Behind the barrier of A wait two records and a watermark until that of B has come."""
    recording = aligning()
    read(recording, 0)
    assert len(recording.view()["channels"][A]["queue"]) == 3
    act(recording, "trigger:source[1]", f"take:{B}")
    assert part_of(recording, "count[0]")["held"] == 2


# Several at once


def test_a_newer_checkpoint_that_completes_first_subsumes_the_older():
    recording = Recording(counting(max_concurrent=2), MANUAL)
    recording.apply(CHECKPOINT)
    recording.apply(CHECKPOINT)
    assert [offer["reason"] for offer in recording.commands() if offer["kind"] == "checkpoint"] == [
        "checkpoints 1 and 2 are still in progress"
    ]
    act(recording, *["trigger:source[0]", "trigger:source[1]"] * 2)
    act(recording, f"take:{A}", f"take:{B}", f"take:{A}", f"take:{B}", f"take:{OUT}", f"take:{OUT}")
    # The answers of one subtask to both are under way; one of checkpoint 1 stays under way.
    for subtask in ("source[0]", "source[1]", "count[0]"):
        act(recording, *[f"ack:{subtask}"] * 2)
    assert checkpoint_of(recording, 1)["status"] == "triggered"
    act(recording, "ack:out[0]", "ack:out[0]")
    assert checkpoint_of(recording, 1)["status"] == "completed"
    assert checkpoint_of(recording, 2)["status"] == "completed"


def test_a_checkpoint_whose_answer_is_late_is_subsumed():
    recording = Recording(counting(max_concurrent=2, upload_bytes=10), MANUAL)
    read(recording, 0)
    act(recording, f"take:{A}", f"take:{A}")
    recording.apply(REFUSE)
    recording.apply(CHECKPOINT)
    recording.apply(CHECKPOINT)
    act(recording, *["trigger:source[0]", "trigger:source[1]"] * 2)
    act(recording, f"take:{A}", f"take:{B}", f"take:{A}", f"take:{B}", *[f"take:{OUT}"] * 3)
    act(recording, "upload:count[0]")  # refused: checkpoint 1 has no part of count[0]
    while "upload:count[0]" in possible(recording):
        act(recording, "upload:count[0]")
    recording.runtime.coordinator.messages[:] = [
        held for held in recording.runtime.coordinator.messages if held[0].kind != "decline"
    ]  # the refusal is lost on its way
    while recording.view()["last_completed"] is None:
        act(
            recording, next(one for one in possible(recording) if one.startswith(("ack", "upload")))
        )
    assert checkpoint_of(recording, 2)["status"] == "completed"
    assert checkpoint_of(recording, 1)["failure"] == SUBSUMED


@pytest.mark.parametrize("scheme", ["aligned", "at_least_once"])
def test_several_checkpoints_at_once_complete_and_are_restored(scheme):
    for seed in range(20):
        factory = counting(40, 40, 3, "ab", 2, scheme=scheme, max_concurrent=3)
        recording = Recording(factory, Policy("random"), seed)
        for _ in range(3):
            recording.apply(CHECKPOINT)
            recording.step(4)
        assert recording.run_until({"kind": "checkpoint_completes"}, 500)
        recording.step(seed)
        recording.apply({"kind": "fail", "subtask": f"count[{seed % 2}]"})
        run_to_idle(recording)
        found = counts(recording)
        assert all(count >= 40 for count in found.values())
        if scheme == "aligned":
            assert found == {"a": 40, "b": 40}


# The interval and the pause


def triggered(recording):
    """When each checkpoint was triggered, in ms of the clock."""
    times = []
    known = 0
    while recording.possible():
        recording.step(1)
        newest = recording.runtime.coordinator.next_id - 1
        if newest > known:
            known = newest
            times.append(recording.view()["time"] // 1000)
    return times


def waiting_source(**settings):
    """A source that says nothing for so long that the clock has to move."""

    def build(env):
        set_checkpointing(env, settings)
        source = ScriptedSource({"a": ["k", Wait(1000), "k"]})
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "source")
        stream.map(lambda value: value).name("map").print("out")

    return job(build)


def test_a_periodic_checkpoint_is_triggered_every_interval():
    assert triggered(Recording(waiting_source(interval=300))) == [300, 600, 900]


def test_a_pause_after_each_checkpoint_moves_the_next():
    recording = Recording(waiting_source(interval=200, min_pause=250))
    assert triggered(recording) == [200, 450, 700, 950]


def test_a_pause_after_a_late_checkpoint_does_not_add_a_second_chain_of_triggers():
    """Checkpoint 1 is complete at 500: one is due since 400, and comes 300 after it; then every 200 again."""
    recording = Recording(waiting_source(interval=200, min_pause=300), MANUAL)
    act(recording, "read:source[0]/a", "read:source[0]/a", "take:source[0]>map[0]")
    act(recording, "take:map[0]>out[0]", "clock", "timer:coordinator", "trigger:source[0]")
    act(recording, "clock", "timer:coordinator", "take:source[0]>map[0]", "take:map[0]>out[0]")
    act(recording, "ack:source[0]", "ack:map[0]", "ack:out[0]")
    assert recording.view()["time"] == 400_000
    while recording.possible():
        recording.act(recording.possible()[0]["id"])
    triggered_at = [pending["triggered"] for pending in recording.view()["checkpoints"].values()]
    assert len(triggered_at) == 2, "at 200 and at 700; the source ends at 1000"


def test_one_that_finds_no_room_is_triggered_as_soon_as_there_is():
    recording = Recording(waiting_source(interval=300), MANUAL)
    act(recording, "read:source[0]/a", "read:source[0]/a", "take:source[0]>map[0]")
    act(recording, "take:map[0]>out[0]", "clock", "timer:coordinator", "trigger:source[0]")
    act(recording, "clock", "timer:coordinator")
    assert list(recording.view()["checkpoints"]) == ["1"]
    act(recording, "take:source[0]>map[0]", "take:map[0]>out[0]")
    act(recording, "ack:source[0]", "ack:map[0]", "ack:out[0]")
    assert list(recording.view()["checkpoints"]) == ["1", "2"]


# Uploads


def test_an_upload_takes_steps_while_the_state_goes_on():
    recording = Recording(counting(upload_bytes=5), MANUAL)
    read(recording, 0)
    act(recording, f"take:{A}", f"take:{A}")
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", "trigger:source[1]", f"take:{A}", f"take:{B}")
    size = part_of(recording, "count[0]")["bytes"]
    assert size > 10
    assert "ack:count[0]" not in possible(recording)
    read(recording, 0)
    act(recording, f"take:{A}")
    assert counts(recording) == {"k": 2}
    uploads = 0
    while "upload:count[0]" in possible(recording):
        assert part_of(recording, "count[0]")["left"] == size - 5 * uploads
        act(recording, "upload:count[0]")
        uploads += 1
    assert uploads == -(-size // 5)
    assert part_of(recording, "count[0]")["status"] == "uploaded"
    act(recording, "ack:count[0]")
    (pending,) = recording.runtime.coordinator.pending.values()
    assert pending.parts["count[0]"].state.tables["reduced"][1]["k"] == ("k", 1)


def test_every_reason_is_told_in_words():
    assert all(sentence and not sentence.endswith(".") for sentence in REASONS.values())


def test_a_job_that_takes_no_checkpoints_says_so_and_starts_over():
    recording = Recording(counting(scheme="none"), MANUAL)
    with pytest.raises(ImpossibleAction, match="this job takes no checkpoints"):
        recording.apply(CHECKPOINT)
    read(recording, 0)
    act(recording, f"take:{A}")
    recording.apply({"kind": "fail", "subtask": "count[0]"})
    assert counts(to_the_end(recording)) == {"k": 4}
    assert not reasons(recording)
