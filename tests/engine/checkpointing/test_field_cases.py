"""Field cases on snapshots: what went wrong elsewhere, with the right values. Those on unaligned barriers and loops wait for them."""

from __future__ import annotations

import pytest

from engine import Policy, Recording
from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.network_text import read_network
from engine.datastream import CheckpointingMode
from engine.operators.split import SplitData
from engine.testing import keyed_state, run_to_idle, trace_digest

from ..small import MANUAL, act, in_order, job

A, B = "source[0]>count[0]", "source[1]>count[0]"


def two_channels(mode):
    """A: a1 a2, B: b1 b2, into one counter."""

    def build(env):
        env.get_checkpoint_config().set_checkpointing_mode(mode)
        records = [("k", 1)] * 2
        splits = [SplitData("a", records), SplitData("b", records)]
        stream = env.from_splits(splits, in_order(), "source").set_parallelism(2)
        counted = stream.key_by(lambda value: value[0]).reduce(lambda a, b: ("k", a[1] + b[1]))
        counted.name("count").print("out")

    return job(build)


def complete(recording):
    """Deliver what the checkpoint still needs, and nothing else."""
    while recording.view()["last_completed"] is None:
        wanted = [one["id"] for one in recording.possible()]
        wanted = [one for one in wanted if one.startswith(("ack", "take:count"))] or wanted
        recording.act(wanted[0])


def snapshot_of(recording, operator):
    (part,) = recording.runtime.coordinator.storage.latest().parts[operator]
    return part.tables["reduced"][1]["k"][1]


def test_f36_a_message_in_a_channel_is_part_of_the_snapshot():
    network = read_network(
        """
        process N1 1
        process N2 0
        link N1 <-> N2
        send N1 -> N2 1
        snapshot N2
        deliver N2 -> N1
        deliver N1 -> N2
        deliver N1 -> N2
        """
    )
    system = ChandyLamport(network)
    system.run(network.script)
    recorded = system.recorded_state(1)
    assert recorded.tokens == {"N1": 0, "N2": 0}
    assert list(recorded.links.values()) == [(1,)]
    assert recorded.total() == 1


@pytest.mark.parametrize(
    ("mode", "in_snapshot", "final"),
    [(CheckpointingMode.EXACTLY_ONCE, 3, 4), (CheckpointingMode.AT_LEAST_ONCE, 4, 5)],
)
def test_f37_at_least_once_counts_a_record_twice_after_a_restore(mode, in_snapshot, final):
    """a1, the barrier of A, a2, b1, b2, the barrier of B; then a crash."""
    recording = Recording(two_channels(mode), MANUAL)
    act(recording, "read:source[0]/a", f"take:{A}", f"take:{A}")
    recording.apply({"kind": "checkpoint"})
    act(recording, "trigger:source[0]", f"take:{A}", "read:source[0]/a")
    if mode == CheckpointingMode.AT_LEAST_ONCE:
        act(recording, f"take:{A}")
    act(recording, "read:source[1]/b", "read:source[1]/b", *[f"take:{B}"] * 3)
    act(recording, "trigger:source[1]", f"take:{B}")
    complete(recording)
    assert snapshot_of(recording, "count") == in_snapshot

    recording.apply({"kind": "fail", "subtask": "count[0]"})
    while recording.possible():
        recording.act(recording.possible()[0]["id"])
    assert list(keyed_state(recording).values()) == [f"('k', {final})"]


def test_f41_a_snapshot_holds_no_update_made_after_its_barrier():
    """The copy is under way to the coordinator while the state goes on."""

    def build(env):
        env.from_collection([("k", 1), ("k", 1)]).key_by(lambda value: value[0]).reduce(
            lambda a, b: ("k", a[1] + b[1])
        ).name("count").print("out")

    recording = Recording(job(build), MANUAL)
    act(recording, "read:source[0]/collection", "take:source[0]>count[0]")
    recording.apply({"kind": "checkpoint"})
    act(recording, "trigger:source[0]", "take:source[0]>count[0]")
    act(recording, "read:source[0]/collection", "take:source[0]>count[0]")
    assert list(keyed_state(recording).values()) == ["('k', 2)"]
    complete(recording)
    assert snapshot_of(recording, "count") == 1


def test_f60_the_same_seed_gives_the_same_log():
    digests = set()
    for _ in range(3):
        recording = Recording(two_channels(CheckpointingMode.EXACTLY_ONCE), Policy("random"), 7)
        steps = recording.step(5, events=True)
        steps.append(recording.apply({"kind": "checkpoint"}))
        steps += recording.step(200, events=True)
        digests.add(trace_digest(steps))
    assert len(digests) == 1
    other = run_to_idle(
        Recording(two_channels(CheckpointingMode.EXACTLY_ONCE), Policy("random"), 8)
    )
    assert other.view()["job"]["state"] == "finished"
