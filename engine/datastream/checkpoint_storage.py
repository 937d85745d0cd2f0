"""Where checkpoints go (pyflink.datastream.checkpoint_storage)."""

from __future__ import annotations

from typing import Any

from engine.datastream.transformation import caller
from engine.errors import InvalidJob
from engine.values import text


def plain_path(path: Any) -> str:
    """A path of this machine, with or without `file://` before it."""
    if not isinstance(path, str) or not path.removeprefix("file://"):
        raise _no_directory(path)
    plain = path.removeprefix("file://")
    if "://" in plain or "\0" in plain:
        raise _no_directory(path)
    return plain


def _no_directory(path: Any) -> InvalidJob:
    return InvalidJob(
        "checkpoint_directory",
        f"{text(path)} is no directory of this machine.",
        place=caller(),
        mend="Give a path, as in file:///tmp/checkpoints.",
    )


class CheckpointStorage:
    """The root of the storages."""

    directory: str | None = None


class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints in memory: they are gone with the process."""


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints in a directory, from which another process restores."""

    def __init__(self, checkpoint_path: str) -> None:
        self.directory = plain_path(checkpoint_path)

    def get_checkpoint_path(self) -> str | None:
        return self.directory


class CheckpointStorageMethods:
    """What CheckpointConfig offers about storage. Only `env.execute` writes into the directory."""

    storage: CheckpointStorage = JobManagerCheckpointStorage()

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> Any:
        if not isinstance(storage, CheckpointStorage):
            raise InvalidJob(
                "checkpoint_storage",
                f"{text(storage)} is not a checkpoint storage.",
                place=caller(),
                mend="Use FileSystemCheckpointStorage(path) or JobManagerCheckpointStorage().",
            )
        self.storage = storage
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> Any:
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def get_checkpoint_storage(self) -> CheckpointStorage:
        return self.storage
