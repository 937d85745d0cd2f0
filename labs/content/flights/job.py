"""Flights and mean delay per carrier and hour, over real departures.

Three partitions, one per airport, read by two source subtasks. A record arrives when its flight departs; its event time
is when the flight was scheduled to. Cancelled flights have no departure: the source skips and counts them.
"""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

from engine.datastream import (
    AggregateFunction,
    Duration,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    TumblingEventTimeWindows,
    Types,
    WatermarkStrategy,
)
from engine.datastream.extensions import CsvSource, SkipRow, describe

NEW_YORK = timezone(timedelta(hours=-5))


class Flight(NamedTuple):
    """One departure. Times in milliseconds since 1970, delay in minutes."""

    carrier: str
    number: int
    destination: str
    scheduled: int
    delay: int

    def __repr__(self) -> str:
        return f"{self.carrier} {self.number} to {self.destination}, {self.delay:+d} min"


def parse(row: dict[str, str]) -> Flight:
    if not row["departed_ms"]:
        raise SkipRow(f"{row['carrier']} {row['flight']} was cancelled")
    return Flight(
        row["carrier"],
        int(row["flight"]),
        row["dest"],
        int(row["scheduled_ms"]),
        int(row["dep_delay"]),
    )


class Scheduled(TimestampAssigner):
    """Event time is the scheduled departure."""

    def extract_timestamp(self, value: Flight, record_timestamp: int) -> int:
        return value.scheduled


class Totals(NamedTuple):
    """What a window holds: how many flights, and the sum of their delays in minutes."""

    flights: int
    delay: int

    def __repr__(self) -> str:
        many = "flight" if self.flights == 1 else "flights"
        return f"{self.flights} {many}, {self.delay:+d} min"


class Hour(NamedTuple):
    """A result: a carrier's flights in the hour that begins then, and their mean delay in minutes."""

    carrier: str
    begins: str
    flights: int
    delay: float

    def __repr__(self) -> str:
        many = "flight" if self.flights == 1 else "flights"
        return f"{self.carrier} {self.begins}: {self.flights} {many}, mean {self.delay:+.1f} min"


class CountAndDelay(AggregateFunction):
    """Flights and mean delay."""

    def create_accumulator(self) -> Totals:
        return Totals(0, 0)

    def add(self, value: Flight, accumulator: Totals) -> Totals:
        return Totals(accumulator.flights + 1, accumulator.delay + value.delay)

    def get_result(self, accumulator: Totals) -> tuple[int, float]:
        return accumulator.flights, round(accumulator.delay / accumulator.flights, 1)

    def merge(self, acc_a: Totals, acc_b: Totals) -> Totals:
        return Totals(acc_a.flights + acc_b.flights, acc_a.delay + acc_b.delay)


class PerHour(ProcessWindowFunction):
    """Puts the carrier and the hour to the result."""

    def process(self, key, context, elements):
        for flights, delay in elements:
            start = datetime.fromtimestamp(context.window().start / 1000, NEW_YORK)
            yield Hour(key, f"{start.day} Feb {start:%H:%M}", flights, delay)


def build(env: StreamExecutionEnvironment, parameters: dict, data: str) -> None:
    """Declare the job: `parameters` as in lab.toml, `data` the folder with the three files."""
    files = [Path(data) / f"{airport}.csv" for airport in ("EWR", "JFK", "LGA")]
    bound = Duration.of_minutes(parameters["out_of_orderness_minutes"])
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound).with_timestamp_assigner(
        Scheduled()
    )
    departures = env.from_source(CsvSource(files, parse), strategy, "source").set_parallelism(2)
    describe(departures, detail="departures", brief=lambda flight: flight.carrier)
    per_hour = (
        departures.key_by(lambda flight: flight.carrier, Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.hours(1)))
        .aggregate(CountAndDelay(), PerHour())
        .name("window")
        .set_parallelism(3)
    )
    describe(
        per_hour, detail="tumbling 1 h, count and mean delay", brief=lambda hour: str(hour.flights)
    )
    per_hour.print().name("sink").set_parallelism(1)
