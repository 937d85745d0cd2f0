"""Waves of flights to the same city: sessions over three airports, one of which falls silent for hours.

The feeds are scripted: every ten minutes of the engine's clock bring the flights that have departed since. What LaGuardia
would have sent between nine and one is held up, and comes at one.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from engine.datastream import (
    Duration,
    EventTimeSessionWindows,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    Types,
    WatermarkStrategy,
)
from engine.datastream.extensions import ScriptedSource, Wait, describe

MINUTE = 60_000
DAY_BEGINS = 1360213200000  # 7 February 2013, 00:00 in New York
FIRST = 5 * 60 + 50  # minutes of the day
EVERY = 10
SILENT = "LGA"
SILENCE = (9 * 60, 13 * 60)
BOUND = Duration.of_minutes(30)


class Flight(NamedTuple):
    """One departure; scheduled in milliseconds since 1970."""

    city: str
    airport: str
    carrier: str
    number: int
    scheduled: int

    def __repr__(self) -> str:
        return f"{self.carrier} {self.number}, {self.airport} to {self.city}"


class Scheduled(TimestampAssigner):
    """Event time is the scheduled departure."""

    def extract_timestamp(self, value: Flight, record_timestamp: int) -> int:
        return value.scheduled


def feed(path: Path) -> Iterator[Flight | Wait]:
    """The flights of one airport in the order of departure, with waits between what arrives together."""
    now = FIRST
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            departed = (int(row["departed_ms"]) - DAY_BEGINS) // MINUTE
            if path.stem == SILENT and SILENCE[0] <= departed < SILENCE[1]:
                departed = SILENCE[1]
            arrives = departed + -departed % EVERY
            if arrives > now:
                yield Wait((arrives - now) * MINUTE)
                now = arrives
            yield Flight(
                row["dest"],
                path.stem,
                row["carrier"],
                int(row["flight"]),
                int(row["scheduled_ms"]),
            )


class Wave(ProcessWindowFunction):
    """(city, first and last scheduled departure, flights)."""

    def process(self, key, context, elements):
        times = sorted(flight.scheduled for flight in elements)
        yield key, clock(times[0]), clock(times[-1]), len(times)


def clock(milliseconds: int) -> str:
    minutes = (milliseconds - DAY_BEGINS) // MINUTE
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def build(env: StreamExecutionEnvironment, parameters: dict, data: str) -> None:
    """Declare the job: `parameters` as in lab.toml, `data` the folder with the three files."""
    env.get_config().set_auto_watermark_interval(EVERY * MINUTE)
    feeds = {
        airport: list(feed(Path(data) / f"{airport}.csv")) for airport in ("EWR", "JFK", "LGA")
    }
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(BOUND).with_timestamp_assigner(
        Scheduled()
    )
    if parameters["idle_timeout_minutes"]:
        strategy = strategy.with_idleness(Duration.of_minutes(parameters["idle_timeout_minutes"]))
    departures = env.from_source(ScriptedSource(feeds), strategy, "source").set_parallelism(2)
    describe(departures, detail="departures", brief=lambda flight: flight.city)
    waves = (
        departures.key_by(lambda flight: flight.city, Types.STRING())
        .window(EventTimeSessionWindows.with_gap(Time.minutes(parameters["gap_minutes"])))
        .allowed_lateness(parameters["allowed_lateness_minutes"] * MINUTE)
        .process(Wave())
        .name("window")
        .set_parallelism(2)
    )
    describe(waves, detail="sessions, flights per wave", brief=lambda result: result[3])
    waves.print().name("sink").set_parallelism(1)
