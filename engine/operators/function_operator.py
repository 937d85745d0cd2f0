"""An unkeyed operator around one user function, with the operator state that the function may ask for.

A function that has `initialize_state(context)` and `snapshot_state(context)` is a `CheckpointedFunction`, as in Flink's Java
interface: the first is called when it is deployed, the second before each snapshot.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from engine.events import StatePut
from engine.operators.base import Context, Operator
from engine.operators.runtime_context import RuntimeContext
from engine.operators.user_function import UserFunction
from engine.state.operator_state import SPLIT, UNION, OperatorListState, OperatorPart, OperatorState
from engine.values import Attached


class OperatorStateStore(Attached):
    """Where a function gets its lists (Flink: OperatorStateStore)."""

    def __init__(self, state: OperatorState, attached: dict[Hashable, Attached]) -> None:
        self._state = state
        self._attached = attached

    def _attach(self, name: str, mode: str) -> OperatorListState:
        handle = OperatorListState(self._state, name, mode)
        self._attached[handle.attachment()] = handle
        return handle

    def get_list_state(self, state_descriptor: Any) -> OperatorListState:
        """A list whose items are dealt out after a rescale."""
        return self._attach(state_descriptor.name, SPLIT)

    def get_union_list_state(self, state_descriptor: Any) -> OperatorListState:
        """A list that every subtask gets whole after a restart."""
        return self._attach(state_descriptor.name, UNION)


class StateContext(Attached):
    """What `initialize_state` and `snapshot_state` are given."""

    def __init__(self, state: OperatorState, attached: dict[Hashable, Attached]) -> None:
        self._state = state
        self._store = OperatorStateStore(state, attached)

    def is_restored(self) -> bool:
        """Whether the subtask was started from a checkpoint."""
        return self._state.restored

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._store


class FunctionOperator(Operator):
    """Holds the function and its operator state; subclasses call it."""

    def __init__(self, context: Context, function: Any) -> None:
        super().__init__(context)
        self.function = UserFunction(function)
        self.operator_state = OperatorState(context.subtask, context.trace)

    def open(self) -> None:
        self.function.open(RuntimeContext(self.context, None))
        self._tell("initialize_state")

    def _tell(self, method: str) -> None:
        call = getattr(self.function.instance, method, None)
        if call is not None:
            call(StateContext(self.operator_state, self.function.attached))

    def snapshot(self) -> OperatorPart | None:
        self._tell("snapshot_state")
        return dict(self.operator_state.lists) or None

    def restore(self, part: OperatorPart | None) -> None:
        self.operator_state.load(part)

    def entries(self) -> int:
        return self.operator_state.entries()

    def shown_state(self) -> Iterable[StatePut]:
        return self.operator_state.shown()

    def keyframe(self) -> Any:
        return self.watermark, self.function.keyframe(), dict(self.operator_state.lists)

    def rewind(self, frame: Any) -> None:
        self.watermark, function, lists = frame
        self.function.rewind(function)
        self.operator_state.lists = dict(lists)
