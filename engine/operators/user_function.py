"""A subtask's own copy of a user's function.

Each subtask gets a deep copy, as a serialised function would arrive in Flink. Keyframes copy its attributes; a failure
discards them and the function is opened again. What cannot be copied is shared, and the run can then step back only by
replaying from its start.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any

from engine.errors import USER_ERRORS
from engine.values import ATTACHED, Attached


class UserFunction:
    """Holds one instance; `copyable` says whether its attributes can be saved."""

    __slots__ = ("attached", "copyable", "instance")

    def __init__(self, function: Any) -> None:
        self.copyable = True
        self.attached: dict[Hashable, Attached] = {}
        try:
            self.instance = copy.deepcopy(function)
        except USER_ERRORS:
            self.instance = function
            self.copyable = False

    def open(self, runtime_context: Any) -> None:
        self.attached = runtime_context.attached
        opener = getattr(self.instance, "open", None)
        if opener is not None:
            opener(runtime_context)

    def keyframe(self) -> dict[str, Any] | None:
        holder = _holder(self.instance)
        if holder is None or not self.copyable:
            return None
        attributes = getattr(holder, "__dict__", None)
        if attributes is None:
            self.copyable = not hasattr(type(holder), "__slots__")
            return None
        if not attributes:
            return {}
        try:
            held: dict[str, Any] = copy.deepcopy(attributes)
            return held
        except USER_ERRORS:
            self.copyable = False
            return None

    def rewind(self, frame: dict[str, Any] | None) -> None:
        if frame is not None:
            attributes = _holder(self.instance).__dict__
            memo: dict[Any, Any] = {ATTACHED: self.attached}
            attributes.clear()
            attributes.update(copy.deepcopy(frame, memo))


def _holder(function: Any) -> Any:
    """The object whose attributes belong to this subtask, or None: those of a plain function or a class are everybody's."""
    if type(function).__name__ == "method":
        function = function.__self__
    if isinstance(function, type):
        return None
    return (
        None if type(function).__name__ in ("function", "builtin_function_or_method") else function
    )
