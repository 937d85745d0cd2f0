"""The tables of tests/oracles, row by row, and where the oracles are that are too large to be part of the project."""

from __future__ import annotations

import csv
import os
from pathlib import Path

ORACLES = Path(__file__).resolve().parents[1] / "oracles"


def shared_oracles() -> Path:
    """../shared/oracles beside the project, or where STREAMLAB_SHARED_ORACLES points; it may not exist."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "oracles"
    return Path(os.environ.get("STREAMLAB_SHARED_ORACLES", beside))


def rows(name: str) -> list[dict[str, str]]:
    """Every row of an oracle as a dict; an empty file is an error, so that no test passes for want of rows."""
    with (ORACLES / name).open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert found, name
    return found
