"""The run of a network keeps the laws of every run, for every protocol, and tells what happened."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import ImpossibleAction, LearnerMistake, Policy, WouldBranch
from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.network_text import read_network
from engine.checkpointing.wrong_snapshots import PROTOCOLS
from engine.processes.fold import fold_network
from engine.processes.recording import NetworkRecording

from ..checkpointing.networks import RING, networks, pair

POLICIES = st.sampled_from(["script", "round_robin", "random"])
MOVES = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=40)
"""None: a step of the policy; a number: that one of the possible actions."""

NEVER = """
process P 1
process Q 1
link P <-> Q
snapshot P
send P -> Q 1
send Q -> P 1
deliver P -> Q
deliver Q -> P
deliver Q -> P
"""

LATE = """
process P 1
process Q 1
link P <-> Q
snapshot P
send P -> Q 1
deliver P -> Q
markers P
deliver P -> Q
markers Q
deliver Q -> P
"""


def recording_of(network, protocol="as Chandy and Lamport say", policy="script", seed=0, log=()):
    return NetworkRecording(
        lambda: PROTOCOLS[protocol](network), Policy(policy), seed, log, protocol
    )


def go(recording, moves):
    """Traces of a run that mixes the policy with choices."""
    traces = []
    for move in moves:
        possible = recording.possible()
        if not possible:
            break
        if move is None:
            traces += recording.step(1, events=True)
        else:
            traces.append(recording.act(possible[move % len(possible)]["id"]))
    return traces


@settings(max_examples=120)
@given(networks(sends=5), st.sampled_from(list(PROTOCOLS)), POLICIES, st.integers(0, 3), MOVES)
def test_folding_the_events_gives_the_picture_at_every_step(network, protocol, policy, seed, moves):
    recording = recording_of(network, protocol, policy, seed)
    folded = copy.deepcopy(recording.view())
    for move in [*moves, *[None] * 30]:
        before = recording.position
        for trace in go(recording, [move]):
            fold_network(folded, trace)
            assert recording.narrate(trace).endswith(".")
        if recording.position == before:
            break
        assert folded == recording.view()
        json.dumps(folded)


@settings(max_examples=80)
@given(networks(sends=5), st.sampled_from(list(PROTOCOLS)), POLICIES, st.integers(0, 3), MOVES)
def test_replaying_the_log_gives_the_same_run_and_seeking_changes_nothing(
    network, protocol, policy, seed, moves
):
    recording = recording_of(network, protocol, policy, seed)
    views = [recording.view()]
    traces = []
    for move in moves:
        traces += go(recording, [move])
        if recording.position == len(views):
            views.append(recording.view())
    again = recording_of(network, protocol, policy, seed, recording.log)
    assert again.head == recording.head
    assert again.step(again.head, events=True) == traces
    assert (again.view(), again.marks) == (views[-1], recording.marks)
    for step in range(recording.head, -1, -1):
        again.seek(step)
        assert again.view() == views[step]
        fork = again.fork()
        assert (fork.position, fork.head, fork.view()) == (step, step, views[step])
        ahead = again.ahead()
        assert ahead.head == recording.head
        if step < recording.head:
            ahead.step(1)
            assert ahead.view() == views[step + 1]


def test_the_script_is_followed_and_the_state_that_never_occurred_is_said():
    recording = recording_of(read_network(NEVER))
    assert recording.run_until({"kind": "snapshot_completes"}, 100) == "snapshot 1 completed"
    assert recording.position == 6
    outcome = recording.view()["snapshots"]["1"]["outcome"]
    assert outcome["occurred"] is None
    assert outcome["order"] == ["send:Q"]
    assert "never occurred in this run" in outcome["verdict"]
    assert [6, "never_occurred", "1"] in recording.marks
    recording.seek(5)
    (trace,) = recording.step(1, events=True)
    assert recording.narrate(trace).startswith(
        "P received marker 1 from Q; the record of Q → P for snapshot 1 is complete; snapshot 1 is complete."
    )


def test_an_entry_of_the_script_that_is_not_possible_is_left_out():
    recording = recording_of(read_network(NEVER))
    recording.act("send:Q")
    recording.step(100)
    actions = [recording.next_action()]
    recording.seek(0)
    actions = [trace.action for trace in recording.step(100, events=True)]
    assert actions[:5] == ["send:Q", "snapshot:P/1", "send:P", "deliver:P>Q", "deliver:Q>P"]
    assert recording.possible() == []


def test_a_choice_in_the_past_branches_unless_it_is_the_recorded_one():
    recording = recording_of(RING, policy="round_robin")
    recording.step(5)
    recording.seek(2)
    recording.act(recording.next_action())
    assert (recording.position, recording.head) == (3, 5)
    other = next(one["id"] for one in recording.possible() if not one["default"])
    with pytest.raises(WouldBranch):
        recording.act(other)
    branch = recording.fork()
    branch.act(other)
    assert (branch.head, recording.head, recording.position) == (4, 5, 3)


def test_what_cannot_be_done_is_said():
    recording = recording_of(pair())
    with pytest.raises(ImpossibleAction, match="holds no more"):
        recording.act("deliver:P>Q")
    with pytest.raises(ImpossibleAction, match="no action 'sing'"):
        recording.act("sing")
    with pytest.raises(ImpossibleAction, match="takes no commands"):
        recording.apply({"kind": "checkpoint"})
    with pytest.raises(LearnerMistake, match="not in this run"):
        recording.seek(1)
    with pytest.raises(LearnerMistake, match="cannot run until that"):
        recording.run_until({"kind": "window_fires"}, 10)
    assert recording.head == 0
    recording.act("send:P")
    recording.act("snapshot:P/1")
    reasons = {one["id"]: one["reason"]["sentence"] for one in recording.impossible()}
    assert reasons == {"snapshot:P/1": "P has recorded for it"}
    manual = recording_of(pair(), policy="manual")
    assert manual.next_action() is None
    with pytest.raises(LearnerMistake, match="stepped by hand"):
        manual.step()


def test_every_action_has_a_label_and_what_moves():
    recording = recording_of(pair().unordered(), policy="round_robin")
    for action in ("send:P", "snapshot:P/1"):
        recording.act(action)
    labels = {one["id"]: (one["label"], one["message"]) for one in recording.possible()}
    assert labels == {
        "send:Q": ("Send 1 token Q → P", {"tokens": 1, "marker": 0}),
        "deliver:P>Q": ("Deliver 1 token P → Q", {"tokens": 1, "marker": 0}),
        "deliver:P>Q#1": ("Deliver marker 1, second in line, P → Q", {"tokens": 0, "marker": 1}),
    }


def test_sentences_tell_what_each_protocol_does():
    def told(protocol, *actions):
        recording = recording_of(pair(), protocol)
        return [recording.narrate(recording.act(action)) for action in actions]

    assert told("as Chandy and Lamport say", "send:Q", "snapshot:P/1", "deliver:Q>P") == [
        "Q sent 1 token to P and has 0 left.",
        "P started snapshot 1: it recorded its 1 token and sent marker 1 to Q.",
        "P received 1 token from Q and has 2 now; snapshot 1 records it as state of Q → P.",
    ]
    assert told("marker sent late", "snapshot:P/1", "markers:P", "deliver:P>Q") == [
        "P started snapshot 1: it recorded its 1 token; its markers are still to be sent.",
        "P sent the markers that it owed, marker 1 to Q.",
        "Q received marker 1 from P for the first time: it recorded its 1 token; the record of P → Q for snapshot 1 is complete; "
        "its markers are still to be sent.",
    ]


def test_long_runs_have_digests():
    network = read_network(
        "process P 1\nprocess Q 0\nlink P -> Q\nlink Q -> P\n"
        + "send P -> Q 1\nsend Q -> P 1\n" * 600
    )
    recording = recording_of(network, policy="round_robin")
    recording.step(5000)
    assert recording.head == 2400
    assert len(recording.digests) == 2
    again = recording_of(network, policy="round_robin", log=recording.log)
    while not again.replay_slice(97):
        pass
    assert again.digests == recording.digests
    assert again.fingerprint() == recording.fingerprint()
    again.seek(1999)
    assert again.fingerprint() != recording.fingerprint()
    assert len(again.fork().digests) == 1
    assert isinstance(again._make(), ChandyLamport)


def test_a_completed_snapshot_is_told_with_what_it_is_worth():
    def last_sentence(network, protocol):
        recording = recording_of(network, protocol)
        recording.run_until({"kind": "snapshot_completes"}, 100)
        recording.seek(recording.position - 1)
        return recording.narrate(recording.step(1, events=True)[0]).partition(". ")[2]

    never, late = read_network(NEVER), read_network(LATE)
    assert last_sentence(never, "as Chandy and Lamport say") == (
        "The state that it recorded never occurred in this run."
    )
    assert last_sentence(never, "no channel state") == "It holds 1 token where the network has 2."
    assert last_sentence(late, "marker sent late") == (
        "Its cut is inconsistent: a message crosses it backwards."
    )
    assert last_sentence(pair("deliver P -> Q"), "as Chandy and Lamport say").startswith(
        "The network was in the state that it recorded after step"
    )
