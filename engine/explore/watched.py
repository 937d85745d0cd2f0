"""A runtime that notes how far an action reaches, and subtasks that remember their last keyframe.

What a subtask does follows from its own state, its channels and their credit. For everything else it has to ask its host,
and the runtime has to go through the same names: so whether an action depends on more is seen while it is taken.
"""

from __future__ import annotations

from typing import Any

from engine.checkpointing.coordinator import Coordinator
from engine.clock import Clock
from engine.graph.checkpoint_settings import STOP_THE_WORLD
from engine.job_snapshots import JobSnapshots
from engine.network.channel import Channel
from engine.runtime import Runtime
from engine.subtask import Subtask

NEAR, JOB, WIDE, EVERYWHERE = range(4)
"""One subtask, the input that is taken from, and its outputs; also its other inputs, the state of the job, which checkpoints
there are, and who has finished; also the coordinator and the clock; anything at all."""

OWN = frozenset(
    {"send", "deliver", "has_message", "is_savepoint", "barrier_arrived", "snapshot_taken", "entry"}
)
"""What of the coordinator concerns the messages of one subtask, the kind of a checkpoint, or only what is shown."""


class Held:
    """A keyframe of one subtask, and its number once somebody asked for it."""

    __slots__ = ("frame", "number")

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.number = -1


class WatchedSubtask(Subtask):
    """`held` is the keyframe that the subtask stands at, or None after it may have changed."""

    held: Held | None = None

    @property
    def inputs(self) -> list[Channel]:
        """Whoever takes from one input has it at hand, and looks here for the others."""
        self.host.reach(JOB)  # type: ignore[attr-defined]
        return self._inputs

    @inputs.setter
    def inputs(self, inputs: list[Channel]) -> None:
        self._inputs = inputs

    def keyframe(self) -> Held:
        if self.held is None:
            self.held = Held(super().keyframe())
        return self.held

    def rewind(self, frame: Held) -> None:
        if frame is not self.held:
            super().rewind(frame.frame)
            self.held = frame


class Desk:
    """The coordinator, as those see it who are watched."""

    __slots__ = ("coordinator", "runtime")

    coordinator: Coordinator
    runtime: Watched

    def __init__(self, coordinator: Coordinator, runtime: Watched) -> None:
        object.__setattr__(self, "coordinator", coordinator)
        object.__setattr__(self, "runtime", runtime)

    def __getattr__(self, name: str) -> Any:
        self.runtime.reach(JOB if name in OWN else WIDE)
        return getattr(self.coordinator, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.runtime.reach(WIDE)
        setattr(self.coordinator, name, value)


class WatchedSnapshots(JobSnapshots):
    """Whoever looks whether anything is left in flight looks at everything."""

    runtime: Watched

    def maybe_drained(self) -> None:
        self.runtime.reach(EVERYWHERE)
        super().maybe_drained()


class Noted(dict[str, Subtask]):
    """The subtasks of a deployment. `looked` are those that the runtime itself has looked at."""

    def __init__(self, subtasks: dict[str, Subtask]) -> None:
        super().__init__(subtasks)
        self.looked: set[str] = set()

    def __getitem__(self, subtask: str) -> Subtask:
        self.looked.add(subtask)
        return super().__getitem__(subtask)

    def values(self) -> Any:
        self.looked.update(self)
        return super().values()

    def items(self) -> Any:
        self.looked.update(self)
        return super().items()


class Watched(Runtime):
    """`reached` is how far was reached since `watch`."""

    reached = NEAR

    def watch(self) -> Noted:
        """Note from here on how far an action reaches, and which of these subtasks the runtime itself looks at.

        What takes an element is another closure while the sources pause.
        """
        self.reached = JOB if self.job.checkpointing.scheme == STOP_THE_WORLD else NEAR
        self.noted.looked.clear()
        return self.noted

    def reach(self, how_far: int) -> None:
        if how_far > self.reached:
            self.reached = how_far

    @property
    def coordinator(self) -> Any:
        return self.desk

    @coordinator.setter
    def coordinator(self, coordinator: Coordinator) -> None:
        self.desk = Desk(coordinator, self)

    @property
    def snapshots(self) -> JobSnapshots:
        self.reach(JOB)
        return self._snapshots

    @snapshots.setter
    def snapshots(self, snapshots: JobSnapshots) -> None:
        self._snapshots = snapshots

    @property
    def clock(self) -> Clock:
        self.reach(WIDE)
        return self._clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._clock = clock

    @property
    def noted(self) -> Noted:
        subtasks = self.deployment.subtasks
        assert isinstance(subtasks, Noted)
        return subtasks

    def _deploy(self) -> None:
        super()._deploy()
        self.deployment.subtasks = Noted(self.deployment.subtasks)

    def subtask_finished(self) -> None:
        """Looks at the others only for whether they have finished."""
        looked = self.noted.looked.copy()
        self.reach(JOB)
        if all(subtask.finished for subtask in self.noted.values()):
            self.reach(WIDE)
        super().subtask_finished()
        self.noted.looked = looked

    def _fail(self, subtask: str, reason: str) -> None:
        self.reach(EVERYWHERE)
        super()._fail(subtask, reason)

    def align(self, group: Any) -> None:
        if group is not None:
            self.reach(EVERYWHERE)
        super().align(group)


def watched(runtime: type[Runtime]) -> type[Watched]:
    """`runtime`, watched."""

    class Subtasks(WatchedSubtask, runtime.subtask_type):  # type: ignore[name-defined, misc]
        pass

    class Snapshots(WatchedSnapshots, runtime.snapshots_type):  # type: ignore[name-defined, misc]
        pass

    class Both(Watched, runtime):  # type: ignore[valid-type, misc]
        subtask_type = Subtasks
        snapshots_type = Snapshots

    return Both
