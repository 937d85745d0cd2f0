"""The laws of the engine over everything that event time has."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from engine import Policy, Recording, fold
from engine.commands import parse_command
from engine.impossible import why_not_command
from engine.narration import narrate, narrate_step
from engine.testing import written

from ..jobs import POLICIES, commands
from ..test_laws import CHOICES, LAWS, apply_if_possible
from .event_time_jobs import event_time_specs, make_event_time_job

MOST_STEPS = 4000
PLANS = st.lists(st.tuples(st.integers(0, 40), commands()), max_size=2)


@LAWS
@given(event_time_specs(), POLICIES, st.integers(0, 3), PLANS, CHOICES)
def test_folding_the_events_gives_the_view_at_every_step(spec, policy, seed, plan, choices):
    recording = Recording(make_event_time_job(spec), Policy(*policy), seed)
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


@LAWS
@given(event_time_specs(), POLICIES, PLANS, st.lists(st.integers(1, 50), min_size=1))
def test_watching_and_cutting_change_nothing(spec, policy, plan, cuts):
    watched = Recording(make_event_time_job(spec), Policy(*policy), 3)
    for steps, command in plan:
        watched.step(steps, events=True)
        apply_if_possible(watched, command)
    watched.step(MOST_STEPS, events=True)

    pieces = Recording(make_event_time_job(spec), Policy(*policy), 3, watched.log)
    number = 0
    while pieces.position < pieces.head:
        pieces.step(min(cuts[number % len(cuts)], pieces.head - pieces.position))
        number += 1
    assert pieces.view() == watched.view()
    assert written(pieces) == written(watched)


@LAWS
@given(event_time_specs(), st.sampled_from([2, 5, 64]), PLANS)
def test_a_burst_schedule_replayed_atomically_is_identical(spec, quantum, plan):
    burst = Recording(make_event_time_job(spec), Policy("round_robin", quantum), 3)
    schedule: list = []
    for steps, command in [*plan, (MOST_STEPS, None)]:
        burst.runtime.schedule = schedule
        burst.step(steps)
        if command and not why_not_command(burst.runtime, parse_command(command)):
            burst.apply(command, events=False)
            schedule.append(command)
    atomic = Recording(make_event_time_job(spec), Policy("manual"), 3)
    for entry in schedule:
        if isinstance(entry, dict):
            atomic.apply(entry, events=False)
        else:
            for _ in range(entry[1]):
                atomic.act(entry[0], events=False)
    assert atomic.view() == burst.view()
    assert written(atomic) == written(burst)
    assert atomic.marks == burst.marks


@LAWS
@given(event_time_specs(), POLICIES, PLANS, st.lists(st.integers(0, 10_000), max_size=6))
def test_seeking_shows_what_was_shown(spec, policy, plan, targets):
    recording = Recording(make_event_time_job(spec), Policy(*policy), 3)
    recording._interval = 20
    views = [json.dumps(recording.view())]
    for steps, command in [*plan, (300, {"kind": "checkpoint"})]:
        for _ in range(steps):
            recording.step(1)
            if recording.position == len(views):
                views.append(json.dumps(recording.view()))
        if apply_if_possible(recording, command, events=False):
            views.append(json.dumps(recording.view()))
    for target in targets:
        recording.seek(target % len(views))
        assert json.dumps(recording.view()) == views[target % len(views)]
