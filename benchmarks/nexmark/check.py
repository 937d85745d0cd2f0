"""Runs a query on a dataset and compares its final rows with those of Flink SQL, as multisets."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.nexmark.joins import q3, q7, q8, x_interval_join_20s
from benchmarks.nexmark.one_record import q0, q1, q2
from benchmarks.nexmark.streams import Streams, read_streams
from benchmarks.nexmark.windows import (
    q5,
    q11,
    x_bids_hop_10_4,
    x_bids_tumble10,
    x_session_tvf_5s,
)
from engine import Policy
from engine.datastream import DataStream, StreamExecutionEnvironment
from engine.graph.job_graph import JobGraph
from engine.testing import run_job, written

DATASETS = ("inorder", "ooo")
Query = Callable[[Streams], DataStream]
QUERIES: dict[str, Query] = {
    query.__name__: query
    for query in (
        q0, q1, q2, q3, q5, q7, q8, q11,
        x_bids_tumble10, x_bids_hop_10_4, x_session_tvf_5s, x_interval_join_20s,
    )
}  # fmt: skip


def expected(directory: Path, dataset: str, query: str) -> dict[str, Any] | None:
    """What Flink SQL gave, or None where there is no such file."""
    path = directory / "expected" / f"{dataset}__{query}.json"
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def query_job(query: Query, path: Path, delay_ms: int, parallelism: int = 1) -> JobGraph:
    """The job of a query, with the sink "rows"."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    query(read_streams(env, str(path), delay_ms)).print("rows").set_parallelism(1)
    return env.get_job_graph(query.__name__)


def run_query(query: Query, path: Path, delay_ms: int, parallelism: int = 1) -> list[Any]:
    """The final rows. None of these queries takes a row back, so they are all that were written."""
    job = query_job(query, path, delay_ms, parallelism)
    recording = run_job(lambda: job, Policy("round_robin", 64))
    if recording.runtime.state != "finished":
        raise RuntimeError(recording.runtime.reason)
    return written(recording)["rows[0]"]


def difference(got: list[Any], wanted: list[Any]) -> str:
    """Empty where both have the same rows, however ordered; else the first that is missing and the first too many."""
    rows, should = (Counter(json.dumps(row) for row in side) for side in (got, wanted))
    missing, extra = should - rows, rows - should
    parts = [
        f"{sum(side.values())} {what}, such as {min(side)}"
        for what, side in (("missing", missing), ("too many", extra))
        if side
    ]
    return "; ".join(parts)


def check(directory: Path, dataset: str, query: str, parallelism: int = 1) -> str | None:
    """What is wrong with a query's rows; empty where nothing is, None where there is nothing to compare with."""
    wanted = expected(directory, dataset, query)
    if wanted is None:
        return None
    delay_ms = wanted["watermark_delay_s"] * 1000
    got = run_query(QUERIES[query], directory / wanted["input"], delay_ms, parallelism)
    return difference(got, wanted["final_rows"])
