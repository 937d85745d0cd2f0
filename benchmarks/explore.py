"""`python -m benchmarks.explore`: how many distinct states a second the explorer sees, and what sleep sets save.

The model is the one of ../shared/oracles/explorer_counts.json: three processes that take one Chandy-Lamport snapshot,
on the engine's own runner, put back and moved on for every transition. The job is a counting one on the engine's runtime.
"""

from __future__ import annotations

from collections.abc import Callable
from tracemalloc import get_traced_memory, start, stop

from benchmarks import tlc
from benchmarks.measure import Run, best_of
from benchmarks.report import row, section
from engine import FailSubtask, TriggerCheckpoint
from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.conformance.chandy_lamport import three_processes
from engine.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
)
from engine.explore.job import JobSystem
from engine.explore.network_invariants import SNAPSHOT_RULES
from engine.explore.results import Counts, Exhausted, Result
from engine.explore.ways import breadth_first, depth_first
from engine.graph.job_graph import JobGraph

STATES_A_SECOND = 12_000
ELSEWHERE = (
    "measured elsewhere, 4 messages: TLC with one worker about 12,000, SPIN 400,000 to 560,000"
)


class Count(KeyedProcessFunction):
    def open(self, runtime_context):  # type: ignore[no-untyped-def]
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
        self.seen.update((self.seen.value() or 0) + 1)
        yield value, self.seen.value()


def counting() -> JobGraph:
    """Two sources with a record each, united and counted."""
    env = StreamExecutionEnvironment()
    env.set_buffers_per_channel(2)
    first, second = env.from_collection(["k"]), env.from_collection(["k"])
    first.union(second).key_by(lambda value: value).process(Count()).name("count").print("out")
    return env.get_job_graph("counting")


def network(messages: int) -> ChandyLamport:
    return ChandyLamport(three_processes(messages))


def job() -> JobSystem:
    """The counting job with one checkpoint and one failure, at any time each."""
    return JobSystem(counting, {TriggerCheckpoint(): 1, FailSubtask("count[0]"): 1}, results=False)


def run(messages: tuple[int, ...] = (4, 5), repeats: int = 3) -> None:
    section("Exploration, distinct states a second", ELSEWHERE)
    for count in messages:
        measure(f"{count} messages", lambda count=count: network(count), repeats, STATES_A_SECOND)  # type: ignore[misc]
    measure("a job with a checkpoint and a failure", job, repeats, STATES_A_SECOND)
    row(
        "the job, breadth first",
        bytes_a_state(job),
        ",.0f",
        "B/state",
        also="at the most, all in all",
    )
    tlc.run(messages)


def measure(
    name: str, system: Callable[[], ChandyLamport | JobSystem], repeats: int, target: int | None
) -> None:
    """Both ways through one system; the rules of snapshots are judged in every state of a network."""
    rules = SNAPSHOT_RULES if isinstance(system(), ChandyLamport) else ()
    results: dict[str, Result] = {}

    def prepare(way: str, search: Callable[..., Result]) -> Callable[[], Run]:
        def ready() -> Run:
            fresh = system()

            def go() -> None:
                results[way] = search(fresh, rules)

            return go

        return ready

    seconds = best_of(
        repeats,
        {"all": prepare("all", breadth_first), "reduced": prepare("reduced", depth_first)},
    )
    for result in results.values():
        if not isinstance(result, Exhausted):
            raise SystemExit(result.told())
    plain, reduced = results["all"].counts, results["reduced"].counts
    row(
        f"{name}, breadth first",
        plain.states / seconds["all"],
        ",.0f",
        "states/s",
        target=target,
        also=told(plain),
    )
    row(
        f"{name}, sleep sets",
        reduced.states / seconds["reduced"],
        ",.0f",
        "states/s",
        also=f"{plain.transitions / reduced.transitions:.2f} times fewer transitions, all states",
    )


def bytes_a_state(system: Callable[[], JobSystem]) -> float:
    """What a breadth-first search holds in memory at its most, for each distinct state."""
    start()
    try:
        counts = breadth_first(system(), ()).counts
        return get_traced_memory()[1] / counts.states
    finally:
        stop()


def told(counts: Counts) -> str:
    return f"{counts.states:,} states, {counts.transitions:,} transitions, {counts.terminal:,} ends"


if __name__ == "__main__":
    run()
