"""Whether the cost of a record stays the same as runs grow longer and keys more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks import plain_loops
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
Loop = Callable[[Sequence[Any]], Any]
MakeJob = Callable[[Sequence[Any], int], JobGraph]


def run(lengths: tuple[int, ...], keys: tuple[int, ...], records: int, repeats: int) -> None:
    section(
        "Cost of a record, burst 256 with history",
        "W2 by length of the run (windows open at a time stay the same), W1 by number of keys",
    )
    by_length = {length: readings(length) for length in lengths}
    compare("W2 records", by_length, windowed_count, plain_loops.windowed_count, repeats)
    by_keys = {count: words(records, count) for count in keys}
    compare("W1 keys", by_keys, word_count, plain_loops.word_count, repeats)


def compare(
    what: str, inputs: Mapping[int, Sequence[Any]], job: MakeJob, loop: Loop, repeats: int
) -> None:
    runs: dict[str, Callable[[], Run]] = {}
    for size, data in inputs.items():
        runs[f"engine {size}"] = _engine(job(data, BUFFERS))
        runs[f"loop {size}"] = _loop(loop, data)
    seconds = best_of(repeats, runs)

    def cost(who: str) -> dict[int, float]:
        return {size: seconds[f"{who} {size}"] / len(data) * 1e9 for size, data in inputs.items()}

    engine, plain = cost("engine"), cost("loop")
    for size in inputs:
        row(
            f"{size:,} {what}", engine[size], ",.0f", "ns", also=f"plain loop {plain[size]:,.0f} ns"
        )
    row(
        f"{what}: dearest to cheapest",
        spread(engine),
        ".2f",
        "times",
        target=FLAT,
        at_most=True,
        also=f"plain loop {spread(plain):.2f} times",
    )


def spread(costs: dict[int, float]) -> float:
    return max(costs.values()) / min(costs.values())


def _engine(graph: JobGraph) -> Callable[[], Run]:
    def prepare() -> Run:
        recording = with_history(graph, BURST)
        return lambda: finish(recording)

    return prepare


def _loop(loop: Loop, data: Sequence[Any]) -> Callable[[], Run]:
    return lambda: lambda: loop(data)
