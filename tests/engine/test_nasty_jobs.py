"""The laws again, over jobs whose functions raise and plans that fail in the middle of everything."""

from __future__ import annotations

import json
import os

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from engine import ImpossibleAction, Policy, Recording, WouldBranch, fold
from engine.testing import keyed_state, run_to_idle, written

from .laws import ROUNDS, recover
from .nasty_jobs import NASTY_POLICIES, make_nasty_job, nasty_commands, nasty_specs

NASTY = settings(
    max_examples=int(os.environ.get("STREAMLAB_LAW_EXAMPLES", "30")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PLANS = st.lists(st.tuples(st.integers(0, 25), nasty_commands()), max_size=5)
LIMIT = 5000


def applied(recording: Recording, command: dict, events: bool = False):
    """The command's trace, or None where the command is not possible now."""
    try:
        return recording.apply(command, events=events)
    except ImpossibleAction:
        return None


@NASTY
@given(nasty_specs(), NASTY_POLICIES, st.integers(0, 3), PLANS, st.lists(st.integers(0, 99)))
def test_folding_the_events_gives_the_view_whatever_raises(spec, policy, seed, plan, choices):
    recording = Recording(make_nasty_job(spec), Policy(*policy), seed)
    picture = recording.view()
    choices = iter(choices)

    def check(trace):
        fold(picture, trace)
        assert picture == recording.view(), trace

    for steps, command in plan:
        for _ in range(steps):
            possible, choice = recording.possible(), next(choices, None)
            assert [action["id"] for action in possible if action["default"]] == (
                [recording.next_action()] if possible else []
            )
            if possible and choice is not None:
                check(recording.act(possible[choice % len(possible)]["id"]))
            else:
                for trace in recording.step(1, events=True):
                    check(trace)
            assert all(action["reason"]["sentence"] for action in recording.impossible())
        trace = applied(recording, command, events=True)
        if trace:
            check(trace)
    for _ in range(LIMIT):
        traces = recording.step(1, events=True)
        if not traces:
            break
        check(traces[0])
    assert recording.view()["job"]["state"] in ("finished", "failed")


@NASTY
@given(nasty_specs(), NASTY_POLICIES, st.integers(0, 3), PLANS, st.integers(1, 40))
def test_bursts_are_their_atomic_replays_at_every_cut(spec, policy, seed, plan, cut):
    """Also where a function raises inside a burst: same step, same state, same marks."""
    burst = Recording(make_nasty_job(spec), Policy(*policy), seed)
    atomic = Recording(make_nasty_job(spec), Policy("manual"), seed)

    def run(steps: int) -> int:
        burst.runtime.schedule = schedule = []
        before = burst.position
        burst.step(steps)
        for action, taken in schedule:
            for _ in range(taken):
                atomic.act(action, events=False)
        assert atomic.position == burst.position
        assert atomic.view() == burst.view()
        assert written(atomic) == written(burst)
        return burst.position - before

    for steps, command in plan:
        run(steps)
        if applied(burst, command):
            atomic.apply(command, events=False)
    while burst.position < LIMIT and run(cut):
        pass
    assert atomic.marks == burst.marks
    assert (
        atomic.runtime.coordinator.storage.completed == burst.runtime.coordinator.storage.completed
    )


@NASTY
@given(nasty_specs(), NASTY_POLICIES, st.integers(0, 3), PLANS, st.lists(st.integers(0, 10_000)))
def test_seeking_forking_and_acting_show_what_was_shown(spec, policy, seed, plan, targets):
    recording = Recording(make_nasty_job(spec), Policy(*policy), seed)
    recording._interval = 15  # keyframes close together, so that short runs have some
    views = [json.dumps(recording.view())]
    for steps, command in [*plan, (300, {"kind": "checkpoint"})]:
        for _ in range(steps):
            recording.step(1)
            if recording.position == len(views):
                views.append(json.dumps(recording.view()))
        if applied(recording, command):
            views.append(json.dumps(recording.view()))
    out, marks = written(recording), recording.marks
    for number, target in enumerate(targets[:6]):
        step = target % len(views)
        recording.seek(step)
        assert json.dumps(recording.view()) == views[step]
        fork = recording.fork()
        fork.seek(step // 2)
        grandchild = fork.fork()
        assert json.dumps(grandchild.view()) == views[step // 2]
        for other in (fork, grandchild):
            other.seek(other.head)
            possible = other.possible()
            if possible:
                other.act(possible[number % len(possible)]["id"])
            other.step(30)
        if step < recording.head:
            try:
                recording.apply({"kind": "fail", "subtask": "source[0]"})
            except (WouldBranch, ImpossibleAction):
                pass
            else:
                assert recording.position == step + 1
    recording.seek(recording.head)
    assert json.dumps(recording.view()) == views[-1]
    assert written(recording) == out
    assert recording.marks == marks


@NASTY
@given(nasty_specs(), NASTY_POLICIES, st.integers(0, 3), PLANS, st.integers(1, 60))
def test_a_saved_log_rebuilds_the_run(spec, policy, seed, plan, cut):
    watched = Recording(make_nasty_job(spec), Policy(*policy), seed)
    for steps, command in plan:
        watched.step(steps, events=True)
        applied(watched, command, events=True)
    watched.step(LIMIT, events=True)

    rebuilt = Recording(make_nasty_job(spec), Policy(*policy), seed, watched.log)
    rebuilt.expected = list(watched.digests)
    while not rebuilt.replay_slice(cut):
        pass
    assert rebuilt.position == watched.position
    assert rebuilt.view() == watched.view()
    assert written(rebuilt) == written(watched)
    assert rebuilt.marks == watched.marks


@NASTY
@given(nasty_specs(raises=False), NASTY_POLICIES, st.integers(0, 3), ROUNDS, PLANS)
def test_nobody_who_behaves_ends_as_failed(spec, policy, seed, rounds, plan):
    """Also where the job was restored from checkpoints before."""
    recording = Recording(make_nasty_job(spec), Policy(*policy), seed)
    event(f"{recover(recording, rounds)} recoveries from a checkpoint")
    for steps, command in plan:
        recording.step(steps)
        applied(recording, command)
    run_to_idle(recording, 50_000)
    view = recording.view()
    assert view["job"]["state"] == "finished"
    assert all(not channel["queue"] for channel in view["channels"].values())
    assert "spoiled" not in json.dumps([written(recording), keyed_state(recording)], default=repr)
