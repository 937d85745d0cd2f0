"""Traces change only with ENGINE_VERSION: saved runs and submissions rest on it."""

from __future__ import annotations

import json
from pathlib import Path

from engine import ENGINE_VERSION, Policy, Recording
from engine.datastream import Time, TumblingEventTimeWindows
from engine.operators.split import SplitData
from engine.testing import trace_digest

from .jobs import Collect, CountAndRemember
from .small import in_order, job

GOLDEN = Path(__file__).with_name("golden_trace.json")
CHANGED = "traces changed: raise ENGINE_VERSION (and store the new digest in golden_trace.json)"


def golden(env):
    """Two sources, most partitioners, a process function with timers, and a window with late records."""
    env.set_buffers_per_channel(2)
    env.enable_checkpointing(500)
    entries = [(f"k{number % 5}", number * 7 % 60, number % 4) for number in range(24)]
    entries += [("k1", 1, 0)] * 60
    splits = [SplitData(f"p{index}", entries[index::3]) for index in range(3)]
    stream = env.from_splits(splits, in_order(5), "source").set_parallelism(2)
    stream = stream.rebalance().map(lambda value: value).set_parallelism(3)
    stream = stream.shuffle().filter(lambda value: value[2] != 3).set_parallelism(2)
    counted = stream.key_by(lambda value: value[0]).process(CountAndRemember())
    counted.name("count").set_parallelism(2).rescale().print("counts")
    windows = stream.key_by(lambda value: value[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(10))
    )
    windows.aggregate(Collect()).name("window").set_parallelism(3).print("out")


PLAN = [
    (60, {"kind": "checkpoint"}),
    (80, {"kind": "fail", "subtask": "window[1]"}),
    (90, {"kind": "rescale", "operator": "window", "parallelism": 2}),
    (2000, None),
]


def test_the_trace_of_a_fixed_run_is_what_it_was():
    recording = Recording(job(golden), Policy("random", 4), seed=2013)
    steps = []
    for count, command in PLAN:
        steps += recording.step(count, events=True)
        if command:
            steps.append(recording.apply(command))
    kinds = {type(event).__name__ for step in steps for event in step.events}
    assert {"WindowFired", "RecordLate", "TimerFired", "CheckpointCompleted", "Restored"} <= kinds

    found = {
        "engine_version": ENGINE_VERSION,
        "steps": len(steps),
        "events": sum(len(step.events) for step in steps),
        "digest": trace_digest(steps),
    }
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8")), CHANGED
