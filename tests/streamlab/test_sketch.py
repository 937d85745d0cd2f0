"""The small pictures of the home page: each lab's own job, inside its frame."""

import re
from itertools import pairwise

import pytest
from django.test import Client

from engine.datastream import StreamExecutionEnvironment
from labs.catalog import catalog
from labs.spec import LabSpec
from streamlab.pages import views
from streamlab.pages.sketch import HEIGHT, WIDTH, sketch


def job(*parallelism: int):
    env = StreamExecutionEnvironment()
    stream = env.from_collection([1])
    for number, parallel in enumerate(parallelism):
        stream = stream.rebalance().map(lambda value: value).name(f"map {number}")
        stream = stream.set_parallelism(parallel)
    stream.rebalance().print().name("sink").set_parallelism(1)
    return env.get_job_graph("sketched")


@pytest.mark.parametrize("parallelism", [(), (1,), (3,), (2, 8), (64, 64), (1,) * 12], ids=str)
def test_every_subtask_and_channel_is_inside_the_frame_and_nothing_overlaps(parallelism):
    graph = job(*parallelism)
    drawn = sketch(graph)
    assert len(drawn.boxes) == sum(min(6, vertex.parallelism) for vertex in graph.vertices)
    for box in drawn.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= WIDTH
        assert box.y + box.height <= HEIGHT
    for one in drawn.boxes:
        for two in drawn.boxes:
            if one.x == two.x and one.y < two.y:
                assert one.y + one.height <= two.y
    counts = [1, *(min(6, parallel) for parallel in parallelism), 1]
    channels = sum(a * b for a, b in pairwise(counts))
    assert drawn.routes.count("M") == drawn.lanes.count("M") == channels
    numbers = map(float, re.findall(r"-?[0-9.]+", drawn.routes))
    assert all(0 <= number <= WIDTH for number in numbers)


def test_labs_with_different_jobs_have_different_pictures(client: Client) -> None:
    page = client.get("/").content.decode()
    pictures = re.findall(r'<svg class="sketch".*?</svg>', page, re.S)
    assert len(pictures) == len(catalog().labs)
    assert len(set(pictures)) == len(pictures)


def test_a_job_that_cannot_be_built_has_no_picture(
    lab: LabSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.errors import InvalidJob

    def broken(*_: object) -> None:
        raise InvalidJob("job_broken", "It is broken.", mend="Mend it.")

    assert views.sketch_of(lab) is not None
    monkeypatch.setattr(views, "graph_factory", broken)
    assert views.sketch_of(lab) is None
