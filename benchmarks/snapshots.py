"""What checkpoints cost: incremental snapshots against changed keys, and steady checkpoints against none, on every backend."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from benchmarks.measure import Run, best_of, cpu_seconds
from benchmarks.report import row, section
from benchmarks.workloads import (
    CHECKPOINT_EVERY,
    FOREVER,
    add_counts,
    without_history,
    word_count,
    words,
)
from engine import Policy
from engine.clock import Clock
from engine.commands import TriggerCheckpoint
from engine.graph.job_graph import JobGraph
from engine.operators.base import Context
from engine.operators.reduce import ReduceOperator
from engine.runtime import Runtime
from engine.state.backends import BackendSettings
from engine.state.sizes import full_bytes, written_bytes
from engine.trace import Trace

BACKENDS = {
    "heap": BackendSettings(),
    "changelog": BackendSettings(changelog=True),
    "LSM": BackendSettings("rocksdb", incremental=True),
}
CHECKPOINTS = 5
"""Snapshots of a row; a longer row would meet a compaction or a new base."""
COST = 0.15
"""The most that a checkpoint every 10,000 records may add."""


def run(keys: int, changes: Sequence[int], records: int, repeats: int) -> None:
    incremental(keys, changes)
    steady(records, repeats)


def operator(settings: BackendSettings) -> ReduceOperator:
    """A keyed reduce that stands alone."""
    clock = Clock()
    context = Context(
        "count[0]", 0, 1, 128, None, Trace(), lambda: clock.now, lambda time: None, backend=settings
    )
    return ReduceOperator(context, add_counts)


def incremental(keys: int, changes: Sequence[int]) -> None:
    """Time and bytes of a snapshot after so many keys have changed, beside those of a full one."""
    section(
        f"Snapshots of {keys:,} keys", "bytes written for a snapshot as a share of the full one"
    )
    for name, settings in BACKENDS.items():
        for changed in changes:
            counted = operator(settings)
            feed(counted, range(keys))
            full = full_bytes(counted.snapshot())
            chance = random.Random(3)
            written = seconds = 0.0
            for _ in range(CHECKPOINTS):
                feed(counted, chance.sample(range(keys), changed))
                parts: list[Any] = []
                seconds += cpu_seconds(lambda taken=parts, of=counted: taken.append(of.snapshot()))  # type: ignore[misc]
                written += written_bytes(parts[0])
            row(
                f"{name}, {changed:,} changed",
                written / CHECKPOINTS / full,
                ".4f",
                "of it",
                also=f"{seconds / CHECKPOINTS * 1e3:,.2f} ms",
            )


def feed(counted: ReduceOperator, keys: Sequence[int]) -> None:
    out: list[Any] = []
    counted.process([(0, (f"key{key}", 1), None, f"key{key}") for key in keys], out)


def steady(records: int, repeats: int) -> None:
    """W3 on every backend: throughput with a checkpoint every 10,000 records against throughput without."""
    section(
        "A checkpoint every 10,000 records",
        "time that it adds, unwatched, burst 256, 3,000 and 100,000 keys",
    )
    for different in (3_000, 100_000):
        data = words(records, different)
        for name, settings in BACKENDS.items():
            graph = counting(data, settings)
            policy = Policy("round_robin", 256)

            def bare(graph: JobGraph = graph, policy: Policy = policy) -> Run:
                runtime = without_history(graph, policy)
                return lambda: runtime.run(FOREVER)

            def checkpointed(graph: JobGraph = graph, policy: Policy = policy) -> Run:
                runtime = without_history(graph, policy)
                return lambda: run_with_checkpoints(runtime)

            seconds = best_of(repeats, {"without": bare, "with": checkpointed})
            row(
                f"{name}, {different:,} keys",
                seconds["with"] / seconds["without"] - 1,
                ".1%",
                "more time",
                target=COST,
                at_most=True,
                also=f"{records / seconds['with'] / 1e6:.2f} million records/s with",
            )


def run_with_checkpoints(runtime: Runtime) -> None:
    """The bare engine, with the checkpoint command after every 10,000 records (three steps each)."""
    while runtime.run(3 * CHECKPOINT_EVERY):
        if runtime.state == "running":
            runtime.apply(TriggerCheckpoint())


def counting(data: Sequence[Any], settings: BackendSettings) -> JobGraph:
    job = word_count(data, 256)
    job.durability = job.durability._replace(backend=settings)
    return job
