"""A backup: a zip of the SQLite database and of a manifest that says what made it.

Lab versions are rows of the database, and everything else under VAR_DIR can be made again, but for the
secret key, which is left out on purpose: whoever gets a backup must not be able to sign cookies.
"""

import contextlib
import errno
import hashlib
import json
import os
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from courses.errors import CourseError

FORMAT = 1
DATABASE, MANIFEST = "database.sqlite3", "manifest.json"
MANIFEST_MAX = 1_000_000


def backup(file: Path) -> int:
    """Write FILE anew, readable by its owner only; returns its bytes. Writers go on meanwhile.

    Raises CourseError backup_elsewhere, OSError where the file exists or cannot be written.
    """
    check_vendor()
    if file.exists():
        raise FileExistsError(errno.EEXIST, "it exists")
    with tempfile.TemporaryDirectory(dir=settings.VAR_DIR) as folder:
        copy = Path(folder) / DATABASE
        with contextlib.closing(sqlite3.connect(copy)) as target:
            connection.ensure_connection()
            connection.connection.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
        manifest = {
            "format": FORMAT,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "migrations": sorted(map(list, MigrationRecorder(connection).applied_migrations())),
            "sha256": digest_of(copy),
        }
        # Appears whole or not at all.
        descriptor, draft = tempfile.mkstemp(dir=file.resolve().parent, prefix=".backup-")
        try:
            with (
                os.fdopen(descriptor, "wb") as out,
                zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
            ):
                archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
                archive.write(copy, DATABASE)
            os.link(draft, file)
        finally:
            os.unlink(draft)
    return file.stat().st_size


def check(file: Path) -> None:
    """Raises CourseError backup_unreadable, backup_newer, backup_elsewhere; OSError."""
    with unpacked(file):
        pass


def restore(file: Path) -> Path:
    """Replace the database by the backup's; returns where the present one is kept. Raises as `check`."""
    with unpacked(file) as copy:
        name = Path(str(connection.settings_dict["NAME"]))
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
        kept = name.with_name(f"{name.name}.before-restore-{stamp}")
        os.close(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        connection.ensure_connection()
        with contextlib.closing(sqlite3.connect(kept)) as before:
            connection.connection.backup(before)
        with contextlib.closing(sqlite3.connect(copy)) as source:
            # Page by page into the open database: its write-ahead log stays right.
            source.backup(connection.connection)
    connections.close_all()
    return kept


@contextlib.contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """The database of a backup that is whole and not newer than this program."""
    check_vendor()
    with tempfile.TemporaryDirectory(dir=settings.VAR_DIR) as folder:
        copy = Path(folder) / DATABASE
        manifest = unpack(file, copy)
        known = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
        unknown = [name for name in manifest["migrations"] if tuple(name) not in known]
        if manifest["format"] > FORMAT or unknown:
            what = (
                ", ".join(".".join(name) for name in unknown[:3]) or f"format {manifest['format']}"
            )
            raise CourseError("backup_newer", place=str(file), file=file.name, unknown=what)
        if manifest["sha256"] != digest_of(copy):
            raise unreadable(file, "its database does not match its checksum.")
        try:
            with contextlib.closing(sqlite3.connect(copy)) as database:
                sound = database.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
        except sqlite3.DatabaseError:
            sound = False
        if not sound:
            raise unreadable(file, "its database is damaged.")
        yield copy


def unpack(file: Path, copy: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(file) as archive:
            entry = archive.getinfo(MANIFEST)
            if entry.file_size > MANIFEST_MAX:
                raise unreadable(file, "its manifest is too long.")
            manifest = json.loads(archive.read(entry))
            with archive.open(DATABASE) as packed, copy.open("wb") as target:
                while chunk := packed.read(1 << 20):
                    target.write(chunk)
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, zlib.error) as error:
        raise unreadable(file, "it is no zip with a manifest and a database.") from error
    if not is_manifest(manifest):
        raise unreadable(file, "its manifest says too little.")
    return dict(manifest)


def is_manifest(manifest: Any) -> bool:
    return (
        isinstance(manifest, dict)
        and type(manifest.get("format")) is int
        and isinstance(manifest.get("sha256"), str)
        and isinstance(manifest.get("migrations"), list)
        and all(
            isinstance(one, list) and len(one) == 2 and all(isinstance(part, str) for part in one)
            for one in manifest["migrations"]
        )
    )


def unreadable(file: Path, sentence: str) -> CourseError:
    return CourseError("backup_unreadable", place=str(file), file=file.name, sentence=sentence)


def check_vendor() -> None:
    if connection.vendor != "sqlite":
        raise CourseError("backup_elsewhere", vendor=connection.display_name)


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
