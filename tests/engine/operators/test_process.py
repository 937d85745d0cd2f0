"""Process functions: state by value, timers, side outputs, and bounds on what never ends."""

from __future__ import annotations

import pytest

from engine import Policy, Recording
from engine.datastream import (
    KeyedProcessFunction,
    MapFunction,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    Time,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
)
from engine.operators import keyed as keyed_operators
from engine.operators import map as map_module
from engine.operators import process as process_module
from engine.operators.split import SplitData
from engine.testing import run_job, run_to_idle, written

from ..small import in_order, job, results, state_of, step_and_fold

VALUE, MAP = ValueStateDescriptor("value"), MapStateDescriptor("map")


def run(function, values=("a", "b", "a"), timestamps=False):
    """Results of a keyed process function over `values`, each its own key; or over (key, timestamp)."""

    def build(env):
        if timestamps:
            stream = env.from_splits([SplitData("s", list(values))], in_order(), "source")
            stream = stream.key_by(lambda value: value[0])
        else:
            stream = env.from_collection(list(values)).key_by(lambda value: value)
        stream.process(function()).print("out")

    recording = run_job(job(build))
    assert state_of(recording) == "finished", recording.view()["job"]["reason"]
    return results(recording)


class Keyed(KeyedProcessFunction):
    def open(self, runtime_context):
        self.value = runtime_context.get_state(VALUE)
        self.map = runtime_context.get_map_state(MAP)


# State by value


def test_a_mutation_without_update_is_lost():
    class Forgets(Keyed):
        def process_element(self, value, ctx):
            if self.value.value() is None:
                self.value.update([])
            self.value.value().append(value)
            yield self.value.value()

    assert run(Forgets) == [[], [], []]


def test_a_mutation_after_update_is_lost():
    class Late(Keyed):
        def process_element(self, value, ctx):
            held = [value]
            self.value.update(held)
            held.append("later")
            yield self.value.value()

    assert run(Late) == [["a"], ["b"], ["a"]]


def test_a_mutation_that_is_written_back_is_kept():
    class Keeps(Keyed):
        def process_element(self, value, ctx):
            held = self.value.value() or []
            held.append(value)
            self.value.update(held)
            yield held

    assert run(Keeps) == [["a"], ["b"], ["a", "a"]]


def test_a_map_entry_is_kept_by_value_too():
    class Entries(Keyed):
        def process_element(self, value, ctx):
            held = self.map.get("list") or []
            self.map.put("list", held)
            held.append(value)
            for _, entry in self.map.items():
                entry.append("lost")
            yield self.map.get("list")

    assert run(Entries) == [[], [], []]


def test_what_was_yielded_can_be_changed_without_harm():
    class Yields(Keyed):
        def process_element(self, value, ctx):
            result = [value]
            yield result
            result.append("later")
            yield result

    assert run(Yields, ["a"]) == [["a"], ["a", "later"]]


def test_each_receiver_of_a_mutable_value_has_its_own():
    class Spoils(MapFunction):
        def map(self, value):
            value.append("spoiled")
            return value

    def build(env):
        stream = env.from_collection([[1], [2]]).broadcast().map(lambda value: value)
        stream.set_parallelism(2)
        stream.map(Spoils()).set_parallelism(2).print("spoiled")
        stream.print("clean").set_parallelism(2)

    recording = run_job(job(build), Policy("random", 3), 1)
    out = written(recording)
    assert out["clean[0]"] == out["clean[1]"] == [[1], [2]]
    assert sorted(out["spoiled[0]"]) == [
        [1, "spoiled"],
        [1, "spoiled"],
        [2, "spoiled"],
        [2, "spoiled"],
    ]


def test_the_data_of_a_source_is_not_changed_by_those_who_read_it():
    entries = [["a"], ["b"]]

    def spoil(value):
        value.append("spoiled")
        return value

    def build(env):
        env.from_splits([SplitData("s", entries)], in_order_without_time(), "source").map(
            spoil
        ).print("out")

    assert results(run_job(job(build))) == [["a", "spoiled"], ["b", "spoiled"]]
    assert entries == [["a"], ["b"]]


def in_order_without_time():
    from engine.datastream import WatermarkStrategy

    return WatermarkStrategy.no_watermarks()


def test_one_true_and_one_point_zero_have_states_of_their_own():
    class Counts(Keyed):
        def process_element(self, value, ctx):
            self.value.update((self.value.value() or 0) + 1)
            self.map.put(value, True)
            yield (ctx.get_current_key(), self.value.value())

    out = run(Counts, [1, True, 1.0, 1])
    assert [(type(key), count) for key, count in out] == [(int, 1), (bool, 1), (float, 1), (int, 2)]


def test_map_state_behaves_as_a_map():
    class Uses(Keyed):
        def process_element(self, value, ctx):
            entries = self.map
            assert entries.is_empty()
            entries.put_all({"x": 1, "y": 2})
            entries["z"] = 3
            del entries["y"]
            entries.remove("never there")
            assert "x" in entries
            assert not entries.contains("y")
            assert entries.get("y") is None
            yield (sorted(entries), sorted(entries.keys()), sorted(entries.values()))
            entries.clear()
            assert entries.is_empty()

    assert run(Uses, ["a"]) == [(["x", "z"], ["x", "z"], [1, 3])]


def test_updating_with_none_clears():
    class Clears(Keyed):
        def process_element(self, value, ctx):
            self.value.update(1)
            self.value.update(None)
            yield self.value.value()

    def build(env):
        env.from_collection(["a"]).key_by(lambda value: value).process(Clears()).print("out")

    picture = step_and_fold(Recording(job(build)))
    assert picture["subtasks"]["process[0]"]["state"] == {}


# Timers


class Reminds(Keyed):
    """Sets a timer 10 ms after each record, twice; yields when it fires."""

    def process_element(self, value, ctx):
        for _ in range(2):
            ctx.timer_service().register_event_time_timer(value[1] + 10)

    def on_timer(self, timestamp, ctx):
        yield (ctx.get_current_key(), timestamp, ctx.timestamp())


def test_timers_fire_once_per_key_and_time_in_order_of_time():
    values = [("a", 5), ("b", 1), ("a", 5), ("a", 2)]
    assert run(Reminds, values, timestamps=True) == [("b", 11, 11), ("a", 12, 12), ("a", 15, 15)]


def test_a_deleted_timer_does_not_fire_and_can_be_set_again():
    class Deletes(Reminds):
        def process_element(self, value, ctx):
            timers = ctx.timer_service()
            timers.register_event_time_timer(100)
            timers.register_event_time_timer(200)
            timers.delete_event_time_timer(100)
            timers.delete_event_time_timer(200)
            timers.delete_event_time_timer(300)
            timers.register_event_time_timer(200)

    assert run(Deletes, [("a", 1)], timestamps=True) == [("a", 200, 200)]


def test_a_result_of_a_timer_comes_before_the_watermark_that_fired_it():
    def build(env):
        stream = env.from_splits([SplitData("s", [("a", 1), ("a", 50)])], in_order(), "source")
        keyed = stream.key_by(lambda value: value[0]).process(Reminds())
        # the result has timestamp 11: behind the watermark it would be late
        windows = keyed.key_by(lambda value: value[0]).window(
            TumblingEventTimeWindows.of(Time.milliseconds(10))
        )
        windows.aggregate(Counting()).print("out")

    recording = run_job(job(build))
    assert results(recording) == [1, 1]
    assert all(subtask["late"] == 0 for subtask in recording.view()["subtasks"].values())


class Counting:
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator


def test_timers_survive_a_restart():
    def build(env):
        values = [("a", 1), ("b", 2), ("c", 3), *[("d", 4)] * 10, ("e", 30)]
        stream = env.from_splits([SplitData("s", values)], in_order(), "source")
        stream.key_by(lambda value: value[0]).process(Reminds()).print("out")

    recording = Recording(job(build))
    while len(timers(recording)) < 3:
        recording.step(1)
    recording.apply({"kind": "checkpoint"})
    recording.run_until({"kind": "checkpoint_completes"}, 100)
    recording.apply({"kind": "fail", "subtask": "process[0]"})
    recording.step(1)
    assert timers(recording)[:3] == [11, 12, 13]
    run_to_idle(recording)
    expected = [("a", 11, 11), ("b", 12, 12), ("c", 13, 13), ("d", 14, 14), ("e", 40, 40)]
    assert results(recording) == expected


def timers(recording: Recording) -> list[int]:
    subtask = recording.view()["subtasks"]["process[0]"]
    return sorted(timer["time"] for timer in subtask["timers"].values())


@pytest.mark.parametrize("timestamp", [1.5, "soon", None, True, 2**63, -(2**63) - 1])
def test_a_timer_needs_an_integer_of_64_bits(timestamp):
    class Odd(Keyed):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(timestamp)

    def build(env):
        env.from_collection(["a"]).key_by(lambda value: value).process(Odd()).print("out")

    assert "must be an integer in ms" in run_job(job(build)).view()["job"]["reason"]


def test_a_timer_that_sets_itself_again_for_ever_is_a_named_error(monkeypatch):
    monkeypatch.setattr(keyed_operators, "MOST_TIMERS", 100)

    class Forever(Reminds):
        def on_timer(self, timestamp, ctx):
            ctx.timer_service().register_event_time_timer(timestamp + 1)

    def build(env):
        stream = env.from_splits([SplitData("s", [("a", 1)])], in_order(), "source")
        stream.key_by(lambda value: value[0]).process(Forever()).print("out")

    assert "fired more than 100 timers" in run_job(job(build)).view()["job"]["reason"]


def test_results_without_an_end_are_a_named_error(monkeypatch):
    for module in (map_module, process_module):
        monkeypatch.setattr(module, "MOST_RESULTS", 100)

    def forever(value):
        while True:
            yield value

    class Forever(ProcessFunction):
        def process_element(self, value, ctx):
            yield from forever(value)

    for build in (
        lambda env: env.from_collection([1]).flat_map(forever).print("out"),
        lambda env: env.from_collection([1]).process(Forever()).print("out"),
    ):
        reason = run_job(job(build)).view()["job"]["reason"]
        assert "more than 100 results of one record" in reason


def test_as_many_results_as_are_allowed_are_fine(monkeypatch):
    monkeypatch.setattr(map_module, "MOST_RESULTS", 3)
    build = lambda env: env.from_collection([1]).flat_map(lambda v: [v] * 3).print("out")  # noqa: E731
    assert results(run_job(job(build))) == [1, 1, 1]


# Side outputs

ODD, NOBODY = OutputTag("odd"), OutputTag("nobody reads this")


class Splits(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2:
            yield ODD, value
        else:
            yield value
        yield NOBODY, value


def test_a_side_output_gets_what_is_tagged_and_only_that():
    def build(env):
        stream = env.from_collection([1, 2, 3, 4]).process(Splits())
        stream.get_side_output(OutputTag("odd")).print("odd")
        stream.print("even")

    recording = run_job(job(build))
    assert written(recording) == {"odd[0]": [1, 3], "even[0]": [2, 4]}


@pytest.mark.parametrize("quantum", [1, 64])
def test_late_records_go_to_their_side_output_between_the_right_watermarks(quantum):
    late = OutputTag("late")
    entries = [("k", 25), ("k", 3), ("k", 40), ("k", 12), ("k", 41)]

    def build(env):
        stream = env.from_splits([SplitData("s", entries)], in_order(), "source")
        windows = stream.key_by(lambda value: value[0]).window(
            TumblingEventTimeWindows.of(Time.milliseconds(10))
        )
        result = windows.side_output_late_data(late).aggregate(Counting()).name("window")
        result.print("out")
        result.get_side_output(late).print("late")

    recording = run_job(job(build), Policy("round_robin", quantum))
    assert written(recording) == {"out[0]": [1, 2], "late[0]": [("k", 3), ("k", 12)]}
    assert recording.view()["subtasks"]["window[0]"]["late"] == 2


# Where keys are missing


class WantsState(ProcessFunction):
    def open(self, runtime_context):
        runtime_context.get_state(VALUE)

    def process_element(self, value, ctx):
        yield value


def test_state_on_a_stream_without_key_is_refused_at_the_start():
    from engine import InvalidJob

    with pytest.raises(InvalidJob) as refused:
        Recording(job(lambda env: env.from_collection([1]).process(WantsState()).print("out")))
    assert (refused.value.code, refused.value.place) == ("state_without_key", "process[0]")
    assert "'value'" in str(refused.value)


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda ctx: ctx.timer_service().register_event_time_timer(5), "Timers can only be set"),
        (lambda ctx: ctx.timer_service().delete_event_time_timer(5), "Timers can only be set"),
        (lambda ctx: ctx.get_current_key(), "This stream has no key"),
    ],
)
def test_timers_and_keys_on_a_stream_without_key(use, sentence):
    class Uses(ProcessFunction):
        def process_element(self, value, ctx):
            use(ctx)

    reason = run_job(job(lambda env: env.from_collection([1]).process(Uses()).print("out"))).view()[
        "job"
    ]["reason"]
    assert sentence in reason
    assert "process[0]" in reason


def test_a_state_name_has_one_kind():
    class Both(KeyedProcessFunction):
        def open(self, runtime_context):
            runtime_context.get_state(ValueStateDescriptor("same"))
            runtime_context.get_map_state(MapStateDescriptor("same"))

    from engine import InvalidJob

    with pytest.raises(InvalidJob, match="declared as value state and as map state"):
        Recording(
            job(lambda env: env.from_collection([1]).key_by(str).process(Both()).print("out"))
        )


def test_a_record_without_timestamp_at_a_window():
    def build(env):
        keyed = env.from_collection([1]).key_by(lambda value: value)
        windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        windows.aggregate(Counting()).print("out")

    reason = run_job(job(build)).view()["job"]["reason"]
    assert "without a timestamp reached an event-time window" in reason
    assert "window[0]" in reason


@pytest.mark.parametrize("timestamp", [None, 1.5, "noon", True, -(2**63), 2**63 - 1])
def test_a_timestamp_assigner_has_to_return_milliseconds(timestamp):
    def build(env):
        stream = env.from_splits([SplitData("s", [("a", timestamp)])], in_order(), "source")
        stream.print("out")

    reason = run_job(job(build)).view()["job"]["reason"]
    assert "The timestamp assigner returned" in reason
    assert "source[0]" in reason
