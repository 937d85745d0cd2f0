"""Unaligned checkpoints: barriers overtake, and what they overtake is in the checkpoint and comes back."""

from __future__ import annotations

import pytest

from engine import ImpossibleAction, InvalidJob, Policy, Recording
from engine.datastream import Duration, StreamExecutionEnvironment
from engine.testing import run_to_idle

from ..jobs import set_checkpointing
from ..laws import recover
from ..small import MANUAL, act, job, possible, queue, reasons, step_and_fold
from .schemes import (
    CHECKPOINT,
    OUT,
    A,
    B,
    counting,
    counts,
    deliver_answers,
    in_snapshot,
    part_of,
    read,
    saved,
    to_the_end,
)


def unaligned(**settings):
    return Recording(counting(scheme="unaligned", **settings), MANUAL)


def test_f37_an_unaligned_checkpoint_keeps_what_the_second_barrier_would_have_waited_for():
    """a1 is counted, the barrier of A comes, then a2, b1, b2 and the barrier of B: state 1, channel B holds b1 and b2."""
    recording = unaligned()
    read(recording, 0)
    act(recording, f"take:{A}", f"take:{A}")
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", f"barrier:{A}")
    read(recording, 0)
    act(recording, f"take:{A}")
    read(recording, 1, times=2)
    act(recording, f"take:{B}", f"take:{B}", f"take:{B}")
    act(recording, "trigger:source[1]", f"barrier:{B}")
    deliver_answers(recording)
    assert in_snapshot(recording) == {"k": 1}
    assert saved(recording) == {(0, 1, 0): [("k", 1), ("k", 1)]}

    recording.apply({"kind": "fail", "subtask": "count[0]"})
    act(recording, "restart")
    assert queue(recording, B) == ["('k', 1)", "watermark", "('k', 1)"]
    assert counts(to_the_end(recording)) == {"k": 4}


def test_a_barrier_goes_before_what_is_queued_and_nothing_else_is_taken_first():
    recording = unaligned()
    read(recording, 0, times=2)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]")
    view = recording.view()
    assert view["channels"][A]["priority"] == [1]
    assert queue(recording, A) == ["('k', 1)", "watermark", "('k', 1)"]
    assert f"barrier:{A}" in possible(recording)
    assert reasons(recording)[f"take:{A}"] == (
        "barrier 1 overtakes what is queued, so it goes first"
    )
    act(recording, f"barrier:{A}")
    assert part_of(recording, "count[0]")["saved"] == 3
    assert f"take:{A}" in possible(recording)


def test_a_barrier_is_taken_by_a_subtask_that_waits_for_credit():
    recording = unaligned(buffers=1)
    read(recording, 0)
    act(recording, f"take:{A}")
    read(recording, 1)
    assert reasons(recording)[f"take:{B}"] == "no credit towards out[0]"
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[1]", f"barrier:{B}")
    # Forward edges keep their barriers in line, behind what is queued.
    assert queue(recording, OUT) == ["('k', 1)", "barrier"]


def test_what_found_no_buffer_is_saved_by_its_sender_and_the_rest_by_its_receiver():
    recording = unaligned(buffers=1)
    read(recording, 0)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]")
    assert queue(recording, A) == ["('k', 1)", "watermark"]
    assert part_of(recording, "source[0]")["saved"] == 1
    act(recording, f"barrier:{A}")
    assert part_of(recording, "count[0]")["saved"] == 1
    act(recording, "trigger:source[1]", f"barrier:{B}")
    deliver_answers(recording)
    recording.apply({"kind": "fail", "subtask": "out[0]"})
    act(recording, "restart")
    assert queue(recording, A) == ["('k', 1)", "watermark"]
    assert counts(to_the_end(recording)) == {"k": 4}


def test_what_is_in_flight_is_uploaded_with_the_state():
    """The state is empty: whatever the storage still has to get is channel state."""
    recording = unaligned(upload_bytes=5)
    read(recording, 0, times=3)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", f"barrier:{A}")
    part = part_of(recording, "count[0]")
    assert (part["bytes"], part["saved"]) == (0, 4)
    assert part["left"] == part["saved_bytes"] > 5
    uploads = 0
    while "upload:count[0]" in possible(recording):
        act(recording, "upload:count[0]")
        uploads += 1
    assert uploads == -(-part["saved_bytes"] // 5)
    assert "ack:count[0]" not in possible(recording), "the barrier of B is still under way"


def test_a_savepoint_is_aligned_all_the_same():
    recording = unaligned()
    read(recording, 0, times=2)
    recording.apply({"kind": "savepoint"})
    act(recording, "trigger:source[0]")
    assert queue(recording, A)[-1] == "barrier"
    act(recording, *[f"take:{A}"] * 4)
    assert recording.view()["subtasks"]["count[0]"]["inputs"][A]["blocked"]


def test_f39_each_new_subtask_takes_over_the_records_of_its_own_key_groups():
    """Three records in flight to one subtask, restored with two: none is lost, doubled, or with the wrong owner."""
    keys = "abcdefgh"
    for seed in range(20):
        factory = counting(12, 12, 4, keys, scheme="unaligned")
        recording = Recording(factory, Policy("random"), seed)
        recording.step(30)
        recording.apply(CHECKPOINT, events=False)
        assert recording.run_until({"kind": "checkpoint_completes"}, 500)
        held = [value for values in saved(recording).values() for value in values]
        recording.apply({"kind": "rescale_from_checkpoint", "operator": "count", "parallelism": 2})
        recording.act("restart")
        channels = recording.runtime.deployment.channels
        refilled = [
            (name, element)
            for name, channel in channels.items()
            for element in channel.queue
            if element[0] == 0 and ">count" in name
        ]
        assert sorted(element[1] for _, element in refilled) == sorted(held)
        for name, element in refilled:
            sender, edge = recording.runtime.deployment.subtasks[name.partition(">")[0]], 0
            assert sender.id.startswith("source")
            route = recording.runtime.deployment.route(edge, sender.index)
            assert name.endswith(f"count[{route.receiver(element)}]")
        run_to_idle(recording)
        undisturbed = run_to_idle(Recording(factory, Policy("random"), seed))
        expected = dict.fromkeys("abcd", 4) | dict.fromkeys("efgh", 2)
        assert counts(recording) == counts(undisturbed) == expected


@pytest.mark.parametrize("rescale", [("source", 1), ("source", 3), ("count", 3)])
def test_elements_in_flight_survive_a_rescale_of_either_end(rescale):
    operator, parallelism = rescale
    with_channel_state = 0
    for seed in range(20):
        factory = counting(20, 20, 3, "abc", parallelism=2, scheme="unaligned")
        recording = Recording(factory, Policy("random"), seed)
        recording.step(40)
        recording.apply(CHECKPOINT, events=False)
        assert recording.run_until({"kind": "checkpoint_completes"}, 500)
        with_channel_state += bool(saved(recording))
        recording.step(10)
        recording.apply(
            {"kind": "rescale_from_checkpoint", "operator": operator, "parallelism": parallelism}
        )
        run_to_idle(recording)
        assert counts(recording) == {"a": 14, "b": 14, "c": 12}
    assert with_channel_state > 10


@pytest.mark.parametrize("quantum", [1, 4])
def test_every_recovery_with_channel_state_counts_each_record_once(quantum):
    with_channel_state = 0
    for seed in range(40):
        factory = counting(60, 60, 3, "abc", parallelism=2, scheme="unaligned", upload_bytes=40)
        recording = Recording(factory, Policy("random", quantum), seed)
        assert recover(recording, [(30, 8, seed), (20, 5, seed + 1)]) == 2
        with_channel_state += bool(saved(recording))
        run_to_idle(recording)
        assert counts(recording) == {"a": 40, "b": 40, "c": 40}
    assert with_channel_state > 20


# The alignment timeout


def timed():
    return unaligned(aligned_timeout=50)


def test_until_the_timeout_a_checkpoint_aligns():
    recording = timed()
    read(recording, 0)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]")
    assert queue(recording, A)[-1] == "barrier"
    act(recording, *[f"take:{A}"] * 3)
    assert recording.view()["subtasks"]["count[0]"]["inputs"][A]["blocked"]


def test_after_the_timeout_a_subtask_that_aligns_stops_waiting():
    recording = timed()
    read(recording, 0)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", *[f"take:{A}"] * 3)
    read(recording, 0)
    read(recording, 1, times=2)
    act(recording, "trigger:source[1]", "clock", "switch:count[0]")
    view = recording.view()
    assert not view["subtasks"]["count[0]"]["inputs"][A]["blocked"]
    assert view["channels"][B]["priority"] == [1], "the barrier in the queue goes first from now on"
    assert part_of(recording, "count[0]")["status"] == "snapshotted"
    act(recording, f"barrier:{B}")
    deliver_answers(recording)
    assert in_snapshot(recording) == {"k": 1}
    assert saved(recording) == {(0, 1, 0): [("k", 1), ("k", 1)]}
    # Where the barrier stood in line it is taken once more, and ignored.
    recording.apply({"kind": "fail", "subtask": "count[0]"})
    assert counts(to_the_end(recording)) == {"k": 4}


def test_after_the_timeout_barriers_overtake_from_the_start():
    recording = timed()
    read(recording, 0, times=2)
    recording.apply(CHECKPOINT)
    act(recording, "clock", "trigger:source[0]")
    assert recording.view()["channels"][A]["priority"] == [1]


def test_what_was_to_time_out_does_not_once_the_checkpoint_is_complete():
    recording = timed()
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", "trigger:source[1]", f"take:{A}", f"take:{B}")
    deliver_answers(recording)
    assert not [action for action in possible(recording) if action.startswith(("clock", "switch"))]


# Settings


def test_several_unaligned_checkpoints_at_once_are_refused():
    with pytest.raises(InvalidJob, match="2 checkpoints at once are not possible"):
        counting(scheme="unaligned", max_concurrent=2)()


def test_a_timeout_without_unaligned_checkpoints_is_refused():
    with pytest.raises(InvalidJob, match="they are not enabled"):
        counting(aligned_timeout=50)()


def test_the_names_of_pyflink():
    env = StreamExecutionEnvironment()
    config = env.get_checkpoint_config()
    config.enable_unaligned_checkpoints().set_aligned_checkpoint_timeout(Duration.of_seconds(1))
    assert config.is_unaligned_checkpoints_enabled()
    assert config.settings().aligned_timeout == 1000
    assert not config.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    with pytest.raises(InvalidJob, match="must be a Duration, not 5"):
        config.set_aligned_checkpoint_timeout(5)


def test_an_unaligned_job_runs_to_its_end_with_every_picture_folded():
    recording = Recording(
        counting(6, 6, 2, "abc", scheme="unaligned", interval=10), Policy("random"), 3
    )
    for _ in range(3):
        recording.step(9)
        recording.apply(CHECKPOINT)
        recording.run_until({"kind": "checkpoint_completes"}, 500)
    step_and_fold(recording)
    assert counts(recording) == {"a": 4, "b": 4, "c": 4}


def test_a_broadcast_edge_keeps_its_barriers_in_line():
    def build(env):
        set_checkpointing(env, {"scheme": "unaligned"})
        env.from_collection([1, 2]).broadcast().map(lambda value: value).name("all").print("out")

    recording = Recording(job(build), MANUAL)
    act(recording, "read:source[0]/collection")
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]")
    assert queue(recording, "source[0]>all[0]") == ["1", "barrier"]


def test_a_barrier_action_that_is_not_there_is_refused():
    recording = unaligned()
    with pytest.raises(ImpossibleAction, match="there is nothing to take"):
        recording.act(f"barrier:{A}")


def test_a_partitioner_that_raises_at_another_parallelism_fails_its_sender():
    def build(env):
        set_checkpointing(env, {"scheme": "unaligned"})
        stream = env.from_collection([1, 2]).partition_custom(
            lambda key, receivers: 1 // (receivers - 2) and 0 if receivers > 1 else 0,
            lambda value: value,
        )
        stream.map(lambda value: value).name("all").print("out")

    recording = Recording(job(build), MANUAL)
    act(recording, "read:source[0]/collection")
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", "barrier:source[0]>all[0]", "take:all[0]>out[0]")
    act(recording, "ack:source[0]", "ack:all[0]", "ack:out[0]")
    assert len(saved(recording)) == 1
    recording.apply({"kind": "rescale_from_checkpoint", "operator": "all", "parallelism": 2})
    act(recording, "restart")
    assert recording.view()["job"]["state"] == "restarting"
    assert "source[0] failed: ZeroDivisionError" in recording.view()["job"]["reason"]
