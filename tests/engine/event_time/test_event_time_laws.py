"""The laws of the engine over everything that event time has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine import Policy, Recording

from .. import laws
from ..jobs import POLICIES, commands
from ..laws import CHOICES, CUTS, LAWS, QUANTA, TARGETS
from .event_time_jobs import event_time_specs, make_event_time_job

PLANS = st.lists(st.tuples(st.integers(0, 40), commands()), max_size=2)
SEEDS = st.integers(0, 3)


def starter(spec, seed):
    return lambda policy, log=(): Recording(make_event_time_job(spec), policy, seed, log)


@LAWS
@given(event_time_specs(), POLICIES, SEEDS, PLANS, CHOICES)
def test_folding_the_events_gives_the_view_at_every_step(spec, policy, seed, plan, choices):
    laws.folding_gives_the_view(starter(spec, seed)(Policy(*policy)), plan, choices)


@LAWS
@given(event_time_specs(), POLICIES, SEEDS, PLANS, CUTS)
def test_watching_and_cutting_change_nothing(spec, policy, seed, plan, cuts):
    laws.watching_and_cutting_change_nothing(starter(spec, seed), Policy(*policy), plan, cuts)


@LAWS
@given(event_time_specs(), QUANTA, SEEDS, PLANS)
def test_a_burst_schedule_replayed_atomically_is_identical(spec, quantum, seed, plan):
    laws.a_burst_is_its_actions(starter(spec, seed), Policy("round_robin", quantum), plan)


@LAWS
@given(event_time_specs(), POLICIES, SEEDS, PLANS, TARGETS)
def test_seeking_shows_what_was_shown(spec, policy, seed, plan, targets):
    laws.seeking_shows_what_was_shown(starter(spec, seed)(Policy(*policy)), plan, targets)
