"""Measures of a run: right values on a job of seven records that was worked out by hand, and what ties them to the picture."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Policy, Recording
from engine.datastream import CheckpointingMode
from engine.measures import Checkpoint, Measures, Meter
from engine.operators.split import SplitData

from .jobs import POLICIES
from .laws import LAWS, apply_if_possible
from .small import MANUAL, in_order, job

A, B = "source[0]>count[0]", "source[1]>count[0]"
EXACTLY, AT_LEAST = CheckpointingMode.EXACTLY_ONCE, CheckpointingMode.AT_LEAST_ONCE


def counter(mode):
    """Counts three records of split a and four of split b."""

    def build(env):
        env.get_checkpoint_config().set_checkpointing_mode(mode)
        splits = [SplitData("a", [("k", 1)] * 3), SplitData("b", [("k", 1)] * 4)]
        stream = env.from_splits(splits, in_order(), "source").set_parallelism(2)
        counted = stream.key_by(lambda value: value[0]).reduce(lambda a, b: ("k", a[1] + b[1]))
        counted.name("count").print("out")

    return build


class Measured:
    """A recording and its meter, moved together."""

    def __init__(self, factory, policy=MANUAL, expected=None):
        self.recording = Recording(factory, policy)
        self.meter = Meter(self.recording.view(), expected)

    @property
    def now(self) -> Measures:
        return self.meter.now

    def act(self, *actions):
        for action in actions:
            self.meter.read(self.recording.act(action))
        return self

    def apply(self, **command):
        self.meter.read(self.recording.apply(command))
        return self

    def finish_checkpoint(self):
        while not self.now.completed:
            possible = [one["id"] for one in self.recording.possible()]
            self.act(next(one for one in possible if one.startswith(("ack", "take"))))
        return self

    def to_the_end(self):
        """Whatever is possible first, until nothing is."""
        while possible := self.recording.possible():
            self.act(possible[0]["id"])
        return self


def held_up(mode, expected=None):
    """Barrier 1 comes to count[0] from a, while a's next two records and one of b stand in the queues."""
    run = Measured(job(counter(mode)), expected=expected)
    run.apply(kind="checkpoint")
    run.act("trigger:source[0]", "read:source[0]/a", "read:source[0]/a", "read:source[1]/b")
    return run.act(f"take:{A}")


def test_before_anything_has_happened_every_measure_is_nought():
    run = Measured(job(counter(EXACTLY)))
    assert run.now == Measures(0, 0, 0, 0, 0, {}, {}, 0, 0, 0, 0, 0, 0, 0, None, None)
    assert run.meter.missing() is None


def test_records_behind_a_barrier_are_held_at_every_step_until_the_last_barrier_comes():
    run = held_up(EXACTLY)
    assert (run.now.step, run.now.position, run.now.read) == (6, 3, 3)
    assert (run.now.waiting, run.now.held) == (2, 2)
    assert run.now.blocked == {"count[0]": 1}
    run.act("read:source[0]/a")  # a third record queues up behind the barrier
    assert (run.now.waiting, run.now.held) == (3, 5)
    run.act(f"take:{B}")  # the record of b, which was read before its barrier
    assert (run.now.waiting, run.now.held) == (3, 8)
    run.act("trigger:source[1]")
    assert (run.now.waiting, run.now.held) == (3, 11)
    assert run.now.blocked == {"count[0]": 4}
    while run.recording.view()["channels"][B]["queue"][0]["kind"] != "barrier":
        run.act(f"take:{B}")  # watermarks
    before = run.now
    run.act(f"take:{B}")
    assert (run.now.waiting, run.now.held, run.now.blocked) == (0, before.held, before.blocked)


def test_without_alignment_nothing_is_held():
    run = held_up(AT_LEAST).act("trigger:source[1]").finish_checkpoint()
    assert (run.now.held, run.now.blocked) == (0, {})


def test_bytes_are_those_of_the_snapshots_and_the_checkpoint_knows_its_steps():
    run = held_up(EXACTLY)
    sizes = [
        part["bytes"] for part in run.recording.view()["checkpoints"]["1"]["subtasks"].values()
    ]
    assert sizes.count(0) == 3  # one snapshot so far, that of source[0]
    assert run.now.saved == sum(sizes) > 0
    assert run.now.checkpoints == {
        1: Checkpoint("checkpoint", "triggered", 1, None, run.now.saved, 0)
    }
    run.act("trigger:source[1]").finish_checkpoint()
    shown = run.recording.view()["checkpoints"]["1"]
    entry = run.now.checkpoints[1]
    assert entry == Checkpoint("checkpoint", "completed", 1, run.now.step, shown["bytes"], 0)
    assert run.now.saved == shown["bytes"]


def test_a_failure_aborts_opens_the_gates_and_makes_the_sources_read_again():
    run = held_up(EXACTLY).apply(kind="fail", subtask="count[0]")
    assert (run.now.failures, run.now.aborted, run.now.completed) == (1, 1, 0)
    assert (run.now.waiting, run.now.held) == (0, 2)
    assert run.now.checkpoints[1].status == "aborted"
    run.act("restart").to_the_end()
    assert run.now.position == 7  # three and four: no split is counted twice
    assert run.now.read == 7 + 3  # the three from before the failure were read again


UNDISTURBED = {"out": {f"('k', {n})": 1 for n in range(1, 8)}}


def test_results_are_compared_as_multisets():
    """At least once: two records behind the barrier are in the snapshot and read again, so seven records are counted as nine."""
    run = held_up(AT_LEAST, UNDISTURBED)
    run.act(f"take:{A}", f"take:{A}", f"take:{A}")  # a record, a watermark, a record
    run.act("trigger:source[1]").finish_checkpoint()
    run.apply(kind="fail", subtask="count[0]").to_the_end()
    assert run.meter.results == {"out": {f"('k', {n})": 1 for n in range(1, 10)}}
    assert (run.now.read, run.now.written) == (9, 9)
    assert (run.now.repeated, run.now.foreign, run.meter.missing()) == (0, 2, 0)


def test_a_result_that_a_sink_writes_again_after_a_failure_is_repeated():
    """Exactly once is about state: without a checkpoint the first two counts are made, and written, twice."""
    run = Measured(job(counter(EXACTLY)), expected=UNDISTURBED)
    run.act("read:source[0]/a", "read:source[0]/a", f"take:{A}", f"take:{A}", f"take:{A}")
    run.act("take:count[0]>out[0]", "take:count[0]>out[0]")
    assert run.now.written == 2
    run.apply(kind="fail", subtask="count[0]").to_the_end()
    assert (run.now.written, run.now.repeated, run.now.foreign) == (9, 2, 0)
    assert run.meter.missing() == 0


def test_what_a_run_has_not_written_yet_is_missing():
    run = Measured(job(counter(EXACTLY)), expected=UNDISTURBED)
    assert run.meter.missing() == 7
    run.to_the_end()
    assert (run.meter.missing(), run.now.repeated, run.now.foreign) == (0, 0, 0)


COMMANDS = st.sampled_from(
    [
        {"kind": "checkpoint"},
        {"kind": "fail", "subtask": "count[0]"},
        {"kind": "rescale", "operator": "count", "parallelism": 2},
        {"kind": "rescale", "operator": "source", "parallelism": 1},
    ]
)


@pytest.mark.parametrize("mode", [EXACTLY, AT_LEAST])
@LAWS
@given(POLICIES, st.lists(st.tuples(st.integers(1, 12), COMMANDS), max_size=4))
def test_held_records_are_those_that_the_picture_shows_behind_gates(mode, policy, plan):
    recording = Recording(job(counter(mode)), Policy(*policy))
    meter = Meter(recording.view())
    held = 0

    def check(trace):
        nonlocal held
        now, view = meter.read(trace), recording.view()
        waiting = sum(
            element["kind"] == "record"
            for subtask in view["subtasks"].values()
            for name, shown in subtask["inputs"].items()
            if shown["blocked"]
            for element in view["channels"][name]["queue"]
        )
        held += waiting
        assert (now.waiting, now.held) == (waiting, held)
        assert now.checkpoints.keys() == {int(number) for number in view["checkpoints"]}

    for steps, command in [*plan, (300, None)]:
        for _ in range(steps):
            for trace in recording.step(1, events=True):
                check(trace)
        if command and (trace := apply_if_possible(recording, command)):
            check(trace)
    assert recording.view()["job"]["state"] == "finished"
    assert meter.now.position == 7


def scheme(name):
    """The counting job of seven records under another snapshot scheme."""

    def factory():
        graph = job(counter(EXACTLY))()
        return replace(graph, checkpointing=graph.checkpointing._replace(scheme=name))

    return factory


def test_an_unaligned_snapshot_saves_what_its_barrier_overtook():
    run = Measured(scheme("unaligned"))
    run.act("read:source[0]/a", "read:source[0]/a")
    run.apply(kind="checkpoint").act("trigger:source[0]", f"barrier:{A}")
    parts = run.recording.view()["checkpoints"]["1"]["subtasks"]
    assert parts["count[0]"]["saved"] == 3  # two records, and the watermark between them
    assert run.now.in_flight == parts["count[0]"]["saved_bytes"] > 0
    state = parts["count[0]"]["bytes"] + parts["source[0]"]["bytes"]
    assert run.now.saved == state + run.now.in_flight
    entry = run.now.checkpoints[1]
    assert (entry.state, entry.in_flight) == (state, run.now.in_flight)
    run.to_the_end()
    assert (run.now.held, run.now.blocked, run.now.completed) == (0, {}, 1)


def test_stopping_the_world_pauses_the_sources_until_all_is_copied():
    run = Measured(scheme("stop_the_world"))
    run.act("read:source[0]/a", "read:source[0]/a")
    assert run.now.paused == 0
    run.apply(kind="checkpoint")
    began = run.now.step
    while not run.now.completed:
        assert run.now.paused == run.now.step - began + 1
        run.act(run.recording.possible()[0]["id"])
    assert run.now.paused == run.now.step - began
    assert (run.now.held, run.now.in_flight) == (0, 0)
    ended = run.now.paused
    assert run.to_the_end().now.paused == ended
