"""Hashable forms of a subtask: what tells no checkpoint, and what its barriers and parts have come to."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from engine.explore.canonical import frozen
from engine.operators.keyed import KeyedOperator
from engine.subtask import Subtask
from engine.subtask_snapshots import SubtaskSnapshots


def subtask_form(subtask: Subtask) -> Hashable:
    """Everything but its checkpoints."""
    operator = subtask.operator
    if isinstance(operator, KeyedOperator):
        # The key that was looked at last is set anew before every use.
        key, operator.state.key = operator.state.key, None
        state = operator.keyframe()
        operator.state.key = key
    else:
        state = operator.keyframe()
    return (
        frozen(state),
        frozen(subtask.output.keyframe()),
        tuple(tuple(map(_flat, valve.keyframe())) for valve in subtask.valves),
        frozen(subtask.combined.keyframe()),
        tuple(subtask.ended),
        (subtask.watermark, subtask.idle, subtask.finished, subtask.failed, subtask.stopped),
        subtask.snapshots.refused,
        subtask.loop_end and subtask.loop_end.keyframe(),
    )


def _flat(value: Any) -> Hashable:
    """A field of a valve: a list of numbers or of truth values, or one of them. Their types never change."""
    held: Hashable = tuple(value) if isinstance(value, list) else value
    return held


def snapshots_told(snapshots: SubtaskSnapshots) -> tuple[Any, ...]:
    """What a subtask's barriers and parts have come to, with the numbers of checkpoints."""
    handler, tracker = snapshots.handler, snapshots.tracker
    return (
        snapshots.alignment(),
        handler.blocked(),
        snapshots.seen,
        snapshots.given_up,
        handler.checkpoint,
        tracker and (tracker.newest, tracker.pending),
        tuple((part.checkpoint, frozen(part.keyframe()[1:])) for part in snapshots.parts),
    )


def snapshots_relative(told: tuple[Any, ...], newest: int, oldest: int) -> Hashable:
    """The same, counted back from the newest; that a checkpoint is over counts from the oldest under way on."""
    alignment, blocked, seen, given_up, over, tracked, parts = told
    return (
        alignment and (newest - alignment.checkpoint, frozenset(alignment.received)),
        blocked,
        newest - max(seen, oldest - 1),
        frozenset(newest - checkpoint for checkpoint in given_up),
        newest - max(over, oldest - 1),
        tracked
        and (
            newest - max(tracked[0], oldest - 1),
            tuple((newest - one.checkpoint, one.received) for one in tracked[1]),
        ),
        tuple((newest - checkpoint, part) for checkpoint, part in parts),
    )
