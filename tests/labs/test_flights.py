"""The committed flight records are what SOURCE.md says they are."""

import csv
import re
from pathlib import Path

import pytest

from labs.catalog import CONTENT
from scripts.make_flights import COLUMNS, Flight, disorder_of

DATA = CONTENT / "flights" / "data"
ORIGINS = ("EWR", "JFK", "LGA")


def read(origin: str) -> list[Flight]:
    with (DATA / f"{origin}.csv").open(encoding="utf-8", newline="") as file:
        return [
            Flight(
                origin,
                int(row["scheduled_ms"]),
                int(row["departed_ms"]) if row["departed_ms"] else None,
                row["carrier"],
                int(row["flight"]),
                row["dest"],
            )
            for row in csv.DictReader(file)
        ]


def stated() -> dict[str, list[str]]:
    """The rows of the table of counts: part -> cells."""
    rows = re.findall(r"^\| (.+) \|$", (DATA / "SOURCE.md").read_text(encoding="utf-8"), re.M)
    cells = [row.split(" | ") for row in rows]
    return {row[0]: row[1:] for row in cells if len(row) == 6 and row[0] != "part"}


def counted(flights: list[Flight]) -> list[str]:
    found = disorder_of(flights)
    return [
        f"{len(flights):,}",
        f"{sum(flight.departed_ms is None for flight in flights):,}",
        f"{found.percent} %",
        f"{found.median_minutes} min",
        f"{found.p99_minutes} min",
    ]


def test_the_counts_are_those_that_are_stated() -> None:
    parts = {origin: read(origin) for origin in ORIGINS}
    parts["all"] = [flight for flights in parts.values() for flight in flights]
    assert {name: counted(flights) for name, flights in parts.items()} == {
        name: cells for name, cells in stated().items() if name in parts
    }


def test_the_year_is_the_one_that_the_disorder_is_known_from() -> None:
    assert stated()["the whole year"] == ["336,776", "8,255", "58.8 %", "3 min", "180 min"]


@pytest.mark.parametrize("origin", ORIGINS)
def test_rows_stand_in_the_order_of_their_arrival(origin: str) -> None:
    flights = read(origin)
    assert flights == sorted(flights, key=lambda flight: flight.arrival_order)


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_row_agrees_with_itself_and_only_cancelled_flights_have_holes(origin: str) -> None:
    with (DATA / f"{origin}.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        assert tuple(reader.fieldnames or ()) == COLUMNS
        for row in reader:
            if row["departed_ms"] == "":
                assert row["dep_delay"] == ""
            else:
                delay_ms = int(row["departed_ms"]) - int(row["scheduled_ms"])
                assert delay_ms == int(row["dep_delay"]) * 60_000


def test_the_records_stay_small() -> None:
    assert sum(path.stat().st_size for path in Path(DATA).iterdir()) <= 1_000_000
