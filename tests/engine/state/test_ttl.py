"""State that lives for a while, on the engine's clock."""

from __future__ import annotations

import pytest

from engine import Policy, Recording
from engine.datastream import (
    KeyedProcessFunction,
    MapStateDescriptor,
    StateTtlConfig,
    StreamExecutionEnvironment,
    Time,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.operators.split import SplitData, Wait
from engine.testing import run_to_idle, written


def ttl(milliseconds=10):
    return StateTtlConfig.new_builder(Time.milliseconds(milliseconds))


class Remember(KeyedProcessFunction):
    """Keeps the last value per key; ("x", None) only reads."""

    def __init__(self, config):
        self.config = config

    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("last")
        descriptor.enable_time_to_live(self.config)
        self.last = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        yield (value[0], self.last.value())
        if value[1] is not None:
            self.last.update(value[1])


class RememberMany(Remember):
    """The same with a map, under one map key per value."""

    def open(self, runtime_context):
        descriptor = MapStateDescriptor("seen")
        descriptor.enable_time_to_live(self.config)
        self.seen = runtime_context.get_map_state(descriptor)

    def process_element(self, value, ctx):
        yield (value[0], tuple(self.seen.keys()))
        if value[1] is not None:
            self.seen.put(value[1], True)


def recording(function, *entries):
    def factory():
        env = StreamExecutionEnvironment()
        splits = [SplitData("s", list(entries))]
        stream = env.from_splits(splits, WatermarkStrategy.no_watermarks(), "source")
        stream.key_by(lambda value: value[0]).process(function).name("keyed").print("out")
        return env.get_job_graph("ttl")

    return Recording(factory, Policy())


def results(function, *entries):
    return written(run_to_idle(recording(function, *entries)))["out[0]"]


READ = ("x", None)


def test_an_expired_value_is_never_returned():
    build = ttl().build()
    assert results(Remember(build), ("x", 1), Wait(9), READ, Wait(2), READ) == [
        ("x", None), ("x", 1), ("x", None),
    ]  # fmt: skip


def test_a_read_keeps_a_value_alive_where_it_is_told_to():
    entries = [("x", 1), Wait(9), READ, Wait(9), READ]
    assert results(Remember(ttl().build()), *entries)[-1] == ("x", None)
    assert results(Remember(ttl().update_ttl_on_read_and_write().build()), *entries)[-1] == ("x", 1)


def test_an_expired_value_may_be_returned_once_more_while_it_is_there():
    build = ttl().return_expired_if_not_cleaned_up().build()
    assert results(Remember(build), ("x", 1), Wait(20), READ, READ) == [
        ("x", None), ("x", 1), ("x", None),
    ]  # fmt: skip


def test_entries_of_a_map_expire_one_by_one():
    entries = [("x", "a"), Wait(6), ("x", "b"), Wait(6), READ]
    assert results(RememberMany(ttl().build()), *entries)[-1] == ("x", ("b",))


def test_without_cleaning_a_value_that_nobody_reads_stays():
    """Visible size 0, physical entries 1."""
    run = recording(Remember(ttl().build()), ("x", 1), Wait(100), ("y", 1), Wait(100))
    run.run_until({"kind": "step", "step": 1000}, 1000)
    assert run.runtime.deployment.subtasks["keyed[0]"].operator.entries() == 2


def test_incremental_cleaning_removes_what_nobody_reads():
    build = ttl().cleanup_incrementally(5, False).build()
    run = recording(Remember(build), ("x", 1), Wait(100), ("y", 1), Wait(100))
    run_to_idle(run)
    assert list(run.view()["subtasks"]["keyed[0]"]["state"]) == ["last/'y'"]


@pytest.mark.parametrize(("clean", "kept"), [(True, {"y"}), (False, {"x", "y"})])
@pytest.mark.parametrize("function", [Remember, RememberMany])
def test_a_snapshot_leaves_expired_values_out_where_it_is_told_to(function, clean, kept):
    builder = ttl().cleanup_full_snapshot() if clean else ttl()
    run = recording(function(builder.build()), ("x", 1), Wait(100), ("y", 1), Wait(5), READ)
    while len(run.view()["subtasks"]["keyed[0]"]["state"]) < 2:
        run.step(1)
    run.apply({"kind": "checkpoint"})
    run_to_idle(run)
    ((tables, _, _),) = run.runtime.coordinator.storage.latest().parts["keyed"]
    name = "last" if function is Remember else "seen"
    assert set(tables[name][1]) == kept


def test_a_time_to_live_of_nothing_is_refused():
    with pytest.raises(Exception, match="greater than 0"):
        ttl(0)
