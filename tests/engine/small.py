"""Small jobs for stories: a factory out of a few lines, and what came out of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import Policy, Recording, fold
from engine.datastream import (
    Duration,
    StreamExecutionEnvironment,
    TimestampAssigner,
    WatermarkStrategy,
)
from engine.graph.job_graph import JobGraph
from engine.testing import written

MANUAL = Policy("manual")


class Second(TimestampAssigner):
    """The timestamp of (key, timestamp, ...)."""

    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def in_order(bound: int = 0) -> WatermarkStrategy:
    """Watermarks `bound` ms behind, by the second field."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    return strategy.with_timestamp_assigner(Second())


def job(build: Callable[[StreamExecutionEnvironment], Any]) -> Callable[[], JobGraph]:
    """A factory of the job that `build` declares."""

    def factory() -> JobGraph:
        env = StreamExecutionEnvironment()
        build(env)
        return env.get_job_graph("small")

    return factory


def results(recording: Recording) -> list[Any]:
    """What all sinks have written, in the order of sinks and subtasks."""
    return [value for values in written(recording).values() for value in values]


def possible(recording: Recording) -> list[str]:
    return [action["id"] for action in recording.possible()]


def reasons(recording: Recording) -> dict[str, str]:
    """Why an action is not possible, by its id."""
    return {action["id"]: action["reason"]["sentence"] for action in recording.impossible()}


def act(recording: Recording, *actions: str) -> Recording:
    for action in actions:
        recording.act(action)
    return recording


def queue(recording: Recording, channel: str) -> list[Any]:
    """The elements of a channel as the picture shows them: texts of records, kinds of the others."""
    return [
        element["text"] if element["kind"] == "record" else element["kind"]
        for element in recording.view()["channels"][channel]["queue"]
    ]


def state_of(recording: Recording) -> str:
    return recording.view()["job"]["state"]


def step_and_fold(recording: Recording, limit: int = 1000) -> dict[str, Any]:
    """Step until nothing can happen, with the first law checked at every step; returns the last picture."""
    picture = recording.view()
    for _ in range(limit):
        steps = recording.step(1, events=True)
        if not steps:
            return picture
        fold(picture, steps[0])
        assert picture == recording.view()
    raise AssertionError(f"the job did not come to rest within {limit} steps")
