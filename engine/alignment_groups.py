"""Alignment groups: splits that are too far ahead of the slowest of their group wait for it.

Source: Flink's watermark alignment (`SourceCoordinator`, `SourceOperator`).
"""

from __future__ import annotations

from engine.deployment import Deployment
from engine.elements import MAX_TIMESTAMP
from engine.event_time.watermarks import AlignmentGroup
from engine.events import SplitPaused
from engine.operators.source import SourceOperator
from engine.trace import Trace


def pause_and_resume(deployment: Deployment, trace: Trace, group: AlignmentGroup) -> None:
    """Pause the splits of `group` that are more than its drift ahead of its slowest, and resume the others.

    A split that is idle or ended holds nobody back.
    """
    members = [
        (subtask, split)
        for subtask in deployment.subtasks.values()
        if isinstance(subtask.operator, SourceOperator)
        and subtask.operator.spec.alignment is not None
        and subtask.operator.spec.alignment.name == group.name
        for split in subtask.operator.splits
    ]
    held = [split.watermark for _, split in members if not split.idle and not split.ended]
    lowest = min(held, default=MAX_TIMESTAMP)
    for subtask, split in members:
        paused = not split.ended and split.watermark > lowest + group.drift
        if paused != split.paused:
            split.paused = paused
            if trace.events is not None:
                trace.events.append(SplitPaused(subtask.id, split.id, paused))
        if paused or subtask.stopped:
            deployment.readiness.blocked |= split.bit
        else:
            deployment.readiness.blocked &= ~split.bit
