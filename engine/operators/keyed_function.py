"""A keyed operator around one user function: it is opened with the operator's state, and its attributes are part of keyframes."""

from __future__ import annotations

from typing import Any

from engine.operators.base import Context
from engine.operators.keyed import KeyedOperator
from engine.operators.runtime_context import RuntimeContext
from engine.operators.user_function import UserFunction


class KeyedFunctionOperator(KeyedOperator):
    """Holds the function; subclasses call it."""

    def __init__(self, context: Context, function: Any) -> None:
        super().__init__(context)
        self.function = UserFunction(function)

    def open(self) -> None:
        super().open()
        self.function.open(RuntimeContext(self.context, self.state))

    def keyframe(self) -> Any:
        return super().keyframe(), self.function.keyframe()

    def rewind(self, frame: Any) -> None:
        held, function = frame
        super().rewind(held)
        self.function.rewind(function)
