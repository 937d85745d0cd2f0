"""The laws of the engine, over generated jobs, schedules, commands and failures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engine import ImpossibleAction, Policy, Recording, fold
from engine.commands import parse_command
from engine.impossible import why_not_command
from engine.narration import narrate, narrate_step
from engine.testing import keyed_state, run_job, run_to_idle, trace_digest, written

from .jobs import POLICIES, commands, job_specs, make_job

ROOT = Path(__file__).resolve().parents[2]
PHASES = [
    phase for phase in Phase if phase != Phase.shrink or "STREAMLAB_LAW_EXAMPLES" not in os.environ
]
LAWS = settings(
    phases=PHASES,
    max_examples=int(os.environ.get("STREAMLAB_LAW_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PLANS = st.lists(st.tuples(st.integers(0, 40), commands()), max_size=4)
CHOICES = st.lists(st.integers(0, 1000), max_size=60)


def apply_if_possible(recording: Recording, command: dict, events: bool = True):
    try:
        return recording.apply(command, events=events)
    except ImpossibleAction:
        return None


@LAWS
@given(job_specs(), POLICIES, st.integers(0, 5), PLANS, CHOICES)
def test_folding_the_events_gives_the_view_at_every_step(spec, policy, seed, plan, choices):
    recording = Recording(make_job(spec), Policy(*policy), seed)
    picture = recording.view()
    turns = iter(choices)

    def check(step):
        fold(picture, step)
        assert picture == recording.view(), step
        assert narrate_step(step).endswith(".")
        assert all(narrate(event).endswith(".") for event in step.events)

    for steps, command in plan:
        for _ in range(steps):
            choice = next(turns, None)
            possible = recording.possible()
            if choice is not None and possible:
                check(recording.act(possible[choice % len(possible)]["id"]))
            else:
                for step in recording.step(1, events=True):
                    check(step)
        done = apply_if_possible(recording, command)
        if done:
            check(done)
    for _ in range(3000):
        taken = recording.step(1, events=True)
        if not taken:
            break
        check(taken[0])
    assert recording.view()["job"]["state"] == "finished"


@LAWS
@given(job_specs(), POLICIES, st.integers(0, 5), PLANS, st.lists(st.integers(1, 50), min_size=1))
def test_watching_and_cutting_change_nothing(spec, policy, seed, plan, cuts):
    """The same choices give the same trace whether the run is watched, unwatched, or cut into pieces."""
    watched = Recording(make_job(spec), Policy(*policy), seed)
    for steps, command in plan:
        watched.step(steps, events=True)
        apply_if_possible(watched, command)
    for _ in range(100):
        if not watched.step(50, events=True):
            break

    unwatched = Recording(make_job(spec), Policy(*policy), seed, watched.log)
    unwatched.seek(watched.head)
    assert unwatched.view() == watched.view()
    assert written(unwatched) == written(watched)
    assert unwatched.digests == watched.digests

    pieces = Recording(make_job(spec), Policy(*policy), seed, watched.log)
    number = 0
    while pieces.position < pieces.head:
        pieces.step(min(cuts[number % len(cuts)], pieces.head - pieces.position))
        number += 1
    assert pieces.view() == watched.view()
    assert written(pieces) == written(watched)


@LAWS
@given(
    job_specs(),
    st.sampled_from(["round_robin", "random"]),
    st.sampled_from([2, 5, 64]),
    st.integers(0, 5),
    PLANS,
)
def test_a_burst_schedule_replayed_atomically_is_identical(spec, policy, quantum, seed, plan):
    """Output, state, watermarks and checkpoints are the same when each burst is taken one action at a time."""
    burst = Recording(make_job(spec), Policy(policy, quantum), seed)
    schedule: list = []

    def run(steps: int) -> None:
        burst.runtime.schedule = schedule
        burst.step(steps)

    for steps, command in plan:
        run(steps)
        if not why_not_command(burst.runtime, parse_command(command)):
            burst.apply(command, events=False)
            schedule.append(command)
    run(100_000)

    atomic = Recording(make_job(spec), Policy("manual"), seed)
    for entry in schedule:
        if isinstance(entry, dict):
            atomic.apply(entry, events=False)
        else:
            for _ in range(entry[1]):
                atomic.act(entry[0], events=False)
    assert atomic.view() == burst.view()
    assert written(atomic) == written(burst)
    assert atomic.marks == burst.marks
    storage = burst.runtime.coordinator.storage
    assert atomic.runtime.coordinator.storage.completed == storage.completed


@LAWS
@given(
    job_specs(), POLICIES, st.integers(0, 5), PLANS, st.lists(st.integers(0, 10_000), max_size=6)
)
def test_seeking_shows_what_was_shown(spec, policy, seed, plan, targets):
    recording = Recording(make_job(spec), Policy(*policy), seed)
    recording._interval = 20  # keyframes close together, so that short runs have some
    views = [json.dumps(recording.view())]
    for steps, command in [*plan, (400, {"kind": "checkpoint"})]:
        for _ in range(steps):
            if recording.step(1):
                raise AssertionError("nothing was to be collected")
            if recording.position == len(views):
                views.append(json.dumps(recording.view()))
        if apply_if_possible(recording, command, events=False):
            views.append(json.dumps(recording.view()))
    for target in targets:
        step = target % len(views)
        recording.seek(step)
        assert json.dumps(recording.view()) == views[step]
        fork = recording.fork()
        assert fork.head == step
        assert json.dumps(fork.view()) == views[step]
    recording.seek(recording.head)
    assert json.dumps(recording.view()) == views[-1]


@LAWS
@given(job_specs(keyed=("commutative", "reduce")), POLICIES, st.integers(0, 5), PLANS)
def test_a_failure_anywhere_leaves_keyed_state_as_without_it(spec, policy, seed, plan):
    """With a replayable source, recovery and rescaling give each record exactly one effect on keyed state."""
    # What a broadcast, a custom or a round-robin partitioner does to records is the same after a replay;
    # where a record goes does not matter to a sum.
    undisturbed = run_job(make_job(spec), Policy(*policy), seed)
    disturbed = Recording(make_job(spec), Policy(*policy), seed)
    for steps, command in plan:
        disturbed.step(steps)
        apply_if_possible(disturbed, command, events=False)
    run_to_idle(disturbed)
    assert disturbed.view()["job"]["state"] == "finished"
    assert keyed_state(disturbed) == keyed_state(undisturbed)


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
