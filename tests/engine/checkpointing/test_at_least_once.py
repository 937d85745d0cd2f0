"""At-least-once mode: barriers block nothing, so a failure may count a record twice, and never loses one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidJob, Policy, Recording, fold
from engine.datastream import CheckpointingMode, StreamExecutionEnvironment
from engine.operators.split import SplitData
from engine.testing import keyed_state, run_to_idle

from ..jobs import POLICIES, commands
from ..laws import LAWS, ROUNDS, apply_if_possible, recover
from ..small import MANUAL, act, in_order, job

A, B = "source[0]>count[0]", "source[1]>count[0]"


def counter(mode, first=2, second=2):
    """Counts the records of two sources."""

    def build(env):
        env.get_checkpoint_config().set_checkpointing_mode(mode)
        splits = [SplitData("a", [("k", 1)] * first), SplitData("b", [("k", 1)] * second)]
        stream = env.from_splits(splits, in_order(), "source").set_parallelism(2)
        counted = stream.key_by(lambda value: value[0]).reduce(lambda a, b: ("k", a[1] + b[1]))
        counted.name("count").print("out")

    return build


def count(recording):
    (held,) = keyed_state(recording).values()
    return held


def total(recording):
    return int(count(recording).split(", ")[1][:-1])


def test_a_record_behind_a_barrier_gets_into_the_snapshot_and_is_counted_again():
    """Four records, counted as five: the barrier of a waits for no one."""
    recording = Recording(job(counter(CheckpointingMode.AT_LEAST_ONCE)), MANUAL)
    recording.apply({"kind": "checkpoint"})
    act(recording, "trigger:source[0]", "read:source[0]/a", f"take:{A}", f"take:{A}")
    assert recording.view()["subtasks"]["count[0]"]["aligning"] is None
    act(recording, "trigger:source[1]", f"take:{B}")
    while recording.view()["last_completed"] is None:
        action = next(
            one["id"] for one in recording.possible() if one["id"].startswith(("ack", "take"))
        )
        recording.act(action)
    recording.apply({"kind": "fail", "subtask": "count[0]"})
    while recording.possible():
        recording.act(recording.possible()[0]["id"])
    assert count(recording) == "('k', 5)"


def test_a_savepoint_aligns_in_every_mode():
    recording = Recording(job(counter(CheckpointingMode.AT_LEAST_ONCE)), MANUAL)
    recording.apply({"kind": "rescale", "operator": "count", "parallelism": 2})
    act(recording, "trigger:source[0]", f"take:{A}")
    assert recording.view()["subtasks"]["count[0]"]["aligning"] == {
        "checkpoint": 1,
        "received": [A],
    }


@pytest.mark.parametrize("mode", [CheckpointingMode.EXACTLY_ONCE, CheckpointingMode.AT_LEAST_ONCE])
@LAWS
@given(
    POLICIES,
    st.integers(0, 50),
    st.lists(st.tuples(st.integers(0, 12), commands(stops=False)), max_size=2),
    ROUNDS,
)
def test_no_mode_loses_a_record_and_only_one_may_count_twice(mode, policy, seed, plan, rounds):
    recording = Recording(job(counter(mode, 5, 7)), Policy(*policy), seed)
    picture = recording.view()
    for steps, command in plan:
        for step in recording.step(steps, events=True):
            fold(picture, step)
        done = apply_if_possible(recording, command)
        if done:
            fold(picture, done)
        assert picture == recording.view()
    recover(recording, rounds)
    run_to_idle(recording)
    assert total(recording) >= 12
    if mode == CheckpointingMode.EXACTLY_ONCE:
        assert total(recording) == 12


def test_the_same_schedules_count_twice_in_one_mode_only():
    totals = {}
    for mode in (CheckpointingMode.EXACTLY_ONCE, CheckpointingMode.AT_LEAST_ONCE):
        totals[mode] = []
        for seed in range(40):
            recording = Recording(job(counter(mode, 20, 20)), Policy("random"), seed)
            assert recover(recording, [(15, 3, 2)]) == 1
            run_to_idle(recording)
            totals[mode].append(total(recording))
    assert set(totals[CheckpointingMode.EXACTLY_ONCE]) == {40}
    assert min(totals[CheckpointingMode.AT_LEAST_ONCE]) >= 40
    assert max(totals[CheckpointingMode.AT_LEAST_ONCE]) > 40


def test_a_mode_that_does_not_exist_is_refused():
    with pytest.raises(InvalidJob, match="no checkpointing mode"):
        StreamExecutionEnvironment().enable_checkpointing(100, "TWICE")


def test_what_the_configuration_has_not_is_named():
    with pytest.raises(NotImplementedError, match="set_force_unaligned_checkpoints"):
        StreamExecutionEnvironment().get_checkpoint_config().set_force_unaligned_checkpoints(True)
