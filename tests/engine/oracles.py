"""The tables of tests/oracles, row by row."""

from __future__ import annotations

import csv
from pathlib import Path

ORACLES = Path(__file__).resolve().parents[1] / "oracles"


def rows(name: str) -> list[dict[str, str]]:
    """Every row of an oracle as a dict; an empty file is an error, so that no test passes for want of rows."""
    with (ORACLES / name).open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert found, name
    return found
