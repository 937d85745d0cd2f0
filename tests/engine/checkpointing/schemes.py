"""One small job for every scheme: two sources of which each record counts one, and a sum per key."""

from __future__ import annotations

from engine.operators.split import SplitData
from engine.testing import keyed_state

from ..jobs import set_checkpointing
from ..small import act, in_order, job

A, B = "source[0]>count[0]", "source[1]>count[0]"
OUT = "count[0]>out[0]"
CHECKPOINT = {"kind": "checkpoint"}


def counting(first=2, second=2, buffers=8, keys="k", parallelism=1, **checkpointing):
    """A counter of the records of splits a and b, whose keys go round."""

    def build(env):
        env.set_buffers_per_channel(buffers)
        set_checkpointing(env, checkpointing)
        splits = [
            SplitData(name, [(keys[number % len(keys)], 1) for number in range(length)])
            for name, length in (("a", first), ("b", second))
        ]
        stream = env.from_splits(splits, in_order(), "source").set_parallelism(2)
        counted = stream.key_by(lambda value: value[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
        counted.name("count").set_parallelism(parallelism).print("out")

    return job(build)


def counts(recording):
    """key -> count, over all subtasks."""
    held = {}
    for value in keyed_state(recording).values():
        key, count = value.strip("()").split(", ")
        held[key.strip("'")] = int(count)
    return held


def in_snapshot(recording):
    """key -> count in the newest completed checkpoint."""
    parts = recording.runtime.coordinator.storage.latest().parts["count"]
    return {
        key: value[1]
        for part in parts
        for key, value in part.tables.get("reduced", ("value", {}))[1].items()
    }


def saved(recording):
    """link -> values of the records in flight in the newest completed checkpoint."""
    in_flight = recording.runtime.coordinator.storage.latest().in_flight
    return {
        tuple(link): [element[1] for element in elements if element[0] == 0]
        for link, elements in in_flight.items()
    }


def part_of(recording, subtask, checkpoint=1):
    return recording.view()["checkpoints"][str(checkpoint)]["subtasks"][subtask]


def read(recording, source, times=1):
    return act(recording, *[f"read:source[{source}]/{'ab'[source]}"] * times)


def deliver_answers(recording):
    """Everything that the checkpoint in progress still needs behind the sources, and nothing else."""
    wanted = ("ack:", "barrier:", f"take:{OUT}", "trigger:", "upload:")
    while recording.view()["last_completed"] is None:
        action = next(one["id"] for one in recording.possible() if one["id"].startswith(wanted))
        recording.act(action)


def to_the_end(recording):
    while recording.possible():
        recording.act(recording.possible()[0]["id"])
    return recording
