"""Subtasks that remember their last keyframe, so that going back restores only what has changed since.

An action changes one subtask as a rule. The others hand out the keyframe that they handed out before, and taking one over
that they stand at already costs nothing. Whoever takes an action says which subtask it may have changed.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from engine.explore.canonical import frozen
from engine.operators.keyed import KeyedOperator
from engine.runtime import Runtime
from engine.subtask import Subtask


class Held:
    """A keyframe of one subtask, and its hashable form once somebody asked for it."""

    __slots__ = ("frame", "key")

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.key: Hashable = None


class RememberingSubtask(Subtask):
    """`held` is the keyframe that the subtask stands at, or None after it may have changed."""

    held: Held | None = None

    def keyframe(self) -> Held:
        if self.held is None:
            self.held = Held(super().keyframe())
        return self.held

    def rewind(self, frame: Held) -> None:
        if frame is not self.held:
            super().rewind(frame.frame)
            self.held = frame

    def key(self) -> Hashable:
        """The state without its alignment, which is told by the numbers of checkpoints."""
        held = self.keyframe()
        if held.key is None:
            held.key = _key(self)
        return held.key


def _key(subtask: Subtask) -> Hashable:
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


def remembering(runtime: type[Runtime]) -> type[Runtime]:
    """`runtime` with subtasks that remember."""

    class Subtasks(RememberingSubtask, runtime.subtask_type):  # type: ignore[name-defined, misc]
        pass

    class Remembering(runtime):  # type: ignore[valid-type, misc]
        subtask_type = Subtasks

    return Remembering
