"""Space-time diagrams, cuts, and whether a recorded state ever occurred."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from engine import LearnerMistake
from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.cut import (
    backwards,
    global_state,
    in_flight,
    occurrences,
    recorded_as_global,
    reordered,
    verdict,
    without_snapshots,
)
from engine.checkpointing.space_time import Arrow, Cut, History
from engine.checkpointing.wrong_snapshots import LateMarkers, NoChannelState

from .networks import networks, pair, walk
from .test_chandy_lamport import CHOICES

NEVER = ["snapshot:P/1", "send:P", "send:Q", "deliver:P>Q", "deliver:Q>P", "deliver:Q>P"]
"""P records 1 token, both send theirs, and the token of Q comes between: a state that the network was never in."""


def test_a_run_is_lanes_arrows_and_cuts():
    diagram = History(ChandyLamport(pair()), NEVER).space_time()
    assert diagram.lanes == ("P", "Q")
    assert diagram.steps == 6
    assert diagram.arrows == (
        Arrow("P>Q", "P", "Q", 0, 1, sent=1, delivered=4),
        Arrow("P>Q", "P", "Q", 1, 0, sent=2, delivered=None),
        Arrow("Q>P", "Q", "P", 1, 0, sent=3, delivered=5),
        Arrow("Q>P", "Q", "P", 0, 1, sent=4, delivered=6),
    )
    assert diagram.cuts == (Cut(1, {"P": 1, "Q": 4}),)


def test_arrows_that_overtake_end_where_they_arrive():
    history = History(
        ChandyLamport(pair().unordered()), ["send:P", "snapshot:P/1", "deliver:P>Q#1"]
    )
    assert history.space_time().arrows[:2] == (
        Arrow("P>Q", "P", "Q", 1, 0, sent=1, delivered=None),
        Arrow("P>Q", "P", "Q", 0, 1, sent=2, delivered=3),
    )


def test_a_process_that_has_not_recorded_has_no_point_on_the_cut():
    history = History(ChandyLamport(pair()), ["snapshot:P/1"])
    assert history.cut(1) == Cut(1, {"P": 1, "Q": None})


def test_a_state_that_never_occurred_is_detected_and_said():
    history = History(ChandyLamport(pair()), NEVER)
    assert occurrences(history, 1) == []
    assert verdict(history, 1) == (
        "Snapshot 1 recorded P 1, Q 0; 1 on Q>P. This recorded state never occurred in this run. It might have: no "
        "message crosses the cut backwards, so the same actions in another order pass through it."
    )
    assert reordered(history, 1) == (("send:Q", "send:P", "deliver:Q>P"), 1)


def test_a_state_that_occurred_is_said_with_its_step():
    actions = ["send:Q", "snapshot:P/1", "deliver:P>Q", "deliver:Q>P", "deliver:Q>P"]
    history = History(ChandyLamport(pair()), actions)
    assert occurrences(history, 1) == [1, 2, 3]
    assert verdict(history, 1).endswith("The network was in this state after step 1.")


def test_an_inconsistent_cut_names_the_message_that_crosses_it_backwards():
    actions = ["snapshot:P/1", "send:P", "deliver:P>Q", "markers:P", "deliver:P>Q", "markers:Q"]
    history = History(LateMarkers(pair()), [*actions, "deliver:Q>P"])
    (arrow,) = backwards(history.space_time().arrows, history.cut(1))
    assert (arrow.link, arrow.sent, arrow.delivered) == ("P>Q", 2, 3)
    assert "inconsistent: P sent 1 token to Q after it had recorded" in verdict(history, 1)


def test_a_record_that_misses_tokens_says_how_many():
    actions = ["send:Q", "snapshot:P/1", "deliver:P>Q", "deliver:Q>P", "deliver:Q>P"]
    history = History(NoChannelState(pair()), actions)
    assert verdict(history, 1).endswith(
        "That makes 1 token where the network has 2: this state cannot occur."
    )
    (arrow,) = in_flight(history.space_time().arrows, history.cut(1))
    assert (arrow.link, arrow.tokens) == ("Q>P", 1)


def test_a_snapshot_that_is_not_complete_cannot_be_judged():
    with pytest.raises(LearnerMistake, match="Snapshot 1 is not complete"):
        verdict(History(ChandyLamport(pair()), ["snapshot:P/1"]), 1)


@settings(max_examples=80)
@given(networks(sends=6, snapshots=3), CHOICES)
def test_every_recorded_state_is_passed_by_the_same_actions_in_another_order(network, choices):
    """Chandy and Lamport 1985, theorem 1; and what a snapshot kept is what its cut leaves in flight."""
    system = ChandyLamport(network)
    start = system.capture()
    actions = walk(system, choices)
    system.restore(start)
    history = History(system, actions)
    arrows = history.space_time().arrows
    for number in range(1, len(network.snapshots) + 1):
        recorded = system.recorded_state(number)
        cut = history.cut(number)
        assert backwards(arrows, cut) == []
        kept: dict[str, tuple[int, ...]] = {}
        for arrow in in_flight(arrows, cut):
            kept[arrow.link] = (*kept.get(arrow.link, ()), arrow.tokens)
        assert kept == recorded.links
        order, before = reordered(history, number)
        replay = ChandyLamport(without_snapshots(network))
        replay.run(order[:before])
        assert global_state(replay) == recorded_as_global(system, recorded)
        replay.run(order[before:])
        assert global_state(replay) == global_state(system)
