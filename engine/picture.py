"""The picture of a run at one step: what a browser draws, read off the runtime's own objects.

`engine.fold.fold` builds the same picture from events alone; that both agree at every step is the first law of the
engine. The picture is JSON-safe apart from integers beyond 2^53, which the wire form turns into strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.fold import KEPT_RESULTS
from engine.job_state import FAILED, RESTARTING
from engine.network.channel import Channel
from engine.network.result_partition import shown_element
from engine.operators.sink import SinkOperator
from engine.operators.source import SourceOperator
from engine.subtask import Subtask
from engine.values import text

if TYPE_CHECKING:
    from engine.runtime import Runtime


def picture(runtime: Runtime) -> dict[str, Any]:
    """The whole picture at the runtime's step."""
    job, graph, subtasks, channels = deployed_picture(runtime)
    coordinator = runtime.coordinator
    latest = coordinator.storage.latest()
    return {
        "step": runtime.step,
        "time": runtime.clock.now,
        "job": job,
        "graph": graph,
        "subtasks": subtasks,
        "channels": channels,
        "checkpoints": {
            str(checkpoint): entry for checkpoint, entry in coordinator.picture().items()
        },
        "messages": [message._asdict() for message, _ in coordinator.messages],
        "last_completed": latest.checkpoint if latest else None,
    }


def deployed_picture(
    runtime: Runtime,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Job, graph, subtasks and channels: what a `Deployed` event replaces."""
    deployment = runtime.deployment
    job = {
        "name": runtime.job.name,
        "state": runtime.state,
        "attempt": runtime.attempt,
        "reason": runtime.reason,
        "scheme": runtime.job.checkpointing.scheme,
        "upload_bytes": runtime.job.checkpointing.upload_bytes,
        "paused": runtime.snapshots.paused,
    }
    subtasks = {name: _subtask(runtime, subtask) for name, subtask in deployment.subtasks.items()}
    channels = {name: _channel(runtime, channel) for name, channel in deployment.channels.items()}
    return job, _graph(runtime), subtasks, channels


def _graph(runtime: Runtime) -> dict[str, Any]:
    job, deployment = runtime.job, runtime.deployment
    columns = job.columns()
    return {
        "vertices": [
            {
                "id": vertex.id,
                "name": vertex.id,
                "kind": vertex.kind,
                "detail": vertex.detail,
                "parallelism": runtime.parallelism[vertex.id],
                "max_parallelism": vertex.maximum(),
                "keyed": vertex.keyed,
                "results": vertex.results,
                "column": columns[vertex.id],
            }
            for vertex in job.vertices
        ],
        "edges": [
            {
                "from": edge.source,
                "to": edge.target,
                "partitioner": partitioner.name,
                "detail": edge.partitioner.detail,
                "tag": edge.tag,
                **_leading_back(edge.feedback),
            }
            for edge, partitioner in zip(job.edges, deployment.graph.partitioners, strict=True)
        ],
    }


def _leading_back(feedback: bool) -> dict[str, bool]:
    """Only edges and channels that lead back say so."""
    return {"feedback": True} if feedback else {}


def _channel(runtime: Runtime, channel: Channel) -> dict[str, Any]:
    brief = runtime.deployment.subtasks[channel.sender].output.brief
    return {
        "from": channel.sender,
        "to": channel.receiver,
        **_leading_back(channel.feedback),
        "capacity": channel.capacity,
        "taken": channel.taken,
        "queue": [
            shown_element(channel, channel.taken + number, element, brief)._asdict()
            for number, element in enumerate(channel.queue)
        ],
        "priority": [barrier.checkpoint for barrier in channel.priority],
    }


def _status(runtime: Runtime, subtask: Subtask) -> str:
    if subtask.failed:
        return "failed"
    if runtime.state in (RESTARTING, FAILED):
        return "cancelled"
    return "finished" if subtask.finished else "running"


def _subtask(runtime: Runtime, subtask: Subtask) -> dict[str, Any]:
    operator = subtask.operator
    blocked = subtask.snapshots.handler.blocked() if subtask.snapshots.awaited > 1 else ()
    aligning = None
    if blocked:
        aligning = {
            "checkpoint": subtask.snapshots.handler.checkpoint,
            "received": [subtask.inputs[index].name for index in blocked],
        }
    groups = runtime.deployment.key_groups(subtask)
    shown: dict[str, Any] = {
        "vertex": subtask.vertex,
        "index": subtask.index,
        "status": _status(runtime, subtask),
        "watermark": subtask.watermark if subtask.inputs else operator.watermark,
        "idle": operator.idle if isinstance(operator, SourceOperator) else subtask.idle,
        "inputs": {
            channel.name: {
                "watermark": subtask.valves[subtask.gate_of[index]].inputs[subtask.place[index]],
                "idle": subtask.valves[subtask.gate_of[index]].idles[subtask.place[index]],
                "ended": subtask.ended[index],
                "blocked": channel.aligning,
            }
            for index, channel in enumerate(subtask.inputs)
        },
        "aligning": aligning,
        "upload_refused": subtask.snapshots.refused,
        "key_groups": list(groups) if groups else None,
        "splits": {},
        "state": {},
        "timers": {
            row.row: {"key": row.key, "time": row.time, "clock": row.clock}
            for row in operator.shown_timers()
        },
        "late": getattr(operator, "late", 0),
        "skipped": 0,
        "read": 0,
        "written": 0,
        "results": [],
    }
    for row in operator.shown_state():
        shown["state"][row.row] = {
            "name": row.name,
            "key": row.key,
            "key_group": row.key_group,
            "window": list(row.window) if row.window else None,
            "entry": row.entry,
            "value": row.value,
        }
    if isinstance(operator, SourceOperator):
        shown["read"], shown["skipped"] = operator.records, operator.skipped
        shown["splits"] = {
            split.id: {
                "name": split.name,
                "offset": split.offset,
                "length": len(split.entries),
                "watermark": split.watermark,
                "ended": split.ended,
                "idle": split.idle,
                "paused": split.paused,
            }
            for split in operator.splits
        }
    elif isinstance(operator, SinkOperator):
        log = operator.log
        first = max(0, log.cursor - KEPT_RESULTS)
        shown["written"] = log.cursor
        shown["results"] = [[index, text(log.results[index])] for index in range(first, log.cursor)]
    return shown
