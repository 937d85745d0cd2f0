"""Rules about jobs (`engine.explore.job.JobSystem`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from engine.errors import InvalidJob
from engine.explore.canonical import frozen
from engine.explore.invariants import Invariant, Monitor
from engine.explore.job import JobSystem
from engine.graph.job_graph import JobGraph
from engine.job_state import FINISHED
from engine.keyframes import ATOMIC
from engine.operators.keyed import KeyedOperator
from engine.runtime import Runtime
from engine.values import text

State = dict[tuple[str, str], str]
"""(operator, row of keyed state) -> its value as text, whichever subtask owns it."""


def keyed_state(runtime: Runtime) -> State:
    return {
        (subtask.vertex, put.row): put.value
        for subtask in runtime.deployment.subtasks.values()
        for put in subtask.operator.shown_state()
    }


def undisturbed(factory: Callable[[], JobGraph], limit: int = 1_000_000) -> Runtime:
    """The job after a run in which nothing failed; InvalidJob where it does not end within `limit` steps."""
    runtime = Runtime(factory(), ATOMIC, 0)
    runtime.run(limit)
    if runtime.state != FINISHED:
        raise InvalidJob(
            "not_finished",
            f"The job is {runtime.state} after {runtime.step:,} steps in which nobody disturbed it.",
            mend="Give it an input that ends, and functions that do not raise.",
        )
    return runtime


def exactly_once(factory: Callable[[], JobGraph]) -> Invariant:
    """Exactly-once effect on keyed state: a finished job holds what it holds where nothing fails."""
    expected = keyed_state(undisturbed(factory))

    def broken(system: JobSystem) -> str:
        if system.runtime.state != FINISHED:
            return ""
        found = keyed_state(system.runtime)
        for operator, row in sorted(expected.keys() | found.keys()):
            wanted, held = expected.get((operator, row)), found.get((operator, row))
            if wanted != held:
                return f"{operator} ends with {row} = {held or 'nothing'} instead of {wanted or 'nothing'}."
        return ""

    return Invariant("every record has its effect on state exactly once", broken, at_end=True)


def nothing_lost(factory: Callable[[], JobGraph]) -> Invariant:
    """At least once: a finished job has written every result, as often as where nothing fails or more often."""
    expected = _results(undisturbed(factory))

    def broken(system: JobSystem) -> str:
        if system.runtime.state != FINISHED:
            return ""
        found = _results(system.runtime)
        for result in sorted(expected, key=text):
            if found.get(result, 0) < expected[result]:
                return f"Result {result} was written {found.get(result, 0)} times instead of {expected[result]}."
        return ""

    return Invariant("no result is lost", broken, at_end=True, results=True)


def _results(runtime: Runtime) -> dict[str, int]:
    counted: dict[str, int] = {}
    for log in runtime.logs.values():
        for value in log.written():
            counted[text(value)] = counted.get(text(value), 0) + 1
    return counted


def _owners(system: JobSystem) -> str:
    deployment = system.runtime.deployment
    for subtask in deployment.subtasks.values():
        owned = deployment.key_groups(subtask)
        if owned is None or not isinstance(subtask.operator, KeyedOperator):
            continue
        rows = subtask.operator.rows
        for _, table in subtask.operator.state.tables.values():
            for key in table:
                group = rows.group(key)
                if not owned[0] <= group <= owned[1]:
                    return (
                        f"{subtask.id} holds state of key {text(key)} in key group {group}, "
                        f"and owns {owned[0]} to {owned[1]}."
                    )
    return ""


Watermarks = tuple[int, tuple[int, ...]]
"""(attempt, watermark of each subtask)"""


def _watermarks(system: JobSystem) -> Watermarks:
    runtime = system.runtime
    held = tuple(subtask.watermark for subtask in runtime.deployment.subtasks.values())
    return runtime.attempt, held


def _never_backwards(memory: Watermarks, system: JobSystem, action: str) -> tuple[Watermarks, str]:
    now = _watermarks(system)
    if now[0] == memory[0]:
        for subtask, before, after in zip(
            system.runtime.deployment.subtasks, memory[1], now[1], strict=True
        ):
            if after < before:
                return now, f"The watermark of {subtask} went back from {before} to {after}."
    return now, ""


Contents = tuple[int, tuple[tuple[Hashable, ...], ...]]
"""(attempt, elements on each channel)"""


def _contents(system: JobSystem) -> Contents:
    runtime = system.runtime
    held = tuple(
        tuple(map(frozen, channel.queue)) for channel in runtime.deployment.channels.values()
    )
    return runtime.attempt, held


def _order(memory: Contents, system: JobSystem, action: str) -> tuple[Contents, str]:
    """An action takes the head of the channel that it names, and adds at tails; a failure empties every channel."""
    now = _contents(system)
    if now[0] == memory[0]:
        for channel, before, after in zip(
            system.runtime.deployment.channels, memory[1], now[1], strict=True
        ):
            left = before[1:] if action == f"take:{channel}" else before
            if after and left != after[: len(left)]:
                return now, f"Channel {channel} did not keep the order of its elements."
    return now, ""


ONE_OWNER = Invariant("one owner per key group", _owners)
WATERMARKS_RISE = Monitor("watermarks never go backwards", _watermarks, _never_backwards)
FIFO_CHANNELS = Monitor("channels keep their order", _contents, _order)
