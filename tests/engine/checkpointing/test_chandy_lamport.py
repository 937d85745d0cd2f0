"""The snapshot algorithm of Chandy and Lamport: as stories, and as laws over generated networks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import ImpossibleAction, InvalidJob
from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.process_network import Link, ProcessNetwork, Send

from .networks import RING, networks, pair, walk

CHOICES = st.lists(st.integers(0, 20), max_size=40)


def test_what_is_on_its_way_when_the_cut_passes_is_the_state_of_its_link():
    system = ChandyLamport(pair())
    system.run(["send:Q", "snapshot:P/1", "deliver:P>Q", "deliver:Q>P", "deliver:Q>P"])
    assert system.recorded_state(1) == (1, {"P": 1, "Q": 0}, {"Q>P": (1,)})


def test_what_arrives_behind_the_marker_belongs_to_no_snapshot():
    system = ChandyLamport(pair())
    system.run(["snapshot:P/1", "deliver:P>Q", "send:Q", "deliver:Q>P", "deliver:Q>P"])
    assert system.recorded_state(1) == (1, {"P": 1, "Q": 1}, {})
    assert system.tokens == [2, 0]


def test_a_marker_goes_out_before_anything_else():
    system = ChandyLamport(pair())
    system.run(["snapshot:P/1", "send:P"])
    assert system.links == [(-1, 1), ()]


def test_a_snapshot_is_complete_when_every_link_has_brought_its_marker():
    system = ChandyLamport(pair())
    system.run(["snapshot:P/1", "deliver:P>Q"])
    assert system.complete_at(0, 1)
    assert not system.complete_at(0, 0)
    assert system.recorded_state(1) is None
    system.apply("deliver:Q>P")
    assert system.recorded_state(1) is not None


def test_what_each_link_held_is_kept_in_its_order():
    system = ChandyLamport(RING)
    system.run(["send:A", "send:A", "snapshot:B/2", "send:C", "snapshot:A/1"])
    while actions := system.enabled():
        system.apply(actions[-1])
    assert system.recorded_state(1) == (1, {"A": 0, "B": 4, "C": 0}, {"C>A": (2,)})
    assert system.recorded_state(2) == (2, {"A": 2, "B": 0, "C": 0}, {"A>B": (3, 1)})


def test_several_initiators_of_one_snapshot_make_one_cut():
    system = ChandyLamport(pair("join Q 1"))
    system.run(["snapshot:P/1", "snapshot:Q/1"])
    assert system.links == [(-1,), (-1,)]
    system.run(["deliver:P>Q", "deliver:Q>P"])
    assert system.recorded_state(1) == (1, {"P": 1, "Q": 1}, {})


def test_who_was_reached_by_a_marker_cannot_start_the_snapshot_any_more():
    system = ChandyLamport(pair("join Q 1"))
    system.run(["snapshot:P/1", "deliver:P>Q"])
    assert "snapshot:Q/1" not in system.enabled()
    with pytest.raises(ImpossibleAction, match="Q has recorded for snapshot 1"):
        system.apply("snapshot:Q/1")


def test_a_process_alone_completes_at_once():
    system = ChandyLamport(ProcessNetwork({"P": 7}, (), (), (("P",),)))
    system.apply("snapshot:P/1")
    assert system.recorded_state(1) == (1, {"P": 7}, {})


def test_actions_have_the_order_of_the_network():
    system = ChandyLamport(RING)
    assert system.enabled() == ["send:A", "send:C", "snapshot:A/1", "snapshot:B/2"]
    system.run(["snapshot:B/2", "send:A"])
    assert system.enabled() == ["send:A", "send:C", "snapshot:A/1", "deliver:A>B", "deliver:B>C"]


def test_what_cannot_be_sent_yet_is_sent_when_there_are_tokens():
    network = ProcessNetwork(
        {"P": 0, "Q": 1}, (Link("P", "Q"), Link("Q", "P")), (Send("P", "Q", 1), Send("Q", "P", 1))
    )
    system = ChandyLamport(network)
    assert system.enabled() == ["send:Q"]
    with pytest.raises(ImpossibleAction, match="P has 0 tokens and has to send 1"):
        system.apply("send:P")
    system.run(["send:Q", "deliver:Q>P"])
    assert system.enabled() == ["send:P"]


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        ("deliver:P>Q", "link P>Q holds no more"),
        ("deliver:P>Q#1", "link P>Q keeps the order"),
        ("deliver:P>R", "There is no action"),
        ("deliver:P>Q#x", "There is no action"),
        ("send:R", "There is no action"),
        ("snapshot:P/2", "There is no action"),
        ("", "There is no action"),
    ],
)
def test_what_is_not_possible_is_refused_and_changes_nothing(action, sentence):
    system = ChandyLamport(pair())
    before = system.capture()
    with pytest.raises(ImpossibleAction, match=sentence):
        system.apply(action)
    assert system.capture() == before


def test_on_an_unordered_link_a_message_may_overtake():
    system = ChandyLamport(pair().unordered())
    system.run(["send:P", "snapshot:P/1"])
    assert [a for a in system.enabled() if ">" in a] == ["deliver:P>Q", "deliver:P>Q#1"]
    system.apply("deliver:P>Q#1")
    assert system.links == [(1,), (-1,)]
    with pytest.raises(ImpossibleAction, match="holds no more"):
        system.apply("deliver:P>Q#1")


def test_of_equal_messages_on_an_unordered_link_the_first_stands_for_all():
    network = ProcessNetwork(
        {"P": 4, "Q": 0},
        (Link("P", "Q", fifo=False),),
        tuple(Send("P", "Q", n) for n in (1, 1, 2, 1)),
    )
    system = ChandyLamport(network)
    system.run(["send:P"] * 3)
    assert system.enabled() == ["deliver:P>Q", "deliver:P>Q#2"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"tokens": {}}, "no_process"),
        ({"tokens": {"P": -1, "Q": 0}}, "tokens"),
        ({"tokens": {"P": True, "Q": 0}}, "tokens"),
        ({"links": (Link("P", "R"),)}, "unknown_process"),
        ({"links": (Link("P", "Q"), Link("P", "Q", False))}, "double_link"),
        ({"sends": (Send("Q", "P", 1),)}, "no_link"),
        ({"snapshots": (("R",),)}, "unknown_process"),
    ],
)
def test_a_network_that_breaks_a_rule_is_refused(changed, code):
    parts = {"tokens": {"P": 1, "Q": 1}, "links": (Link("P", "Q"),)} | changed
    with pytest.raises(InvalidJob) as raised:
        ProcessNetwork(**parts)
    assert raised.value.code == code


@settings(max_examples=60)
@given(networks(sends=6, snapshots=3), CHOICES)
def test_tokens_are_conserved_at_every_step_and_in_every_snapshot(network, choices):
    system = ChandyLamport(network)
    start = system.capture()
    taken = walk(system, choices)
    for number in range(1, len(network.snapshots) + 1):
        recorded = system.recorded_state(number)
        assert recorded is not None, number
        assert recorded.total() == network.total()
    system.restore(start)
    for action in taken:
        system.apply(action)
        assert system.total() == network.total()


@settings(max_examples=60)
@given(networks(), CHOICES, st.integers(0, 20))
def test_going_back_and_forth_gives_the_same(network, choices, step):
    system = ChandyLamport(network)
    states = [system.capture()]
    taken = walk(system, choices)
    end = system.capture()
    system.restore(states[0])
    for action in taken[:step]:
        system.apply(action)
    middle = system.capture()
    system.restore(end)
    assert system.capture() == end
    system.restore(middle)
    system.run(taken[step:])
    assert system.capture() == end


@settings(max_examples=60)
@given(networks(), CHOICES)
def test_independent_actions_commute_and_leave_each_other_possible(network, choices):
    system = ChandyLamport(network)
    walk(system, choices, most=len(choices) // 2)
    here, actions = system.capture(), system.enabled()
    for one in actions:
        for other in actions:
            if not system.independent(one, other):
                continue
            ends = []
            for order in ((one, other), (other, one)):
                system.restore(here)
                system.run(order)
                ends.append(system.state_key())
            assert ends[0] == ends[1], (one, other)
