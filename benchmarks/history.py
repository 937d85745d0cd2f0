"""What history costs: bytes per step, and the time of a seek."""

from __future__ import annotations

import gc
import random
import statistics
import tracemalloc

from benchmarks.measure import cpu_seconds
from benchmarks.report import row, section
from benchmarks.workloads import with_history, word_count, words
from engine import Policy, Recording

STEPS = 100_000
KEYS = (10, 100, 3_000)


def run(seeks: int) -> None:
    section(
        f"History of a run of {STEPS:,} atomic steps",
        "bytes: what tracemalloc says is freed when keyframes, log and digests are dropped, by step",
    )
    for keys in KEYS:
        row(
            f"{keys:,} keys: memory",
            bytes_per_step(keys),
            ".0f",
            "B a step",
            target=150,
            at_most=True,
        )
    for name, policy, buffers in (
        ("atomic", Policy("round_robin", 1), 8),
        ("burst 256", Policy("round_robin", 256), 256),
    ):
        recording = recorded(max(KEYS), policy, buffers)
        times = seek_times(recording, seeks)
        row(
            f"{max(KEYS):,} keys, {name}: seek, median of {seeks}",
            statistics.median(times),
            ".1f",
            "ms",
            target=10,
            at_most=True,
        )
        row(
            f"{max(KEYS):,} keys, {name}: seek, slowest",
            max(times),
            ".1f",
            "ms",
            target=25,
            at_most=True,
        )


def recorded(keys: int, policy: Policy, buffers: int) -> Recording:
    recording = with_history(word_count(words(STEPS // 2, keys), buffers), policy)
    recording.step(STEPS)
    assert recording.position == STEPS
    return recording


def bytes_per_step(keys: int) -> float:
    """Measured on a run of one element per channel, whose queues do not weigh in."""
    tracemalloc.start()
    try:
        recording = recorded(keys, Policy("round_robin", 1), 8)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        recording._frames.clear()
        recording._log.entries.clear()
        recording._log.starts.clear()
        recording._parts.clear()
        recording.digests.clear()
        gc.collect()
        return (before - tracemalloc.get_traced_memory()[0]) / STEPS
    finally:
        tracemalloc.stop()


def seek_times(recording: Recording, seeks: int) -> list[float]:
    """CPU milliseconds of seeks to random steps."""
    chance = random.Random(3)
    steps = [chance.randint(0, STEPS) for _ in range(seeks)]
    return [cpu_seconds(lambda step=step: recording.seek(step)) * 1000 for step in steps]  # type: ignore[misc]
