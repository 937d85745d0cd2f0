"""What each scheme promises after failures, and that whatever it does not promise does happen in some schedule."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Policy, Recording
from engine.graph.checkpoint_settings import SCHEMES
from engine.operators.split import SplitData
from engine.testing import run_to_idle

from ..jobs import POLICIES, checkpointings, set_checkpointing
from ..laws import LAWS, ROUNDS, recover
from ..small import in_order, job, results
from .schemes import counting, counts

COUNTS_TWICE = {"at_least_once"}
"""Schemes in which a record may have its effect on state more than once."""
SEEDS = range(40)


def recovered(factory, seed, rounds):
    """The job after `rounds` of (steps, checkpoint, steps, failure)."""
    recording = Recording(factory, Policy("random", 1 + seed % 2), seed)
    recover(recording, rounds)
    return run_to_idle(recording)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_effect_on_state_of_each_record_after_two_failures(scheme):
    twice = 0
    for seed in SEEDS:
        factory = counting(30, 30, 3, "abc", 2, scheme=scheme)
        found = counts(recovered(factory, seed, [(25, 3, seed), (15, 4, seed + 1)]))
        assert set(found) == set("abc")
        assert all(count >= 20 for count in found.values()), "nothing is ever lost"
        twice += any(count > 20 for count in found.values())
    assert bool(twice) == (scheme in COUNTS_TWICE)


def passing(**settings):
    """Every record goes through a map to a sink."""

    def build(env):
        env.set_buffers_per_channel(3)
        set_checkpointing(env, settings)
        splits = [SplitData(name, [(name, n) for n in range(30)]) for name in "ab"]
        stream = env.from_splits(splits, in_order(), "source").set_parallelism(2)
        stream.rebalance().map(lambda value: value).name("map").set_parallelism(2).print("out")

    return job(build)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_plain_sink_loses_no_result_and_repeats_some(scheme):
    """Exactly once is about state: what was written after the last checkpoint is written again under every scheme."""
    repeated = 0
    for seed in SEEDS:
        written = Counter(results(recovered(passing(scheme=scheme), seed, [(25, 20, seed)])))
        assert set(written) == {(name, n) for name in "ab" for n in range(30)}
        repeated += max(written.values()) > 1
    assert repeated


@LAWS
@given(checkpointings(), POLICIES, st.integers(0, 5), ROUNDS)
def test_no_settings_lose_a_record(settings, policy, seed, rounds):
    recording = Recording(passing(**settings), Policy(*policy), seed)
    recover(recording, rounds)
    run_to_idle(recording)
    assert set(results(recording)) == {(name, n) for name in "ab" for n in range(30)}
