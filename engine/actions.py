"""What can happen next and what cannot, in canonical order, for a person to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.clock import on_clock
from engine.commands import (
    Command,
    FailSubtask,
    RefuseUpload,
    StopWithSavepoint,
    TakeSavepoint,
    TriggerCheckpoint,
)
from engine.deployment import Slot
from engine.graph.checkpoint_settings import NONE
from engine.impossible import why_not, why_not_command
from engine.job_state import FAILED, FINISHED, RESTARTING
from engine.network.result_partition import shown_element
from engine.values import text

if TYPE_CHECKING:
    from engine.runtime import Runtime


BOXES = {"trigger": ("trigger",), "ack": ("acknowledge", "decline"), "abort": ("abort",)}
"""The kinds of messages that each kind of box holds."""


def possible_actions(runtime: Runtime, default: str | None) -> list[dict[str, Any]]:
    """Every enabled action; `default` is the id of the one that is next anyway."""
    enabled = runtime.readiness.enabled()
    return [
        {**_shown(runtime, slot), "default": slot.action == default}
        for number, slot in enumerate(runtime.deployment.slots)
        if enabled >> number & 1
    ]


def impossible_actions(runtime: Runtime) -> list[dict[str, Any]]:
    """Every action that has something to take and still cannot be taken, with the reason."""
    if runtime.state in (FINISHED, FAILED, RESTARTING):
        return []
    held = runtime.readiness.nonempty & (runtime.readiness.blocked | runtime.readiness.stalled)
    found = []
    for number, slot in enumerate(runtime.deployment.slots):
        if held >> number & 1:
            code, sentence, about = why_not(runtime, slot)
            found.append(
                {
                    **_shown(runtime, slot),
                    "default": False,
                    "reason": {"code": code, "sentence": sentence, "about": about},
                }
            )
    return found


def _shown(runtime: Runtime, slot: Slot) -> dict[str, Any]:
    element = None
    checkpoint = None
    if slot.channel is not None:
        brief = runtime.deployment.subtasks[slot.channel.sender].output.brief
        element = shown_element(
            slot.channel, slot.channel.taken, slot.channel.queue[0], brief
        )._asdict()
        checkpoint = element["checkpoint"]
    elif slot.kind in BOXES:
        checkpoint = next(
            (
                message.checkpoint
                for message, _ in runtime.coordinator.messages
                if slot.subtask in (message.to, message.sender) and message.kind in BOXES[slot.kind]
            ),
            None,
        )
    elif slot.kind == "barrier":
        channel = runtime.deployment.channels[slot.action.removeprefix("barrier:")]
        checkpoint = channel.priority[0].checkpoint if channel.priority else None
    elif slot.kind in ("switch", "expire"):
        checkpoint = runtime.coordinator.newest()
    elif slot.kind == "upload":
        parts = runtime.deployment.subtasks[slot.subtask or ""].snapshots.parts
        checkpoint = next((part.checkpoint for part in parts if part.left), None)
    return {
        "id": slot.action,
        "kind": slot.kind,
        "subtask": slot.subtask,
        "channel": slot.channel.name if slot.channel else None,
        "split": slot.split.id if slot.split else None,
        "element": element,
        "checkpoint": checkpoint,
        "label": _label(runtime, slot, element, checkpoint),
    }


def _label(
    runtime: Runtime, slot: Slot, element: dict[str, Any] | None, checkpoint: int | None
) -> str:
    if slot.channel is not None and element is not None:
        where = f"{slot.channel.sender} → {slot.channel.receiver}"
        if element["kind"] == "record":
            what = f"record {element['key']}" if element["key"] is not None else "a record"
        elif element["kind"] == "barrier":
            what = f"barrier {checkpoint}"
        elif element["kind"] == "cancel":
            what = f"the cancellation of checkpoint {checkpoint}"
        elif element["kind"] == "status":
            what = f"the status {element['text']}"
        elif element["kind"] == "probe":
            what = "a probe"
        else:
            what = "a watermark" if element["kind"] == "watermark" else "the end of input"
        return f"Deliver {what} {where}"
    if slot.split is not None:
        split = slot.split
        if split.offset >= len(split.entries):
            return f"End {split.name} at {slot.subtask}"
        return f"Read {split.name} at offset {split.offset} into {slot.subtask}"
    if slot.kind == "trigger":
        return f"Tell {slot.subtask} to start checkpoint {checkpoint}"
    if slot.kind == "ack":
        return f"Deliver the answer of {slot.subtask} to checkpoint {checkpoint}"
    if slot.kind == "abort":
        return f"Tell {slot.subtask} that checkpoint {checkpoint} is given up"
    if slot.kind == "barrier":
        sender, _, receiver = slot.action.removeprefix("barrier:").partition(">")
        return f"Deliver barrier {checkpoint} {sender} → {receiver} before what it overtook"
    if slot.kind == "upload":
        return f"Upload a piece of {slot.subtask}'s part of checkpoint {checkpoint}"
    if slot.kind == "switch":
        return f"Let barriers of checkpoint {checkpoint} overtake at {slot.subtask}: its alignment timed out"
    if slot.kind == "expire":
        return f"Give up checkpoint {checkpoint}: its time is over"
    if slot.kind == "restart":
        latest = runtime.coordinator.storage.latest()
        where = f"from checkpoint {latest.checkpoint}" if latest else "from the beginning"
        if runtime.rescale is not None:
            return f"Restart {where} with {runtime.rescale.operator} at parallelism {runtime.rescale.parallelism}"
        return f"Restart {where}" + ("" if latest else ": there is no checkpoint")
    if slot.kind == "timer":
        return (
            f"Fire what is due in {slot.subtask}"
            if slot.subtask
            else "Trigger the periodic checkpoint"
        )
    return f"Advance the clock to {on_clock(runtime.clock.next_due() or 0)}"


def commands_offered(runtime: Runtime) -> list[dict[str, Any]]:
    """The commands with what they may be applied to, or the reason why they cannot be given now."""
    subtasks = list(runtime.deployment.subtasks)

    def offered(kind: str, command: Command, **choices: Any) -> dict[str, Any]:
        reason = why_not_command(runtime, command)
        return {"kind": kind, **choices, "possible": not reason, "reason": text(reason)}

    operators = [
        {
            "id": vertex.id,
            "parallelism": runtime.parallelism[vertex.id],
            "maximum": min(vertex.maximum(), 8),
        }
        for vertex in runtime.job.vertices
    ]
    commands = [
        offered("checkpoint", TriggerCheckpoint()),
        offered("savepoint", TakeSavepoint()),
        offered("stop", StopWithSavepoint(False)),
        offered("fail", FailSubtask(subtasks[0]), subtasks=subtasks),
        offered("rescale", TakeSavepoint(), operators=operators),
        offered("rescale_from_checkpoint", FailSubtask(subtasks[0]), operators=operators),
    ]
    if runtime.job.checkpointing.scheme != NONE:
        refusable = [
            name for name, held in runtime.deployment.subtasks.items() if not held.snapshots.refused
        ]
        commands.append(
            offered("refuse_upload", RefuseUpload((refusable or subtasks)[0]), subtasks=refusable)
        )
    return commands
