"""Whether the cost of a record stays the same as runs grow longer and keys more."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.measure import Run, best_of
from benchmarks.report import row, section
from benchmarks.workloads import (
    finish,
    readings,
    windowed_count,
    with_history,
    word_count,
    words,
)
from engine import Policy
from engine.graph.job_graph import JobGraph

BURST = Policy("round_robin", 256)
BUFFERS = 256
FLAT = 1.3


def run(lengths: tuple[int, ...], keys: tuple[int, ...], records: int, repeats: int) -> None:
    section(
        "Cost of a record, burst 256 with history",
        "W2 by length of the run (windows open at a time stay the same), W1 by number of keys",
    )
    _compare(
        "W2 records",
        {count: (count, lambda n=count: windowed_count(readings(n), BUFFERS)) for count in lengths},
        repeats,  # type: ignore[misc]
    )
    _compare(
        "W1 keys",
        {
            count: (records, lambda n=count: word_count(words(records, n), BUFFERS))
            for count in keys
        },
        repeats,  # type: ignore[misc]
    )


def _compare(what: str, jobs: dict[int, tuple[int, Callable[[], JobGraph]]], repeats: int) -> None:
    graphs = {size: make() for size, (_, make) in jobs.items()}

    def prepare(size: int) -> Run:
        recording = with_history(graphs[size], BURST)
        return lambda: finish(recording)

    seconds = best_of(repeats, {str(size): (lambda size=size: prepare(size)) for size in jobs})  # type: ignore[misc]
    costs = {size: seconds[str(size)] / records * 1e9 for size, (records, _) in jobs.items()}
    for size, cost in costs.items():
        row(f"{size:,} {what}", cost, ",.0f", "ns")
    row(
        f"{what}: dearest to cheapest",
        max(costs.values()) / min(costs.values()),
        ".2f",
        "times",
        target=FLAT,
        at_most=True,
    )
