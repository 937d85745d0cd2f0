"""Runners on a track: every lap takes one from what is left, and who has laps left goes round again."""

from typing import NamedTuple

from engine.datastream import StreamExecutionEnvironment
from engine.datastream.extensions import describe, iterate

RUNNERS = "ABCDEFGH"
BUFFERS = 4
"""In each channel: eight runners fill a loop of four channels nowhere, so that nobody waits for ever."""


class Runner(NamedTuple):
    """A runner, and the laps that she has left."""

    name: str
    left: int

    def __repr__(self) -> str:
        return f"{self.name}: {self.left} left"


def build(env: StreamExecutionEnvironment, parameters: dict, data: str) -> None:
    """Declare the job: `runners` with `laps` each; it reads no files."""
    env.set_buffers_per_channel(BUFFERS)
    runners = [Runner(name, parameters["laps"]) for name in RUNNERS[: parameters["runners"]]]
    starting = env.from_collection(runners).name("start")
    track = iterate(starting).name("line")
    lap = track.map(lambda runner: Runner(runner.name, runner.left - 1)).name("lap")
    again = lap.filter(lambda runner: runner.left > 0).name("again")
    track.close_with(again)
    home = lap.filter(lambda runner: runner.left <= 0).name("home")
    for stream, detail in (
        (starting, "runners"), (track, "the line"), (lap, "one lap less"),
        (again, "laps left"), (home, "no lap left"),
    ):  # fmt: skip
        describe(stream, detail=detail, brief=lambda runner: f"{runner.name}{runner.left}")
    home.print().name("board")
