"""Votes from up to three polling stations, counted per party by one counter or two: small enough to explore every schedule of it.

The votes are another arrangement for each value of `ballots`. Buffers are few, so that barriers have to wait in the line.
"""

from typing import NamedTuple

from engine.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.datastream.extensions import ScriptedSource, describe, snapshot_scheme

STATIONS = ("hall", "school", "library")
PARTIES = ("blue", "green", "red", "white")


class Vote(NamedTuple):
    """One vote."""

    party: str
    station: str

    def __repr__(self) -> str:
        return f"{self.party} ({self.station})"


class Count(KeyedProcessFunction):
    """How many votes a party has so far."""

    def open(self, runtime_context):
        self.votes = runtime_context.get_state(ValueStateDescriptor("votes", Types.INT()))

    def process_element(self, value, ctx):
        count = (self.votes.value() or 0) + 1
        self.votes.update(count)
        yield value.party, count


def votes(number: int, station: str, many: int, parties: int) -> list[Vote]:
    """The votes of one station in the order in which they were cast."""
    draw, found = 6151 * number + 12289 * STATIONS.index(station) + 3, []
    for _ in range(many):
        draw = (1103515245 * draw + 12345) % 2**31
        found.append(Vote(PARTIES[(draw >> 12) % parties], station))
    return found


def build(env: StreamExecutionEnvironment, parameters: dict, data: str) -> None:
    """Declare the job: `parameters` as in lab.toml; it reads no files."""
    snapshot_scheme(env, "aligned")
    env.set_buffers_per_channel(parameters["buffers"])
    env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(3)
    many, parties = parameters["many"], parameters["parties"]
    stations = STATIONS[: parameters["stations"]]
    splits = {name: votes(parameters["ballots"], name, many, parties) for name in stations}
    cast = env.from_source(
        ScriptedSource(splits), WatermarkStrategy.no_watermarks(), "station"
    ).set_parallelism(len(stations))
    describe(cast, detail="votes", brief=lambda vote: vote.party[:2])
    counted = (
        cast.key_by(lambda vote: vote.party, Types.STRING())
        .process(Count())
        .name("count")
        .set_parallelism(parameters["counters"])
    )
    describe(counted, detail="votes per party", brief=lambda result: result[1])
    counted.print().name("board").set_parallelism(1)
