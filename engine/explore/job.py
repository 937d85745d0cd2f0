"""A job on the real engine as something that can be explored.

Actions are those of the runtime, under their own ids, and commands with a budget: `command:checkpoint`,
`command:fail count[0]`. A state is a tuple of numbers (`layout.py`). What an action does is found out on the runtime once
for all that it can look at, and looked up wherever that is the same again; so the runtime is moved, by its own `rewind`,
only for what was not seen before, or where a rule wants to look at it.

Source of the idea: S. Blom, J. van de Pol, M. Weber, "LTSmin: Distributed and Symbolic Reachability", CAV 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from engine.commands import Command, FailSubtask, RefuseUpload, TriggerCheckpoint, command_data
from engine.errors import ImpossibleAction, InvalidJob
from engine.explore.layout import BUDGET, MASKS, SETTING, Action, Layout, State
from engine.explore.states import JobStates
from engine.explore.watched import EVERYWHERE, Watched, watched
from engine.graph.checkpoint_settings import STOP_THE_WORLD, UNALIGNED
from engine.graph.job_graph import JobGraph
from engine.impossible import why_not_command
from engine.operators.source import SourceOperator
from engine.runtime import UNBOUNDED, Runtime
from engine.scheduler import Policy

LOCAL = ("read", "take", "trigger")
"""Kinds of actions that touch one subtask, and of others only the ends of the channels between them."""

COMMUTING = {*LOCAL, "ack"}

UNKNOWN: Any = object()


class JobSystem:
    """The job that `factory` makes, in its first state.

    commands: how often each command may be given in one run; none by default.
    results: whether states that differ only in what the sinks have written are different states. Rules about results
    need it; without it nothing is known of them.
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
        self._runtime: Watched = watched(runtime)(factory(), Policy("manual"), seed)
        self._runtime.trace.frontier = UNBOUNDED  # no marks: a search goes everywhere
        if not self._runtime.copyable():
            raise InvalidJob(
                "not_copyable",
                "A function of this job holds something that cannot be copied, so the job cannot be put back.",
                mend="Make it in open(), or keep it in state.",
            )
        commands = commands or {}
        self.commands = {f"command:{_shown(command)}": command for command in commands}
        self._local = any(isinstance(command, RefuseUpload) for command in commands)
        """Whether a command is possible or not by the state of a subtask."""
        self.states = JobStates(self._runtime, results)
        self._enabled: dict[State, tuple[str, ...]] = {}
        self._offered: dict[State, tuple[str, ...]] = {}
        self._failures: dict[tuple[str, Layout], Failure] = {}
        self._reduced = self._raised = False
        """Whether independence was asked for, and whether a function has raised in any schedule so far."""
        self._aligns = any(
            subtask.operator.spec.alignment is not None
            for subtask in self._runtime.deployment.subtasks.values()
            if isinstance(subtask.operator, SourceOperator)
        )
        self.at = self.states.present(self.states.budget(tuple(commands.values())))
        """The present state."""
        self._standing: State = self.at
        """The state that the runtime stands at, or () where that is not known."""

    @property
    def runtime(self) -> Runtime:
        """The runtime in the present state, to look at. Ids and steps in it are those of some schedule that leads there."""
        if self._standing != self.at:
            self.states.put_back(self.at)
            self._standing = self.at
        return self._runtime

    @property
    def left(self) -> tuple[int, ...]:
        """What is left of the budget of each command."""
        left: tuple[int, ...] = self.states.numbers.frames[self.at[BUDGET]]
        return left

    # Actions

    def enabled(self) -> Sequence[str]:
        at = self.at
        allowed = at[: SETTING + 1]
        actions = self._enabled.get(allowed)
        if actions is None:
            layout = self.states.layouts[at[SETTING]]
            actions = self._enabled[allowed] = layout.enabled(at[MASKS])
        if not self.commands:
            return actions
        asked = at if self._local else at[SETTING : BUDGET + 1]
        offered = self._offered.get(asked)
        if offered is None:
            offered = self._offered[asked] = tuple(
                action
                for (action, command), left in zip(self.commands.items(), self.left, strict=True)
                if left and not why_not_command(self.runtime, command)
            )
        return actions + offered if offered else actions

    def apply(self, action: str) -> None:
        at = self.at
        found = self.states.layouts[at[SETTING]].actions.get(action)
        if found is None:
            self._command(action)
            return
        for reach in found.reaches:
            effect = reach.known.get((at[MASKS] & reach.bits, reach.pick(at)), UNKNOWN)
            if effect is None:
                continue
            if effect is UNKNOWN:
                break
            after = list(at)
            after[MASKS] = at[MASKS] & reach.kept | effect[0]
            for index, number in effect[1]:
                after[index] = number
            self.at = tuple(after)
            return
        self._act(action, found)

    def _act(self, action: str, found: Action) -> None:
        """Take an action on the runtime, and remember its effect for all states in which it looks at the same."""
        before, runtime = self.at, self._stand()
        failures = runtime.failures
        noted = runtime.watch()
        runtime.act(action)
        own = {found.slot.subtask} if found.slot.kind != "ack" else set()
        reached = EVERYWHERE if self._aligns or noted.looked - own else runtime.reached
        if reached == EVERYWHERE:
            self._changed(*runtime.deployment.subtasks)
        elif found.slot.subtask is not None and found.slot.kind != "ack":
            self._changed(found.slot.subtask)
        self.at = self.states.present(before[BUDGET])
        if runtime.failures > failures:
            self._raised = True
            self._check_reduction()
        layouts = self.states.layouts
        if layouts[before[SETTING]] is layouts[self.at[SETTING]]:
            self._remember(found, before, reached)

    def _remember(self, found: Action, before: State, reached: int) -> None:
        for reach in found.reaches:
            if reach.covers < reached:
                reach.known[reach.looked(before)] = None
            elif reach.remember(before, self.at):
                return

    def _command(self, action: str) -> None:
        command = self.commands.get(action)
        if command is None:
            self._stand().act(action)  # says why it cannot
            return
        number = list(self.commands).index(action)
        left = self.left
        if not left[number]:
            raise ImpossibleAction(
                "budget",
                "This command has been given as often as it may be.",
                place=action,
                mend="Explore with a larger budget.",
            )
        before = self.at
        budget = self.states.budget((*left[:number], left[number] - 1, *left[number + 1 :]))
        if action not in self.enabled() or not isinstance(command, FailSubtask):
            self._carry_out(command, budget)
            return
        layout = self.states.layouts[before[SETTING]]
        failure = self._failures.setdefault((action, layout), Failure())
        after = failure.after(before)
        if after is None:
            self._carry_out(command, before[BUDGET])
            failure.remember(before, self.at)
            after = self.at
        self.at = (*after[:BUDGET], budget, *after[BUDGET + 1 :])

    def give(self, command: Command) -> None:
        """A command outside the budgets, such as one that was given before the search."""
        self._carry_out(command, self.at[BUDGET])

    def _carry_out(self, command: Command, budget: int) -> None:
        runtime = self._stand()
        runtime.apply(command)
        if not isinstance(command, TriggerCheckpoint):
            self._changed(*runtime.deployment.subtasks)
        self.at = self.states.present(budget)

    def _stand(self) -> Watched:
        """The runtime in the present state, to move it on: where it stands is not known from here on."""
        runtime = self._runtime
        if self._standing != self.at:
            self.states.put_back(self.at)
        self._standing = ()
        return runtime

    def _changed(self, *subtasks: str) -> None:
        """These subtasks may have changed."""
        for subtask in subtasks:
            self._runtime.deployment.subtasks[subtask].held = None  # type: ignore[attr-defined]

    def capture(self) -> State:
        return self.at

    def restore(self, state: State) -> None:
        self.at = state

    # What the state is

    def state_key(self) -> Hashable:
        return self.states.key(self.at)

    # What commutes

    def independent(self, first: str, second: str) -> bool:
        """Actions that belong to two subtasks, and neither to the clock; of two acknowledgements the second may complete.

        One may fill the channel, or the box of messages, that the other takes from: both stay possible, in either order.
        Where barriers overtake, one that is put before a queue makes it wait; and while the sources pause, every action may be
        the last one in flight. A function that raises touches every subtask, and no answer foresees it; a job with one is refused once this was
        asked.
        """
        self._reduced = True
        self._check_reduction()
        actions = self.states.layouts[self.at[SETTING]].actions
        if first not in actions or second not in actions or self._aligns:
            return False
        one, other = actions[first].slot, actions[second].slot
        kinds = {one.kind, other.kind}
        if not kinds <= COMMUTING or kinds == {"ack"} or one.subtask == other.subtask:
            return False
        scheme = self._runtime.job.checkpointing.scheme
        if scheme == UNALIGNED:
            return not self.states.layouts[self.at[SETTING]].adjacent(one.subtask, other.subtask)
        return scheme != STOP_THE_WORLD

    def _check_reduction(self) -> None:
        if self._reduced and self._raised:
            raise InvalidJob(
                "raises",
                "A function of this job raises, or its checkpoints fail too often, so no two of its actions are independent for sure.",
                mend="Search it breadth first, without reduction.",
            )


class Failure:
    """What the failure of a subtask does. It does the same to every part, whatever the others are."""

    def __init__(self) -> None:
        self.masks = 0
        self.known: dict[tuple[int, int], int] = {}

    def after(self, before: State) -> State | None:
        """The state after it, or None where some part was not seen to fail yet."""
        try:
            parts = [self.known[part] for part in enumerate(before) if part[0]]
        except KeyError:
            return None
        return self.masks, *parts

    def remember(self, before: State, after: State) -> None:
        self.masks = after[MASKS]
        self.known.update(zip(enumerate(before), after, strict=True))


def _shown(command: Command) -> str:
    """The kind of a command and what it is given: "fail count[0]"."""
    return " ".join(map(str, command_data(command).values()))
