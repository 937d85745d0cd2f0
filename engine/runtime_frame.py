"""A keyframe of a runtime: a copy of everything in it that changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from engine.commands import Rescale

if TYPE_CHECKING:
    from engine.runtime import Runtime


class JobFrame(NamedTuple):
    """Where the job stands, and whose turn it is."""

    step: int
    attempt: int
    failures: int
    state: str
    reason: str
    rescale: Rescale | None
    turn: int
    turn_left: int


class RuntimeFrame(NamedTuple):
    """What each part of the runtime gives as its own keyframe; channels and subtasks in canonical order."""

    parallelism: dict[str, int]
    job: JobFrame
    clock: Any
    readiness: Any
    scheduler: Any
    coordinator: Any
    snapshots: Any
    channels: list[Any]
    full: list[int]
    subtasks: list[Any]
    cursors: dict[str, int]
    taken: dict[str, int]
    first_choice: int


def frame_of(runtime: Runtime) -> RuntimeFrame:
    deployment = runtime.deployment
    return RuntimeFrame(
        dict(runtime.parallelism),
        JobFrame(
            runtime.trace.step,
            runtime.attempt,
            runtime.failures,
            runtime.state,
            runtime.reason,
            runtime.rescale,
            runtime.turn,
            runtime.turn_left,
        ),
        runtime.clock.keyframe(),
        runtime.readiness.keyframe(),
        runtime.scheduler.keyframe(),
        runtime.coordinator.keyframe(),
        runtime.snapshots.keyframe(),
        [channel.keyframe() for channel in deployment.channels.values()],
        [channel.credit.full for channel in deployment.channels.values()],
        [subtask.keyframe() for subtask in deployment.subtasks.values()],
        {name: log.cursor for name, log in runtime.logs.items()},
        dict(runtime.taken),
        deployment.first_choice,
    )


def put_back(runtime: Runtime, frame: RuntimeFrame) -> None:
    """Take over a keyframe, into a deployment of its attempt and parallelism."""
    deployment = runtime.deployment
    (
        runtime.trace.step,
        runtime.attempt,
        runtime.failures,
        runtime.state,
        runtime.reason,
        runtime.rescale,
        runtime.turn,
        runtime.turn_left,
    ) = frame.job
    runtime.clock.rewind(frame.clock)
    runtime.readiness.rewind(frame.readiness)
    runtime.scheduler.rewind(frame.scheduler)
    runtime.coordinator.rewind(frame.coordinator)
    channels = deployment.channels.values()
    for channel, held, full in zip(channels, frame.channels, frame.full, strict=True):
        channel.rewind(held)
        channel.credit.full = full
    for subtask, held in zip(deployment.subtasks.values(), frame.subtasks, strict=True):
        subtask.rewind(held)
    runtime.snapshots.rewind(frame.snapshots)
    for name, log in runtime.logs.items():
        log.cursor = frame.cursors.get(name, 0)
    deployment.first_choice = frame.first_choice
