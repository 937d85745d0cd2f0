"""Up to three sensors report to one counter per room. Event time is a plain number of milliseconds, so that it can be done in the head.

Each record is followed by a watermark of its own: its timestamp minus the bound minus one. The readings are another
arrangement for each value of `readings`.
"""

from typing import NamedTuple

from engine.datastream import (
    AggregateFunction,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    TumblingEventTimeWindows,
    Types,
)
from engine.datastream.extensions import ScriptedSource, describe, punctuated

SENSORS = ("north", "south", "east")
ROOMS = "AB"
SIZE = 10


class Reading(NamedTuple):
    """One report of a sensor about a room."""

    room: str
    time: int

    def __repr__(self) -> str:
        return f"{self.room} at {self.time}"


class WhenMeasured(TimestampAssigner):
    """Event time is the time of the measurement."""

    def extract_timestamp(self, value: Reading, record_timestamp: int) -> int:
        return value.time


class Count(AggregateFunction):
    """How many readings."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Reading, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def measured(sensor: int, parameters: dict) -> list[Reading]:
    """The readings of one sensor, a few ms apart; some of the north sensor come 4 to 12 ms too late, those of the others never."""
    draw = 7919 * parameters["readings"] + 104729 * sensor + 1
    now, found = 1 + draw % 3, []
    for _ in range(parameters["many"]):
        draw = (1103515245 * draw + 12345) % 2**31
        late = sensor == 0 and (draw >> 8) % 100 < parameters["disorder"]
        time = max(0, now - 4 - (draw >> 16) % 9) if late else now
        found.append(Reading(ROOMS[(draw >> 12) % 2], time))
        now += parameters["apart"] + (draw >> 20) % 5
    return found


def build(env: StreamExecutionEnvironment, parameters: dict, data: str) -> None:
    """Declare the job: `parameters` as in lab.toml; it reads no files."""
    bound, names = parameters["bound"], SENSORS[: parameters["sensors"]]
    splits = {name: measured(sensor, parameters) for sensor, name in enumerate(names)}
    strategy = punctuated(lambda value, timestamp: timestamp - bound - 1)
    readings = env.from_source(
        ScriptedSource(splits), strategy.with_timestamp_assigner(WhenMeasured()), "sensor"
    ).set_parallelism(len(names))
    describe(readings, detail="readings", brief=lambda reading: reading.time)
    counts = (
        readings.key_by(lambda reading: reading.room, Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(SIZE)))
        .allowed_lateness(parameters["allowed_lateness"])
        .aggregate(Count())
        .name("window")
        .set_parallelism(1)
    )
    describe(counts, detail="readings per room and 10 ms", brief=lambda count: count)
    counts.print().name("sink").set_parallelism(1)
