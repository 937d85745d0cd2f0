"""Aligned barriers, as a table of states and as a story."""

from __future__ import annotations

import pytest

from engine import Recording
from engine.checkpointing.aligned import (
    WAITING,
    AllBarriersReceived,
    CollectingBarriers,
    barrier_received,
)
from engine.operators.split import SplitData

from ..small import MANUAL, act, in_order, job, possible, reasons


@pytest.mark.parametrize(
    ("state", "index", "checkpoint", "inputs", "after"),
    [
        (WAITING, 0, 1, 1, AllBarriersReceived(1)),
        (WAITING, 1, 1, 3, CollectingBarriers(1, (1,))),
        (CollectingBarriers(1, (1,)), 0, 1, 3, CollectingBarriers(1, (1, 0))),
        (CollectingBarriers(1, (1, 0)), 2, 1, 3, AllBarriersReceived(1)),
        # a newer checkpoint: the older one was given up
        (CollectingBarriers(1, (1, 0)), 0, 2, 3, CollectingBarriers(2, (0,))),
    ],
)
def test_the_next_state(state, index, checkpoint, inputs, after):
    assert barrier_received(state, index, checkpoint, inputs) == after


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
