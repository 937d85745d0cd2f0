"""The search: what it counts, what it finds, and what it says when it has to give up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import LearnerMistake
from engine.explore import search
from engine.explore.invariants import first_broken
from engine.explore.results import BoundReached, Exhausted, Violated
from engine.explore.ways import Bounds, breadth_first, depth_first, random_walks

from .systems import COUNTERS, Graph, Programs, never, never_at, never_taken

STATEMENT = st.tuples(st.sampled_from("xyz"), st.integers(0, 2), st.integers(0, 2))
PROGRAMS = st.lists(st.lists(STATEMENT, max_size=3), min_size=1, max_size=3)
BOTH = pytest.mark.parametrize("way", [breadth_first, depth_first])


def test_every_state_and_every_transition_is_counted_without_reduction():
    result = breadth_first(Programs(COUNTERS), [])
    assert isinstance(result, Exhausted)
    assert result.counts == (16, 24, 1, 6, False)


def test_sleep_sets_leave_transitions_out_and_no_state():
    result = depth_first(Programs(COUNTERS), [])
    assert isinstance(result, Exhausted)
    assert result.counts == (16, 15, 1, 6, True), "a tree: each state is reached once"


@settings(max_examples=150)
@given(PROGRAMS)
def test_both_ways_see_the_same_states(programs):
    plain = breadth_first(Programs(programs), []).counts
    reduced = depth_first(Programs(programs), []).counts
    assert (plain.states, plain.terminal) == (reduced.states, reduced.terminal)
    assert reduced.transitions <= plain.transitions


@settings(max_examples=150)
@given(PROGRAMS, st.sampled_from("xyz"), st.integers(1, 6), st.booleans())
def test_both_ways_agree_on_a_rule_and_breadth_first_is_shortest(programs, variable, value, at_end):
    rule = never(variable, value, at_end)
    plain = breadth_first(Programs(programs), [rule])
    reduced = depth_first(Programs(programs), [rule])
    assert type(plain) is type(reduced)
    if isinstance(plain, Violated) and isinstance(reduced, Violated):
        assert len(plain.actions) <= len(reduced.actions)
        for found in (plain, reduced):
            length = len(found.actions)
            broken = first_broken(Programs(programs), found.actions, [rule])
            assert broken == (length, (found.invariant, found.sentence))


@BOTH
def test_the_violation_comes_with_its_schedule_and_its_sentence(way):
    result = way(Programs([[("x", 1, 1)], [("x", 2, 0)], [("y", 1, 1)]]), [never("x", 2)])
    assert isinstance(result, Violated)
    assert result.invariant == "x is not 2"
    assert result.sentence == "x is 2."
    assert [action for action in result.actions if action != "2"] == ["0", "1"]
    assert result.told() == f"x is not 2 is violated after {len(result.actions)} steps: x is 2."


@BOTH
def test_a_rule_that_is_broken_at_the_start_needs_no_step(way):
    result = way(Programs(COUNTERS), [never("x", 0)])
    assert isinstance(result, Violated)
    assert result.actions == ()


@BOTH
def test_a_rule_for_the_end_is_judged_at_the_end_only(way):
    assert isinstance(way(Programs(COUNTERS), [never("x", 2, at_end=True)]), Exhausted)
    result = way(Programs(COUNTERS), [never("x", 3, at_end=True)])
    assert isinstance(result, Violated)
    assert len(result.actions) == 6


@BOTH
def test_a_rule_about_history_sees_orders_that_end_in_the_same_state(way):
    result = way(Programs(COUNTERS), [never_taken("1", "1", "0", "0")])
    assert isinstance(result, Violated)
    assert "1100" in "".join(result.actions)
    assert not result.counts.reduced
    nothing = way(Programs(COUNTERS), [never_taken("1", "1", "1", "1")])
    assert isinstance(nothing, Exhausted)
    assert nothing.counts.states > 16, "the memory of the rule is part of the state"


@BOTH
def test_the_bound_on_states_is_told_and_is_no_proof(way):
    result = way(Programs(COUNTERS), [], Bounds(states=10))
    assert isinstance(result, BoundReached)
    assert result.bound == "states"
    assert "Undecided" in result.told()
    assert isinstance(way(Programs(COUNTERS), [], Bounds(states=16)), Exhausted)


@BOTH
def test_the_bound_on_depth_is_told_unless_nothing_lies_behind_it(way):
    result = way(Programs(COUNTERS), [never("x", 3)], Bounds(depth=2))
    assert isinstance(result, BoundReached)
    assert (result.bound, result.counts.states) == ("depth", 6)
    assert isinstance(way(Programs(COUNTERS), [never("x", 3)], Bounds(depth=3)), Violated)
    assert isinstance(way(Programs(COUNTERS), [], Bounds(depth=6)), Exhausted)


@settings(max_examples=100)
@given(PROGRAMS, st.integers(0, 5))
def test_a_bound_on_depth_never_hides_a_state_above_it(programs, depth):
    plain = breadth_first(Programs(programs), [], Bounds(depth=depth))
    deep = depth_first(Programs(programs), [], Bounds(depth=depth))
    assert type(plain) is type(deep)
    if isinstance(plain, Exhausted):
        assert plain.counts.states == deep.counts.states


@BOTH
def test_what_was_cut_off_is_looked_at_again_from_a_shorter_way(way):
    long_way_first = "a>b b>c c>d a>d d>e e>f"
    assert isinstance(way(Graph(long_way_first), [never_at("f")], Bounds(depth=3)), Violated)
    result = way(Graph(long_way_first), [never_at("f")], Bounds(depth=2))
    assert isinstance(result, BoundReached)


@BOTH
def test_circles_end(way):
    result = way(Graph("a>b b>c c>a c>d d>d"), [never_at("x")])
    assert isinstance(result, Exhausted)
    assert result.counts[:3] == (4, 5, 0)


@BOTH
def test_a_search_stops_when_it_is_told_to(way):
    asked = []

    def should_stop(counts):
        asked.append(counts.transitions)
        return len(asked) == 2

    large = Programs([[("x", 1, 1)] * 9, [("y", 1, 1)] * 9, [("z", 1, 1)] * 9])
    result = way(large, [], Bounds(should_stop=should_stop))
    assert isinstance(result, BoundReached)
    assert result.bound == "stopped"
    assert asked == [256, 512]


def test_one_name_for_all_ways():
    assert search(Programs(COUNTERS), []).counts.transitions == 24
    assert search(Programs(COUNTERS), [], way="depth first").counts.transitions == 15
    walks = search(Programs(COUNTERS), [], Bounds(depth=4), way="random walks", walks=5)
    assert walks == random_walks(Programs(COUNTERS), [], 5, 4)
    with pytest.raises(LearnerMistake, match="There is no way 'sideways'"):
        search(Programs(COUNTERS), [], way="sideways")


def test_walks_are_seeded_and_prove_nothing():
    rules = [never_taken("1", "1", "1", "0", "0", "0")]
    results = [random_walks(Programs(COUNTERS), rules, 200, 10, seed) for seed in (1, 1, 2, 3)]
    assert results[0] == results[1]
    assert all(isinstance(result, Violated) for result in results)
    assert len({result.counts for result in results}) > 1
    nothing = random_walks(Programs(COUNTERS), [], 200, 10)
    assert isinstance(nothing, BoundReached)
    assert nothing.bound == "walks"
    assert nothing.counts.states == 16


def test_walks_have_a_length_and_can_be_stopped():
    assert random_walks(Programs(COUNTERS), [never("x", 3)], 50, 2).counts.depth == 2
    result = random_walks(Programs(COUNTERS), [], 1000, 6, should_stop=lambda counts: True)
    assert result == BoundReached("stopped", result.counts)
    assert result.counts.transitions == 256
