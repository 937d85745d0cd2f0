"""For tests: run a job to its end, and a digest of everything that it showed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from engine.graph.job_graph import JobGraph
from engine.keyframes import Recording
from engine.scheduler import Policy
from engine.trace import StepTrace


def run_to_idle(recording: Recording, limit: int = 1_000_000) -> Recording:
    """Step by the policy until nothing can happen, at most `limit` steps."""
    while recording.position < limit:
        before = recording.position
        recording.step(min(50_000, limit - before))
        if recording.position == before:
            return recording
    raise AssertionError(f"the job did not come to rest within {limit} steps")


def run_job(
    factory: Callable[[], JobGraph], policy: Policy | None = None, seed: int = 0
) -> Recording:
    """The recording of a job that has run to its end."""
    return run_to_idle(Recording(factory, policy or Policy(), seed))


def written(recording: Recording) -> dict[str, list[Any]]:
    """What each sink subtask has written, by its id."""
    sinks = {vertex.id for vertex in recording.runtime.job.vertices if vertex.kind == "sink"}
    return {
        name: log.written()
        for name, log in recording.runtime.logs.items()
        if name.rpartition("[")[0] in sinks
    }


def keyed_state(recording: Recording) -> dict[str, Any]:
    """Every row of keyed state and every timer, by operator and row, whichever subtask owns it."""
    found: dict[str, Any] = {}
    for subtask in recording.view()["subtasks"].values():
        for row, held in subtask["state"].items():
            found[f"{subtask['vertex']}/{row}"] = held["value"]
        for row, timer in subtask["timers"].items():
            found[f"{subtask['vertex']}/{row}"] = timer["time"]
    return found


def trace_digest(steps: Iterable[StepTrace]) -> str:
    """SHA-256 over every event of every step."""
    digest = hashlib.sha256()
    for step in steps:
        digest.update(repr((step.step, step.action)).encode())
        for event in step.events:
            digest.update(type(event).__name__.encode())
            digest.update(repr(tuple(event)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
