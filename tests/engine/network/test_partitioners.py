"""Each partitioner against Flink's rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob
from engine.network import partitioners as p
from engine.network.channel import Channel, Link
from engine.network.credit import Credit, Readiness
from engine.randomness import RandomStream
from engine.state.key_groups import assign_to_key_group, operator_index_for_key_group

WATERMARK = (1, 42)


def records(*values: Any) -> list[tuple[Any, ...]]:
    return [(0, value, None, None) for value in values]


def sent(
    partitioner: p.Partitioner, elements: list[Any], receivers: int, seed: int = 0
) -> list[list[Any]]:
    """What each of the receivers' channels holds after `elements` were emitted."""
    readiness, credit = Readiness(), Credit()
    channels = [
        Channel(
            f"s>r[{index}]", "s", f"r[{index}]", 1000, index, readiness, credit, Link(0, 0, index)
        )
        for index in range(receivers)
    ]
    partitioner.route(channels, 0, RandomStream(seed, "edge"), 128).emit(elements)
    return [[element[1] for element in channel.queue] for channel in channels]


def test_rescale_goes_round_beginning_with_the_first():
    assert sent(p.Rescale(), records("a", "b", "c", "d"), 3) == [["a", "d"], ["b"], ["c"]]


def test_rebalance_goes_round_beginning_with_a_seeded_random_one():
    firsts = set()
    for seed in range(20):
        channels = sent(p.Rebalance(), records(0, 1, 2, 3, 4, 5), 3, seed)
        first = next(index for index, values in enumerate(channels) if 0 in values)
        assert [channels[(first + turn) % 3] for turn in range(3)] == [[0, 3], [1, 4], [2, 5]]
        firsts.add(first)
    assert firsts == {0, 1, 2}


def test_broadcast_sends_everything_to_everybody():
    assert sent(p.Broadcast(), records("a", "b"), 3) == [["a", "b"]] * 3


def test_broadcast_gives_each_receiver_a_list_of_its_own():
    first, second = sent(p.Broadcast(), records([1]), 2)
    first[0].append(2)
    assert second == [[1]]


def test_global_sends_everything_to_the_first():
    assert sent(p.Global(), records("a", "b"), 3) == [["a", "b"], [], []]


def test_shuffle_depends_on_the_seed_alone_and_reaches_everybody():
    values = records(*range(100))
    assert sent(p.Shuffle(), values, 3, 1) == sent(p.Shuffle(), values, 3, 1)
    assert sent(p.Shuffle(), values, 3, 1) != sent(p.Shuffle(), values, 3, 2)
    assert all(len(channel) > 20 for channel in sent(p.Shuffle(), values, 3))


def test_custom_asks_the_function_with_the_key_and_the_number_of_receivers():
    by_remainder = p.Custom(lambda key, count: key % count, lambda value: value * 10)
    assert sent(by_remainder, records(1, 2, 3), 4) == [[2], [], [1, 3], []]


@pytest.mark.parametrize("answer", [3, -1, 1.0, None, True])
def test_a_custom_partitioner_that_names_no_receiver_is_refused(answer):
    with pytest.raises(InvalidJob) as refused:
        sent(p.Custom(lambda key, count: answer, lambda value: value), records("a"), 3)
    assert refused.value.code == "partition_out_of_range"
    assert repr(answer) in str(refused.value)


@given(st.lists(st.text(max_size=3) | st.integers(-5, 5)), st.integers(1, 5))
def test_hash_sends_each_key_to_the_owner_of_its_key_group(keys, receivers):
    expected: list[list[Any]] = [[] for _ in range(receivers)]
    for key in keys:
        group = assign_to_key_group(key, 128)
        expected[operator_index_for_key_group(128, receivers, group)].append(key)
    assert sent(p.Hash(lambda value: value), records(*keys), receivers) == expected


@pytest.mark.parametrize(
    "partitioner",
    [p.Rescale(), p.Rebalance(), p.Broadcast(), p.Global(), p.Shuffle(), p.Hash(str),
     p.Custom(lambda key, count: 0, str)],
    ids=lambda partitioner: partitioner.name,
)  # fmt: skip
@pytest.mark.parametrize("receivers", [1, 3])
def test_a_watermark_goes_to_everybody_between_its_records(partitioner, receivers):
    channels = sent(partitioner, [*records("a"), WATERMARK, *records("b")], receivers)
    for channel in channels:
        assert channel.count(42) == 1
        assert all(value != "b" for value in channel[: channel.index(42)])
        assert all(value != "a" for value in channel[channel.index(42) :])


@pytest.mark.parametrize(
    ("senders", "receivers", "connected"),
    [
        (1, 1, [[0]]),
        (3, 3, [[0], [1], [2]]),
        (2, 4, [[0, 1], [2, 3]]),
        (4, 2, [[0], [0], [1], [1]]),
        (2, 3, [[0, 1], [2]]),
        (3, 2, [[0], [1], [1]]),
        (1, 3, [[0, 1, 2]]),
        (3, 1, [[0], [0], [0]]),
    ],
)
def test_who_is_connected_to_whom_on_a_rescale_edge(senders, receivers, connected):
    assert p.pointwise(senders, receivers) == connected


@given(st.integers(1, 40), st.integers(1, 40))
def test_a_rescale_edge_leaves_nobody_out_and_is_balanced(senders, receivers):
    connected = p.pointwise(senders, receivers)
    reached = [receiver for targets in connected for receiver in targets]
    assert sorted(set(reached)) == list(range(receivers))
    assert reached == sorted(reached)
    assert len(reached) == max(senders, receivers)
    fan = [len(targets) for targets in connected]
    assert max(fan) - min(fan) <= 1


def test_without_a_word_equal_parallelism_is_forward_and_another_is_rebalance():
    assert p.Automatic().resolve(2, 2).name == "forward"
    assert p.Automatic().resolve(2, 3).name == "rebalance"
