"""Commands that every run of a comparison gets at the same moment of its input.

Written "checkpoint@40", "fail,subtask=window[1]@200+3": the kind, the fields, then the moment. Signs that
mean something here are percent-encoded inside a value.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from engine.commands import (
    Command,
    FailSubtask,
    RefuseUpload,
    RescaleFromCheckpoint,
    command_data,
    parse_command,
)
from engine.errors import StreamLabError
from streamlab.runs.errors import RunError

PLANNED_MAX = 50
FORM = re.compile(r"([a-z_]+)((?:,[a-z_]+=[^,@=]+)*)@([0-9]{1,9})(?:\+([0-9]{1,9}))?")
HARMLESS = "[]> "
DISTURBING = (FailSubtask, RefuseUpload, RescaleFromCheckpoint)
"""Commands that may let the job fail: without them a run is undisturbed."""

FLAGS = {"true": True, "false": False}


@dataclass(frozen=True)
class Planned:
    """`steps` steps after the run has first read `position` entries of its input, the command is given."""

    command: Command
    position: int
    steps: int = 0

    def __str__(self) -> str:
        kind, *fields = command_data(self.command).items()
        told = "".join(f",{name}={_text(value)}" for name, value in fields)
        moment = f"{self.position}+{self.steps}" if self.steps else str(self.position)
        return f"{kind[1]}{told}@{moment}"

    @property
    def disturbs(self) -> bool:
        return isinstance(self.command, DISTURBING)

    @property
    def words(self) -> str:
        """The command for a person."""
        data = command_data(self.command)
        match data["kind"]:
            case "checkpoint":
                return "Trigger a checkpoint"
            case "savepoint":
                return "Take a savepoint"
            case "stop":
                return f"Stop with a savepoint{', drained' if data['drain'] else ''}"
            case "refuse_upload":
                return f"Refuse the next snapshot of {data['subtask']}"
            case "fail":
                return f"Fail {data['subtask']}"
            case "rescale":
                return f"Rescale {data['operator']} to {data['parallelism']}"
            case "rescale_from_checkpoint":
                told = f"{data['operator']} to {data['parallelism']}"
                return f"Rescale {told} from the last checkpoint"
        return " ".join(str(value) for value in data.values())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else quote(str(value), HARMLESS)


def _value(text: str) -> Any:
    if text.isascii() and text.isdigit():
        return int(text)
    return FLAGS.get(text, unquote(text))


def parse_plan(texts: Iterable[str]) -> tuple[Planned, ...]:
    """In the order in which they are given. Raises RunError bad_parameter."""
    plan = list(dict.fromkeys(parse_planned(text) for text in texts))
    if len(plan) > PLANNED_MAX:
        raise refused(f"{len(plan)} commands are too many: at most {PLANNED_MAX} are given.")
    return tuple(sorted(plan, key=lambda one: (one.position, one.steps)))


def parse_planned(text: str) -> Planned:
    found = FORM.fullmatch(text)
    if found is None:
        raise refused(f"{text[:80]!r} is no command with its moment, such as checkpoint@40.")
    kind, fields, position, steps = found.groups()
    data: dict[str, Any] = {"kind": kind}
    for field in fields.split(",")[1:]:
        name, _, value = field.partition("=")
        data[name] = _value(value)
    try:
        return Planned(parse_command(data), int(position), int(steps or 0))
    except StreamLabError as error:
        raise refused(f"{text[:80]!r}: {error.sentence} {error.mend}") from None


def refused(sentence: str) -> RunError:
    return RunError("bad_parameter", place="do", sentence=sentence)
