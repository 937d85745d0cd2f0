"""A counterexample without what it does not need."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import ImpossibleAction, LearnerMistake
from engine.explore.invariants import first_broken
from engine.explore.minimize import minimize

from .systems import COUNTERS, Programs, never, never_taken
from .test_search import PROGRAMS


def test_what_does_not_matter_is_left_out():
    system = Programs([*COUNTERS, [("x", 2, 0)]])
    assert minimize(system, "10110200", never("x", 4)) == ("0", "0", "2")


def test_what_follows_the_violation_is_left_out():
    assert minimize(Programs(COUNTERS), "000111", never("x", 1)) == ("0",)


def test_a_rule_for_the_end_keeps_everything_that_leads_there():
    assert minimize(Programs(COUNTERS), "010101", never("x", 3, at_end=True)) == tuple("010101")


def test_an_order_is_kept():
    assert minimize(Programs(COUNTERS), "101100", never_taken("1", "0")) == ("1", "0")


def test_the_system_stands_where_it_stood():
    system = Programs(COUNTERS)
    system.apply("0")
    assert minimize(system, "1010", never("x", 3)) == ("0", "0")
    assert system.capture() == ([1, 0], {"x": 1})


def test_actions_that_break_nothing_are_refused():
    with pytest.raises(LearnerMistake, match="do not violate x is not 9"):
        minimize(Programs(COUNTERS), "0101", never("x", 9))


@settings(max_examples=150)
@given(PROGRAMS, st.lists(st.integers(0, 2), max_size=9))
def test_no_single_action_can_be_left_out(programs, choices):
    system = Programs(programs)
    actions = []
    for choice in choices:
        if str(choice) in system.enabled():
            system.apply(str(choice))
            actions.append(str(choice))
    rules = [never(variable, value) for variable, value in system.values.items() if value]
    for rule in rules:
        least = minimize(Programs(programs), actions, rule)
        assert first_broken(Programs(programs), least, [rule]) is not None
        for left_out in range(len(least)):
            shorter = least[:left_out] + least[left_out + 1 :]
            try:
                assert first_broken(Programs(programs), shorter, [rule]) is None
            except ImpossibleAction:
                continue
