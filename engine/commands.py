"""What a person may do to a running job, besides choosing actions. A command takes a step number of its own."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from engine.errors import LearnerMistake


class TriggerCheckpoint(NamedTuple):
    """Take a checkpoint now."""


class TakeSavepoint(NamedTuple):
    """Take a savepoint and go on."""


class StopWithSavepoint(NamedTuple):
    """Stop the sources, take a savepoint and end the job. drain: event time ends first, so that every window fires."""

    drain: bool


class RefuseUpload(NamedTuple):
    """Let the storage refuse the next snapshot of a subtask, as if its disk were full."""

    subtask: str


class FailSubtask(NamedTuple):
    """Let a subtask fail, as if its process had died."""

    subtask: str


class Rescale(NamedTuple):
    """Give an operator another parallelism, by savepoint and restart."""

    operator: str
    parallelism: int


class RescaleFromCheckpoint(NamedTuple):
    """Cancel the job and restart it from its last completed checkpoint with another parallelism of an operator."""

    operator: str
    parallelism: int


Command: TypeAlias = (
    TriggerCheckpoint
    | TakeSavepoint
    | StopWithSavepoint
    | RefuseUpload
    | FailSubtask
    | Rescale
    | RescaleFromCheckpoint
)

_FIELDS: dict[str, tuple[type[Any], dict[str, type]]] = {
    "checkpoint": (TriggerCheckpoint, {}),
    "savepoint": (TakeSavepoint, {}),
    "stop": (StopWithSavepoint, {"drain": bool}),
    "refuse_upload": (RefuseUpload, {"subtask": str}),
    "fail": (FailSubtask, {"subtask": str}),
    "rescale": (Rescale, {"operator": str, "parallelism": int}),
    "rescale_from_checkpoint": (RescaleFromCheckpoint, {"operator": str, "parallelism": int}),
}


def parse_command(data: Any) -> Command:
    """A command from its JSON form, {"kind": ..., fields}; LearnerMistake says what does not fit."""
    if not isinstance(data, dict) or data.get("kind") not in tuple(_FIELDS):
        raise LearnerMistake(
            "unknown_command",
            "There is no such command.",
            mend=f"The kinds are {', '.join(_FIELDS)}.",
        )
    kind, fields = _FIELDS[data["kind"]]
    if set(data) != {"kind", *fields}:
        wanted = ", ".join(fields) or "no fields"
        raise LearnerMistake(
            "command_fields",
            f"The command {data['kind']} takes {wanted}.",
            mend="Send exactly these fields.",
        )
    for name, expected in fields.items():
        if type(data[name]) is not expected:
            raise LearnerMistake(
                "command_fields",
                f"{name} must be of type {expected.__name__}.",
                place=data["kind"],
                mend="Send another value.",
            )
    command: Command = kind(**{name: data[name] for name in fields})
    return command


def command_data(command: Command) -> dict[str, Any]:
    """The JSON form of a command."""
    kind = next(name for name, (known, _) in _FIELDS.items() if type(command) is known)
    return {"kind": kind, **command._asdict()}
