"""What people believe of streams, as rules that do not hold: the schedule that breaks one is the counterexample.

Each rule is what the belief would promise. Where the belief is half true, the rule that does hold stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable

from engine.actions import impossible_actions
from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.cut import counted
from engine.elements import RECORD
from engine.explore.canonical import frozen
from engine.explore.invariants import Invariant, Monitor
from engine.explore.job import JobSystem
from engine.explore.job_invariants import undisturbed
from engine.graph.job_graph import JobGraph
from engine.job_state import FINISHED
from engine.operators.broadcast import BroadcastProcessOperator
from engine.runtime import Runtime
from engine.values import text

# Snapshots


def _on_links(system: ChandyLamport) -> str:
    for number in range(1, len(system.network.snapshots) + 1):
        recorded = system.recorded_state(number)
        if recorded is not None and recorded.links:
            held = sum(map(sum, recorded.links.values()))
            return (
                f"Snapshot {number} recorded {counted(sum(recorded.tokens.values()))} at its processes, "
                f"and {counted(held)} on {' and '.join(recorded.links)}."
            )
    return ""


LOCAL_STATES_SUFFICE = Invariant("the states of the processes are the whole snapshot", _on_links)


def _waiting_to_be_taken(system: JobSystem) -> frozenset[str]:
    """Channels with a record at their head whose receiver waits for the barrier of a checkpoint on some input."""
    found = set()
    for subtask in system.runtime.deployment.subtasks.values():
        if subtask.snapshots.alignment() is not None:
            found |= {
                channel.name
                for channel in subtask.inputs
                if channel.queue and channel.queue[0][0] == RECORD
            }
    return frozenset(found)


def _stands_still(
    memory: frozenset[str], system: JobSystem, action: str
) -> tuple[frozenset[str], str]:
    kind, _, channel = action.partition(":")
    sentence = ""
    if kind == "take" and channel in memory:
        receiver = channel.partition(">")[2]
        sentence = f"{receiver} took a record from {channel} while it waited for the barrier of another input."
    return _waiting_to_be_taken(system), sentence


CHECKPOINTS_STOP_THE_PIPELINE = Monitor(
    "nothing is processed while barriers align", _waiting_to_be_taken, _stands_still
)

# Event time


def _late(runtime: Runtime) -> dict[str, int]:
    """How many records each subtask has dropped because they were late."""
    return {
        subtask.id: getattr(subtask.operator, "late", 0)
        for subtask in runtime.deployment.subtasks.values()
    }


def _some_late(system: JobSystem) -> str:
    for subtask, late in _late(system.runtime).items():
        if late:
            return f"{subtask} dropped {late} late record{'s' if late > 1 else ''}."
    return ""


NOTHING_IS_LATE = Invariant("no record is late", _some_late)
"""As if a watermark were a guarantee; it holds where no record is further out of order than the strategy allows."""

Behind = tuple[tuple[tuple[str, int, int], ...], tuple[int, ...]]
"""((channel, timestamp at its head, watermark of its receiver) where the head is behind it), late records by subtask"""


def _behind(system: JobSystem) -> Behind:
    runtime = system.runtime
    behind = [
        (channel.name, channel.queue[0][2], subtask.watermark)
        for subtask in runtime.deployment.subtasks.values()
        for channel in subtask.inputs
        if channel.queue
        and channel.queue[0][0] == RECORD
        and channel.queue[0][2] is not None
        and channel.queue[0][2] <= subtask.watermark
    ]
    return tuple(behind), tuple(_late(runtime).values())


def _dropped(memory: Behind, system: JobSystem, action: str) -> tuple[Behind, str]:
    now = _behind(system)
    for channel, timestamp, watermark in memory[0]:
        if action == f"take:{channel}" and now[1] == memory[1]:
            receiver = channel.partition(">")[2]
            return (
                now,
                f"{receiver} accepted a record of time {timestamp} behind its watermark {watermark}.",
            )
    return now, ""


BEHIND_IS_DROPPED = Monitor("what is behind the watermark is dropped", _behind, _dropped)


def _only_behind(memory: Behind, system: JobSystem, action: str) -> tuple[Behind, str]:
    now = _behind(system)
    grown = sum(now[1]) > sum(memory[1])
    if grown and not any(action == f"take:{channel}" for channel, _, _ in memory[0]):
        return now, f"{action} dropped a record that was not behind the watermark."
    return now, ""


DROPPED_IS_BEHIND = Monitor("what is dropped was behind the watermark", _behind, _only_behind)
"""The half that is true: most jobs drop less, since a window that is still open takes what is behind."""


def _written(system: JobSystem) -> bool:
    return any(log.cursor for log in system.runtime.logs.values())


def fires_by_the_clock(end: int) -> Invariant:
    """A window that ends at `end` ms has its result out once the clock has passed it."""

    def broken(system: JobSystem) -> str:
        now = system.runtime.clock.now // 1000
        if now <= end or _written(system):
            return ""
        return f"The clock shows {now} ms, and the window that ends at {end} has not fired."

    return Invariant("a window fires when the clock passes its end", broken, results=True)


def fires_by_the_watermark(operator: str, end: int) -> Invariant:
    """No result is out before the watermark of `operator` has reached the end of the window: this one holds."""
    return _first_result("a window fires when the watermark passes its end", operator, end, 0)


def waits_for_lateness(operator: str, end: int, lateness: int) -> Invariant:
    """No result is out before the allowed lateness is over, too."""
    return _first_result("results wait for the allowed lateness", operator, end, lateness)


def _first_result(name: str, operator: str, end: int, lateness: int) -> Invariant:
    def broken(system: JobSystem) -> str:
        if not _written(system):
            return ""
        reached = [
            subtask.watermark
            for subtask in system.runtime.deployment.subtasks.values()
            if subtask.vertex == operator
        ]
        if max(reached) >= end - 1 + lateness:
            return ""
        return f"A result was written at watermark {max(reached)}, before {end - 1 + lateness}."

    return Invariant(name, broken, results=True)


# Determinism


def same_results(factory: Callable[[], JobGraph]) -> Invariant:
    """A finished job has written the same results, in whatever order, as one in which the default schedule was taken."""
    expected = _counted(undisturbed(factory))

    def broken(system: JobSystem) -> str:
        if system.runtime.state != FINISHED:
            return ""
        found = _counted(system.runtime)
        more, fewer = found - expected, expected - found
        if not more and not fewer:
            return ""
        return (
            f"This schedule writes {' and '.join(sorted(more)) or 'nothing'} "
            f"instead of {' and '.join(sorted(fewer)) or 'nothing'}."
        )

    return Invariant("results depend on the input alone", broken, at_end=True, results=True)


def _counted(runtime: Runtime) -> Counter[str]:
    return Counter(text(value) for log in runtime.logs.values() for value in log.written())


def _one_state(system: JobSystem) -> str:
    states: dict[str, tuple[str, Hashable]] = {}
    if system.runtime.state != FINISHED:
        return ""
    for subtask in system.runtime.deployment.subtasks.values():
        if not isinstance(subtask.operator, BroadcastProcessOperator):
            continue
        held = frozen(subtask.operator.tables)
        first, other = states.setdefault(subtask.vertex, (subtask.id, held))
        if held != other:
            return f"{first} and {subtask.id} end with different broadcast state."
    return ""


BROADCAST_IS_ORDERED = Invariant("broadcast state is the same everywhere", _one_state, at_end=True)


def _ended(system: JobSystem) -> str:
    runtime = system.runtime
    if runtime.state == FINISHED:
        return ""
    waiting = [
        f"{subtask.id} waits for the barrier of checkpoint {alignment.checkpoint}"
        for subtask in runtime.deployment.subtasks.values()
        if (alignment := subtask.snapshots.alignment()) is not None
    ]
    waiting = waiting or [one["reason"]["sentence"] for one in impossible_actions(runtime)][:1]
    why = f": {' and '.join(waiting)}" if waiting else ""
    return f"Nothing more can happen, and the job is {runtime.state}{why}."


JOB_ENDS = Invariant("the job comes to its end", _ended, at_end=True)
