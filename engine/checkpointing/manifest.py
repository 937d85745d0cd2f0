"""The manifest of a stored snapshot, as bytes: what it is, and the SHA-256 of every file that belongs to it.

The first line is the SHA-256 of the rest, which is JSON. A name of a file never comes out of a manifest: parts are counted,
and layers are named by their content.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, NamedTuple

from engine.errors import InvalidJob
from engine.version import ENGINE_VERSION

FORMAT = 1
KINDS = ("checkpoint", "savepoint")
_SHA = re.compile(r"[0-9a-f]{64}\Z")


class Unsound(InvalidJob):
    """A stored snapshot cannot be used."""

    def __init__(self, sentence: str) -> None:
        super().__init__("checkpoint_refused", sentence)


class StoredOperator(NamedTuple):
    """As `SavedOperator`, with the SHA-256 of each part instead of the parts."""

    uid: str
    kind: str
    shape: str
    key_type: str | None
    max_parallelism: int
    parts: tuple[str, ...]


class Manifest(NamedTuple):
    """sequence: its number among the snapshots of this job in the directory, from 1; it tells which is newer.

    layers: the SHA-256 of the shared files that the parts refer to. in_flight: that of the part with what was in the channels,
    which is the last one.
    """

    sequence: int
    checkpoint: int
    kind: str
    job: str
    identity: str
    engine: int
    operators: tuple[StoredOperator, ...]
    layers: tuple[str, ...]
    in_flight: str

    def folder(self) -> str:
        """The name of its folder: the same for the same content, whenever it is written."""
        content = hashlib.sha256(self._replace(sequence=0).written()).hexdigest()
        return f"{'chk' if self.kind == 'checkpoint' else 'savepoint'}-{self.checkpoint}-{content[:16]}"

    def written(self) -> bytes:
        body = json.dumps({"format": FORMAT, **self._asdict()}, sort_keys=True).encode()
        return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def read_manifest(data: bytes) -> Manifest:
    """The manifest that was written as `data`; Unsound says what is wrong with it."""
    digest, _, body = data.partition(b"\n")
    if digest != hashlib.sha256(body).hexdigest().encode():
        raise Unsound("Its manifest is damaged or was not written to its end.")
    try:
        return _manifest(json.loads(body))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unsound("Its manifest does not say what a manifest says.") from None


def _manifest(found: dict[str, Any]) -> Manifest:
    if found["format"] != FORMAT:
        raise Unsound(f"It is written in format {found['format']!r}, and this is format {FORMAT}.")
    if found["engine"] != ENGINE_VERSION:
        raise Unsound(
            f"It was written by version {found['engine']} of the engine, and this is version {ENGINE_VERSION}."
        )
    operators = tuple(
        StoredOperator(
            _is(str, one[0]),
            _is(str, one[1]),
            _is(str, one[2]),
            None if one[3] is None else _is(str, one[3]),
            _is(int, one[4]),
            tuple(map(_sha, one[5])),
        )
        for one in found["operators"]
    )
    if found["kind"] not in KINDS:
        raise ValueError(found["kind"])
    return Manifest(
        _is(int, found["sequence"]),
        _is(int, found["checkpoint"]),
        found["kind"],
        _is(str, found["job"]),
        _is(str, found["identity"]),
        _is(int, found["engine"]),
        operators,
        tuple(map(_sha, found["layers"])),
        _sha(found["in_flight"]),
    )


def _is(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(value)
    return value


def _sha(value: Any) -> str:
    if not _SHA.match(value):
        raise ValueError(value)
    return str(value)
