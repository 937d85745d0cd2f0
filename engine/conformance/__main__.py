"""`python -m engine.conformance FILE...`: passed, failed and unsupported per file; exit status 1 on any failure."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from engine.conformance import (
    barriers,
    beam,
    chandy_lamport,
    channel_state,
    operator_state,
    simple,
    window_cases,
)
from engine.conformance.report import Outcome, Report

Reader = Callable[[str], list[Outcome]]

MALFORMED = (LookupError, TypeError, AttributeError, ArithmeticError)
"""What a reader runs into where a file has another shape than its format."""

CSV_READERS: tuple[tuple[str, Reader], ...] = (
    ("windows_start_end", simple.window_assignment),
    ("start_key_group", simple.key_group_ranges),
    ("key_type", simple.key_groups),
    ("default_max_parallelism", simple.default_max_parallelisms),
    ("flink_murmur", simple.murmur_hashes),
    ("key_group", simple.operator_indexes),
)
"""A column that tells what a CSV file holds, the most telling first."""

JSON_READERS: tuple[tuple[str, Reader], ...] = (
    ("topology", chandy_lamport.run_file),
    ("distinct_states", chandy_lamport.state_spaces),
    ("cases", window_cases.run_file),
    ("merges", simple.session_merges),
    ("transcript", beam.run_file),
    ("latest_checkpoint", barriers.run_file),
    ("old_counts", operator_state.run_file),
    ("new_to_old", channel_state.rescales),
    ("sequences", channel_state.in_flight),
    ("channels", simple.valve_scripts),
)
"""A field, of the file or of its first entry or case, that tells what a JSON file holds; the most telling first."""


def reader_of(path: str) -> Reader | None:
    """The reader for a file, by what it holds and not by its name."""
    with open(path, encoding="utf-8") as file:
        if path.endswith(".csv"):
            columns = file.readline().strip().split(",")
            return next((reader for column, reader in CSV_READERS if column in columns), None)
        content = json.load(file)
    first = content if isinstance(content, dict) else content[0] if content else {}
    if not isinstance(first, dict):
        return None
    cases = first.get("cases")
    case = cases[0] if isinstance(cases, list) and cases else {}
    fields = {*first, *(case if isinstance(case, dict) else ())}
    return next((reader for name, reader in JSON_READERS if name in fields), None)


def run(path: str) -> Report:
    """The report on one file; a file in no known format is one unsupported case."""
    reader = reader_of(path)
    name = path.rpartition("/")[2]
    if reader is None:
        return Report(name, [Outcome(name, unsupported="this is no format that the runner knows")])
    try:
        return Report(name, reader(path))
    except MALFORMED as error:
        told = f"a field is missing or of another kind than its format says ({type(error).__name__}: {error})"
        return Report(name, [Outcome(name, told)])


def main(paths: list[str]) -> int:
    if not paths:
        print("Usage: python -m engine.conformance FILE...")
        return 2
    failed = False
    for path in paths:
        try:
            report = run(path)
        except (OSError, ValueError) as error:
            print(f"{path}: cannot be read: {error}")
            failed = True
            continue
        print(report.text())
        failed = failed or bool(report.failed())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
