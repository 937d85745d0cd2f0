"""People let into a stadium, counted per block, with a board at the end that is slower than the gates.

Two gates scan tickets: the north gate has two lanes and is source[0], the south gate has one and is source[1]. Buffers are
small, so that whatever the board has not taken stands in the channels, and barriers behind it.
"""

from typing import NamedTuple

from engine.datastream import StreamExecutionEnvironment, Types, WatermarkStrategy
from engine.datastream.extensions import ScriptedSource, describe, upload_in_steps

BLOCKS = "ABCDEFGH"
SCANS = {"north 1": 120, "south": 120, "north 2": 120}
"""Tickets per lane; lanes are read by the two gates in turn."""


class Entry(NamedTuple):
    """People who have come in for a block: of one ticket, or all of them so far."""

    block: str
    people: int

    def __repr__(self) -> str:
        return f"block {self.block}: {self.people}"


def scans(lane: int, many: int) -> list[Entry]:
    """Tickets for one to four people, the same on every day."""
    return [
        Entry(BLOCKS[(3 * n + 2 * lane + n // 8) % 8], 1 + (7 * n + lane) % 4) for n in range(many)
    ]


def build(env: StreamExecutionEnvironment, parameters: dict, data: str) -> None:
    """Declare the job: `parameters` as in lab.toml; it reads no files."""
    env.set_buffers_per_channel(parameters["buffers"])
    upload_in_steps(env, parameters["upload_bytes"])
    env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(3)

    lanes = ScriptedSource({name: scans(i, many) for i, (name, many) in enumerate(SCANS.items())})
    tickets = env.from_source(lanes, WatermarkStrategy.no_watermarks(), "gate").set_parallelism(2)
    describe(tickets, detail="tickets scanned", brief=lambda entry: str(entry.people))
    counted = (
        tickets.key_by(lambda entry: entry.block, Types.STRING())
        .reduce(lambda so_far, entry: Entry(so_far.block, so_far.people + entry.people))
        .name("count")
        .set_parallelism(2)
    )
    describe(counted, detail="people per block so far", brief=lambda entry: str(entry.people))
    counted.print().name("board").set_parallelism(1)
