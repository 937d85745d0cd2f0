"""The engine's speeds beside the plain loop: W1, W2 and W3, peers, ten tasks, and atomic actions with every event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from benchmarks import peers, plain_loops
from benchmarks.measure import Run, best_of
from benchmarks.report import row, section
from benchmarks.workloads import (
    FOREVER,
    SESSIONS,
    SLIDING,
    TUMBLING,
    finish,
    finish_with_checkpoints,
    readings,
    results,
    windowed_count,
    with_history,
    without_history,
    word_count,
    word_count_in_ten_tasks,
    words,
)
from engine import Policy, Recording
from engine.graph.job_graph import JobGraph

ATOMIC = Policy("round_robin", 1)
ATOMIC_BUFFERS = 8
QUANTA = (256, 1024)
MakeJob = Callable[[Sequence[Any], int], JobGraph]


class Work(NamedTuple):
    """One table: the loop, the job, the peers, and the least ratios of burst and atomic runs with history."""

    title: str
    loop: Callable[[Sequence[Any]], Any]
    job: MakeJob
    drive: Callable[[Recording], None]
    peers: dict[str, Callable[[Sequence[Any]], Any]]
    burst: float
    atomic: float | None


WORD_COUNT = Work(
    "W1, keyed word count",
    plain_loops.word_count,
    word_count,
    finish,
    {"Streamz": peers.streamz_word_count, "SimPy": peers.simpy_word_count},
    burst=0.20,
    atomic=0.05,
)
WINDOWED_COUNT = Work(
    "W2, windowed count, out of order by 5",
    plain_loops.windowed_count,
    windowed_count,
    finish,
    {"Streamz": peers.streamz_windowed_count, "SimPy": peers.simpy_windowed_count},
    burst=0.22,
    atomic=None,
)
CHECKPOINTED_COUNT = Work(
    "W3, keyed word count with a checkpoint every 10,000 records",
    plain_loops.word_count_with_checkpoints,
    word_count,
    finish_with_checkpoints,
    {},
    burst=0.25,
    atomic=None,
)
TEN_TASKS = Work(
    "W1 in ten tasks: 2 sources, 2 maps, 3 counts, 3 sinks",
    plain_loops.word_count,
    word_count_in_ten_tasks,
    finish,
    {},
    burst=0.10,
    atomic=None,
)


def run(records: int, repeats: int) -> None:
    word_data, reading_data = words(records), readings(records)
    for work, data in (
        (WORD_COUNT, word_data),
        (WINDOWED_COUNT, reading_data),
        (CHECKPOINTED_COUNT, word_data),
        (TEN_TASKS, word_data),
    ):
        check_outputs(work, data)
        compare(work, data, repeats)
    other_windows(reading_data, repeats)
    actions(word_data, repeats)


def compare(work: Work, data: Sequence[Any], repeats: int) -> None:
    runs: dict[str, Callable[[], Run]] = {"plain loop": lambda: lambda: work.loop(data)}
    targets: dict[str, float | None] = {}
    for quantum in QUANTA:
        name = f"burst {quantum}, with history"
        runs[name] = _recorded(work, data, Policy("round_robin", quantum), quantum)
        targets[name] = work.burst
    runs["atomic, with history"] = _recorded(work, data, ATOMIC, ATOMIC_BUFFERS)
    targets["atomic, with history"] = work.atomic
    if work.drive is finish:
        for quantum in QUANTA:
            runs[f"burst {quantum}, without history"] = _bare(
                work, data, Policy("round_robin", quantum), quantum
            )
        runs["atomic, without history"] = _bare(work, data, ATOMIC, ATOMIC_BUFFERS)
    for name, peer in work.peers.items():
        runs[name] = _peer(peer, data)
    seconds = best_of(repeats, runs)
    loop = seconds.pop("plain loop")
    section(
        work.title,
        f"ratio to the plain loop, which takes {loop / len(data) * 1e9:.0f} ns a record ({len(data) / loop / 1e6:.1f} million/s)",
    )
    for name, taken in seconds.items():
        row(
            name,
            loop / taken,
            target=targets.get(name),
            also=f"{taken / len(data) * 1e9:,.0f} ns a record",
        )
    if work.drive is finish:
        for name in (*(f"burst {quantum}" for quantum in QUANTA), "atomic"):
            slower = seconds[f"{name}, with history"] / seconds[f"{name}, without history"]
            row(f"{name}: recording against none", slower, ".2f", "times", target=1.6, at_most=True)


def other_windows(data: Sequence[Any], repeats: int) -> None:
    """Sliding and session windows have no loop of their own here: they stand beside W2's."""
    data = data[: len(data) // 4]
    burst, buffers = Policy("round_robin", QUANTA[0]), QUANTA[0]
    runs: dict[str, Callable[[], Run]] = {
        "plain loop": lambda: lambda: plain_loops.windowed_count(data)
    }
    for name, windows in (
        ("tumbling, 100 ms", TUMBLING),
        ("sliding, 200 ms by 100 ms", SLIDING),
        ("sessions, gap 50 ms", SESSIONS),
    ):
        work = WINDOWED_COUNT._replace(job=partial(windowed_count, windows=windows))
        runs[name] = _recorded(work, data, burst, buffers)
    seconds = best_of(repeats, runs)
    loop = seconds.pop("plain loop")
    section("Other windows, burst 256 with history", "ratio to the plain loop of W2")
    for name, taken in seconds.items():
        row(name, loop / taken, also=f"{taken / len(data) * 1e9:,.0f} ns a record")


def _recorded(work: Work, data: Sequence[Any], policy: Policy, buffers: int) -> Callable[[], Run]:
    def prepare() -> Run:
        recording = with_history(work.job(data, buffers), policy)
        return lambda: work.drive(recording)

    return prepare


def _bare(work: Work, data: Sequence[Any], policy: Policy, buffers: int) -> Callable[[], Run]:
    def prepare() -> Run:
        runtime = without_history(work.job(data, buffers), policy)
        return lambda: runtime.run(FOREVER)

    return prepare


def _peer(peer: Callable[[Sequence[Any]], Any], data: Sequence[Any]) -> Callable[[], Run]:
    return lambda: lambda: peer(data)


def check_outputs(work: Work, data: Sequence[Any]) -> None:
    """Loop, engine at every speed and peers put out the same; order counts where there is one task of each kind."""
    data = data[:50_000]
    expected = work.loop(data)
    if isinstance(expected, tuple):
        expected = expected[0]
    ordered = work is not TEN_TASKS
    if not ordered:
        expected = sorted(expected)
    for policy, buffers in (
        (ATOMIC, ATOMIC_BUFFERS),
        *((Policy("round_robin", q), q) for q in QUANTA),
    ):
        recording = with_history(work.job(data, buffers), policy)
        work.drive(recording)
        found = results(recording.runtime)
        assert (found if ordered else sorted(found)) == expected, (work.title, policy)
    for name, peer in work.peers.items():
        assert peer(data) == expected, (work.title, name)


def actions(data: Sequence[Any], repeats: int) -> None:
    """Atomic actions a second, unwatched and with every event."""
    steps = 60_000
    section("Atomic actions a second, with history")
    for title, job in (("three tasks", word_count), ("ten tasks", word_count_in_ten_tasks)):
        graph = job(data, ATOMIC_BUFFERS)

        def prepare(events: bool, graph: JobGraph = graph) -> Run:
            recording = with_history(graph, ATOMIC)

            def go() -> None:
                for _ in range(steps // 1000):
                    recording.step(1000, events=events)

            return go

        seconds = best_of(
            repeats, {"unwatched": lambda: prepare(False), "watched": lambda: prepare(True)}
        )
        row(f"{title}, unwatched", steps / seconds["unwatched"], ",.0f", "a second", target=150_000)
        row(f"{title}, every event", steps / seconds["watched"], ",.0f", "a second", target=60_000)
