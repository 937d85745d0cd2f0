"""Snapshots of loops: what is on its way back belongs to them, and is there again after a failure or a rescale."""

from __future__ import annotations

import pytest

from engine import Policy, Recording
from engine.datastream.extensions import iterate
from engine.explore.wrong_loops import AwaitsTheBackEdge, NoLoopLog
from engine.operators.split import SplitData
from engine.testing import keyed_state, run_job, run_to_idle

from ..jobs import set_checkpointing
from ..loops import BACK, BODY, HEAD, IN, countdown, make_loop
from ..small import MANUAL, act, in_order, job, possible, queue, reasons, results, state_of
from .schemes import CHECKPOINT, part_of, saved, to_the_end

WAY_BACK = (5, 0, 0)
"""The feedback edge of `countdown`, which comes last, and its only channel."""
GO_BACK = [f"take:{name}" for name in (IN, HEAD, BODY)]


def two_on_the_back_edge(**checkpointing):
    return act(
        Recording(countdown(3, **checkpointing), MANUAL), "read:source[0]/collection", *GO_BACK
    )


def complete(recording):
    """Take barriers and answers, and records only where nothing else is left, until the checkpoint is complete."""
    while recording.view()["last_completed"] is None:
        wanted = [one for one in recording.possible() if one["kind"] != "read"]
        recording.act(min(wanted, key=lambda one: one["checkpoint"] is None)["id"])
    return recording


def fail(recording, subtask="body[0]"):
    recording.apply({"kind": "fail", "subtask": subtask})
    return act(recording, "restart")


@pytest.mark.parametrize("scheme", ["aligned", "unaligned", "at_least_once"])
def test_f40_what_is_on_the_back_edge_is_logged_and_comes_again(scheme):
    recording = two_on_the_back_edge(scheme=scheme)
    assert queue(recording, BACK) == ["2"]
    recording.apply(CHECKPOINT)
    into_head = f"barrier:{IN}" if f"barrier:{IN}" in possible(recording) else f"take:{IN}"
    act(recording, "trigger:source[0]", into_head, f"take:{BACK}")
    assert part_of(recording, "head[0]")["saved"] == 1
    assert part_of(recording, "head[0]")["acknowledged"] is None
    complete(recording)
    assert saved(recording) == {WAY_BACK: [2]}
    assert queue(fail(recording), BACK) == ["2"]
    assert results(to_the_end(recording)) == [0]


def test_f40_without_the_log_it_is_gone():
    recording = Recording(countdown(3), MANUAL)
    recording._runtime = NoLoopLog(countdown(3)(), MANUAL, 0)
    act(recording, "read:source[0]/collection", *GO_BACK)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", f"take:{IN}", "ack:head[0]", f"take:{HEAD}", f"take:{BODY}")
    complete(recording)
    fail(recording)
    assert results(to_the_end(recording)) == []
    assert state_of(recording) == "finished"


def test_m25_waiting_for_the_barrier_on_the_back_edge_is_waiting_for_oneself():
    recording = Recording(countdown(3), MANUAL)
    recording._runtime = AwaitsTheBackEdge(countdown(3)(), MANUAL, 0)
    act(recording, "read:source[0]/collection")
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]")
    to_the_end(recording)
    assert state_of(recording) == "running"
    assert recording.view()["last_completed"] is None
    assert list(reasons(recording)) == [f"take:{IN}"]


def test_nothing_is_held_back_and_the_head_acknowledges_when_the_barrier_is_back():
    recording = two_on_the_back_edge()
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", f"take:{IN}")
    assert recording.view()["subtasks"]["head[0]"]["aligning"] is None
    assert queue(recording, HEAD) == ["barrier"]
    act(recording, f"take:{HEAD}", f"take:{BODY}")
    assert queue(recording, BACK) == ["2", "barrier"]
    act(recording, f"take:{BACK}")
    assert "ack:head[0]" not in possible(recording)
    act(recording, f"take:{BACK}")
    assert "ack:head[0]" in possible(recording)
    # The 2 goes round behind the barrier now: that it comes back a 1 belongs to no snapshot.
    act(recording, f"take:{HEAD}", f"take:{BODY}", f"take:{BACK}")
    complete(recording)
    assert saved(recording) == {WAY_BACK: [2]}


def test_two_checkpoints_at_once_keep_what_each_of_them_has_to():
    recording = two_on_the_back_edge(max_concurrent=2)
    for _ in range(2):
        recording.apply(CHECKPOINT)
        act(recording, "trigger:source[0]", f"take:{IN}")
    act(recording, f"take:{BACK}", f"take:{HEAD}", f"take:{BODY}", f"take:{BACK}")
    # Barrier 1 is back. Barrier 2 follows it, and the 1 that the 2 has become comes behind both.
    act(recording, f"take:{HEAD}", f"take:{HEAD}", f"take:{BODY}", f"take:{BODY}")
    assert queue(recording, BACK) == ["barrier", "1"]
    to_the_end(recording)
    assert recording.view()["last_completed"] == 2
    assert saved(recording) == {WAY_BACK: [2]}


def test_a_checkpoint_that_is_given_up_keeps_nothing():
    recording = two_on_the_back_edge(timeout=10, tolerated_failures=3)
    recording.apply(CHECKPOINT)
    act(recording, "trigger:source[0]", f"take:{IN}", f"take:{BACK}")
    recording.runtime.snapshots.abort(1, "CHECKPOINT_EXPIRED")
    act(recording, "abort:head[0]")
    assert part_of(recording, "head[0]")["status"] == "dropped"
    assert recording.runtime.deployment.subtasks["head[0]"].snapshots.parts == []
    assert results(to_the_end(recording)) == [0]


def entered_behind(env):
    """A loop into whose body a second source leads: an unaligned barrier may come back before the head has one."""
    set_checkpointing(env, {"scheme": "unaligned"})
    first = env.from_splits([SplitData("a", [("k", 1, 3)])], in_order(), "first").rebalance()
    second = env.from_splits([SplitData("b", [("k", 1, 2)])], in_order(), "second")
    head = iterate(first).name("head")
    united = head.rebalance().union(second.rebalance())
    body = united.map(lambda value: (*value[:2], value[2] - 1)).name("body")
    head.close_with(body.filter(lambda value: value[2] > 0).name("again"))
    summed = body.key_by(lambda value: value[0]).reduce(lambda a, b: (*a[:2], a[2] + b[2]))
    summed.name("sum").print("out")


def test_an_unaligned_barrier_that_comes_back_first_triggers_the_head():
    into_body, back = "second[0]>body[0]", "again[0]>head[0]"
    recording = act(Recording(job(entered_behind), MANUAL), "read:second[0]/b")
    recording.apply(CHECKPOINT)
    act(recording, "trigger:second[0]", f"barrier:{into_body}", "take:body[0]>again[0]")
    assert part_of(recording, "head[0]")["snapshot"] is None
    act(recording, f"take:{into_body}", "take:body[0]>again[0]", f"take:{back}")
    assert part_of(recording, "head[0]")["snapshot"] is not None
    complete(recording)
    # The record had not been taken by the body, so what the body made of it is in no channel of the snapshot.
    assert [value for values in saved(recording).values() for value in values] == [("k", 1, 2)]
    to_the_end(fail(recording))
    assert list(keyed_state(recording).values()) == ["('k', 1, 4)"]


@pytest.mark.parametrize("scheme", ["aligned", "unaligned"])
@pytest.mark.parametrize(
    ("operator", "parallelism"), [("head", 3), ("head", 1), ("again", 3), ("again", 1), ("body", 3)]
)
@pytest.mark.parametrize("back", ["", "rescale", "key", "custom", "shuffle"])
def test_a_rescale_takes_what_is_on_its_way_back_along(scheme, operator, parallelism, back):
    """By a savepoint, and of whatever partitioner the feedback edge is."""
    spec = {
        "splits": [[(key, 1, 4) for key in "abcdefgh"]], "sources": 1, "bound": None, "into": "", "heads": 2,
        "keyed_body": True, "body": "", "bodies": 2, "agains": 2, "back": back, "keyed_parallelism": 1, "buffers": 9,
        "checkpointing": {"scheme": scheme},
    }  # fmt: skip
    expected = keyed_state(run_job(make_loop(spec)))
    kept = 0
    for steps in range(20, 140, 15):
        recording = Recording(make_loop(spec), Policy("random"), steps)
        recording.step(steps)
        recording.apply({"kind": "rescale", "operator": operator, "parallelism": parallelism})
        recording.run_until({"kind": "checkpoint_completes"}, 1000)
        kept += len(saved(recording))
        run_to_idle(recording)
        assert recording.view()["job"]["attempt"] == 2
        assert keyed_state(recording) == expected
    assert kept > 8


def test_a_broadcast_way_back_cannot_be_spread_anew():
    def build(env):
        head = iterate(env.from_collection([1])).name("head")
        head.close_with(head.filter(lambda value: value < 0).name("again").broadcast())
        head.print("out")

    recording = Recording(job(build), MANUAL)
    with pytest.raises(Exception, match="leads back as a broadcast"):
        recording.apply({"kind": "rescale", "operator": "head", "parallelism": 2})


# Stop-the-world


def test_stopping_the_world_waits_until_the_loop_is_empty():
    recording = two_on_the_back_edge(scheme="stop_the_world")
    recording.apply(CHECKPOINT)
    while recording.view()["last_completed"] is None:
        recording.act(possible(recording)[0])
    assert saved(recording) == {}
    assert results(recording) == [0]


def for_ever(env):
    set_checkpointing(env, {"scheme": "stop_the_world", "tolerated_failures": 5})
    head = iterate(env.from_collection([1, 2])).name("head")
    head.close_with(head.map(lambda value: value).name("body"))
    head.print("out")


@pytest.mark.parametrize("quantum", [1, 64])
def test_a_loop_that_never_runs_empty_is_a_reason_of_its_own(quantum):
    recording = Recording(job(for_ever), Policy("round_robin", quantum))
    recording.step(3)
    recording.apply(CHECKPOINT)
    recording.run_until({"kind": "checkpoint_completes"}, 40_000)
    shown = recording.view()["checkpoints"]["1"]
    assert shown["failure"] == "CHECKPOINT_LOOP_NOT_DRAINED"
    assert "did not run empty" in shown["reason"]
    assert recording.view()["job"]["paused"] is None
    assert state_of(recording) == "running"
