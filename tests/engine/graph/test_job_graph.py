"""A job graph is checked before anything runs."""

from __future__ import annotations

import pytest

from engine import InvalidJob, Policy, Recording
from engine.graph.execution_graph import expand
from engine.graph.job_graph import Edge, JobGraph
from engine.network.partitioners import Broadcast, Forward, Rebalance
from engine.testing import run_job

from ..small import job, results, state_of


def graph() -> JobGraph:
    """source -> map -> out"""
    return job(lambda env: env.from_collection([1, 2]).map(lambda value: value).print("out"))()


def refused(changed: JobGraph) -> InvalidJob:
    with pytest.raises(InvalidJob) as error:
        Recording(lambda: changed)
    return error.value


def test_a_cycle_is_named():
    looped = graph()
    looped.edges.append(Edge("out", "map", Rebalance()))
    error = refused(looped)
    assert error.code == "cycle"
    assert "map -> out" in str(error)


def test_an_operator_that_feeds_itself_is_a_cycle():
    looped = graph()
    looped.edges.append(Edge("map", "map", Rebalance()))
    assert refused(looped).code == "cycle"


def test_an_edge_to_nobody_is_named():
    dangling = graph()
    dangling.edges.append(Edge("map", "nowhere", Rebalance()))
    error = refused(dangling)
    assert error.code == "unknown_operator"
    assert "'nowhere'" in str(error)


def test_two_operators_with_one_id():
    doubled = graph()
    doubled.vertices.append(doubled.vertices[-1])
    assert refused(doubled).code == "duplicate_operator"


def test_an_operator_without_input():
    alone = graph()
    alone.edges = alone.edges[:1]
    error = refused(alone)
    assert (error.code, error.place) == ("no_input", "out")


def test_a_job_without_operators():
    assert refused(JobGraph("nothing")).code == "empty_job"


@pytest.mark.parametrize("buffers", [0, -1, 65_537, "8", 1.5, None])
def test_buffers(buffers):
    changed = graph()
    changed.buffers = buffers
    assert refused(changed).code == "buffers"


@pytest.mark.parametrize(
    ("parallelism", "maximum", "code"),
    [
        (5, 4, "parallelism"),
        (0, 4, "parallelism"),
        (1, 32_769, "max_parallelism"),
        (1, -1, "max_parallelism"),
    ],
)
def test_parallelism_beyond_max_parallelism(parallelism, maximum, code):
    changed = graph()
    changed.vertices[1].parallelism = parallelism
    changed.vertices[1].max_parallelism = maximum
    error = refused(changed)
    assert (error.code, error.place) == (code, "map")


def test_forward_needs_equal_parallelism():
    changed = graph()
    changed.edges[0].partitioner = Forward()
    changed.vertices[1].parallelism = 2
    error = refused(changed)
    assert (error.code, error.place) == ("forward", "source -> map")


def test_the_column_of_an_operator_is_its_distance_from_the_sources():
    assert graph().columns() == {"source": 0, "map": 1, "out": 2}


def test_two_edges_between_the_same_operators_are_two_channels():
    def doubled() -> JobGraph:
        twice = graph()
        twice.edges.append(Edge("map", "out", Broadcast()))
        return twice

    channels = [
        plan.name for plan in expand(doubled(), dict.fromkeys(("source", "map", "out"), 1)).channels
    ]
    assert channels == ["source[0]>map[0]", "map[0]>out[0]", "map[0]>out[0]#2"]
    recording = Recording(doubled, Policy("random", 3), 1)
    recording.step(4)
    recording.apply({"kind": "checkpoint"})
    assert recording.run_until({"kind": "checkpoint_completes"}, 100)
    assert sorted(results(run_job(doubled))) == [1, 1, 2, 2]


def test_a_job_without_splits_ends_at_once():
    from engine.datastream import WatermarkStrategy

    def build(env):
        stream = env.from_splits([], WatermarkStrategy.no_watermarks(), "source")
        stream.set_parallelism(3).print("out")

    recording = run_job(job(build))
    assert state_of(recording) == "finished"
    assert results(recording) == []
