"""The programming interface: what is refused, where, and what PyFlink has and this subset has not."""

from __future__ import annotations

import pytest

from engine import InvalidJob
from engine.datastream import (
    Duration,
    KeySelector,
    OutputTag,
    Partitioner,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    Types,
    WatermarkStrategy,
)
from engine.operators.split import SplitData
from engine.testing import run_job

from ..small import job, results


@pytest.fixture
def env():
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.fixture
def stream(env):
    return env.from_collection([1, 2, 3])


@pytest.mark.parametrize(
    "mistake",
    [
        lambda env, stream: stream.map(3),
        lambda env, stream: stream.set_parallelism(0),
        lambda env, stream: env.enable_checkpointing(1),
        lambda env, stream: stream.key_by(3),
    ],
)
def test_an_error_names_the_line_of_the_job_file(env, stream, mistake):
    with pytest.raises(InvalidJob) as refused:
        mistake(env, stream)
    assert refused.value.place == f"test_interface.py, line {mistake.__code__.co_firstlineno}"


@pytest.mark.parametrize("character", list("[]>#/:"))
def test_names_have_none_of_the_characters_that_ids_are_made_of(env, stream, character):
    stream.map(str).name(f"a{character}b")
    with pytest.raises(InvalidJob) as refused:
        env.get_job_graph()
    assert refused.value.code == "operator_name"
    assert "test_interface.py" in refused.value.place
    with pytest.raises(InvalidJob) as refused:
        env.from_splits(
            [SplitData(f"a{character}b", [])], WatermarkStrategy.no_watermarks(), "source"
        )
    assert refused.value.code == "split_name"


def test_two_splits_of_a_source_have_two_names(env):
    with pytest.raises(InvalidJob, match="Two splits") as refused:
        env.from_splits(
            [SplitData("day", []), SplitData("day", [])],
            WatermarkStrategy.no_watermarks(),
            "source",
        )
    assert refused.value.code == "split_name"


def test_operators_of_one_name_are_numbered(env, stream):
    stream.map(str).map(str).name("map-2").map(str)
    assert [vertex.id for vertex in env.get_job_graph().vertices] == [
        "source",
        "map",
        "map-2",
        "map-3",
    ]


@pytest.mark.parametrize(
    "declare",
    [
        lambda env, stream: stream.set_max_parallelism(0),
        lambda env, stream: stream.set_max_parallelism(2**15 + 1),
        lambda env, stream: env.set_max_parallelism(0),
        lambda env, stream: env.set_parallelism(True),
        lambda env, stream: env.get_config().set_auto_watermark_interval(-1),
        lambda env, stream: stream.key_by(3),
        lambda env, stream: stream.filter(None),
        lambda env, stream: stream.print("x").set_parallelism("2"),
        lambda env, stream: OutputTag(""),
        lambda env, stream: WatermarkStrategy.for_bounded_out_of_orderness(5),
        lambda env, stream: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1)),
        lambda env, stream: TumblingEventTimeWindows.of(Time.seconds(0)),
        lambda env, stream: TumblingEventTimeWindows.of(Time.seconds(1), Time.seconds(1)),
        lambda env, stream: env.from_source(object(), WatermarkStrategy.no_watermarks(), "s"),
        lambda env, stream: stream.key_by(str).window(
            TumblingEventTimeWindows.of(Time.seconds(1))).aggregate(object()),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_where_it_is_said(env, stream, declare):
    with pytest.raises(InvalidJob) as refused:
        declare(env, stream)
    assert refused.value.mend


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("DataStream.execute_and_collect", lambda env, s: s.execute_and_collect()),
        ("DataStream.add_sink", lambda env, s: s.add_sink(None)),
        ("StreamExecutionEnvironment.add_source", lambda env, s: env.add_source(None)),
    ],
)
def test_what_pyflink_has_and_we_have_not_names_the_method(env, stream, method, call):
    with pytest.raises(NotImplementedError, match=method):
        call(env, stream)


def test_what_nobody_has_is_an_attribute_error(env, stream):
    for thing in (env, stream, stream.key_by(str)):
        with pytest.raises(AttributeError):
            thing.dance()


def test_key_selectors_and_partitioners_may_be_objects():
    class First(KeySelector):
        def get_key(self, value):
            return value[0]

    class Even(Partitioner):
        def partition(self, key, num_partitions):
            return len(key) % num_partitions

    def build(env):
        stream = env.from_collection([("a", 1), ("b", 2), ("a", 3)]).partition_custom(
            Even(), First()
        )
        stream = stream.map(lambda value: value).set_parallelism(2)
        stream.key_by(First(), Types.STRING()).reduce(lambda a, b: (a[0], a[1] + b[1])).print("out")

    assert results(run_job(job(build))) == [("a", 1), ("b", 2), ("a", 4)]


def test_a_declared_int_key_is_routed_as_an_int():
    def owners(key_type):
        def build(env):
            keyed = env.from_collection([-1, -2, -3, -4, -5]).key_by(lambda value: value, key_type)
            keyed.reduce(lambda a, b: a).name("count").set_parallelism(4).print(
                "out"
            ).set_parallelism(4)

        recording = run_job(job(build))
        return [
            {row["key"]: row["key_group"] for row in subtask["state"].values()}
            for name, subtask in recording.view()["subtasks"].items()
            if name.startswith("count")
        ]

    assert owners(Types.INT()) != owners(Types.LONG()) == owners(None)


def test_execute_prints_and_returns_the_results(env, stream, capsys):
    stream.map(lambda value: value * 10).print()
    assert env.execute("a job").results == {"sink[0]": [10, 20, 30]}
    assert capsys.readouterr().out == "10\n20\n30\n"


def test_execute_says_why_a_job_failed(env, stream, capsys):
    stream.map(lambda value: 1 // (value - 2)).print()
    with pytest.raises(InvalidJob, match="ZeroDivisionError"):
        env.execute()
