"""The barrier handler by itself, and aligned barriers as a story."""

from __future__ import annotations

from engine import Recording
from engine.checkpointing.barrier_handler import (
    CANCELLED,
    SUBSUMED,
    Abort,
    Alignment,
    BarrierHandler,
    Block,
    Resume,
    StartChannelState,
    StopChannelState,
    Trigger,
)
from engine.operators.split import SplitData

from ..small import MANUAL, act, in_order, job, possible, reasons


def test_the_handler_blocks_collects_and_triggers():
    handler = BarrierHandler(3)
    assert handler.barrier(1, 1) == [Block(1)]
    assert handler.alignment() == Alignment(1, (1,))
    assert handler.barrier(0, 1) == [Block(0)]
    opened = [Resume(0), Resume(1), Resume(2)]
    assert handler.barrier(2, 1) == [Block(2), Trigger(1, False), *opened]
    assert handler.alignment() is None
    assert handler.barrier(2, 1) == []  # of a checkpoint that is over


def test_a_newer_checkpoint_subsumes_the_one_in_progress():
    handler = BarrierHandler(2)
    handler.barrier(0, 1)
    assert handler.barrier(1, 2) == [Resume(0), Abort(1, SUBSUMED), Block(1)]


def test_a_cancellation_gives_a_checkpoint_up_even_before_its_barrier():
    handler = BarrierHandler(2)
    handler.barrier(0, 1)
    assert handler.cancel(1) == [Resume(0), Abort(1, CANCELLED)]
    assert handler.cancel(5) == [Abort(5, CANCELLED)]
    assert handler.barrier(0, 5) == []


def test_an_input_that_ended_is_not_waited_for():
    handler = BarrierHandler(2)
    handler.barrier(0, 1)
    assert handler.end(1) == [Trigger(1, False), Resume(0)]
    assert handler.barrier(0, 2) == [Block(0), Trigger(2, False), Resume(0)]


def test_unaligned_barriers_trigger_at_once_and_block_nothing():
    handler = BarrierHandler(2)
    assert handler.barrier(0, 1, unaligned=True) == [StartChannelState(1), Trigger(1, True)]
    assert handler.barrier(1, 1, unaligned=True) == [StopChannelState(1)]


def two_sources(env):
    splits = [SplitData("a", [("x", 1), ("x", 2)]), SplitData("b", [("y", 1)])]
    stream = env.from_splits(splits, in_order(), "source").set_parallelism(2)
    stream.key_by(lambda value: value[0]).reduce(lambda one, other: other).name("last").print("out")


A, B = "source[0]>last[0]", "source[1]>last[0]"


def test_an_input_whose_barrier_has_come_is_blocked_until_the_other_barrier_comes():
    recording = Recording(job(two_sources), MANUAL)
    recording.apply({"kind": "checkpoint"})
    act(recording, "trigger:source[0]", "read:source[0]/a", f"take:{A}")

    assert recording.view()["subtasks"]["last[0]"]["aligning"] == {"checkpoint": 1, "received": [A]}
    assert reasons(recording) == {f"take:{A}": "waits for barrier 1 from source[1]"}

    act(recording, "read:source[1]/b", "trigger:source[1]", *[f"take:{B}"] * 3)
    view = recording.view()["subtasks"]["last[0]"]
    assert view["aligning"] is None
    assert f"take:{A}" in possible(recording)
    # the record of the other input came before its barrier: it is in the snapshot, the blocked one is not
    assert [row["key"] for row in view["state"].values()] == ["y"]


def test_a_checkpoint_completes_when_everybody_has_acknowledged():
    recording = Recording(job(two_sources))
    recording.step(4)
    recording.apply({"kind": "checkpoint"})
    assert recording.run_until({"kind": "checkpoint_completes"}, 200) == "a checkpoint completed"
    entry = recording.view()["checkpoints"]["1"]
    assert entry["status"] == "completed"
    assert {part["status"] for part in entry["subtasks"].values()} == {"acknowledged"}


def test_a_barrier_passes_sources_that_have_ended():
    recording = Recording(job(two_sources))
    while recording.view()["subtasks"]["source[1]"]["status"] != "finished":
        recording.step(1)
    recording.apply({"kind": "checkpoint"})
    assert recording.run_until({"kind": "checkpoint_completes"}, 200)


def test_a_barrier_belongs_to_the_step_in_which_it_was_sent():
    """Records before it are in the snapshot of the receiver, records after it are not."""
    recording = Recording(job(two_sources), MANUAL)
    act(recording, "read:source[0]/a")
    recording.apply({"kind": "checkpoint"})
    act(recording, "trigger:source[0]", "trigger:source[1]", "read:source[0]/a")
    act(recording, *[f"take:{A}"] * 3, f"take:{B}")
    for name in ("source[0]", "source[1]", "last[0]"):
        act(recording, f"ack:{name}")
    act(recording, "take:last[0]>out[0]", "take:last[0]>out[0]", "ack:out[0]")
    completed = recording.runtime.coordinator.storage.latest()
    assert completed.parts["source"] == [{"a": 1}, {"b": 0}]
    ((tables, _, _),) = completed.parts["last"]
    assert tables["reduced"][1] == {"x": ("x", 1)}
