"""Snapshots of process networks under the explorer: the right protocol in every schedule, each wrong one broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.cut import verdict
from engine.checkpointing.network_text import read_network
from engine.checkpointing.space_time import History
from engine.checkpointing.wrong_snapshots import WRONG_SNAPSHOTS
from engine.conformance.__main__ import main, run
from engine.conformance.chandy_lamport import three_processes
from engine.explore.invariants import Invariant, Watch, first_broken
from engine.explore.minimize import minimize
from engine.explore.network_invariants import (
    CONSISTENT_CUT,
    FIFO,
    RECORDED_STATE_OCCURRED,
    SNAPSHOT_CONSERVES,
    SNAPSHOT_RULES,
    SNAPSHOTS_COMPLETE,
    TOKENS_CONSERVED,
)
from engine.explore.results import Exhausted, Violated
from engine.explore.ways import breadth_first, depth_first, random_walks

from ..checkpointing.networks import RING, networks, pair
from ..oracles import shared_oracles

EVERY_RULE = (*SNAPSHOT_RULES, CONSISTENT_CUT, FIFO)
"""What the right protocol keeps."""

TWO = pair("snapshot Q")
"""Two snapshots at once."""

SHORTEST = {
    "no channel state": ("send:Q", "snapshot:P/1", "deliver:P>Q", "deliver:Q>P", "deliver:Q>P"),
    "marker sent late": (
        "snapshot:P/1", "send:P", "deliver:P>Q", "markers:P", "deliver:P>Q", "markers:Q", "deliver:Q>P",
    ),
    "non-FIFO channel": ("send:P", "snapshot:P/1", "deliver:P>Q#1", "deliver:Q>P"),
    "wrong id": ("snapshot:P/1", "send:P", "snapshot:Q/2", "deliver:P>Q", "deliver:Q>P"),
}  # fmt: skip
"""A counterexample that is as short as any, per wrong protocol."""


def oracle(name: str) -> Path:
    path = shared_oracles() / name
    if not path.exists():
        pytest.skip(f"{name} is not part of the project and {path.parent} does not hold it")
    return path


@pytest.mark.parametrize("network", [pair(), TWO, pair("join Q 1"), RING], ids=str)
def test_the_right_protocol_keeps_every_rule_in_every_schedule(network):
    assert isinstance(breadth_first(ChandyLamport(network), EVERY_RULE), Exhausted)


@pytest.mark.parametrize("name", WRONG_SNAPSHOTS)
def test_each_wrong_protocol_is_broken_by_a_shortest_schedule(name):
    network = TWO if name == "wrong id" else pair()
    result = breadth_first(WRONG_SNAPSHOTS[name](network), [SNAPSHOT_CONSERVES])
    assert isinstance(result, Violated)
    assert len(result.actions) == len(SHORTEST[name])
    found = first_broken(WRONG_SNAPSHOTS[name](network), SHORTEST[name], [SNAPSHOT_CONSERVES])
    assert found is not None
    assert found[0] == len(SHORTEST[name])


@pytest.mark.parametrize("name", WRONG_SNAPSHOTS)
def test_each_wrong_protocol_is_found_by_the_reduced_search_and_by_walks(name):
    network = TWO if name == "wrong id" else pair()
    start = WRONG_SNAPSHOTS[name](network)
    for result in (
        depth_first(WRONG_SNAPSHOTS[name](network), SNAPSHOT_RULES),
        random_walks(WRONG_SNAPSHOTS[name](network), [SNAPSHOT_CONSERVES], 500, 30),
    ):
        assert isinstance(result, Violated)
    least = minimize(start, result.actions, SNAPSHOT_CONSERVES)
    assert len(SHORTEST[name]) <= len(least) <= len(result.actions)


def test_a_recorded_state_that_never_occurred_needs_six_steps():
    result = breadth_first(ChandyLamport(pair()), [RECORDED_STATE_OCCURRED])
    assert isinstance(result, Violated)
    assert len(result.actions) == 6
    assert "never occurred in this run. It might have" in verdict(
        History(ChandyLamport(pair()), result.actions), 1
    )


def test_a_lost_and_a_doubled_token_are_both_reachable_without_order():
    """One token in all, on links that keep no order: recorded as none, and as two."""
    network = read_network("process P 1\nprocess Q 0\nlink P <-> Q\nsend P -> Q 1\nsnapshot P")
    totals = set()

    def note(system):
        recorded = system.recorded_state(1)
        if recorded is not None:
            totals.add(recorded.total())
        return ""

    breadth_first(ChandyLamport(network.unordered()), [Invariant("a total is noted", note)])
    assert totals == {0, 1, 2}


def test_one_number_mistaken_leaves_a_snapshot_that_never_ends():
    result = breadth_first(WRONG_SNAPSHOTS["wrong id"](TWO), [SNAPSHOTS_COMPLETE])
    assert isinstance(result, Violated)
    assert "is not complete" in result.sentence


@pytest.mark.parametrize(
    ("rule", "actions", "sentence"),
    [
        (CONSISTENT_CUT, "snapshot:P/1 send:P deliver:P>Q#1", "Q received before its cut"),
        (CONSISTENT_CUT, "snapshot:P/1 send:P deliver:P>Q", None),
        (FIFO, "send:P snapshot:P/1 deliver:P>Q#1", "a message overtook 1 sent before it"),
        (FIFO, "send:P snapshot:P/1 deliver:P>Q deliver:P>Q", None),
    ],
)
def test_a_rule_about_history_is_broken_at_its_step(rule, actions, sentence):
    found = first_broken(ChandyLamport(pair().unordered()), actions.split(), [rule])
    assert (found is None) is (sentence is None)
    if found is not None:
        assert found[0] == 3
        assert sentence in found[1].sentence


def test_a_token_that_appears_from_nowhere_is_noticed():
    system = ChandyLamport(pair())
    system.tokens[0] += 1
    broken = Watch([TOKENS_CONSERVED]).judge(system, ended=False)
    assert broken is not None
    assert broken.sentence == "The network has 3 tokens instead of 2."


@settings(max_examples=25)
@given(networks(sends=2, snapshots=1))
def test_generated_networks_keep_every_rule_in_every_schedule_both_ways(network):
    plain = breadth_first(ChandyLamport(network), EVERY_RULE)
    reduced = depth_first(ChandyLamport(network), SNAPSHOT_RULES)
    assert isinstance(plain, Exhausted)
    assert isinstance(reduced, Exhausted)
    assert reduced.counts.reduced
    assert plain.counts.states == reduced.counts.states
    assert plain.counts.terminal == reduced.counts.terminal


# The oracles


def test_snapshots_under_explicit_deliveries_are_those_of_the_oracle():
    report = run(str(oracle("chandy_lamport_cases.json")))
    assert len(report.outcomes) == 7
    assert not report.failed(), report.text()
    assert not report.unsupported()


CHANGES = {
    "tokens": lambda case: case["expected"][0]["tokens"].update(N1=4),
    "messages": lambda case: case["expected"][0]["messages"].pop(),
    "completions": lambda case: case["local_completions"].pop(),
    "undelivered": lambda case: case["undelivered"].append({}),
    "order": lambda case: case["messages"][0].update(value=99),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_runner_notices_what_differs(change, tmp_path, capsys):
    content = json.loads(oracle("chandy_lamport_cases.json").read_text(encoding="utf-8"))
    case = next(case for case in content["cases"] if case["name"] == "3nodes-simple")
    CHANGES[change](case)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps({"cases": [case]}), encoding="utf-8")
    assert main([str(path)]) == 1
    assert "0 passed, 1 failed" in capsys.readouterr().out


def test_the_state_space_has_the_size_that_two_model_checkers_count():
    report = run(str(oracle("explorer_counts.json")))
    assert len(report.outcomes) == 3
    assert not report.failed(), report.text()


def test_the_state_space_of_one_message_is_known_by_heart():
    """So that a clone without the oracles holds the explorer to something."""
    plain = breadth_first(ChandyLamport(three_processes(1)), SNAPSHOT_RULES)
    reduced = depth_first(ChandyLamport(three_processes(1)), SNAPSHOT_RULES)
    assert plain.counts[:3] == (167, 436, 3)
    assert reduced.counts[:3] == (167, 263, 3), (
        "a state that is reached again takes what left its set"
    )
