"""A loop under the explorer: field case F40 and misconception M25, and every schedule of the right protocol."""

from __future__ import annotations

import pytest

from engine import FailSubtask, TriggerCheckpoint
from engine.datastream import KeyedProcessFunction, ValueStateDescriptor
from engine.datastream.extensions import iterate
from engine.explore.beliefs import JOB_ENDS
from engine.explore.job import JobSystem
from engine.explore.job_invariants import exactly_once
from engine.explore.results import Exhausted, Violated
from engine.explore.search import Bounds, breadth_first
from engine.explore.wrong_loops import AwaitsTheBackEdge, NoLoopLog

from ..jobs import set_checkpointing
from ..small import job

BOUNDS = Bounds(states=20_000)
ONCE = {TriggerCheckpoint(): 1, FailSubtask("body[0]"): 1}


class Laps(KeyedProcessFunction):
    """Counts laps, and sends what is above 1 back, less 1."""

    def open(self, runtime_context):
        self.laps = runtime_context.get_state(ValueStateDescriptor("laps"))

    def process_element(self, value, ctx):
        self.laps.update((self.laps.value() or 0) + 1)
        if value > 1:
            yield value - 1


def laps(scheme="aligned"):
    def build(env):
        env.set_buffers_per_channel(2)
        set_checkpointing(env, {"scheme": scheme})
        head = iterate(env.from_collection([2])).name("head")
        head.close_with(head.key_by(lambda value: "k").process(Laps()).name("body"))

    return job(build)


@pytest.mark.parametrize("scheme", ["aligned", "unaligned", "stop_the_world"])
def test_no_schedule_of_the_right_protocol_loses_a_lap_or_gets_stuck(scheme):
    factory = laps(scheme)
    system = JobSystem(factory, ONCE, results=False)
    found = breadth_first(system, [exactly_once(factory), JOB_ENDS], BOUNDS)
    assert isinstance(found, Exhausted), found.told()
    assert found.counts.terminal > 1


def test_m25_without_the_log_a_record_on_its_way_back_is_lost():
    factory = laps()
    system = JobSystem(factory, ONCE, results=False, runtime=NoLoopLog)
    found = breadth_first(system, [JOB_ENDS, exactly_once(factory)], BOUNDS)
    assert isinstance(found, Violated)
    assert found.sentence == "body ends with laps/'k' = 1 instead of 2."
    assert "command:fail body[0]" in found.actions


def test_m25_waiting_for_the_barrier_on_the_way_back_never_ends():
    factory = laps()
    system = JobSystem(factory, {TriggerCheckpoint(): 1}, results=False, runtime=AwaitsTheBackEdge)
    found = breadth_first(system, [exactly_once(factory), JOB_ENDS], BOUNDS)
    assert isinstance(found, Violated)
    assert found.invariant == "the job comes to its end"
    assert found.sentence.startswith(
        "Nothing more can happen, and the job is running: head[0] waits for"
    )


def doubling():
    def build(env):
        env.set_buffers_per_channel(1)
        head = iterate(env.from_collection([1])).name("head")
        head.close_with(head.flat_map(lambda value: [value, value]).name("body"))

    return job(build)


def test_m21_the_shortest_way_into_the_deadlock_of_a_loop_that_expands():
    found = breadth_first(JobSystem(doubling()), [JOB_ENDS], BOUNDS)
    assert isinstance(found, Violated)
    assert "none will come: the loop is full" in found.sentence
