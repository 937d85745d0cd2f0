"""Arithmetic on logs, against a log written out step by step."""

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.runs import logs
from streamlab.runs.errors import RunError
from streamlab.runs.limits import Rate
from streamlab.runs.services import Growth, Written
from streamlab.runs.slices import SLICE_SECONDS, Pace, Turns
from streamlab.runs.writer import Conflict, Writer

ENTRY = st.one_of(
    st.tuples(st.just("policy"), st.integers(0, 5)).map(list),
    st.tuples(st.just("action"), st.sampled_from("ab")).map(list),
    st.just(["command", {"kind": "checkpoint"}]),
)
LOG = st.lists(ENTRY, max_size=12)


def written_out(log: list[Any]) -> list[Any]:
    """One item per step: the slow and obvious form."""
    return [
        choice
        for entry in log
        for choice in (["policy"] * entry[1] if entry[0] == "policy" else [entry[1]])
    ]


@given(LOG, LOG)
def test_join_is_one_after_the_other(one: list[Any], two: list[Any]) -> None:
    joined = logs.join(one, two)
    assert written_out(joined) == written_out(one) + written_out(two)
    kinds = [entry[0] for entry in joined]
    assert ("policy", "policy") not in itertools.pairwise(kinds)
    assert ["policy", 0] not in joined


@given(LOG, st.integers(0, 40))
def test_cut_is_the_first_steps(log: list[Any], steps: int) -> None:
    assert written_out(logs.cut(log, steps)) == written_out(log)[:steps]
    assert logs.length(log) == len(written_out(log))


@given(LOG)
def test_the_rows_of_a_tail_and_the_head_are_the_log(log: list[Any]) -> None:
    tail = logs.Tail(rows=0, covered=0)
    head = 0
    rows: list[Any] = []
    for entry in logs.join(log):
        if entry[0] == "policy":
            head += entry[1]
        else:
            rows += tail.choice(head, *entry)
            head += 1
    assert [row[0] for row in rows] == list(range(len(rows)))
    stored = [
        ["policy", n] if kind == "policy" else [kind, payload] for _, kind, payload, n in rows
    ]
    assert logs.join(stored, [["policy", head - logs.length(stored)]]) == logs.join(log)


# ---- rates, turns, slices ------------------------------------------------------------------------


def test_a_rate_counts_each_key_for_itself() -> None:
    now = [0.0]
    rate = Rate(2, 3, clock=lambda: now[0])
    assert [rate.allows("ada") for _ in range(4)] == [True, True, True, False]
    assert rate.allows("bob")
    now[0] += 0.5
    assert [rate.allows("ada") for _ in range(2)] == [True, False]
    now[0] += 100
    assert [rate.allows("ada") for _ in range(4)] == [True, True, True, False]


async def test_turns_go_round() -> None:
    turns, order = Turns(), []

    async def work(name: str) -> None:
        for _ in range(3):
            async with turns.turn():
                order.append(name)

    await asyncio.gather(work("a"), work("b"), work("c"))
    assert order == ["a", "b", "c"] * 3


async def test_a_slice_grows_and_shrinks_to_its_time() -> None:
    now, turns = [0.0], Turns()
    pace = Pace(clock=lambda: now[0])
    for cost in (SLICE_SECONDS / 1000, SLICE_SECONDS / 10):
        for _ in range(6):
            async with pace.slice(turns, 10**6) as steps:
                now[0] += steps * cost
    assert pace.steps == 10
    async with pace.slice(turns, 3) as steps:
        assert steps == 3


# ---- group commit --------------------------------------------------------------------------------


def growth(run: str) -> Growth:
    return Growth(run, expected_head=0, head=1, position=1)


async def test_growths_share_a_transaction() -> None:
    batches: list[list[str]] = []

    def append(growths: Any) -> Written:
        batches.append([one.run_id for one in growths])
        return Written(conflicts={"c"} & {one.run_id for one in growths})

    writer = Writer(gather=0.05, append=append)
    await writer.commit(growth("a"))  # alone: at once
    outcomes = await asyncio.gather(
        *(writer.commit(growth(run)) for run in "bcd"), return_exceptions=True
    )
    assert batches == [["a"], ["b", "c", "d"]]
    assert [type(outcome) for outcome in outcomes] == [type(None), Conflict, type(None)]
    await writer.close()


async def test_a_transaction_that_fails_is_told_to_all_that_shared_it() -> None:
    def append(growths: Any) -> Written:
        raise OSError("disk full")

    writer = Writer(append=append)
    outcomes = await asyncio.gather(
        *(writer.commit(growth(run)) for run in "ab"), return_exceptions=True
    )
    assert [getattr(outcome, "code", None) for outcome in outcomes] == ["not_saved", "not_saved"]
    with pytest.raises(RunError):
        await writer.commit(growth("c"))
    await writer.close()
