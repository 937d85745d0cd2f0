"""A job on the real engine as something that can be explored.

Actions are those of the runtime, under their own ids, and commands with a budget: `command:checkpoint`,
`command:fail count[0]`. Putting the runtime back is its own `rewind`, in any direction, for the subtasks that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from engine.commands import Command, TriggerCheckpoint, command_data
from engine.deployment import Slot
from engine.elements import BARRIER, CANCEL, Element
from engine.errors import ImpossibleAction, InvalidJob
from engine.explore.canonical import frozen
from engine.explore.remembering import remembering
from engine.graph.job_graph import JobGraph
from engine.impossible import why_not_command
from engine.operators.source import SourceOperator
from engine.runtime import UNBOUNDED, Runtime
from engine.scheduler import Policy
from engine.subtask import Subtask

LOCAL = ("read", "take", "trigger")
"""Kinds of actions that touch one subtask, and of others only the ends of the channels between them."""

REMOTE = ("ack", "clock")
"""Kinds of actions that touch no subtask."""

COMMUTING = {*LOCAL, "ack"}

MOST_PARTS = 50_000
"""How many parts of checkpoints are kept in their hashable form."""


class Captured(NamedTuple):
    """A state of the runtime, what the sinks have written, and what is left of the budgets."""

    frame: Any
    written: dict[str, tuple[Any, ...]]
    left: tuple[int, ...]


class JobSystem:
    """The job that `factory` makes, in its first state.

    commands: how often each command may be given in one run; none by default.
    results: whether states that differ only in what the sinks have written are different states. Rules about results
    need it.
    runtime: the runtime to explore; a wrong one where a counterexample is looked for.
    """

    def __init__(
        self,
        factory: Callable[[], JobGraph],
        commands: Mapping[Command, int] | None = None,
        results: bool = True,
        seed: int = 0,
        runtime: type[Runtime] = Runtime,
    ) -> None:
        self.runtime = remembering(runtime)(factory(), Policy("manual"), seed)
        self.runtime.trace.frontier = UNBOUNDED  # no marks: a search goes everywhere
        if not self.runtime.copyable():
            raise InvalidJob(
                "not_copyable",
                "A function of this job holds something that cannot be copied, so the job cannot be put back.",
                mend="Make it in open(), or keep it in state.",
            )
        commands = commands or {}
        self.commands = {f"command:{_shown(command)}": command for command in commands}
        self.left = list(commands.values())
        self.results = results
        self._parts: dict[int, tuple[Any, Hashable]] = {}
        """The hashable form of parts of checkpoints, which never change, by identity."""
        self._reduced = self._raised = False
        """Whether independence was asked for, and whether a function has raised in any schedule so far."""
        self._aligns = any(
            subtask.operator.spec.alignment is not None
            for subtask in self.runtime.deployment.subtasks.values()
            if isinstance(subtask.operator, SourceOperator)
        )

    # Actions

    def enabled(self) -> list[str]:
        runtime = self.runtime
        mask = runtime.readiness.enabled()
        actions = []
        for slot in runtime.deployment.slots:
            if mask & 1:
                actions.append(slot.action)
            mask >>= 1
        for (action, command), left in zip(self.commands.items(), self.left, strict=True):
            if left and not why_not_command(runtime, command):
                actions.append(action)
        return actions

    def apply(self, action: str) -> None:
        command = self.commands.get(action)
        if command is None:
            self._act(action)
            return
        number = list(self.commands).index(action)
        if not self.left[number]:
            raise ImpossibleAction(
                "budget",
                "This command has been given as often as it may be.",
                place=action,
                mend="Explore with a larger budget.",
            )
        self.runtime.apply(command)
        if not isinstance(command, TriggerCheckpoint):
            self._changed(*self.runtime.deployment.subtasks)
        self.left[number] -= 1

    def _act(self, action: str) -> None:
        slot = self._slot(action)
        failures = self.runtime.failures
        self.runtime.act(action)
        failed = self.runtime.failures > failures
        if slot is None or failed or self._aligns or slot.kind not in (*LOCAL, *REMOTE):
            self._changed(*self.runtime.deployment.subtasks)
        elif slot.kind in LOCAL:
            self._changed(slot.subtask or "")
        if failed:
            self._raised = True
            self._check_reduction()

    def _changed(self, *subtasks: str) -> None:
        """These subtasks may have changed."""
        for subtask in subtasks:
            self.runtime.deployment.subtasks[subtask].held = None  # type: ignore[attr-defined]

    def capture(self) -> Captured:
        written = {name: tuple(log.written()) for name, log in self.runtime.logs.items()}
        return Captured(self.runtime.keyframe(), written, tuple(self.left))

    def restore(self, state: Captured) -> None:
        for name, log in self.runtime.logs.items():
            log.results[:] = state.written.get(name, ())
        self.runtime.rewind(state.frame)
        self.left[:] = state.left

    # What the state is

    def state_key(self) -> Hashable:
        """Channel contents, state, watermarks, alignment, coordinator, results; checkpoints count back from the newest.

        The clock's present is left out, and what it has to wake is told by how far off it is.
        """
        runtime = self.runtime
        deployment, clock = runtime.deployment, runtime.clock
        newest = runtime.coordinator.next_id
        oldest = min(self._under_way(), default=newest)
        now, _, entries = clock.keyframe()
        written: tuple[Hashable, ...] = ()
        if self.results:
            written = tuple(frozen(log.written()) for log in runtime.logs.values())
        return (
            tuple(self.left),
            (runtime.state, runtime.attempt, runtime.failures, runtime.rescale),
            tuple(runtime.parallelism.values()),
            runtime.readiness.keyframe(),
            tuple(sorted((time - now, name) for time, _, name in entries)),
            self._coordinator(newest),
            runtime.snapshots.state_key(newest),
            tuple(
                (
                    tuple(
                        _element(element, newest)
                        if element[0] in (BARRIER, CANCEL)
                        else frozen(element)
                        for element in channel.queue
                    ),
                    channel.full,
                    tuple(
                        (newest - barrier.checkpoint, barrier.overtaken)
                        for barrier in channel.priority
                    ),
                )
                for channel in deployment.channels.values()
            ),
            tuple(
                (subtask.key(), _snapshots(subtask, newest, oldest))  # type: ignore[attr-defined]
                for subtask in deployment.subtasks.values()
            ),
            written,
        )

    def _under_way(self) -> Iterator[int]:
        """Every checkpoint of which a subtask may still hear."""
        runtime = self.runtime
        yield from runtime.coordinator.pending
        for message, _ in runtime.coordinator.messages:
            yield message.checkpoint
        for channel in runtime.deployment.channels.values():
            if channel.riders:
                for element in channel.queue:
                    if element[0] in (BARRIER, CANCEL):
                        yield element[1]
            for barrier in channel.priority:
                yield barrier.checkpoint

    def _coordinator(self, newest: int) -> Hashable:
        """Messages in the order of their boxes, since no action can tell which of two boxes was filled first."""
        coordinator = self.runtime.coordinator
        boxes: dict[tuple[str, str, str], list[Hashable]] = {}
        for message, part in coordinator.messages:
            box = message.kind, message.to, message.sender
            boxes.setdefault(box, []).append((newest - message.checkpoint, self._part(part)))
        latest = coordinator.storage.latest()
        return (
            tuple(
                (
                    newest - pending.checkpoint,
                    pending.kind,
                    frozenset((name, self._part(part)) for name, part in pending.parts.items()),
                )
                for pending in coordinator.pending.values()
            ),
            coordinator.failures,
            tuple((box, tuple(boxes[box])) for box in sorted(boxes)),
            None if latest is None else (self._part(latest.parts), self._part(latest.in_flight)),
        )

    def _part(self, part: Any) -> Hashable:
        known = self._parts.get(id(part))
        if known is None:
            if len(self._parts) >= MOST_PARTS:
                self._parts.clear()
            known = self._parts[id(part)] = part, frozen(part)
        return known[1]

    # What commutes

    def independent(self, first: str, second: str) -> bool:
        """Actions that belong to two subtasks, and neither to the clock; of two acknowledgements the second may complete.

        One may fill the channel, or the box of messages, that the other takes from: both stay possible, in either order.
        A function that raises touches every subtask, and no answer foresees it; a job with one is refused once this was
        asked.
        """
        self._reduced = True
        self._check_reduction()
        one, other = self._slot(first), self._slot(second)
        if one is None or other is None or self._aligns:
            return False
        kinds = {one.kind, other.kind}
        return kinds <= COMMUTING and kinds != {"ack"} and one.subtask != other.subtask

    def _check_reduction(self) -> None:
        if self._reduced and self._raised:
            raise InvalidJob(
                "raises",
                "A function of this job raises, so no two of its actions are independent for sure.",
                mend="Search it breadth first, without reduction.",
            )

    def _slot(self, action: str) -> Slot | None:
        number = self.runtime.deployment.by_action.get(action)
        return None if number is None else self.runtime.deployment.slots[number]


def _shown(command: Command) -> str:
    """The kind of a command and what it is given: "fail count[0]"."""
    return " ".join(map(str, command_data(command).values()))


def _element(element: Element, newest: int) -> Hashable:
    return element[0], newest - element[1]


def _snapshots(subtask: Subtask, newest: int, oldest: int) -> Hashable:
    """What a subtask's barriers and parts have come to; checkpoints count back from the newest.

    That a checkpoint is over here makes a difference from `oldest` on, the oldest of which it may still hear.
    """
    snapshots = subtask.snapshots
    alignment = snapshots.alignment()
    return (
        alignment and (newest - alignment.checkpoint, frozenset(alignment.received)),
        snapshots.handler.blocked(),
        newest - max(snapshots.given_up, oldest - 1),
        newest - max(snapshots.handler.checkpoint, oldest - 1),
        snapshots.tracker and newest - max(snapshots.tracker.newest, oldest - 1),
        snapshots.tracker
        and tuple((newest - one.checkpoint, one.received) for one in snapshots.tracker.pending),
        tuple((newest - part.checkpoint, frozen(part.keyframe()[1:])) for part in snapshots.parts),
    )
