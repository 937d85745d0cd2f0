"""Lists that belong to a subtask: saved, restored, and dealt out after a rescale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Policy, Recording, fold
from engine.datastream import ListStateDescriptor, MapFunction, ProcessFunction
from engine.operators.split import SplitData
from engine.state.operator_state import broadcast_items, split_items, union_items
from engine.testing import run_to_idle, written

from ..jobs import POLICIES, commands
from ..laws import LAWS, apply_if_possible
from ..small import in_order, job

SEEN = ListStateDescriptor("seen")


class Remember(ProcessFunction):
    """Keeps every value that it has seen, in operator state, and tells how many there are."""

    def __init__(self, union=False):
        self.union = union
        self.starts = []

    def initialize_state(self, context):
        store = context.get_operator_state_store()
        self.seen = store.get_union_list_state(SEEN) if self.union else store.get_list_state(SEEN)
        self.starts.append((context.is_restored(), len(self.seen.get())))

    def process_element(self, value, ctx):
        self.seen.add(value)
        yield (self.starts[-1], len(self.seen.get()))

    def snapshot_state(self, context):
        pass


class Buffer(MapFunction):
    """Keeps values in an attribute, and puts them into operator state when it is asked to."""

    def __init__(self):
        self.buffer = []

    def initialize_state(self, context):
        self.state = context.get_operator_state_store().get_list_state(
            ListStateDescriptor("buffer")
        )
        self.buffer = list(self.state)

    def snapshot_state(self, context):
        self.state.update(self.buffer)

    def map(self, value):
        self.buffer.append(value)
        return len(self.buffer)


def remembering(function, parallelism=2, count=6):
    def build(env):
        splits = [SplitData("s", [(f"v{number}", number) for number in range(count)])]
        stream = env.from_splits(splits, in_order(), "source").rebalance()
        stream.process(function).name("remember").set_parallelism(parallelism).print("out")

    return job(build)


def seen(recording):
    """The remembered values of all subtasks."""
    return [
        subtask.operator.operator_state.lists["seen"].items
        for subtask in recording.runtime.deployment.subtasks.values()
        if subtask.vertex == "remember"
    ]


@pytest.mark.parametrize("parallelism", [1, 3, 4])
def test_every_item_goes_to_one_subtask_after_a_rescale(parallelism):
    recording = Recording(remembering(Remember()))
    recording.step(20)
    before = sorted(item for items in seen(recording) for item in items)
    recording.apply({"kind": "rescale", "operator": "remember", "parallelism": parallelism})
    while recording.view()["job"]["state"] != "running":
        recording.step(1)
    dealt = seen(recording)
    assert len(dealt) == parallelism
    assert set(before) <= {item for items in dealt for item in items}
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    run_to_idle(recording)
    assert sorted(item[0] for items in seen(recording) for item in items) == [
        f"v{n}" for n in range(6)
    ]


def test_union_state_goes_whole_to_everybody():
    recording = Recording(remembering(Remember(union=True)))
    run_until_checkpoint(recording, 20)
    held = [item for items in seen(recording) for item in items]
    recording.apply({"kind": "fail", "subtask": "remember[0]"})
    recording.step(1)
    assert [sorted(items) for items in seen(recording)] == [sorted(held)] * 2


def run_until_checkpoint(recording, steps):
    recording.step(steps)
    recording.apply({"kind": "checkpoint"})
    assert recording.run_until({"kind": "checkpoint_completes"}, 500)


def test_what_a_function_puts_in_when_it_is_asked_comes_back():
    def build(env):
        env.from_collection(list("abcdef")).map(Buffer()).name("buffer").print("out")

    recording = Recording(job(build))
    run_until_checkpoint(recording, 7)
    recording.apply({"kind": "fail", "subtask": "buffer[0]"})
    run_to_idle(recording)
    assert written(recording)["out[0]"][-1] == 6


@LAWS
@given(
    POLICIES,
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 15), commands(stops=False)), max_size=4),
)
def test_folding_seeking_and_failing_with_operator_state(policy, union, plan):
    recording = Recording(remembering(Remember(union), count=9), Policy(*policy))
    picture = recording.view()
    for steps, command in plan:
        for step in recording.step(steps, events=True):
            fold(picture, step)
        done = apply_if_possible(recording, command)
        if done:
            fold(picture, done)
        assert picture == recording.view()
    recording.seek(0)
    recording.seek(recording.head)
    assert picture == recording.view()


@given(st.lists(st.lists(st.integers(), max_size=4), min_size=1, max_size=6), st.integers(1, 6))
def test_dealing_out_keeps_the_order_and_every_item(parts, parallelism):
    dealt = split_items(parts, parallelism)
    everything = [item for part in parts for item in part]
    assert [item for items in dealt for item in items] == everything
    assert len(dealt) == parallelism
    assert union_items(parts, parallelism) == [everything] * parallelism
    assert broadcast_items(parts, parallelism)[0] == parts[0]
