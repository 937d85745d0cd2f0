"""A directory of snapshots that another process restores from.

    <directory>/<identity of the job>/chk-<n>-<content>/manifest, part-0000, part-0001, ...
    <directory>/<identity of the job>/savepoint-<n>-<content>/...
    <directory>/<identity of the job>/shared/<SHA-256>          layers of incremental checkpoints, each written once

A folder is written beside its place and renamed when everything in it is on the disk, so it is there whole or not at all. It
is named by its content: to write the same again changes nothing. A layer is released with the last folder that refers to it.
One run at a time writes for a job.

Source: Flink's `FsCheckpointStorageAccess` and `SharedStateRegistryImpl`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from engine.checkpointing.completed import SAVEPOINT, Completed, MemoryStorage, shared_state
from engine.checkpointing.manifest import Manifest, StoredOperator, Unsound, read_manifest
from engine.checkpointing.savepoint import SavedOperator, Savepoint, identity_of, savepoint_of
from engine.errors import InvalidJob
from engine.graph.job_graph import JobGraph
from engine.state.backends.parts import Layer
from engine.state.codec import NotWritable, Unreadable, decode, encode

MANIFEST = "manifest"
SHARED = "shared"
WRITING = ".writing-"
FOLDERS = ("chk-", "savepoint-")
SHORT = 16
"""So many characters of a job's identity name its folder."""


class Found(NamedTuple):
    """A sound snapshot in a directory."""

    path: str
    checkpoint: int
    kind: str
    sequence: int


class DirectoryStorage(MemoryStorage):
    """Keeps completed checkpoints in memory as its base does, and in a directory besides. Savepoints are in memory only.

    A run that goes back has the checkpoints of that step in memory again. The directory stays at what was written last, until
    the run passes the next checkpoint: it is written again where it was discarded.
    """

    def __init__(self, directory: str, job: JobGraph) -> None:
        super().__init__(job.durability.retained)
        self.directory = directory
        self.job = job
        self._folders: dict[int, Path] = {}
        self._layers = Layers()

    def store(self, completed: Completed) -> None:
        if completed.kind != SAVEPOINT:
            snapshot = savepoint_of(self.job, completed)
            written = write_snapshot(self.directory, snapshot, self._layers)
            self._folders[completed.checkpoint] = Path(written)
        super().store(completed)
        held = {one.checkpoint for one in self.completed}
        self._layers.keep([layer for layer, _ in shared_state(self.completed)])
        for checkpoint in [number for number in self._folders if number not in held]:
            discard(str(self._folders.pop(checkpoint)))


# Writing


class Layers:
    """The names of layers that have been written before, by identity; each is encoded once."""

    def __init__(self) -> None:
        self._named: dict[int, tuple[Layer, str]] = {}

    def name(self, layer: Layer) -> str | None:
        return self._named.get(id(layer), (layer, None))[1]

    def add(self, layer: Layer, name: str) -> None:
        self._named[id(layer)] = layer, name

    def keep(self, layers: list[Layer]) -> None:
        """Forget all others."""
        kept = set(map(id, layers))
        self._named = {key: held for key, held in self._named.items() if key in kept}


def write_snapshot(directory: str, savepoint: Savepoint, known: Layers | None = None) -> str:
    """Write it into a directory and return the path of its folder; InvalidJob says what cannot be written, and where.

    known: layers of earlier snapshots in the same directory.
    """
    home = Path(directory) / savepoint.identity[:SHORT]
    known = known or Layers()
    layers: dict[str, bytes] = {}
    """What each layer holds, or nothing where it is there already."""
    parts: list[bytes] = []
    operators = []
    for saved in savepoint.operators:
        encoded = [_encoded(part, saved.uid, layers, known, home / SHARED) for part in saved.parts]
        parts += encoded
        shas = tuple(map(_sha, encoded))
        operators.append(
            StoredOperator(
                saved.uid, saved.kind, saved.shape, saved.key_type, saved.max_parallelism, shas
            )
        )
    in_flight = _encoded(savepoint.in_flight, "channels", layers, known, home / SHARED)
    parts.append(in_flight)
    manifest = Manifest(
        0, savepoint.checkpoint, savepoint.kind, savepoint.job, savepoint.identity, savepoint.engine,
        tuple(operators), tuple(sorted(layers)), _sha(in_flight),
    )  # fmt: skip
    try:
        return str(_written(home, manifest, parts, layers))
    except OSError as error:
        raise InvalidJob(
            "checkpoint_storage",
            f"The checkpoint could not be written: {error.strerror or type(error).__name__}.",
            place=directory,
            mend="Give the job a directory that it may write to, with enough room.",
        ) from None


def _encoded(part: Any, uid: str, layers: dict[str, bytes], known: Layers, shared: Path) -> bytes:
    def refer(layer: Layer) -> bytes:
        name = known.name(layer)
        if name is None or not (shared / name).exists():
            content = encode(layer)
            name = _sha(content)
            layers[name] = content
            known.add(layer, name)
        else:
            layers.setdefault(name, b"")
        return bytes.fromhex(name)

    try:
        return encode(part, refer)
    except NotWritable as error:
        raise InvalidJob(
            "not_writable",
            error.sentence,
            place=", ".join(filter(None, [uid, _state_of(error.path)])),
            mend=error.mend,
        ) from None


def _state_of(path: list[Any]) -> str:
    """The name of the state that an unwritable value belongs to: the outermost key, or the table of a row."""
    first = path[0] if path else ""
    if isinstance(first, tuple) and first and isinstance(first[0], str):
        first = first[0]
    return f"state {first.removeprefix('state ')!r}" if isinstance(first, str) and first else ""


def _written(home: Path, manifest: Manifest, parts: list[bytes], layers: dict[str, bytes]) -> Path:
    target = home / manifest.folder()
    newest = max(map(_sequence, _folders(home)), default=0)
    if target.exists() and not _why_unsound(target):
        if _sequence(target) != newest:
            # The run went back and passes it again: it is the newest once more.
            _replace(target / MANIFEST, manifest._replace(sequence=newest + 1).written())
        return target
    (home / SHARED).mkdir(parents=True, exist_ok=True)
    for name, content in filter(lambda held: held[1], layers.items()):
        _write_shared(home / SHARED / name, content)
    _sync(home / SHARED)
    temporary = home / f"{WRITING}{os.getpid()}-{target.name}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    for number, content in enumerate(parts):
        _write(temporary / _part(number), content)
    _write(temporary / MANIFEST, manifest._replace(sequence=newest + 1).written())
    _sync(temporary)
    if target.exists():
        shutil.rmtree(target)
    temporary.rename(target)
    _sync(home)
    return target


def _write_shared(path: Path, content: bytes) -> None:
    if path.exists() and path.read_bytes() == content:
        return
    _replace(path, content)


def _replace(path: Path, content: bytes) -> None:
    """Write a file beside its place, and put it there whole."""
    temporary = path.with_name(f"{WRITING}{os.getpid()}-{path.name}")
    _write(temporary, content)
    temporary.replace(path)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """See to it that the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def discard(path: str) -> None:
    """Remove a snapshot, and the layers that no other one of its job refers to."""
    folder = Path(path)
    home = folder.parent
    shutil.rmtree(folder, ignore_errors=True)
    needed: set[str] = set()
    for other in _folders(home):
        try:
            needed.update(_read_manifest(other).layers)
        except Unsound:
            return  # nobody knows what it refers to
    for layer in _listed(home / SHARED):
        if layer.name not in needed:
            layer.unlink(missing_ok=True)


# Reading


def read_snapshot(path: str, job: JobGraph | None = None) -> Savepoint:
    """The snapshot in a folder, or the newest one below a directory.

    job: below a directory, look at what was taken by this job, where there is anything. A snapshot that is not whole, or of another version, is refused with what is
    wrong with it; the mend names the newest older one that is sound.
    """
    folder = Path(path)
    if not folder.name.startswith(FOLDERS):
        below = (job and _below(folder, job)) or _below(folder, None)
        if not below:
            raise InvalidJob(
                "no_checkpoint",
                "There is no folder of a snapshot here.",
                place=path,
                mend="Name a folder chk-... or savepoint-..., or a directory that a run has written to.",
            )
        folder = below[-1]
    try:
        return _read(folder)
    except Unsound as error:
        older = [found for found in sound(path) if _before(found, folder)]
        mend = (
            f"The newest older one that is sound: {older[0].path}."
            if older
            else "There is no older one that is sound: start the job from its beginning."
        )
        raise InvalidJob(error.code, error.sentence, place=str(folder), mend=mend) from None


def sound(path: str) -> list[Found]:
    """Every sound snapshot below a directory, or beside a folder of one; the newest first."""
    folder = Path(path)
    folders = _folders(folder.parent) if folder.name.startswith(FOLDERS) else _below(folder, None)
    found = []
    for one in folders:
        if not _why_unsound(one):
            manifest = _read_manifest(one)
            found.append(Found(str(one), manifest.checkpoint, manifest.kind, manifest.sequence))
    return sorted(found, key=lambda one: (one.sequence, one.path), reverse=True)


def _before(found: Found, folder: Path) -> bool:
    """Whether a sound snapshot is older than a folder, and of the same job."""
    return Path(found.path).parent == folder.parent and found.sequence < _sequence(folder)


def _why_unsound(folder: Path) -> str:
    try:
        _read(folder)
    except Unsound as error:
        return error.sentence
    return ""


def _read(folder: Path) -> Savepoint:
    manifest = _read_manifest(folder)
    if folder.name != manifest.folder():
        raise Unsound("Its folder was renamed, or holds the manifest of another one.")
    layers: dict[bytes, Layer] = {}

    def resolve(reference: bytes) -> Layer:
        if reference not in layers:
            raise Unreadable("There is a reference to a layer that the manifest does not name.")
        return layers[reference]

    for name in manifest.layers:
        content = _checked(folder.parent / SHARED / name, name)
        layers[bytes.fromhex(name)] = _decoded(content, f"layer {name[:8]}")
    operators = []
    number = 0
    for stored in manifest.operators:
        parts = []
        for sha in stored.parts:
            content = _checked(folder / _part(number), sha)
            parts.append(_decoded(content, f"part {number} ({stored.uid})", resolve))
            number += 1
        operators.append(
            SavedOperator(
                stored.uid,
                stored.kind,
                stored.shape,
                stored.key_type,
                stored.max_parallelism,
                tuple(parts),
            )
        )
    in_flight = _decoded(_checked(folder / _part(number), manifest.in_flight), f"part {number}")
    return Savepoint(
        manifest.checkpoint, manifest.kind, manifest.job, manifest.identity, manifest.engine, tuple(operators),
        in_flight,
    )  # fmt: skip


def _read_manifest(folder: Path) -> Manifest:
    try:
        return read_manifest((folder / MANIFEST).read_bytes())
    except OSError:
        raise Unsound(
            "It has no manifest: it was not written to its end, or not by this engine."
        ) from None


def _checked(path: Path, sha: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError:
        raise Unsound(f"Its file {path.name} is missing.") from None
    if _sha(content) != sha:
        raise Unsound(f"Its file {path.name} is damaged: it is not what was written.")
    return content


def _decoded(content: bytes, what: str, resolve: Callable[[bytes], Layer] | None = None) -> Any:
    try:
        return decode(content, resolve)
    except Unreadable as error:
        raise Unsound(f"Its {what} cannot be read: {error.sentence}") from None


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _part(number: int) -> str:
    return f"part-{number:04}"


def _listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _folders(home: Path) -> list[Path]:
    """The folders of snapshots in the folder of a job."""
    return [one for one in _listed(home) if one.name.startswith(FOLDERS) and one.is_dir()]


def _below(directory: Path, job: JobGraph | None) -> list[Path]:
    """The folders of snapshots in a directory or one below it, the newest last."""
    folders = _folders(directory)
    for home in _listed(directory):
        if job is None or home.name == identity_of(job)[:SHORT]:
            folders += _folders(home)
    return sorted(folders, key=lambda folder: (_sequence(folder), folder.name))


def _sequence(folder: Path) -> int:
    """Its number; where the manifest cannot be read, that of the checkpoint, which is mostly the same."""
    try:
        manifest = _read_manifest(folder)
        if manifest.folder() == folder.name:
            return manifest.sequence
    except Unsound:
        pass
    number = folder.name.split("-")[1]
    return int(number) if number.isdecimal() else 0
