"""Policies choose among bits and know nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidJob, LearnerMistake, Policy
from engine.scheduler import Recorded, make_scheduler

MASKS = st.lists(st.integers(1, 2**70), min_size=1, max_size=30)


def test_round_robin_takes_the_next_after_the_last_and_begins_anew():
    scheduler = make_scheduler(Policy("round_robin"), 0)
    assert [scheduler.choose(0b1011) for _ in range(4)] == [0, 1, 3, 0]
    assert scheduler.choose(0b1000) == 3
    assert scheduler.choose(0b0001) == 0


@given(MASKS)
def test_round_robin_is_the_slow_model(masks):
    scheduler, last = make_scheduler(Policy("round_robin"), 0), -1
    for mask in masks:
        enabled = [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
        last = next((bit for bit in enabled if bit > last), enabled[0])
        assert scheduler.choose(mask) == last


def test_random_depends_on_the_seed_and_reaches_everything():
    def choices(seed):
        scheduler = make_scheduler(Policy("random"), seed)
        return [scheduler.choose(0b10110) for _ in range(60)]

    assert choices(1) == choices(1) != choices(2)
    assert set(choices(1)) == {1, 2, 4}


@pytest.mark.parametrize("name", ["round_robin", "random"])
@given(MASKS, MASKS)
def test_a_rewound_policy_chooses_again_what_it_chose(name, before, after):
    scheduler = make_scheduler(Policy(name), 3)
    for mask in before:
        scheduler.choose(mask)
    frame = scheduler.keyframe()
    chosen = [scheduler.choose(mask) for mask in after]
    scheduler.rewind(frame)
    assert [scheduler.choose(mask) for mask in after] == chosen


def test_recorded_repeats_and_says_when_it_cannot():
    scheduler = Recorded([1, 0, 2])
    assert [scheduler.choose(0b11), scheduler.choose(0b11)] == [1, 0]
    with pytest.raises(LearnerMistake, match="choice 2 is not possible"):
        scheduler.choose(0b11)
    assert scheduler.choose(0b100) == 2
    with pytest.raises(LearnerMistake, match="used up"):
        scheduler.choose(0b1)


@pytest.mark.parametrize(
    "policy",
    [Policy("dance"), Policy(""), Policy("round_robin", 0), Policy("random", True),
     Policy("random", 1.5), Policy("random", 10**7)],
    ids=str,
)  # fmt: skip
def test_a_policy_that_there_is_not(policy):
    with pytest.raises(InvalidJob):
        make_scheduler(policy, 0)
