"""Why an action or a command is impossible now. Nothing here changes the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.commands import Command, FailSubtask, Rescale
from engine.deployment import Slot
from engine.errors import StreamLabError
from engine.job_state import FAILED, FINISHED, RESTARTING, STOPPING
from engine.subtask import Subtask
from engine.values import text

if TYPE_CHECKING:
    from engine.runtime import Runtime

Reason = tuple[str, str, list[str]]
"""(code, sentence without capital and full stop, channels that it is about)"""


def why_not_command(runtime: Runtime, command: Command) -> str:
    """Why a command is not possible now, as the end of a sentence; empty where it is possible."""
    if runtime.state in (FINISHED, FAILED):
        return f"the job has {runtime.state}"
    if isinstance(command, FailSubtask):
        if command.subtask not in runtime.deployment.subtasks:
            return f"there is no subtask {text(command.subtask)!r}; the job has {', '.join(runtime.deployment.subtasks)}"
        return "the job is restarting" if runtime.state == RESTARTING else ""
    if runtime.state == RESTARTING:
        return "the job is restarting"
    if runtime.coordinator.pending is not None:
        return f"checkpoint {runtime.coordinator.pending} is still in progress"
    if runtime.state == STOPPING:
        return runtime.reason
    if isinstance(command, Rescale):
        return _why_not_rescale(runtime, command)
    return ""


def _why_not_rescale(runtime: Runtime, command: Rescale) -> str:
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
        return _why_blocked(subtask, slot)
    full = [channel for channel in subtask.output.channels if channel.full]
    receivers = " and ".join(channel.receiver for channel in full)
    return "credit", f"no credit towards {receivers}", [channel.name for channel in full]


def _why_blocked(subtask: Subtask, slot: Slot) -> Reason:
    if slot.channel is not None:
        alignment = subtask.alignment
        received = alignment.received if alignment else ()
        number = alignment.checkpoint if alignment else ""
        waiting = [
            channel.name for index, channel in enumerate(subtask.inputs) if index not in received
        ]
        senders = " and ".join(name.partition(">")[0] for name in waiting)
        return "alignment", f"waits for barrier {number} from {senders}", waiting
    if slot.split is None or subtask.stopped:
        return "stopping", "its source has stopped with a savepoint", []
    ahead = f"{slot.split.name} is too far ahead of the slowest split of its alignment group"
    return "alignment-group", ahead, []
