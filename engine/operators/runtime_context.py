"""What a rich function sees of its subtask (PyFlink: RuntimeContext)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

from engine.errors import InvalidJob
from engine.operators.base import Context
from engine.state.handles import (
    AggregatingState,
    Handle,
    ListState,
    MapState,
    ReducingState,
    ValueState,
)
from engine.state.keyed_state import KeyedState
from engine.values import Attached

Held = TypeVar("Held", bound=Handle)


class RuntimeContext(Attached):
    """Names, indexes and state handles; state only where the stream is keyed."""

    def __init__(self, context: Context, state: KeyedState | None) -> None:
        self._context = context
        self._state = state
        self.attached: dict[Hashable, Attached] = {self.attachment(): self}
        """What the function may hold that belongs to this deployment."""

    def get_task_name(self) -> str:
        return self._context.subtask.rpartition("[")[0]

    def get_task_name_with_subtasks(self) -> str:
        return self._context.subtask

    def get_number_of_parallel_subtasks(self) -> int:
        return self._context.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._context.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._context.index

    def get_attempt_number(self) -> int:
        raise NotImplementedError(
            "RuntimeContext.get_attempt_number is not implemented in StreamLab."
        )

    def get_state(self, state_descriptor: Any) -> ValueState:
        return self._attach(
            ValueState(self._keyed(state_descriptor), state_descriptor.name, state_descriptor.ttl)
        )

    def get_map_state(self, state_descriptor: Any) -> MapState:
        return self._attach(
            MapState(self._keyed(state_descriptor), state_descriptor.name, state_descriptor.ttl)
        )

    def get_list_state(self, state_descriptor: Any) -> ListState:
        return self._attach(
            ListState(self._keyed(state_descriptor), state_descriptor.name, state_descriptor.ttl)
        )

    def get_reducing_state(self, state_descriptor: Any) -> ReducingState:
        function = state_descriptor.reduce_function
        reduce = getattr(function, "reduce", function)
        state = self._keyed(state_descriptor)
        return self._attach(
            ReducingState(state, state_descriptor.name, reduce, state_descriptor.ttl)
        )

    def get_aggregating_state(self, state_descriptor: Any) -> AggregatingState:
        state, aggregate = self._keyed(state_descriptor), state_descriptor.aggregate_function
        return self._attach(
            AggregatingState(state, state_descriptor.name, aggregate, state_descriptor.ttl)
        )

    def _attach(self, handle: Held) -> Held:
        self.attached[handle.attachment()] = handle
        return handle

    def _keyed(self, descriptor: Any) -> KeyedState:
        if self._state is None:
            raise InvalidJob(
                "state_without_key",
                f"State {descriptor.name!r} is keyed, and this stream is not.",
                place=self._context.subtask,
                mend="Call key_by before process.",
            )
        return self._state
