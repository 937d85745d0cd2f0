"""Small questions with a reference: what the attacks and the verdicts are tried on."""

from __future__ import annotations

from typing import Any

from engine import FailSubtask, TriggerCheckpoint
from engine.datastream import (
    KeyedProcessFunction,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.explore.job_invariants import WATERMARKS_RISE
from engine.operators.split import SplitData
from engine.state.key_groups import key_group_range
from labs.grading.grader import Grader
from labs.grading.pieces import HANDLER, KEY_GROUP, PROCESS, VALVE
from labs.grading.trials import SAME_RESULTS, SAME_STATE, CaseTest, JobTest

from ...engine.small import in_order, job


class Count(KeyedProcessFunction):
    """The reference: counts the records of each key."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        yield ctx.get_current_key(), self.seen.value()


COUNT = """
from engine.datastream import KeyedProcessFunction, ValueStateDescriptor

class Process(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        yield ctx.get_current_key(), self.seen.value()
"""

SECRET = "the-hidden-word"


def counting(*inputs: list[Any], parallelism: int = 1):
    """The function counts what sources of these values send."""

    def build_with(function: Any):
        def build(env):
            env.set_buffers_per_channel(2)
            streams = [
                env.from_splits(
                    [SplitData("s", values)], WatermarkStrategy.no_watermarks(), f"source{number}"
                )
                for number, values in enumerate(inputs)
            ]
            united = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
            counted = united.key_by(lambda value: value).process(function or Count())
            counted.name("count").set_parallelism(parallelism).print("out")

        return job(build)()

    return build_with


def count_grader(outer: bool | None = None, **settings: Any) -> Grader:
    tests = [
        JobTest("three words", counting(["a", "b", "a"]), 2, checks=(SAME_RESULTS,)),
        JobTest(
            "a failure in between",
            counting(["a", "b", "a", "b"], ["a"], parallelism=2),
            3,
            visible=False,
            message="After a failure, something is counted wrong.",
            commands=((6, TriggerCheckpoint()), (14, FailSubtask("count[0]"))),
            checks=(SAME_STATE,),
        ),
        JobTest(
            "other words",
            counting([SECRET, "b", SECRET]),
            5,
            visible=False,
            message="Other words are counted wrong.",
            seeds=(1, 2, 3),
            checks=(SAME_RESULTS,),
        ),
    ]
    return Grader(PROCESS, tests, {"Process": Count}, outer=outer, **settings)


HANDLER_SOLUTION = """
from engine.checkpointing.barrier_handler import Abort, Block, Resume, Trigger

class BarrierHandler:
    def __init__(self, inputs):
        self.open, self.blocked, self.checkpoint, self.pending = set(range(inputs)), [], -1, False

    def barrier(self, input, checkpoint):
        if checkpoint < self.checkpoint or (checkpoint == self.checkpoint and not self.pending):
            return []
        decisions = []
        if checkpoint > self.checkpoint:
            if self.pending:
                decisions = self.release()
                decisions.append(Abort(self.checkpoint, "CHECKPOINT_DECLINED_SUBSUMED"))
            self.checkpoint, self.pending = checkpoint, True
        self.blocked.append(input)
        return [*decisions, Block(input), *self.check()]

    def check(self):
        if not self.pending or not self.open <= set(self.blocked):
            return []
        self.pending = False
        return [Trigger(self.checkpoint), *self.release()]

    def release(self):
        held, self.blocked = self.blocked, []
        return [Resume(input) for input in sorted(held)]

    def cancel(self, checkpoint):
        if checkpoint < self.checkpoint or (checkpoint == self.checkpoint and not self.pending):
            return []
        self.checkpoint, was, self.pending = checkpoint, self.pending, False
        return [*(self.release() if was else []), Abort(checkpoint, "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER")]

    def end(self, input):
        self.open.discard(input)
        return self.check()
"""

NO_ALIGNMENT = """
from engine.checkpointing.barrier_handler import Trigger

class BarrierHandler:
    def __init__(self, inputs):
        self.inputs, self.seen = inputs, 0

    def barrier(self, input, checkpoint):
        self.seen += 1
        return [Trigger(checkpoint)] if self.seen == self.inputs else []

    def cancel(self, checkpoint):
        return []

    def end(self, input):
        return []
"""


def handler_grader(outer: bool | None = None) -> Grader:
    """Two inputs of one key: what a checkpoint holds too much of comes again after the failure."""
    tests = [
        JobTest(
            "state after a failure",
            lambda piece: counting(["k", "k", "k"], ["k", "k", "k"])(None),
            4,
            seeds=tuple(range(12)),
            commands=((2, TriggerCheckpoint()), (34, FailSubtask("count[0]"))),
            checks=(SAME_STATE,),
        ),
    ]
    return Grader(HANDLER, tests, outer=outer)


VALVE_SOLUTION = """
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1

class Valve:
    def __init__(self, channels):
        self.held, self.out = [LOWEST] * channels, LOWEST

    def watermark(self, channel, timestamp):
        self.held[channel] = max(self.held[channel], timestamp)
        self.out = max(self.out, min(self.held))
        return self.out, False

    def status(self, channel, idle):
        return self.out, False

    def end(self, channel):
        return self.watermark(channel, HIGHEST)
"""


def valve_grader(outer: bool | None = None) -> Grader:
    class Tell(KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(value[1])

        def on_timer(self, timestamp, ctx):
            yield timestamp, ctx.timer_service().current_watermark()

    def build(env):
        streams = [
            env.from_splits([SplitData("s", values)], in_order(), f"source{number}")
            for number, values in enumerate(
                ([("a", 1), ("a", 5), ("a", 9)], [("a", 3), ("a", 4), ("a", 20)])
            )
        ]
        united = streams[0].union(streams[1]).key_by(lambda value: value[0])
        united.process(Tell()).name("tell").print("out")

    test = JobTest(
        "timers",
        lambda piece: job(build)(),
        3,
        seeds=(0, 1, 2),
        rules=(WATERMARKS_RISE,),
        checks=(SAME_RESULTS,),
    )
    return Grader(VALVE, [test], outer=outer)


def range_grader(outer: bool | None = None) -> Grader:
    cases = tuple(
        (maximum, parallelism, index)
        for maximum in (1, 7, 128)
        for parallelism in (1, 3, 7)
        if parallelism <= maximum
        for index in range(parallelism)
    )
    return Grader(KEY_GROUP, [CaseTest("ranges", cases, key_group_range)], outer=outer)
