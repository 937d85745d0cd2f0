"""The laws of the engine, over generated jobs, schedules, commands and failures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Policy, Recording
from engine.testing import keyed_state, run_job, run_to_idle, trace_digest

from . import laws
from .jobs import EXACTLY_ONCE, POLICIES, commands, job_specs, make_job
from .laws import CHOICES, CUTS, LAWS, QUANTA, ROUNDS, TARGETS, apply_if_possible, recover

ROOT = Path(__file__).resolve().parents[2]
PLANS = st.lists(st.tuples(st.integers(0, 40), commands()), max_size=4)
PLANS_WITHOUT_STOP = st.lists(st.tuples(st.integers(0, 40), commands(stops=False)), max_size=4)
SEEDS = st.integers(0, 5)


def starter(spec, seed):
    return lambda policy, log=(): Recording(make_job(spec), policy, seed, log)


@LAWS
@given(job_specs(), POLICIES, SEEDS, PLANS, CHOICES)
def test_folding_the_events_gives_the_view_at_every_step(spec, policy, seed, plan, choices):
    laws.folding_gives_the_view(starter(spec, seed)(Policy(*policy)), plan, choices)


@LAWS
@given(job_specs(), POLICIES, SEEDS, PLANS, CUTS)
def test_watching_and_cutting_change_nothing(spec, policy, seed, plan, cuts):
    laws.watching_and_cutting_change_nothing(starter(spec, seed), Policy(*policy), plan, cuts)


@LAWS
@given(job_specs(), st.sampled_from(["round_robin", "random"]), QUANTA, SEEDS, PLANS)
def test_a_burst_schedule_replayed_atomically_is_identical(spec, policy, quantum, seed, plan):
    laws.a_burst_is_its_actions(starter(spec, seed), Policy(policy, quantum), plan)


@LAWS
@given(job_specs(), POLICIES, SEEDS, PLANS, TARGETS)
def test_seeking_shows_what_was_shown(spec, policy, seed, plan, targets):
    laws.seeking_shows_what_was_shown(starter(spec, seed)(Policy(*policy)), plan, targets)


@LAWS
@given(
    job_specs(("commutative", "reduce"), EXACTLY_ONCE), POLICIES, SEEDS, PLANS_WITHOUT_STOP, ROUNDS
)
def test_a_failure_anywhere_leaves_keyed_state_as_without_it(spec, policy, seed, plan, rounds):
    """With a replayable source, recovery and rescaling give each record exactly one effect on keyed state."""
    # What a broadcast, a custom or a round-robin partitioner does to records is the same after a replay;
    # where a record goes does not matter to a sum.
    undisturbed = run_job(make_job(spec), Policy(*policy), seed)
    disturbed = Recording(make_job(spec), Policy(*policy), seed)
    for steps, command in plan:
        disturbed.step(steps)
        apply_if_possible(disturbed, command, events=False)
    recover(disturbed, rounds)
    run_to_idle(disturbed)
    assert disturbed.view()["job"]["state"] == "finished"
    assert keyed_state(disturbed) == keyed_state(undisturbed)


@pytest.mark.parametrize("seed", range(10))
def test_a_recovery_from_a_checkpoint_leaves_keyed_state_as_without_it(seed):
    """The same of a fixed job, in which every round is known to restore a checkpoint."""
    spec = {
        "splits": [[(key, number, 10 * number) for number in range(12) for key in "abc"]] * 2,
        "sources": 2, "bound": 0, "stages": [], "keyed": "reduce", "keyed_parallelism": 2, "window": 7, "sinks": 1,
        "buffers": 3,
    }  # fmt: skip
    policy = Policy("random", 1 + seed % 3)
    disturbed = Recording(make_job(spec), policy, seed)
    assert recover(disturbed, [(20, 5, seed), (10, 20, seed + 1), (10, 5, seed + 2)]) == 3
    run_to_idle(disturbed)
    assert keyed_state(disturbed) == keyed_state(run_job(make_job(spec), policy, seed))


HASH_SCRIPT = """
import random, sys
sys.path.insert(0, {root!r})
from hypothesis import seed, settings, given, Phase, HealthCheck, strategies as st
from engine import Recording, Policy, ImpossibleAction
from engine.testing import trace_digest
from tests.engine.jobs import POLICIES, commands, job_specs, make_job
import hashlib
total = hashlib.sha256()

@seed({seed})
@settings(max_examples=25, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(job_specs(), POLICIES, st.lists(st.tuples(st.integers(0, 40), commands()), max_size=3))
def run(spec, policy, plan):
    recording = Recording(make_job(spec), Policy(*policy), 7)
    steps = []
    for count, command in plan:
        steps += recording.step(count, events=True)
        try:
            steps.append(recording.apply(command))
        except ImpossibleAction as reason:
            total.update(str(reason).encode())
    steps += recording.step(2000, events=True)
    total.update(trace_digest(steps).encode())
    total.update(repr(spec).encode())

run()
print(total.hexdigest())
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_run_gives_the_same_trace_under_another_hash_seed(seed):
    digests = set()
    for hash_seed in ("0", "12345"):
        done = subprocess.run(
            [sys.executable, "-c", HASH_SCRIPT.format(root=str(ROOT), seed=seed)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.strip())
    assert len(digests) == 1


def test_a_digest_of_a_trace_sees_a_single_event():
    spec = {
        "splits": [[("a", 1, 1), ("a", 2, 2)]], "sources": 1, "bound": 0, "stages": [], "keyed": "reduce",
        "keyed_parallelism": 1, "window": 7, "sinks": 1, "buffers": 2,
    }  # fmt: skip
    steps = Recording(make_job(spec)).step(100, events=True)
    changed = [steps[0]._replace(events=steps[0].events[:-1]), *steps[1:]]
    assert trace_digest(steps) != trace_digest(changed)
