"""Stop-the-world snapshots, and savepoints with which a job stops."""

from __future__ import annotations

from engine import Policy, Recording
from engine.datastream import Time, TumblingEventTimeWindows
from engine.operators.split import SplitData
from engine.testing import run_to_idle

from ..laws import recover
from ..small import MANUAL, act, in_order, job, possible, queue, reasons, results, state_of
from .schemes import CHECKPOINT, OUT, A, counting, counts, in_snapshot, read


def stopping(**settings):
    return Recording(counting(scheme="stop_the_world", **settings), MANUAL)


def test_the_sources_pause_the_channels_drain_and_everything_is_copied():
    recording = stopping()
    read(recording, 0, times=2)
    recording.apply(CHECKPOINT)
    assert recording.view()["job"]["paused"] == 1
    assert possible(recording) == [f"take:{A}"]
    assert reasons(recording)["read:source[0]/a"] == (
        "its source pauses for checkpoint 1 until the channels have drained"
    )
    act(recording, *[f"take:{A}"] * 3)
    assert not [action for action in possible(recording) if action.startswith("trigger")]
    act(recording, *[f"take:{OUT}"] * len(queue(recording, OUT)))
    subtasks = ["source[0]", "source[1]", "count[0]", "out[0]"]
    assert possible(recording) == [f"trigger:{subtask}" for subtask in subtasks]
    for subtask in subtasks:
        act(recording, f"trigger:{subtask}")
        assert not any(channel["queue"] for channel in recording.view()["channels"].values())
    act(recording, *[f"ack:{subtask}" for subtask in subtasks])
    assert recording.view()["job"]["paused"] is None
    assert in_snapshot(recording) == {"k": 2}
    assert "read:source[0]/a" in possible(recording)


def test_with_nothing_in_flight_everything_is_copied_at_once():
    recording = stopping()
    recording.apply(CHECKPOINT)
    assert "trigger:out[0]" in possible(recording)


def test_a_failure_while_the_sources_pause_lets_the_job_go_on():
    recording = stopping()
    read(recording, 0, times=2)
    recording.apply(CHECKPOINT)
    recording.apply({"kind": "fail", "subtask": "count[0]"})
    assert recording.view()["job"]["paused"] is None
    while recording.possible():
        recording.act(recording.possible()[0]["id"])
    assert counts(recording) == {"k": 4}


def test_stepping_back_into_the_draining_goes_on_draining():
    recording = stopping()
    read(recording, 0, times=2)
    recording.apply(CHECKPOINT)
    drained = act(recording.fork(), *[f"take:{A}"] * 3)
    act(recording, f"take:{A}")
    recording.seek(recording.position - 1)
    assert possible(recording) == [f"take:{A}"]
    act(recording.fork(), *[f"take:{A}"] * 3)
    assert possible(drained) == [f"take:{OUT}"]


def test_every_recovery_counts_each_record_once():
    for seed in range(20):
        factory = counting(40, 40, 3, "ab", 2, scheme="stop_the_world", upload_bytes=40)
        recording = Recording(factory, Policy("random", 1 + seed % 3), seed)
        assert recover(recording, [(10, 5, seed), (10, 5, seed + 1)]) == 2
        run_to_idle(recording)
        assert counts(recording) == {"a": 40, "b": 40}


# Savepoints


def windows(env):
    later = [("k", 12, 1)] * 20
    splits = [SplitData("a", [("k", 1, 1), ("k", 5, 1), *later])]
    stream = env.from_splits(splits, in_order(), "source")
    stream.key_by(lambda value: value[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(10))
    ).reduce(lambda a, b: (a[0], a[1], a[2] + b[2])).name("window").print("out")


def stop(drain):
    recording = Recording(job(windows))
    recording.run_until({"kind": "window_fires"}, 100)
    read_so_far = recording.view()["subtasks"]["source[0]"]["read"]
    recording.apply({"kind": "stop", "drain": drain})
    while recording.step(1, events=True):
        pass
    view = recording.view()
    assert view["subtasks"]["source[0]"]["read"] == read_so_far
    assert state_of(recording) == "finished"
    return recording


def test_a_job_that_stops_with_a_savepoint_leaves_its_windows_open():
    recording = stop(drain=False)
    assert recording.view()["job"]["reason"] == "stopped with savepoint 1"
    assert results(recording) == [("k", 1, 2)]
    assert recording.view()["checkpoints"]["1"]["kind"] == "savepoint"
    (part,) = recording.runtime.coordinator.storage.latest().parts["window"]
    assert part.tables["window-contents"][1], "the open window is in the savepoint"


def test_a_job_that_drains_fires_them_first():
    recording = stop(drain=True)
    assert recording.view()["job"]["reason"] == "drained with savepoint 1"
    read = recording.view()["subtasks"]["source[0]"]["read"]
    assert results(recording) == [("k", 1, 2), ("k", 12, read - 2)]


def test_a_savepoint_is_taken_while_the_job_goes_on():
    recording = Recording(counting(scheme="none"), MANUAL)
    recording.apply({"kind": "savepoint"})
    act(recording, "trigger:source[0]", "read:source[0]/a")
    assert queue(recording, A) == ["barrier", "('k', 1)", "watermark"]
