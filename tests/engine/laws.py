"""The laws of the engine as functions over any job: the tests give them generated jobs.

`start` takes a policy, and a log to follow if there is one, and gives a Recording of the job.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from engine import ImpossibleAction, Policy, Recording, fold
from engine.commands import parse_command
from engine.impossible import why_not_command
from engine.narration import narrate, narrate_step
from engine.testing import written

PHASES = [
    phase for phase in Phase if phase != Phase.shrink or "STREAMLAB_LAW_EXAMPLES" not in os.environ
]
LAWS = settings(
    phases=PHASES,
    max_examples=int(os.environ.get("STREAMLAB_LAW_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
CHOICES = st.lists(st.integers(0, 1000), max_size=60)
CUTS = st.lists(st.integers(1, 50), min_size=1)
QUANTA = st.sampled_from([2, 5, 64])
TARGETS = st.lists(st.integers(0, 10_000), max_size=6)
ROUNDS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 20), st.integers(0, 100)), min_size=1, max_size=3
)
"""(steps before a checkpoint, steps after it, which subtask fails then)."""
MOST_STEPS = 5000

Start = Callable[..., Recording]
Plan = list[tuple[int, dict]]


def apply_if_possible(recording: Recording, command: dict, events: bool = True):
    try:
        return recording.apply(command, events=events)
    except ImpossibleAction:
        return None


def recover(recording: Recording, rounds: list[tuple[int, int, int]]) -> int:
    """Let a checkpoint complete and then a subtask fail, in every round; returns how many recoveries had a checkpoint."""
    recoveries = 0
    for before, after, victim in rounds:
        recording.step(before)
        if apply_if_possible(recording, {"kind": "checkpoint"}, events=False):
            recording.run_until({"kind": "checkpoint_completes"}, MOST_STEPS)
        recording.step(after)
        (subtasks,) = (
            offer["subtasks"] for offer in recording.commands() if offer["kind"] == "fail"
        )
        from_checkpoint = recording.view()["last_completed"] is not None
        if subtasks and apply_if_possible(
            recording, {"kind": "fail", "subtask": subtasks[victim % len(subtasks)]}, events=False
        ):
            recoveries += from_checkpoint
    return recoveries


def folding_gives_the_view(recording: Recording, plan: Plan, choices: list[int]) -> None:
    """At every step: the events, folded into the picture before it, give the picture after it."""
    picture = recording.view()
    turns = iter(choices)

    def check(step):
        fold(picture, step)
        assert picture == recording.view(), step
        assert narrate_step(step).endswith(".")
        assert all(narrate(event).endswith(".") for event in step.events)

    for steps, command in [*plan, (MOST_STEPS, None)]:
        for _ in range(steps):
            choice = next(turns, None)
            possible = recording.possible()
            if choice is not None and possible:
                check(recording.act(possible[choice % len(possible)]["id"]))
                continue
            taken = recording.step(1, events=True)
            if not taken:
                break
            check(taken[0])
        if command and (done := apply_if_possible(recording, command)):
            check(done)
    assert recording.view()["job"]["state"] == "finished", recording.view()["job"]


def watching_and_cutting_change_nothing(
    start: Start, policy: Policy, plan: Plan, cuts: list[int]
) -> None:
    """The same choices give the same trace whether the run is watched, unwatched, or cut into pieces."""
    watched = start(policy)
    for steps, command in plan:
        watched.step(steps, events=True)
        apply_if_possible(watched, command)
    watched.step(MOST_STEPS, events=True)
    assert watched.view()["job"]["state"] == "finished", watched.view()["job"]

    unwatched = start(policy, watched.log)
    unwatched.seek(watched.head)
    assert unwatched.view() == watched.view()
    assert written(unwatched) == written(watched)
    assert unwatched.digests == watched.digests

    pieces = start(policy, watched.log)
    number = 0
    while pieces.position < pieces.head:
        pieces.step(min(cuts[number % len(cuts)], pieces.head - pieces.position))
        number += 1
    assert pieces.view() == watched.view()
    assert written(pieces) == written(watched)


def a_burst_is_its_actions(start: Start, policy: Policy, plan: Plan) -> None:
    """Output, state, watermarks and checkpoints are the same when each burst is taken one action at a time."""
    burst = start(policy)
    schedule: list = []
    for steps, command in [*plan, (100_000, None)]:
        burst.runtime.schedule = schedule
        burst.step(steps)
        if command and not why_not_command(burst.runtime, parse_command(command)):
            burst.apply(command, events=False)
            schedule.append(command)
    assert burst.view()["job"]["state"] == "finished", burst.view()["job"]

    atomic = start(Policy("manual"))
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


def seeking_shows_what_was_shown(recording: Recording, plan: Plan, targets: list[int]) -> None:
    recording._interval = 20  # keyframes close together, so that short runs have some
    views = [json.dumps(recording.view())]
    for steps, command in [*plan, (400, {"kind": "checkpoint"})]:
        for _ in range(steps):
            assert not recording.step(1), "nothing was to be collected"
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
