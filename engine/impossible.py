"""Why an action or a command is impossible now. Nothing here changes the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.commands import (
    Command,
    FailSubtask,
    RefuseUpload,
    Rescale,
    RescaleFromCheckpoint,
    TriggerCheckpoint,
)
from engine.deployment import Slot
from engine.errors import StreamLabError
from engine.graph.checkpoint_settings import NONE
from engine.job_state import FAILED, FINISHED, RESTARTING, STOPPING
from engine.subtask import Subtask
from engine.values import text

if TYPE_CHECKING:
    from engine.runtime import Runtime

Reason = tuple[str, str, list[str]]
"""(code, sentence without capital and full stop, channels that it is about)"""


def why_not_command(runtime: Runtime, command: Command) -> str:
    """Why a command is not possible now, as the end of a sentence; empty where it is possible."""
    settings = runtime.job.checkpointing
    if runtime.state in (FINISHED, FAILED):
        return f"the job has {runtime.state}"
    if isinstance(command, FailSubtask):
        if command.subtask not in runtime.deployment.subtasks:
            return _no_subtask(runtime, command.subtask)
        return "the job is restarting" if runtime.state == RESTARTING else ""
    if runtime.state == RESTARTING:
        return "the job is restarting"
    if runtime.state == STOPPING:
        return runtime.reason
    if isinstance(command, RefuseUpload):
        return _why_not_refuse(runtime, command.subtask)
    if isinstance(command, Rescale | RescaleFromCheckpoint):
        reason = _why_not_rescale(runtime, command)
        if reason or isinstance(command, RescaleFromCheckpoint):
            return reason
    elif isinstance(command, TriggerCheckpoint) and settings.scheme == NONE:
        return "this job takes no checkpoints; a savepoint can be taken"
    return "" if runtime.snapshots.has_room() else _in_progress(runtime)


def _in_progress(runtime: Runtime) -> str:
    pending = list(map(str, runtime.coordinator.pending))
    if len(pending) == 1:
        return f"checkpoint {pending[0]} is still in progress"
    return f"checkpoints {' and '.join(pending)} are still in progress"


def _why_not_refuse(runtime: Runtime, subtask: str) -> str:
    if subtask not in runtime.deployment.subtasks:
        return _no_subtask(runtime, subtask)
    if runtime.deployment.subtasks[subtask].snapshots.refused:
        return f"the storage refuses the next snapshot of {subtask} already"
    return ""


def _no_subtask(runtime: Runtime, subtask: str) -> str:
    return f"there is no subtask {text(subtask)!r}; the job has {', '.join(runtime.deployment.subtasks)}"


def _why_not_rescale(runtime: Runtime, command: Rescale | RescaleFromCheckpoint) -> str:
    try:
        vertex = runtime.job.vertex(command.operator)
    except StreamLabError as error:
        return f"{error.sentence[0].lower()}{error.sentence[1:].rstrip('.')}; {error.mend[0].lower()}{error.mend[1:].rstrip('.')}"
    maximum = vertex.maximum()
    if not 1 <= command.parallelism <= maximum:
        return f"the parallelism of {vertex.id} must be from 1 to its max parallelism {maximum}"
    if command.parallelism == runtime.parallelism[vertex.id]:
        return f"{vertex.id} has parallelism {command.parallelism} already"
    after = {**runtime.parallelism, vertex.id: command.parallelism}
    for edge, partitioner in zip(
        runtime.job.edges, runtime.deployment.graph.partitioners, strict=True
    ):
        if (
            vertex.id in (edge.source, edge.target)
            and type(edge.partitioner) is type(partitioner)
            and partitioner.name == "forward"
            and after[edge.source] != after[edge.target]
        ):
            return f"the forward edge {edge.source} -> {edge.target} needs equal parallelism"
        if edge.feedback and vertex.id == edge.target and partitioner.name == "broadcast":
            return f"{edge.source} -> {edge.target} leads back as a broadcast, and a new subtask would lack what is on its way"
    return ""


def why_not(runtime: Runtime, slot: Slot) -> Reason:
    """Why a slot cannot be taken."""
    if runtime.state == RESTARTING:
        return "restarting", "the job is restarting", []
    if runtime.state in (FINISHED, FAILED):
        return runtime.state, f"the job has {runtime.state}", []
    bit = runtime.deployment.bit(slot.action)
    if not runtime.readiness.nonempty & bit:
        return "empty", "there is nothing to take", []
    subtask = runtime.deployment.subtasks[slot.subtask or ""]
    if runtime.readiness.blocked & bit:
        return _why_blocked(runtime, subtask, slot)
    full = [channel for channel in subtask.output.channels if channel.full]
    receivers = " and ".join(channel.receiver for channel in full)
    circle = deadlock(runtime, subtask)
    if circle:
        waits = ", and ".join(
            f"{one} waits for {other}"
            for one, other in zip(circle, circle[1:] + circle[:1], strict=True)
        )
        return (
            "deadlock",
            f"no credit towards {receivers}, and none will come: the loop is full, {waits}",
            [channel.name for channel in full],
        )
    return "credit", f"no credit towards {receivers}", [channel.name for channel in full]


def deadlock(runtime: Runtime, subtask: Subtask) -> list[str]:
    """The subtasks of a loop that wait for each other's credit, where `subtask` is one of them or waits for one; else [].

    None of them takes anything while an output of it is full, so only a failure ends this.
    """
    subtasks = runtime.deployment.subtasks
    way: list[str] = []
    done: set[str] = set()

    def follow(name: str) -> list[str]:
        if name in way:
            return way[way.index(name) :]
        if name in done:
            return []
        done.add(name)
        way.append(name)
        for channel in subtasks[name].output.channels:
            if channel.full and (circle := follow(channel.receiver)):
                return circle
        way.pop()
        return []

    return follow(subtask.id)


def _why_blocked(runtime: Runtime, subtask: Subtask, slot: Slot) -> Reason:
    channel = slot.channel
    if channel is not None and channel.priority:
        number = channel.priority[0].checkpoint
        return "priority", f"barrier {number} overtakes what is queued, so it goes first", []
    if channel is not None:
        alignment = subtask.snapshots.alignment()
        received = alignment.received if alignment else ()
        awaited = alignment.checkpoint if alignment else ""
        waiting = [
            held.name
            for index, held in enumerate(subtask.inputs)
            if index not in received and not held.feedback
        ]
        senders = " and ".join(name.partition(">")[0] for name in waiting)
        return "alignment", f"waits for barrier {awaited} from {senders}", waiting
    if runtime.snapshots.paused is not None:
        doing = "everything is copied" if runtime.snapshots.drained else "the channels have drained"
        return (
            "paused",
            f"its source pauses for checkpoint {runtime.snapshots.paused} until {doing}",
            [],
        )
    if slot.split is None or subtask.stopped:
        return "stopping", "its source has stopped with a savepoint", []
    ahead = f"{slot.split.name} is too far ahead of the slowest split of its alignment group"
    return "alignment-group", ahead, []
