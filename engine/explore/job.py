"""A job on the real engine as something that can be explored.

Actions are those of the runtime, under their own ids, and commands with a budget: `command:checkpoint`,
`command:fail count[0]`. Putting the runtime back is its own `rewind`, here in the other direction as well.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from engine.checkpointing.aligned import CollectingBarriers
from engine.commands import Command, Rescale, TriggerCheckpoint
from engine.deployment import Slot
from engine.elements import BARRIER, Element
from engine.errors import ImpossibleAction, InvalidJob
from engine.event_time.watermarks import Valve
from engine.explore.canonical import frozen
from engine.graph.job_graph import JobGraph
from engine.operators.keyed import KeyedOperator
from engine.operators.source import SourceOperator
from engine.runtime import UNBOUNDED, Runtime
from engine.scheduler import Policy
from engine.subtask import Subtask

LOCAL = ("read", "take", "trigger")
"""Kinds of actions that touch one subtask, and of others only the ends of the channels between them."""


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
        self.runtime = runtime(factory(), Policy("manual"), seed)
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
            if left and not runtime.why_not_command(command):
                actions.append(action)
        return actions

    def apply(self, action: str) -> None:
        command = self.commands.get(action)
        if command is None:
            failures = self.runtime.failures
            self.runtime.act(action)
            if self.runtime.failures > failures:
                self._raised = True
                self._check_reduction()
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
        self.left[number] -= 1

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
            tuple(
                (
                    tuple(
                        _element(element, newest) if element[0] == BARRIER else frozen(element)
                        for element in channel.queue
                    ),
                    channel.full,
                )
                for channel in deployment.channels.values()
            ),
            tuple(_subtask(subtask, newest) for subtask in deployment.subtasks.values()),
            written,
        )

    def _coordinator(self, newest: int) -> Hashable:
        """Messages in the order of their boxes, since no action can tell which of two boxes was filled first."""
        coordinator = self.runtime.coordinator
        boxes: dict[tuple[str, str, str], list[Hashable]] = {}
        for message, part in coordinator.messages:
            box = message.kind, message.to, message.sender
            boxes.setdefault(box, []).append((newest - message.checkpoint, frozen(part)))
        latest = coordinator.storage.latest()
        return (
            coordinator.pending is not None,
            tuple((box, tuple(boxes[box])) for box in sorted(boxes)),
            frozenset((name, frozen(part)) for name, part in coordinator.parts.items()),
            None if latest is None else frozen(latest.parts),
        )

    # What commutes

    def independent(self, first: str, second: str) -> bool:
        """Actions at two subtasks, where neither talks to the coordinator or the clock.

        One may fill the channel that the other takes from: both stay possible, in either order. A function that raises
        touches every subtask, and no answer foresees it; a job with one is refused once this was asked.
        """
        self._reduced = True
        self._check_reduction()
        one, other = self._slot(first), self._slot(second)
        if one is None or other is None or self._aligns:
            return False
        return one.kind in LOCAL and other.kind in LOCAL and one.subtask != other.subtask

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
    if isinstance(command, TriggerCheckpoint):
        return "checkpoint"
    if isinstance(command, Rescale):
        return f"rescale {command.operator} {command.parallelism}"
    return f"fail {command.subtask}"


def _element(barrier: Element, newest: int) -> Hashable:
    return barrier[0], newest - barrier[1]


def _valve(valve: Valve) -> Hashable:
    inputs, idles, aligned, ended, *scalars = valve.keyframe()
    return tuple(inputs), tuple(idles), tuple(aligned), tuple(ended), *scalars


def _subtask(subtask: Subtask, newest: int) -> Hashable:
    operator = subtask.operator
    if isinstance(operator, KeyedOperator):
        # The key that was looked at last is set anew before every use.
        key, operator.state.key = operator.state.key, None
        held = operator.keyframe()
        operator.state.key = key
    else:
        held = operator.keyframe()
    alignment: Hashable = None
    if isinstance(subtask.alignment, CollectingBarriers):
        alignment = (
            newest - subtask.alignment.checkpoint,
            frozenset(subtask.alignment.received),
        )
    return (
        frozen(held),
        frozen(subtask.output.keyframe()),
        tuple(_valve(valve) for valve in subtask.valves),
        frozen(subtask.combined.keyframe()),
        tuple(subtask.ended),
        (
            subtask.watermark,
            subtask.idle,
            alignment,
            subtask.finished,
            subtask.failed,
            subtask.stopped,
        ),
    )
