"""States of a job: what the runtime stands at as a tuple of numbers, and the runtime put back to it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from engine.deployment import Deployment
from engine.elements import BARRIER, CANCEL
from engine.explore.canonical import frozen
from engine.explore.layout import (
    CHECKPOINTS,
    CLOCK,
    COORDINATOR,
    MASKS,
    SETTING,
    SNAPSHOTS,
    Layout,
    State,
)
from engine.explore.numbers import NONE_UNDER_WAY, Numbers
from engine.explore.subtask_forms import snapshots_relative, snapshots_told, subtask_form
from engine.explore.watched import Held, Watched
from engine.runtime_frame import RuntimeFrame

NEXT_ID, MESSAGES, SHOWN = 0, 3, 4
"""Where these stand in a keyframe of the coordinator."""

MOST_PARTS = 50_000
"""How many parts of checkpoints are kept in their hashable form."""


class JobStates:
    """The states of one runtime, under any parallelism and in any attempt.

    results: whether what the sinks have written belongs to a state; without it nothing is known of it.
    """

    def __init__(self, runtime: Watched, results: bool) -> None:
        self.runtime = runtime
        self.results = results
        self.numbers = Numbers()
        self.layouts: dict[int, Layout] = {}
        """By the number of the setting."""
        self._layouts: dict[Hashable, Layout] = {}
        self._deployments: dict[Hashable, Deployment] = {}
        """By attempt and parallelism: subtasks that another state of the same attempt is put back into."""
        self._parts: dict[int, tuple[Any, Hashable]] = {}
        """The hashable form of parts of checkpoints, which never change, by identity."""

    def key(self, state: State) -> Hashable:
        """Channel contents, state, watermarks, barriers, coordinator, results; checkpoints count back from the newest.

        The clock's present is left out, and what it has to wake is told by how far off it is. That a checkpoint is over
        makes a difference from the oldest on of which somebody may still hear.
        """
        numbers = self.numbers
        newest: int = numbers.frames[state[CHECKPOINTS]][0]
        layout = self.layouts[state[SETTING]]
        oldest = min(
            numbers.oldest[state[COORDINATOR]],
            *map(numbers.oldest.__getitem__, state[layout.under_way]),
        )
        relative = numbers.relative_to(newest, min(oldest, newest))
        return state[MASKS], *map(relative.__getitem__, state[layout.key])

    def put_back(self, state: State) -> None:
        """Put the runtime into a state. Ids and steps in it are those of some schedule that leads there."""
        runtime, frames = self.runtime, self.numbers.frames
        layout = self.layouts[state[SETTING]]
        attempt, parallelism, scalars, scheduler, taken, first_choice = frames[state[SETTING]]
        runtime.deployment = self._deployments[attempt, tuple(parallelism.values())]
        runtime.attempt, runtime.parallelism = attempt, dict(parallelism)
        messages = [message for index in layout.boxes for message in frames[state[index]]]
        coordinator = list(frames[state[COORDINATOR]])
        coordinator[MESSAGES] = messages
        coordinator[NEXT_ID], coordinator[SHOWN] = frames[state[CHECKPOINTS]]
        cursors = {}
        if self.results:
            for name, index in zip(runtime.deployment.subtasks, layout.logs, strict=True):
                written = frames[state[index]]
                runtime.logs[name].results[:] = written
                cursors[name] = len(written)
        runtime.rewind(
            RuntimeFrame(
                parallelism,
                scalars,
                frames[state[CLOCK]],
                layout.readiness(state[MASKS]),
                scheduler,
                coordinator,
                frames[state[SNAPSHOTS]],
                [frames[state[index]] for index in layout.channels],
                [state[index] for index in layout.senders],
                [frames[state[index]] for index in layout.subtasks],
                cursors,
                taken,
                first_choice,
            )
        )

    def present(self, budget: int) -> State:
        """The state that the runtime stands at."""
        runtime = self.runtime
        (
            parallelism,
            scalars,
            clock,
            readiness,
            scheduler,
            coordinator,
            snapshots,
            channels,
            credits,
            _,
            _,
            taken,
            first_choice,
        ) = runtime.keyframe()
        deployment = runtime.deployment
        place = tuple(parallelism.values())
        layout = self._layouts.get(place)
        if layout is None:
            layout = self._layouts[place] = Layout(deployment, self.results)
        self._deployments[runtime.attempt, place] = deployment
        number = self.numbers.number
        setting = number(
            ("setting", runtime.state, runtime.attempt, runtime.failures, runtime.rescale, place),
            (runtime.attempt, parallelism, scalars, scheduler, taken, first_choice),
        )
        self.layouts[setting] = layout
        subtasks = deployment.subtasks.values()
        return (
            layout.masks(*readiness),
            setting,
            self._checkpoints(coordinator[NEXT_ID], coordinator[SHOWN]),
            self._snapshots(snapshots, clock[0]),
            self._coordinator(coordinator, clock[0]),
            self._clock(clock),
            budget,
            *map(self._subtask, subtasks),
            *self._boxes(deployment.subtasks),
            *(
                self._log(runtime.logs[name].written())
                for name in deployment.subtasks
                if self.results
            ),
            *map(self._channel, channels),
            *layout.by_sender(credits),
            sum(1 << place for place, subtask in enumerate(subtasks) if not subtask.finished),
        )

    def budget(self, left: tuple[int, ...]) -> int:
        """The number of what is left of the budget of each command."""
        return self.numbers.number(("left", left), left)

    def _checkpoints(self, newest: int, shown: dict[int, dict[str, Any]]) -> int:
        """How many checkpoints there have been, and of which kinds those were that are still known."""
        kinds = tuple((number, checkpoint["kind"]) for number, checkpoint in shown.items())
        form = "checkpoints", newest, kinds
        return self.numbers.number(form, (newest, shown), lambda newest, oldest: "checkpoints")

    def _snapshots(self, frame: Any, now: int) -> int:
        paused, drained, patience, wanted, ended, stop = frame
        pause = 0
        settings = self.runtime.job.checkpointing
        if settings.min_pause and ended:
            pause = max(0, ended + settings.min_pause * 1000 - now)
        rest = drained, paused and patience, wanted, pause, stop
        return self.numbers.number(
            ("snapshots", paused, rest, pause and now),
            frame,
            lambda newest, oldest: ("snapshots", paused and newest - paused, rest),
        )

    def _coordinator(self, frame: Any, now: int) -> int:
        coordinator = self.runtime.desk.coordinator
        latest = coordinator.storage.latest()
        recovery = latest and (self._part(latest.parts), self._part(latest.in_flight))
        progress = tuple(
            (
                pending.checkpoint,
                pending.kind,
                frozenset((name, self._part(part)) for name, part in pending.parts.items()),
            )
            for pending in coordinator.pending.values()
        )
        settings = self.runtime.job.checkpointing
        since: tuple[int, ...] = ()
        if settings.timeout is not None or settings.aligned_timeout:
            since = tuple(now - pending.triggered for pending in coordinator.pending.values())
        failures = coordinator.failures
        return self.numbers.number(
            (
                *("coordinator", progress, since, since and now),
                *(failures, latest and latest.checkpoint, recovery),
            ),
            frame,
            lambda newest, oldest: (
                "coordinator",
                tuple((newest - number, kind, parts) for number, kind, parts in progress),
                since,
                failures,
                recovery,
            ),
            min(coordinator.pending, default=NONE_UNDER_WAY),
        )

    def _clock(self, frame: Any) -> int:
        now, _, entries = frame
        due = tuple(sorted((time - now, name) for time, _, name in entries))
        order = tuple((time, name) for time, _, name in sorted(entries))
        form = "clock", now, order
        return self.numbers.number(form, frame, lambda newest, oldest: ("clock", due))

    def _subtask(self, subtask: Any) -> int:
        held: Held = subtask.keyframe()
        if held.number < 0:
            form, snapshots = subtask_form(subtask), subtask.snapshots
            told = snapshots_told(snapshots)
            held.number = self.numbers.number(
                ("subtask", subtask.id, form, frozen(snapshots.keyframe())),
                held,
                lambda newest, oldest: ("subtask", form, snapshots_relative(told, newest, oldest)),
            )
        return held.number

    def _boxes(self, subtasks: Mapping[str, Any]) -> list[int]:
        """The messages from and to each subtask; no action can tell which of two boxes was filled first."""
        boxes: dict[str, list[Any]] = {name: [] for name in subtasks}
        for held in sorted(self.runtime.desk.coordinator.messages, key=_box_of):
            message = held[0]
            boxes[message.to if message.to in boxes else message.sender].append(held)
        return [self._box(*box) for box in boxes.items()]

    def _box(self, subtask: str, messages: list[Any]) -> int:
        if not messages:
            return self.numbers.number(("box",), ())
        told = tuple(
            (message.kind, message.checkpoint, self._part(part)) for message, part in messages
        )
        return self.numbers.number(
            ("box", subtask, told),
            tuple(messages),
            lambda newest, oldest: (
                "box",
                tuple((kind, newest - number, part) for kind, number, part in told),
            ),
            min(number for _, number, _ in told),
        )

    def _log(self, written: list[Any]) -> int:
        return self.numbers.number(("log", frozen(written)), tuple(written))

    def _channel(self, frame: Any) -> int:
        queue, _, riders, full, aligning, priority = frame
        form = "channel", tuple(map(frozen, queue)), full, aligning, priority
        plain = "channel", form[1], full
        if not riders and not priority:
            return self.numbers.number(form, frame, lambda newest, oldest: plain)
        checkpoints = [element[1] for element in queue if element[0] in (BARRIER, CANCEL)]
        return self.numbers.number(
            form,
            frame,
            lambda newest, oldest: (
                "channel",
                tuple(
                    (element[0], newest - element[1])
                    if element[0] in (BARRIER, CANCEL)
                    else frozen(element)
                    for element in queue
                ),
                full,
                tuple((newest - barrier.checkpoint, barrier.overtaken) for barrier in priority),
            ),
            min(
                [*checkpoints, *[barrier.checkpoint for barrier in priority]],
                default=NONE_UNDER_WAY,
            ),
        )

    def _part(self, part: Any) -> Hashable:
        known = self._parts.get(id(part))
        if known is None:
            if len(self._parts) >= MOST_PARTS:
                self._parts.clear()
            known = self._parts[id(part)] = part, frozen(part)
        return known[1]


def _box_of(held: Any) -> str:
    """Messages of one name are taken in the order in which they were sent."""
    kind: str = held[0].kind
    return kind if kind in ("trigger", "abort") else "ack"
