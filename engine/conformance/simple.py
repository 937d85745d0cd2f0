"""Files with one question a line: key groups, ranges, window assignment, session merging, the watermark valve."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

from engine.conformance.report import Outcome
from engine.conformance.stepper import Stepper
from engine.datastream import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from engine.elements import STATUS, WATERMARK
from engine.event_time.windows import SessionWindows, TimeWindow, merge_windows
from engine.graph.job_graph import JobGraph
from engine.operators.split import Raw, SplitData
from engine.state import key_groups as kg


def _rows(path: str) -> Iterator[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _compare(case: str, **pairs: tuple[Any, Any]) -> Outcome:
    for what, (got, wanted) in pairs.items():
        if got != wanted:
            return Outcome(case, f"{what} is {got} instead of {wanted}")
    return Outcome(case)


# Key groups


def key_groups(path: str) -> list[Outcome]:
    return [_key_group(row) for row in _rows(path)]


def _key(row: dict[str, str]) -> tuple[Any, str | None]:
    kind, shown = row["key_type"], row["key"]
    if kind == "string":
        return json.loads(shown), None
    if kind == "int":
        return int(shown), "INT"
    shown = json.loads(shown) if shown.startswith('"') else shown
    if kind in ("Short", "Byte"):
        return int(shown), "INT"
    if kind == "Long":
        return int(shown), "LONG"
    if kind == "Double":
        return float(shown.replace("Infinity", "inf")), None
    if kind == "Boolean":
        return shown == "true", None
    if kind.startswith("Tuple"):
        return tuple(map(_scalar, shown.strip("()").split(","))), None
    if kind == "String":
        return shown, None
    raise NotImplementedError(f"keys of type {kind}")


def _scalar(shown: str) -> Any:
    if shown in ("true", "false"):
        return shown == "true"
    try:
        return int(shown)
    except ValueError:
        return shown


def _key_group(row: dict[str, str]) -> Outcome:
    name = f"{row['key_type']} {row['key']}"
    try:
        key, key_type = _key(row)
    except NotImplementedError as reason:
        return Outcome(name, unsupported=str(reason))
    code = kg.java_hash(key, key_type)
    pairs: dict[str, tuple[Any, Any]] = {
        "hash code": (code, int(row["java_hash_code"])),
        "murmur hash": (kg.murmur_hash(code), int(row["murmur"])),
    }
    for column, value in row.items():
        if column.startswith("kg_max"):
            maximum = int(column.removeprefix("kg_max"))
            pairs[column] = (kg.assign_to_key_group(key, maximum, key_type), int(value))
        elif column.startswith("op_max"):
            maximum, parallelism = map(int, column.removeprefix("op_max").split("_p"))
            group = kg.assign_to_key_group(key, maximum, key_type)
            pairs[column] = (
                kg.operator_index_for_key_group(maximum, parallelism, group),
                int(value),
            )
    return _compare(name, **pairs)


def key_group_ranges(path: str) -> list[Outcome]:
    return [
        _compare(
            str(tuple(row.values())[:3]),
            range=(
                kg.key_group_range(
                    int(row["max_parallelism"]), int(row["parallelism"]), int(row["operator_index"])
                ),
                (int(row["start_key_group"]), int(row["end_key_group_inclusive"])),
            ),
        )
        for row in _rows(path)
    ]


def operator_indexes(path: str) -> list[Outcome]:
    return [
        _compare(
            str(tuple(row.values())[:3]),
            index=(
                kg.operator_index_for_key_group(
                    int(row["max_parallelism"]), int(row["parallelism"]), int(row["key_group"])
                ),
                int(row["operator_index"]),
            ),
        )
        for row in _rows(path)
    ]


def default_max_parallelisms(path: str) -> list[Outcome]:
    return [
        _compare(
            row["parallelism"],
            maximum=(
                kg.default_max_parallelism(int(row["parallelism"])),
                int(row["default_max_parallelism"]),
            ),
        )
        for row in _rows(path)
    ]


def murmur_hashes(path: str) -> list[Outcome]:
    return [
        _compare(
            row["int_code"], murmur=(kg.murmur_hash(int(row["int_code"])), int(row["flink_murmur"]))
        )
        for row in _rows(path)
    ]


# Windows


def window_assignment(path: str) -> list[Outcome]:
    outcomes = []
    for row in _rows(path):
        size, slide, offset = (
            Time.milliseconds(int(row[name])) for name in ("size", "slide", "offset")
        )
        if row["type"] == "tumbling":
            spec = TumblingEventTimeWindows.of(size, offset).spec
        else:
            spec = SlidingEventTimeWindows.of(size, slide, offset).spec
        got = {
            f"{window.start}:{window.end}" for window in spec.assign(None, int(row["timestamp"]))
        }
        outcomes.append(
            _compare(
                str(tuple(row.values())[:5]), windows=(got, set(row["windows_start_end"].split()))
            )
        )
    return outcomes


def session_merges(path: str) -> list[Outcome]:
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)
    outcomes = []
    for number, case in enumerate(cases):
        spec = EventTimeSessionWindows.with_gap(Time.milliseconds(1)).spec
        assert isinstance(spec, SessionWindows)
        merged = merge_windows((TimeWindow(*bounds) for bounds in case["in"]), spec.intersects)
        got = sorted(
            " ".join(sorted(f"{w.start}:{w.end}" for w in members))
            + f" -> {cover.start}:{cover.end}"
            for cover, members in merged
        )
        outcomes.append(
            _compare(f"case {number}", merges=(got, sorted(map(_sorted_merge, case["merges"]))))
        )
    return outcomes


def _sorted_merge(text: str) -> str:
    members, _, cover = text.partition(" -> ")
    return " ".join(sorted(members.split())) + f" -> {cover}"


# The valve


def valve_scripts(path: str) -> list[Outcome]:
    with open(path, encoding="utf-8") as file:
        return [_valve(case) for case in json.load(file)]


def _valve(case: dict[str, Any]) -> Outcome:
    stepper = Stepper(lambda: _valve_job(case), "out")
    for number, step in enumerate(case["steps"]):
        got = [{output: value} for output, value, _ in stepper.read(f"source{step['ch']}")]
        if got != step["emits"]:
            return Outcome(case["name"], f"step {number} gave {got} instead of {step['emits']}")
    return Outcome(case["name"])


def _valve_job(case: dict[str, Any]) -> JobGraph:
    """One source per channel, united into one input."""
    env = StreamExecutionEnvironment()
    env.set_buffers_per_channel(1000)
    streams = []
    for channel in range(case["channels"]):
        entries = [
            Raw((WATERMARK, step["wm"]) if "wm" in step else (STATUS, step["status"] == "idle"))
            for step in case["steps"]
            if step["ch"] == channel
        ]
        streams.append(
            env.from_splits(
                [SplitData("script", entries)],
                WatermarkStrategy.no_watermarks(),
                f"source{channel}",
            )
        )
    streams[0].union(*streams[1:]).map(lambda value: value).print("out")
    return env.get_job_graph(case["name"])
