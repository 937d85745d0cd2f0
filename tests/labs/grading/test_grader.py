"""From submissions to reports."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine import FailSubtask, TriggerCheckpoint
from engine.datastream import OutputTag, Time, TumblingEventTimeWindows
from engine.datastream.extensions import punctuated
from engine.errors import LearnerMistake
from engine.event_time.windows import SessionWindows, TimeWindow, merge_windows
from engine.operators.split import SplitData
from engine.state.key_groups import operator_index_for_key_group
from labs.grading.calls import MISFIT, Exchange
from labs.grading.grader import Grader, replayed
from labs.grading.pieces import (
    HANDLER,
    KEY_GROUP,
    MERGE,
    OWNER,
    PARTITIONER,
    PIECES,
    PROCESS,
    VALVE,
    WATERMARK,
    WINDOW,
)
from labs.grading.report import Report
from labs.grading.sandbox import Limits, SandboxUnavailable, Stopped, layers
from labs.grading.trials import SAME_RESULTS, CaseTest, JobTest

from ...engine.small import Second, in_order, job
from .conftest import ROOT
from .questions import (
    COUNT,
    HANDLER_SOLUTION,
    NO_ALIGNMENT,
    VALVE_SOLUTION,
    count_grader,
    counting,
    handler_grader,
    range_grader,
    valve_grader,
)

pytestmark = pytest.mark.skipif(
    not all(layer.active for layer in layers()[1:]), reason="the sandbox cannot be made here"
)


def outcomes(report: Report) -> list[str]:
    return [result.outcome for result in report.results]


# Pieces


def test_a_process_function_with_state_timers_and_side_outputs() -> None:
    source = """
from pyflink.datastream import KeyedProcessFunction, OutputTag
from pyflink.datastream.state import (
    AggregatingStateDescriptor, ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor,
)
from engine.datastream import AggregateFunction, Types

LATE = OutputTag("late", Types.STRING())

class Mean(AggregateFunction):
    def create_accumulator(self): return (0, 0)
    def add(self, value, accumulator): return (accumulator[0] + value, accumulator[1] + 1)
    def get_result(self, accumulator): return accumulator[0] / accumulator[1]
    def merge(self, a, b): return (a[0] + b[0], a[1] + b[1])

class Process(KeyedProcessFunction):
    def open(self, context):
        self.calls = 0
        self.name = context.get_task_name_with_subtasks()
        self.sum = context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT()))
        self.mean = context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean(), Types.FLOAT()))
        self.all = context.get_list_state(ListStateDescriptor("all", Types.INT()))
        self.by_time = context.get_map_state(MapStateDescriptor("by time", Types.LONG(), Types.INT()))
        self.last = context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value, ctx):
        self.calls += 1
        self.sum.add(value[1])
        self.mean.add(value[1])
        self.all.add(value[1])
        self.by_time[ctx.timestamp()] = value[1]
        if self.last.value() is not None and ctx.timestamp() < self.last.value():
            yield LATE, value
        self.last.update(ctx.timestamp())
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp, ctx):
        if self.last.value() + 10 != timestamp:
            return
        yield (ctx.get_current_key(), self.sum.get(), self.mean.get(), list(self.all), dict(self.by_time.items()),
               timestamp, ctx.time_domain(), self.name, sorted(self.by_time))
        self.all.clear()
"""

    def build_with(piece):
        def build(env):
            values = [("a", 3), ("b", 7), ("a", 5), ("a", 4)]
            keyed = env.from_splits([SplitData("s", values)], in_order(), "source").key_by(
                lambda value: value[0]
            )
            processed = keyed.process(piece).name("p")
            processed.get_side_output(OutputTag("late")).print("late")
            processed.print("out")

        return job(build)()

    names: dict[str, object] = {}
    exec(
        source.replace("pyflink.datastream.state", "engine.datastream").replace(
            "pyflink.datastream", "engine.datastream"
        ),
        names,
    )
    test = JobTest("everything", build_with, seeds=(0, 1, 2, 3), checks=(SAME_RESULTS,))
    grader = Grader(PROCESS, [test], names)
    assert outcomes(grader.grade(source)) == ["passed"]
    assert len(grader._reference(test, 0).results()) == 3
    for right, wrong in [
        ("self.sum.add", "self.mean.add"),
        ("yield LATE, value", "pass"),
        ("+ 10)", "+ 11)"),
        ("self.all.add(value[1])", "pass"),
    ]:
        assert outcomes(grader.grade(source.replace(right, wrong, 1))) == ["failed"], right


def windowed(piece):
    def build(env):
        values = [("a", 1), ("b", 3), ("a", 9), ("a", 12), ("b", 30)]
        stream = env.from_splits([SplitData("s", values)], in_order(), "source")
        windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
        keyed = stream.key_by(lambda value: value[0])
        keyed.window(windows).process(piece).name("w").print("out")

    return job(build)()


def test_a_window_function() -> None:
    def process(self, key, context, elements):
        yield key, context.window().start, context.window().max_timestamp(), len(list(elements))

    reference = type("Window", (), {"process": process})
    grader = Grader(
        WINDOW, [JobTest("counts", windowed, checks=(SAME_RESULTS,))], {"Window": reference}
    )
    right = """
class Window:
    def open(self, context): pass
    def process(self, key, context, elements):
        yield key, context.window().start, context.window().max_timestamp(), len(list(elements))
"""
    assert outcomes(grader.grade(right)) == ["passed"]
    assert outcomes(grader.grade(right.replace("max_timestamp()", "end"))) == ["failed"]
    assert outcomes(grader.grade(WINDOW.starter)) == ["failed"]


def test_a_watermark_generator() -> None:
    def with_watermarks(watermark):
        def build(env):
            values = [("a", 1), ("a", 14), ("a", 9), ("a", 25), ("a", 12)]
            strategy = punctuated(watermark).with_timestamp_assigner(Second())
            stream = env.from_splits([SplitData("s", values)], strategy, "source")
            windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
            counted = stream.map(lambda value: (value[0], 1)).key_by(lambda value: value[0])
            counted.window(windows).reduce(lambda a, b: (a[0], a[1] + b[1])).print("out")

        return job(build)()

    names = {"watermark": lambda value, timestamp: timestamp - 6}
    grader = Grader(WATERMARK, [JobTest("late", with_watermarks, checks=(SAME_RESULTS,))], names)
    right = "def watermark(value, timestamp):\n    return timestamp - 6\n"
    assert outcomes(grader.grade(right)) == ["passed"]
    assert outcomes(grader.grade(right.replace("6", "1"))) == ["failed"]
    report = grader.grade("def watermark(value, timestamp):\n    return 'soon'\n")
    assert "A watermark is an integer in ms" in report.results[0].sentence


def test_a_watermark_valve() -> None:
    grader = valve_grader()
    assert outcomes(grader.grade(VALVE_SOLUTION)) == ["passed"]
    assert outcomes(grader.grade(VALVE.starter)) == ["failed"]
    assert outcomes(grader.grade(VALVE_SOLUTION.replace("min(", "max("))) == ["failed"]
    report = grader.grade(VALVE_SOLUTION.replace("return self.out, False", "return self.out"))
    assert "a pair (watermark, whether the output is idle)" in report.results[0].sentence


def test_a_barrier_handler_with_its_counterexample() -> None:
    grader = handler_grader()
    assert outcomes(grader.grade(HANDLER_SOLUTION)) == ["passed"]
    report = grader.grade(NO_ALIGNMENT)
    (result,) = report.results
    assert result.outcome == "failed"
    assert "seen/'k'" in result.sentence
    replay = result.replay
    assert replay is not None
    assert {"command:0", "command:1"} <= set(replay.choices)
    assert replay.step == len(replay.choices)


@pytest.mark.parametrize(
    ("decisions", "sentence"),
    [
        ("[Block(7)]", "Block(input=7) cannot be carried out: this subtask has the inputs 0 to 1"),
        ("[Resume(input)]", "resumes an input that is not blocked"),
        ("[Block(input), Block(input)]", "blocks an input that is blocked already"),
        ("[Trigger(checkpoint + 1)]", "the checkpoint whose barriers come is 1"),
        ("[Trigger(checkpoint, True)]", "and it is aligned"),
        ("[Abort(checkpoint, 'no reason')]", "reasons are"),
        ("['block']", "decisions are Block, Resume, Trigger and Abort"),
        ("Trigger(checkpoint)", "a list of decisions"),
        ("[Block(True)]", "cannot be carried out"),
    ],
)
def test_a_decision_that_cannot_be_carried_out_is_told(decisions: str, sentence: str) -> None:
    source = HANDLER.starter.replace("[Trigger(checkpoint)]", decisions)
    (result,) = handler_grader().grade(source).results
    assert result.outcome == "failed"
    assert sentence in result.sentence


def test_functions_are_compared_case_by_case() -> None:
    right = """
def key_group_range(maximum, parallelism, index):
    start = (index * maximum + parallelism - 1) // parallelism
    return start, ((index + 1) * maximum - 1) // parallelism
"""
    assert outcomes(range_grader().grade(right)) == ["passed"]
    (result,) = range_grader().grade(KEY_GROUP.starter).results
    assert result.sentence == "key_group_range(7, 3, 0) is (0, 2), and this returns (0, 6)."
    (result,) = range_grader().grade(right.replace("return start", "return start + 0.0")).results
    assert result.outcome == "failed"

    cases = tuple((128, 5, group) for group in range(0, 128, 9))
    grader = Grader(OWNER, [CaseTest("owners", cases, operator_index_for_key_group)])
    assert outcomes(
        grader.grade("def operator_index_for_key_group(m, p, g): return g * p // m")
    ) == ["passed"]
    assert outcomes(grader.grade(OWNER.starter)) == ["failed"]


def test_merging_sessions() -> None:
    windows = [TimeWindow(8, 9), TimeWindow(0, 5), TimeWindow(5, 7), TimeWindow(3, 4)]
    expected = lambda held: merge_windows(held, SessionWindows(1).intersects)  # noqa: E731
    grader = Grader(MERGE, [CaseTest("touching", ((windows,), ([],)), expected)])
    right = """
from engine.datastream import TimeWindow

def merge_windows(windows):
    groups = []
    for window in sorted(set(windows)):
        if groups and window.start <= groups[-1][0].end:
            cover, members = groups[-1]
            groups[-1] = (TimeWindow(cover.start, max(cover.end, window.end)), [*members, window])
        else:
            groups.append((window, [window]))
    return [group for group in groups if len(group[1]) > 1]
"""
    assert outcomes(grader.grade(right)) == ["passed"]
    assert outcomes(grader.grade(right.replace("<=", "<"))) == ["failed"]
    assert outcomes(grader.grade(MERGE.starter)) == ["failed"]


def test_a_partitioner() -> None:
    def partitioned(piece):
        def build(env):
            stream = env.from_splits([SplitData("s", [3, 5, 8])], in_order_none(), "source")
            spread = stream.partition_custom(piece, lambda value: value)
            spread.map(lambda value: value).set_parallelism(2).print("out").set_parallelism(2)

        return job(build)()

    def in_order_none():
        from engine.datastream import WatermarkStrategy

        return WatermarkStrategy.no_watermarks()

    grader = Grader(
        PARTITIONER,
        [JobTest("spread", partitioned, checks=(SAME_RESULTS,))],
        {"partition": lambda key, count: key % count},
    )
    assert outcomes(grader.grade("def partition(key, count): return key % count")) == ["passed"]
    assert outcomes(grader.grade("def partition(key, count): return 7")) == ["failed"]
    assert outcomes(grader.grade("def partition(key, count): return 'all'")) == ["failed"]


def test_every_starter_is_python_that_defines_its_entry() -> None:
    for piece in PIECES.values():
        names: dict[str, object] = {}
        exec(piece.starter, names)
        assert piece.entry in names


# Reports


def test_the_same_submission_has_the_same_report_under_every_hash_seed() -> None:
    source = COUNT.replace("yield", "print({'x', 'y', value})\n        yield {'p', 'q', value},")
    code = (
        "import sys; from tests.labs.grading.questions import count_grader;"
        "sys.stdout.buffer.write(count_grader().grade(sys.stdin.read()).data())"
    )
    reports = set()
    for seed in ("0", "1", "77"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=source.encode(),
            capture_output=True,
            check=True,
            cwd=ROOT,
            env=env,
        )
        reports.add(done.stdout)
    reports.add(count_grader().grade(source).data())
    (report,) = reports
    assert json.loads(report)["results"][0]["replay"]["choices"]


def test_a_counterexample_is_shorter_than_the_run_and_can_be_replayed_without_the_submission() -> (
    None
):
    grader = handler_grader()
    (result,) = grader.grade(NO_ALIGNMENT).results
    (test,) = grader.tests
    assert isinstance(test, JobTest)
    assert result.replay is not None
    play = replayed(HANDLER, test, result.replay)
    assert play.runtime.state == "finished"
    assert len(play.results()) > 0
    sentence = grader._checks(test, result.replay.seed)[0].broken(play)  # type: ignore[union-attr]
    assert sentence
    assert sentence == result.replay.sentence


def test_a_counterexample_leaves_out_what_it_does_not_need() -> None:
    raises = COUNT.replace("yield", "if value == 'b': raise KeyError(value)\n        yield")
    test = JobTest("long", counting(["a"] * 6 + ["b"] + ["a"] * 6, ["c"] * 9))
    (result,) = Grader(PROCESS, [test]).grade(raises).results
    assert result.replay is not None
    assert "KeyError: 'b' (line" in result.sentence
    (plain,) = Grader(PROCESS, [replace(test, visible=False)]).grade(raises).results
    assert plain.replay is None
    assert result.replay.rule == "the submission raises nothing"
    assert not [choice for choice in result.replay.choices if "source1" in choice]
    assert len(result.replay.choices) < 30


@pytest.mark.parametrize(
    "change", ["other question", "missing answer", "answer too many", "other answer"]
)
def test_a_recording_that_was_changed_does_not_fit_the_run(change: str) -> None:
    grader = handler_grader()
    (result,) = grader.grade(NO_ALIGNMENT).results
    (test,) = grader.tests
    assert isinstance(test, JobTest)
    assert result.replay is not None
    held = list(result.replay.recording)
    if change == "other question":
        held[3] = Exchange("0" * 24, held[3].answer)
    elif change == "missing answer":
        held.pop()
    elif change == "answer too many":
        held.append(held[-1])
    else:
        held[3] = Exchange(held[3].digest, b'["value", 999, null]\n')
    with pytest.raises(Stopped) as stopped:
        replayed(HANDLER, test, replace(result.replay, recording=tuple(held)))
    assert stopped.value.kind == "misfit"
    assert stopped.value.sentence == MISFIT or "no answer" in stopped.value.sentence


def test_points_are_kept_test_by_test() -> None:
    only_a = COUNT.replace("yield", "\n        if value != 'the-hidden-word': yield")
    report = count_grader().grade(only_a)
    assert outcomes(report) == ["passed", "passed", "failed"]
    assert (report.points, report.of) == (5, 10)
    assert report.hidden() == (1, 2)
    assert report.results[2].sentence == "Other words are counted wrong."


def test_a_run_that_does_not_end_has_used_up_its_steps() -> None:
    test = JobTest("short", counting(["a"] * 9), steps=10)
    (result,) = Grader(PROCESS, [test]).grade(COUNT).results
    assert "has not come to its end within 10 steps" in result.sentence
    assert result.replay is not None


def test_what_is_stopped_by_the_clock_runs_once_more_alone() -> None:
    entered = []

    @contextlib.contextmanager
    def alone() -> Iterator[None]:
        entered.append(True)
        yield

    waits = "import _thread\nlock = _thread.allocate_lock()\nlock.acquire()\nlock.acquire()\n"
    test = JobTest("waits", counting(["a"]))
    grader = Grader(PROCESS, [test], limits=Limits(wall=0.5), alone=alone)
    report = grader.grade(waits)
    assert entered == [True]
    assert outcomes(report) == ["undetermined"]
    assert not report.costs_attempt


def test_where_there_is_no_sandbox_nothing_runs_and_the_report_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("labs.grading.sandbox.landlock_version", lambda: 0)
    report = count_grader().grade(COUNT)
    assert report.verdict == "unavailable"
    assert "Landlock" in report.sentence
    assert not report.costs_attempt
    with pytest.raises(SandboxUnavailable):
        handler_grader()._tried(handler_grader().tests[0], COUNT)


def test_a_reference_that_fails_its_own_test_is_a_fault_of_the_lab() -> None:
    class Broken:
        def process_element(self, value, ctx):
            raise ValueError(value)

    test = JobTest("counts", counting(["a"]), checks=(SAME_RESULTS,))
    with pytest.raises(LearnerMistake, match="The reference fails its own test 'counts' at seed 0"):
        Grader(PROCESS, [test], {"Process": Broken}).grade(COUNT)


def test_a_failure_in_between_gives_a_new_instance() -> None:
    """What a function holds in attributes is lost with its subtask, as in Flink; what it holds in state is not."""
    in_attributes = """
from engine.datastream import KeyedProcessFunction

class Process(KeyedProcessFunction):
    def open(self, context):
        self.seen = {}

    def process_element(self, value, ctx):
        self.seen[value] = self.seen.get(value, 0) + 1
        yield value, self.seen[value]
"""
    commands = ((8, TriggerCheckpoint()), (30, FailSubtask("count[0]")))
    quiet = JobTest("quiet", counting(["a"] * 8), checks=(SAME_RESULTS,))
    failing = JobTest("failing", counting(["a"] * 8), commands=commands, checks=(SAME_RESULTS,))
    from .questions import Count

    grader = Grader(PROCESS, [quiet, failing], {"Process": Count})
    assert outcomes(grader.grade(COUNT)) == ["passed", "passed"]
    assert outcomes(grader.grade(in_attributes)) == ["passed", "failed"]
