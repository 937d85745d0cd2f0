"""Nexmark's queries give the rows that Flink SQL gave, in order and out of order.

The events and the rows are not part of the project: they are looked for in ../shared/oracles, or where
STREAMLAB_SHARED_ORACLES points.
"""

from __future__ import annotations

import pytest

from benchmarks.nexmark import joins
from benchmarks.nexmark.__main__ import main
from benchmarks.nexmark.check import DATASETS, QUERIES, check, difference, expected, run_query

from .oracles import shared_oracles

NEXMARK = shared_oracles() / "nexmark"

with_oracle = pytest.mark.skipif(
    not (NEXMARK / "expected").is_dir(),
    reason="the Nexmark oracle is not here (STREAMLAB_SHARED_ORACLES can say where it is)",
)


ABSENT = {("ooo", "q5"), ("ooo", "q8"), ("ooo", "q11")}
"""Datasets and queries of which the oracle has no rows."""


@with_oracle
@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_flink_sql(query, dataset):
    wrong = check(NEXMARK, dataset, query)
    assert (wrong is None) == ((dataset, query) in ABSENT)
    if wrong is None:
        pytest.skip(f"the oracle has no rows of {query} for the dataset {dataset}")
    assert wrong == ""


@with_oracle
@pytest.mark.parametrize("query", ["q3", "q5", "q7", "q8", "q11", "x_interval_join_20s"])
def test_rows_are_the_same_in_parallel_where_nothing_is_late(query):
    assert check(NEXMARK, "inorder", query, parallelism=3) == ""


@with_oracle
def test_the_interval_join_of_datastream_agrees_where_nothing_is_late():
    wanted = expected(NEXMARK, "inorder", "x_interval_join_20s")
    got = run_query(joins.interval_join_20s, NEXMARK / wanted["input"], 4000)
    assert difference(got, wanted["final_rows"]) == ""


@with_oracle
def test_the_runner_prints_what_passed(capsys):
    assert main([str(NEXMARK), "q2"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["q2", "inorder", "passed"],
        ["q2", "ooo", "passed"],
    ]


def test_a_difference_is_named():
    assert difference([[1], [2]], [[2], [1]]) == ""
    assert difference([[1], [1]], [[1], [2]]) == "1 missing, such as [2]; 1 too many, such as [1]"


def test_the_runner_says_what_it_needs(capsys, tmp_path):
    assert main([]) == 2
    assert main([str(tmp_path), "q99"]) == 2
    assert main([str(tmp_path)]) == 2
    assert "no directory named expected" in capsys.readouterr().out
    (tmp_path / "expected").mkdir()
    assert main([str(tmp_path)]) == 2
    assert "no expected rows" in capsys.readouterr().out
