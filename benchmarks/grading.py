"""How long a sandbox takes to start, what a call costs, and how many submissions a second four workers grade."""

from __future__ import annotations

import statistics
import time
from multiprocessing import get_context
from typing import Any

from benchmarks.report import row, section
from engine.datastream import KeyedProcessFunction, StreamExecutionEnvironment, WatermarkStrategy
from engine.graph.job_graph import JobGraph
from engine.operators.split import SplitData
from labs.grading.grader import Grader
from labs.grading.jail import codec
from labs.grading.pieces import PROCESS
from labs.grading.sandbox import Sandbox, SandboxUnavailable, bubblewrap, nursery
from labs.grading.trials import SAME_RESULTS, JobTest

WORKERS = 4

SOLUTION = """
from engine.datastream import KeyedProcessFunction

class Process(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.get_current_key()
"""


class Reference(KeyedProcessFunction):
    """The same, outside."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.get_current_key()


def job(piece: Any) -> JobGraph:
    env = StreamExecutionEnvironment()
    splits = [SplitData("s", ["a", "b", "a"])]
    stream = env.from_splits(splits, WatermarkStrategy.no_watermarks(), "source")
    stream.key_by(lambda value: value).process(piece).print("out")
    return env.get_job_graph("trivial")


def grader() -> Grader:
    tests = [
        JobTest("visible", job, checks=(SAME_RESULTS,)),
        JobTest("hidden", job, visible=False, seeds=(1,), checks=(SAME_RESULTS,)),
    ]
    return Grader(PROCESS, tests, {"Process": Reference})


def work(submissions: int) -> int:
    """Grade so many; how many got all points."""
    mine = grader()
    return sum(report.points == 2 for report in map(mine.grade, [SOLUTION] * submissions))


def starts(outer: bool, repeats: int) -> None:
    name = "with bubblewrap" if outer else "inner layers alone"
    began = time.perf_counter()
    nursery(outer)
    first = (time.perf_counter() - began) * 1000
    took = []
    for _ in range(repeats):
        began = time.perf_counter()
        with Sandbox(outer=outer):
            took.append((time.perf_counter() - began) * 1000)
    median = statistics.median(took)
    row(f"start of a sandbox, {name}", median, ".0f", "ms", target=200, at_most=True)
    row("the nursery, once per worker", first, ".0f", "ms")


def calls(count: int) -> None:
    with Sandbox() as box:
        box.exchange(codec.line(["load", 0, "def same(x): return x"]))
        box.exchange(codec.line(["begin", 1]))
        question = codec.line(["call", 2, None, "same", False, ["l", 7]])
        began = time.perf_counter()
        for _ in range(count):
            box.exchange(question)
        took = (time.perf_counter() - began) / count * 1e6
    row("a call and its answer", took, ".0f", "µs")


def throughput(submissions: int) -> None:
    with get_context("spawn").Pool(WORKERS) as pool:
        pool.map(work, [1] * WORKERS)  # every worker has its nursery
        began = time.perf_counter()
        right = sum(pool.map(work, [submissions // (4 * WORKERS)] * 4 * WORKERS, chunksize=1))
        took = time.perf_counter() - began
        pool.close()
        pool.join()
    rate = right / took
    row(f"submissions graded, {WORKERS} workers", rate, ".1f", "per second", target=8)


def run(submissions: int = 160, repeats: int = 40) -> None:
    """Wall-clock time, since processes wait for each other."""
    section("Grading of submissions")
    try:
        for outer in (False, True):
            if outer and bubblewrap():
                print(f"  with bubblewrap: left out, {bubblewrap()}")
            else:
                starts(outer, repeats)
        calls(5_000)
        throughput(submissions)
    except SandboxUnavailable as error:
        print(f"  left out: {error}")
