"""Settings by name (pyflink.common.Configuration), for those that have no method of their own in PyFlink."""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.datastream.checks import check_integer
from engine.datastream.transformation import caller
from engine.errors import InvalidJob
from engine.values import text

RETAINED = "execution.checkpointing.num-retained"
DIRECTORY = "execution.checkpointing.dir"
INCREMENTAL = "execution.checkpointing.incremental"
BACKEND = "state.backend.type"
CHANGELOG = "state.changelog.enabled"
RESTORE = "execution.state-recovery.path"
IGNORE_UNCLAIMED = "execution.state-recovery.ignore-unclaimed-state"
OLD_NAMES = {
    "state.checkpoints.num-retained": RETAINED,
    "state.checkpoints.dir": DIRECTORY,
    "state.backend.incremental": INCREMENTAL,
    "state.backend": BACKEND,
    "execution.savepoint.path": RESTORE,
    "execution.savepoint.ignore-unclaimed-state": IGNORE_UNCLAIMED,
}
"""What the settings were called before Flink 2."""
KNOWN = (RETAINED, DIRECTORY, INCREMENTAL, BACKEND, CHANGELOG, RESTORE, IGNORE_UNCLAIMED)


class Configuration:
    """Settings by name. Values are kept as they were given."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a value; a name that has no effect here is refused."""
        name = OLD_NAMES.get(key, key)
        if name not in KNOWN:
            raise InvalidJob(
                "setting",
                f"There is no setting {text(key)} in StreamLab.",
                place=caller(),
                mend=f"There are {', '.join(KNOWN)}; other settings have methods of their own.",
            )
        self._values[name] = value
        return self

    def set_integer(self, key: str, value: int) -> Configuration:
        return self.set_string(key, value)  # type: ignore[arg-type]

    def set_boolean(self, key: str, value: bool) -> Configuration:
        return self.set_string(key, value)  # type: ignore[arg-type]

    def get_string(self, key: str, default_value: Any = None) -> Any:
        return self._values.get(OLD_NAMES.get(key, key), default_value)

    get_integer = get_boolean = get_string

    def contains_key(self, key: str) -> bool:
        return OLD_NAMES.get(key, key) in self._values

    # What the environment asks for

    def truth(self, key: str) -> bool | None:
        """A value as true or false, or None where it is not set."""
        value = self.get_string(key)
        if value is None or type(value) is bool:
            return value
        if value in ("true", "false"):
            return bool(value == "true")
        raise _wrong(key, value, "true or false")

    def number(self, key: str) -> int | None:
        """A value as a number of at least 1, or None where it is not set."""
        value = self.get_string(key)
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        return None if value is None else check_integer("setting", key, value, 1)

    def choice(self, key: str, *choices: str) -> str | None:
        """A value that is one of these, or None where it is not set."""
        value = self.get_string(key)
        if value is not None and value not in choices:
            raise _wrong(key, value, " or ".join(choices))
        return value if value is None else str(value)


class Start(NamedTuple):
    """What `execute` starts from: the path of a snapshot or None, and whether state may be left behind."""

    path: str | None = None
    allow_non_restored_state: bool = False


def _wrong(key: str, value: Any, possible: str) -> InvalidJob:
    return InvalidJob(
        "setting",
        f"{key} must be {possible}, not {text(value)}.",
        place=caller(),
        mend=f"Use {possible}.",
    )
