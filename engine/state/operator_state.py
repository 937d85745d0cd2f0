"""Operator state: lists that belong to a subtask, not to a key, and how they are dealt out after a rescale.

Sources: Flink's `ListCheckpointed` heirs `CheckpointedFunction` and `OperatorStateStore`, and
`RoundRobinOperatorStateRepartitioner`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from engine.errors import InvalidJob
from engine.events import Event, StatePut, StateRemoved
from engine.state.codec import writable
from engine.trace import Trace
from engine.values import Attached, loaded, stored, text

SPLIT = "split"
"""Every item goes to one subtask."""
UNION = "union"
"""Every subtask gets all items."""

NO_GROUP = -1
Item = TypeVar("Item")


@writable
class Held(NamedTuple):
    """What one subtask holds of a list: how it is dealt out, and its items."""

    mode: str
    items: tuple[Any, ...]


OperatorPart = dict[str, Held]
"""name of a list -> what a subtask's part of a snapshot holds of it"""


def split_items(parts: Sequence[Sequence[Item]], parallelism: int) -> list[list[Item]]:
    """Items in the order of the old subtasks, dealt out in even runs; the first ones get what is left over.

    With the same parallelism everybody keeps what it had (Flink: RoundRobinOperatorStateRepartitioner).
    """
    if len(parts) == parallelism:
        return [list(part) for part in parts]
    items = [item for part in parts for item in part]
    share, more = divmod(len(items), parallelism)
    dealt: list[list[Item]] = []
    start = 0
    for index in range(parallelism):
        end = start + share + (index < more)
        dealt.append(items[start:end])
        start = end
    return dealt


def union_items(parts: Sequence[Sequence[Item]], parallelism: int) -> list[list[Item]]:
    """All items to everybody."""
    return [[item for part in parts for item in part] for _ in range(parallelism)]


def broadcast_items(parts: Sequence[Item], parallelism: int) -> list[Item]:
    """The copy of old subtask i mod p to subtask i."""
    return [parts[index % len(parts)] for index in range(parallelism)]


def redistribute_operator_state(
    parts: list[Any], owner: Callable[[Any], int], parallelism: int
) -> list[OperatorPart]:
    """Deal every list out by its mode."""
    held: list[OperatorPart] = [part or {} for part in parts]
    dealt: list[OperatorPart] = [{} for _ in range(parallelism)]
    modes = {name: state.mode for part in held for name, state in part.items()}
    for name, mode in modes.items():
        lists = [part[name].items if name in part else () for part in held]
        spread = (
            split_items(lists, parallelism) if mode == SPLIT else union_items(lists, parallelism)
        )
        for target, items in zip(dealt, spread, strict=True):
            target[name] = Held(mode, tuple(items))
    return dealt


class OperatorState:
    """All lists of one subtask."""

    __slots__ = ("lists", "restored", "subtask", "trace")

    def __init__(self, subtask: str, trace: Trace) -> None:
        self.subtask = subtask
        self.trace = trace
        self.lists: OperatorPart = {}
        self.restored = False

    def declare(self, name: str, mode: str) -> None:
        known = self.lists.setdefault(name, Held(mode, ()))
        if known.mode != mode:
            raise InvalidJob(
                "state_type",
                f"Operator state {name!r} was declared as {known.mode} and as {mode} state.",
                place=self.subtask,
                mend="Give each list of an operator a name of its own.",
            )

    def write(self, name: str, items: tuple[Any, ...]) -> None:
        """Replace the items of a list."""
        before = self.lists[name]
        self.lists[name] = Held(before.mode, items)
        if self.trace.events is not None and before.items != items:
            self.trace.events.append(self._row(name, items))

    def _row(self, name: str, items: tuple[Any, ...]) -> Event:
        row = f"operator {name}"
        if not items:
            return StateRemoved(self.subtask, row)
        return StatePut(self.subtask, row, name, "(subtask)", NO_GROUP, None, None, text(items))

    def shown(self) -> Iterator[Any]:
        return (self._row(name, held.items) for name, held in self.lists.items() if held.items)

    def entries(self) -> int:
        return sum(len(held.items) for held in self.lists.values())

    def load(self, part: OperatorPart | None) -> None:
        self.lists = dict(part or {})
        self.restored = bool(part)


class OperatorListState(Attached):
    """A list of the subtask's (Flink: ListState of the OperatorStateStore)."""

    __slots__ = ("_name", "_state")

    def __init__(self, state: OperatorState, name: str, mode: str) -> None:
        self._state = state
        self._name = name
        state.declare(name, mode)

    def attachment(self) -> tuple[str, str]:
        return type(self).__name__, self._name

    def get(self) -> list[Any]:
        return [loaded(item) for item in self._state.lists[self._name].items]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add(self, value: Any) -> None:
        self._state.write(self._name, (*self._state.lists[self._name].items, stored(value)))

    def add_all(self, values: list[Any]) -> None:
        self._state.write(self._name, (*self._state.lists[self._name].items, *map(stored, values)))

    def update(self, values: list[Any]) -> None:
        self._state.write(self._name, tuple(map(stored, values)))

    def clear(self) -> None:
        self._state.write(self._name, ())
