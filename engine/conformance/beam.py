"""Transcripts of Apache Beam's trigger driver: bundles of records, watermarks, and the panes to expect after each."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from typing import Any

from engine.conformance.report import Outcome
from engine.conformance.stepper import Emitted, Stepper
from engine.datastream import (
    GlobalWindows,
    ProcessWindowFunction,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from engine.datastream.extensions import (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterWatermark,
    Bundle,
    DefaultTrigger,
    Repeatedly,
    ResultTime,
    Timing,
    non_touching_sessions,
    with_panes,
)
from engine.elements import MAX_TIMESTAMP
from engine.graph.job_graph import JobGraph
from engine.operators.split import At, EmitWatermark, SplitData

Factory = Callable[..., Any]


def _fixed(size: int, offset: int = 0) -> Any:
    return TumblingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(offset % size))


def _sliding(size: int, period: int, offset: int = 0) -> Any:
    return SlidingEventTimeWindows.of(
        Time.milliseconds(size), Time.milliseconds(period), Time.milliseconds(offset % period)
    )


WINDOWS: dict[str, Factory] = {
    "FixedWindows": _fixed,
    "GlobalWindows": GlobalWindows.create,
    "Sessions": lambda gap: non_touching_sessions(Time.milliseconds(gap)),
    "SlidingWindows": _sliding,
}

TRIGGERS: dict[str, Factory] = {
    "AfterAll": AfterAll,
    "AfterAny": AfterAny,
    "AfterCount": AfterCount,
    "AfterEach": AfterEach,
    "AfterWatermark": AfterWatermark,
    "Default": DefaultTrigger,
    "DefaultTrigger": DefaultTrigger,
    "Repeatedly": Repeatedly,
}

RESULT_TIMES = {
    "OUTPUT_AT_EARLIEST": ResultTime.EARLIEST,
    "OUTPUT_AT_EOW": ResultTime.END_OF_WINDOW,
    "OUTPUT_AT_LATEST": ResultTime.LATEST,
}


class Panes(ProcessWindowFunction):
    """A pane's window, its values sorted, and what it is among the window's panes."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window, pane = context.window(), context.pane()
        bounds: Any = [window.start, window.max_timestamp()]
        yield {
            "window": "global" if window.max_timestamp() == MAX_TIMESTAMP else bounds,
            "values": sorted(elements),
            "index": pane.index,
            "nonspeculative_index": pane.on_time_index,
            "early": pane.timing is Timing.EARLY,
            "late": pane.timing is Timing.LATE,
            "final": pane.last,
        }


def run_file(path: str) -> list[Outcome]:
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    cases = [content] if isinstance(content, dict) else content
    return [run_case(case) for case in cases]


def run_case(case: dict[str, Any]) -> Outcome:
    """As Beam reads a transcript: what came out is taken away by `expect`, and must be gone before the next input."""
    name = case["name"]
    steps = [next(iter(step.items())) for step in case["transcript"]]
    try:
        stepper = Stepper(lambda: build(case), "out")
    except NotImplementedError as reason:
        return Outcome(name, unsupported=str(reason))
    panes: list[dict[str, Any]] = []
    for number, (action, content) in enumerate(steps):
        if action == "expect":
            for wanted in content:
                found = next((pane for pane in panes if _matches(pane, wanted)), None)
                if found is None:
                    return Outcome(name, f"step {number}: {wanted} is missing, left were {panes}")
                panes.remove(found)
        elif action in ("input", "watermark"):
            if panes:
                return Outcome(name, f"before step {number}: {panes} came and was not expected")
            panes = [shown(emitted) for emitted in stepper.read("source") if emitted[0] == "out"]
    if panes:
        return Outcome(name, f"at the end: {panes} came and was not expected")
    return Outcome(name)


def _matches(pane: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(
        pane[field] == (sorted(value) if field == "values" else value)
        for field, value in wanted.items()
    )


def shown(emitted: Emitted) -> dict[str, Any]:
    _, value, timestamp = emitted
    end = "end_of_global_window" if timestamp == MAX_TIMESTAMP else timestamp
    return {**value, "timestamp": end}


def build(case: dict[str, Any]) -> JobGraph:
    """The job that a transcript describes. Every input is one bundle of values that are their own timestamps."""
    entries: list[Any] = []
    for step in case["transcript"]:
        ((action, content),) = step.items()
        if action == "input":
            bundle = Bundle(tuple((value, value) for value in content))
            entries.append(At(bundle, max(content, default=0)))
        elif action == "watermark":
            # Beam: nothing before it will come. Here: it is the last timestamp that is complete.
            entries.append(EmitWatermark(content - 1))
        elif action != "expect":
            raise NotImplementedError(f"steps of kind {action!r}")
    windows = called(case.get("window_fn", "GlobalWindows"), WINDOWS)
    trigger = called(case.get("trigger_fn", "Default"), TRIGGERS)
    time = case.get("timestamp_combiner", "OUTPUT_AT_EOW")
    if time not in RESULT_TIMES:
        raise NotImplementedError(f"the timestamp combiner {time}")
    env = StreamExecutionEnvironment()
    env.set_buffers_per_channel(1000)
    strategy = WatermarkStrategy.no_watermarks()
    source = env.from_splits([SplitData("script", entries)], strategy, "source")
    windowed = source.key_by(lambda bundle: "key").window(windows).trigger(trigger)
    windowed = windowed.allowed_lateness(case.get("allowed_lateness", 0))
    discarding = case.get("accumulation_mode", "accumulating") == "discarding"
    panes = with_panes(windowed, discarding=discarding, result_time=RESULT_TIMES[time])
    panes.process(Panes()).print("out")
    return env.get_job_graph(case["name"])


def called(text: str, names: dict[str, Factory]) -> Any:
    """What an expression such as "Repeatedly(AfterCount(2))" makes; a bare name is called without arguments."""
    return _made(ast.parse(text, mode="eval").body, names)


def _made(node: ast.expr, names: dict[str, Factory]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    name = ast.unparse(call.func)
    if name not in names:
        raise NotImplementedError(f"{name}, which is none of {', '.join(sorted(names))}")
    return names[name](
        *(_made(argument, names) for argument in call.args),
        **{str(keyword.arg): _made(keyword.value, names) for keyword in call.keywords},
    )
