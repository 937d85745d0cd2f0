"""Jobs on the real engine under the explorer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine import FailSubtask, ImpossibleAction, InvalidJob, Rescale, TriggerCheckpoint
from engine.commands import RefuseUpload, TakeSavepoint
from engine.datastream import KeyedProcessFunction, Types, ValueStateDescriptor, WatermarkStrategy
from engine.elements import RECORD
from engine.explore.canonical import frozen
from engine.explore.job import JobSystem
from engine.explore.job_invariants import (
    FIFO_CHANNELS,
    ONE_OWNER,
    WATERMARKS_RISE,
    exactly_once,
    keyed_state,
    nothing_lost,
    undisturbed,
)
from engine.explore.layout import BUDGET, MASKS, SETTING
from engine.explore.minimize import minimize
from engine.explore.results import BoundReached, Exhausted, Violated
from engine.explore.ways import Bounds, breadth_first, depth_first, random_walks
from engine.explore.wrong_barriers import WRONG_BARRIERS
from engine.graph.checkpoint_settings import CheckpointSettings
from engine.operators.split import SplitData
from engine.randomness import RandomStream
from engine.testing import run_job

from ..event_time.event_time_jobs import event_time_specs, make_event_time_job
from ..jobs import job_specs, make_job
from ..nasty_jobs import make_nasty_job, nasty_specs
from ..small import in_order, job


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        yield ctx.get_current_key(), self.seen.value()


def counting(*inputs: list[str], parallelism: int = 1):
    """One source per input, united, counted by key."""

    def build(env):
        env.set_buffers_per_channel(2)
        streams = [
            env.from_splits(
                [SplitData("s", values)], WatermarkStrategy.no_watermarks(), f"source{number}"
            )
            for number, values in enumerate(inputs)
        ]
        united = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
        counted = united.key_by(lambda value: value).process(Count()).name("count")
        counted.set_parallelism(parallelism).print("out")

    return job(build)


ONE = counting(["k"], [])
"""One record; what matters is on which side of which barrier it is taken."""


def finished(factory) -> JobSystem:
    """The system after the first possible action, again and again, until there is none."""
    system = JobSystem(factory)
    while actions := system.enabled():
        system.apply(actions[0])
    return system


def told(system: JobSystem):
    """What can be seen of the runtime, but for what tells how it came there."""
    runtime = system.runtime
    written = {name: log.written() for name, log in runtime.logs.items()}
    queues = {name: list(channel.queue) for name, channel in runtime.deployment.channels.items()}
    return runtime.state, runtime.attempt, keyed_state(runtime), written, queues


ONCE = {TriggerCheckpoint(): 1, FailSubtask("count[0]"): 1}


def test_actions_and_commands_have_the_ids_of_the_runtime():
    system = JobSystem(ONE, ONCE)
    assert system.enabled() == (
        "read:source0[0]/s", "read:source1[0]/s", "command:checkpoint", "command:fail count[0]",
    )  # fmt: skip
    system.apply("command:checkpoint")
    assert "command:checkpoint" not in system.enabled()
    with pytest.raises(ImpossibleAction, match="as often as it may be"):
        system.apply("command:checkpoint")


@pytest.mark.parametrize("seed", range(5))
def test_going_back_and_forth_gives_the_same_states_and_results(seed):
    """Also over failures, which deploy anew, and into futures that another schedule has overwritten."""
    system = JobSystem(counting(["k", "l"], ["k"]), ONCE)
    rule = nothing_lost(counting(["k", "l"], ["k"]))
    start = system.capture()
    ends = []
    for walk in (seed, seed + 100):
        system.restore(start)
        assert not isinstance(random_walks(system, [rule], 1, 60, walk), Violated)
        ends.append((system.capture(), system.state_key(), told(system)))
    for state, key, seen in (ends[0], ends[1], ends[0]):
        system.restore(state)
        assert system.state_key() == key
        assert told(system) == seen


def test_a_state_does_not_tell_how_it_was_reached():
    orders = [
        ["read:source0[0]/s", "read:source1[0]/s", "command:checkpoint", "trigger:source0[0]", "trigger:source1[0]"],
        ["command:checkpoint", "trigger:source1[0]"],
    ]  # fmt: skip
    system = JobSystem(counting(["k"], ["l"]), ONCE)
    start = system.capture()
    keys = []
    for order in (
        ["read:source0[0]/s", "read:source1[0]/s", "command:checkpoint"],
        ["read:source1[0]/s", "command:checkpoint", "read:source0[0]/s"],
    ):
        system.restore(start)
        for action in order:
            system.apply(action)
        keys.append(system.state_key())
    assert keys[0] == keys[1]
    for order in orders:
        system.restore(start)
        for action in order:
            system.apply(action)
        keys.append(system.state_key())
    assert len(set(keys)) == 3


def test_the_number_of_a_checkpoint_is_no_part_of_the_state():
    """Two checkpoints that were completed, and one: the same part to recover from, the same state but for the budget."""
    keys = []
    system = JobSystem(counting(["k"]), {TriggerCheckpoint(): 5})
    start = system.capture()
    for count in (1, 2):
        system.restore(start)
        for _ in range(count):
            system.apply("command:checkpoint")
            system.apply("trigger:source0[0]")
            for action in ("take:source0[0]>count[0]", "take:count[0]>out[0]"):
                system.apply(action)
            for subtask in ("source0", "count", "out"):
                system.apply(f"ack:{subtask}[0]")
        # and the next one is under way
        system.apply("command:checkpoint")
        system.apply("trigger:source0[0]")
        key = system.state_key()
        keys.append((*key[:BUDGET], *key[BUDGET + 1 :]))
        assert system.left == (4 - count,)
    assert keys[0] == keys[1]


def test_both_ways_see_the_same_states_of_a_job():
    plain = breadth_first(JobSystem(counting(["k"], ["l"])), [])
    reduced = depth_first(JobSystem(counting(["k"], ["l"])), [])
    assert isinstance(plain, Exhausted)
    assert isinstance(reduced, Exhausted)
    assert plain.counts.states == reduced.counts.states
    assert plain.counts.terminal == reduced.counts.terminal
    assert reduced.counts.transitions < 0.75 * plain.counts.transitions


def test_independent_actions_of_a_job_commute():
    system = JobSystem(counting(["k", "l"], ["k"]), {TriggerCheckpoint(): 1})
    start = system.capture()
    pairs = 0
    for seed in range(12):
        system.restore(start)
        random_walks(system, [], 1, 3 + seed, seed)
        here, actions = system.capture(), system.enabled()
        for one in actions:
            for other in actions:
                if one < other and system.independent(one, other):
                    keys = []
                    for order in ((one, other), (other, one)):
                        system.restore(here)
                        for action in order:
                            system.apply(action)
                        keys.append(system.state_key())
                    assert keys[0] == keys[1], (one, other)
                    pairs += 1
    assert pairs > 5


def test_a_job_whose_functions_raise_is_not_searched_with_reduction():
    def raises(value):
        raise ValueError("tired")

    def build(env):
        env.from_collection([1, 2]).map(raises).print("out")

    with pytest.raises(InvalidJob, match="breadth first"):
        depth_first(JobSystem(job(build)), [])
    result = breadth_first(JobSystem(job(build)), [])
    assert isinstance(result, Exhausted)


def test_a_job_that_cannot_be_put_back_is_refused():
    class Holds(KeyedProcessFunction):
        def __init__(self):
            self.generator = (number for number in range(3))

        def process_element(self, value, ctx):
            yield value

    def build(env):
        env.from_collection([1]).key_by(lambda value: value).process(Holds()).print("out")

    with pytest.raises(InvalidJob, match="cannot be copied"):
        JobSystem(job(build))


def on_the_runtime(system: JobSystem, action: str) -> tuple[int, ...]:
    """The state after an action, taken on the runtime itself, with nothing remembered of any subtask."""
    runtime, states, budget = system.runtime, system.states, system.at[BUDGET]
    command = system.commands.get(action)
    if command is None:
        runtime.act(action)
    else:
        runtime.apply(command)
        left = [
            left - (other == action)
            for other, left in zip(system.commands, system.left, strict=True)
        ]
        budget = states.budget(tuple(left))
    for subtask in runtime.deployment.subtasks.values():
        subtask.held = None
    return states.present(budget)


def walk_beside_the_runtime(system: JobSystem, walks: int, steps: int) -> int:
    """Random walks in which every step is also taken on the runtime itself; returns how many were looked up."""
    start = system.capture()
    looked_up = 0
    for seed in range(walks):
        system.restore(start)
        stream = RandomStream(seed, "walk")
        for _ in range(steps):
            actions = system.enabled()
            if not actions:
                break
            action = actions[stream.below(len(actions))]
            before = system.capture()
            expected = on_the_runtime(system, action)
            system._standing = ()
            system.restore(before)
            system.apply(action)
            looked_up += system._standing == ()
            assert system.capture() == expected, (seed, action)
            assert system.states.layouts[expected[SETTING]].enabled(expected[MASKS]) == tuple(
                slot.action
                for number, slot in enumerate(system.runtime.deployment.slots)
                if system.runtime.readiness.enabled() >> number & 1
            )
    return looked_up


@pytest.mark.parametrize("results", [True, False])
def test_an_effect_that_is_looked_up_is_that_of_the_runtime(results):
    """Also over failures and rescaling."""
    commands = {TriggerCheckpoint(): 2, FailSubtask("count[0]"): 2, Rescale("count", 1): 1}
    factory = counting(["k", "l"], ["k"], parallelism=2)
    assert walk_beside_the_runtime(JobSystem(factory, commands, results), 25, 120) > 500


SCHEMES = {
    "unaligned": {"scheme": "unaligned"},
    "unaligned after a timeout": {"scheme": "unaligned", "aligned_timeout": 10},
    "concurrent": {"max_concurrent": 2, "upload_bytes": 20, "timeout": 50},
    "at least once": {"scheme": "at_least_once", "max_concurrent": 2},
    "stop-the-world": {"scheme": "stop_the_world"},
    "periodic": {"interval": 10, "min_pause": 5},
}


def with_scheme(factory, **settings):
    """The job of `factory` with other settings of its checkpoints."""
    return lambda: replace(factory(), checkpointing=CheckpointSettings(**settings))


@pytest.mark.parametrize("name", SCHEMES)
def test_an_effect_that_is_looked_up_is_that_of_the_runtime_in_every_scheme(name):
    factory = with_scheme(counting(["k", "l"], ["k"]), **SCHEMES[name])
    refused = RefuseUpload("count[0]")
    commands = {**ONCE, TriggerCheckpoint(): 2, TakeSavepoint(): 1, refused: 1}
    assert walk_beside_the_runtime(JobSystem(factory, commands), 15, 80) > 80


@pytest.mark.parametrize("name", WRONG_BARRIERS)
def test_an_effect_that_is_looked_up_is_that_of_a_wrong_runtime(name):
    system = JobSystem(ONE, {**ONCE, TriggerCheckpoint(): 2}, runtime=WRONG_BARRIERS[name])
    assert walk_beside_the_runtime(system, 25, 120) > 300


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.one_of(
        st.builds(make_job, job_specs()),
        st.builds(make_event_time_job, event_time_specs()),
        st.builds(make_nasty_job, nasty_specs()),
    ),
    st.data(),
)
def test_an_effect_that_is_looked_up_is_that_of_the_runtime_for_every_kind_of_job(factory, data):
    try:
        subtasks = list(JobSystem(factory).runtime.deployment.subtasks)
    except InvalidJob:
        assume(False)  # a function raises when it is opened
    failing = FailSubtask(data.draw(st.sampled_from(subtasks)))
    system = JobSystem(factory, {TriggerCheckpoint(): 2, failing: 1})
    walk_beside_the_runtime(system, 3, 50)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, True, False),
        (1, 1.0, False),
        ([1], (1,), False),
        ([True], [1], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ({1, 2}, {2, 1}, True),
        ({"a": [1, {"b"}]}, {"a": [1, {"b"}]}, True),
        (slice(1, 2), slice(1, 2), True),
        (slice(1, 2), slice(1, 3), False),
    ],
)
def test_frozen_values_are_equal_where_a_job_cannot_tell_them_apart(one, other, equal):
    assert (frozen(one) == frozen(other)) is equal
    hash(frozen(one))


# Rules


def test_aligned_barriers_keep_state_exact_in_every_schedule_with_a_failure():
    system = JobSystem(ONE, ONCE, results=False)
    result = depth_first(system, [exactly_once(ONE), ONE_OWNER])
    assert isinstance(result, Exhausted)
    assert result.counts.states > 5000


def test_acknowledgements_are_reduced_as_well():
    once = {TriggerCheckpoint(): 1}
    plain = breadth_first(JobSystem(ONE, once, results=False), []).counts
    reduced = depth_first(JobSystem(ONE, once, results=False), []).counts
    assert (plain.states, plain.terminal) == (reduced.states, reduced.terminal)
    assert reduced.transitions < 0.75 * plain.transitions


@pytest.mark.parametrize(
    ("name", "shortest", "words"),
    [
        ("no alignment", 26, "= 2 instead of 1"),
        ("snapshot after emit", 21, "= nothing instead of 1"),
    ],
)
def test_wrong_barriers_are_found_by_a_shortest_schedule(name, shortest, words):
    rule = exactly_once(ONE)
    wrong = JobSystem(ONE, ONCE, results=False, runtime=WRONG_BARRIERS[name])
    start = wrong.capture()
    result = breadth_first(wrong, [rule])
    assert isinstance(result, Violated)
    assert len(result.actions) == shortest
    assert words in result.sentence
    wrong.restore(start)
    assert minimize(wrong, result.actions, rule) == result.actions


def test_the_schedule_that_breaks_a_wrong_barrier_is_held_back_by_the_right_one():
    """The record behind the first barrier waits for the second."""
    behind = [
        "command:checkpoint",
        "trigger:source0[0]",
        "read:source0[0]/s",
        "take:source0[0]>count[0]",
    ]
    wrong = JobSystem(ONE, ONCE, runtime=WRONG_BARRIERS["no alignment"])
    right = JobSystem(ONE, ONCE)
    for action in behind:
        wrong.apply(action)
        right.apply(action)
    assert "take:source0[0]>count[0]" in wrong.enabled()
    assert "take:source0[0]>count[0]" not in right.enabled()


def test_a_plain_sink_loses_nothing_and_writes_twice():
    rule = nothing_lost(ONE)
    assert not isinstance(random_walks(JobSystem(ONE, ONCE), [rule], 20, 200), Violated)
    system = finished(ONE)
    assert rule.broken(system) == ""
    system.runtime.logs["out[0]"].cursor = 0
    assert rule.broken(system) == "Result ('k', 1) was written 0 times instead of 1."


def test_rescaling_leaves_each_key_with_one_owner():
    factory = counting(["a", "b", "c"], parallelism=2)
    system = JobSystem(factory, {Rescale("count", 1): 1}, results=False)
    rules = [ONE_OWNER, exactly_once(factory), FIFO_CHANNELS]
    assert isinstance(random_walks(system, rules, 15, 200), BoundReached)
    assert system.runtime.parallelism["count"] == 1
    wrong = finished(factory)
    first, second = (wrong.runtime.deployment.subtasks[f"count[{i}]"].operator for i in (0, 1))
    first.state.tables, second.state.tables = second.state.tables, first.state.tables
    assert "and owns" in ONE_OWNER.broken(wrong)


def test_watermarks_that_fall_are_noticed():
    def build(env):
        env.from_splits([SplitData("s", [("k", 5), ("k", 9)])], in_order(), "source").key_by(
            lambda value: value[0]
        ).reduce(lambda one, other: other).name("last").print("out")

    system = JobSystem(job(build))
    assert isinstance(random_walks(system, [WATERMARKS_RISE], 5, 100), BoundReached)
    before = WATERMARKS_RISE.start(system)
    system.runtime.deployment.subtasks["last[0]"].watermark = 3
    _, sentence = WATERMARKS_RISE.observe(before, system, "take")
    assert "The watermark of last[0] went back" in sentence


def test_a_channel_that_swaps_elements_is_noticed():
    system = JobSystem(counting(["a", "b"]))
    for _ in range(2):
        system.apply("read:source0[0]/s")
    memory = FIFO_CHANNELS.start(system)
    queue = system.runtime.deployment.channels["source0[0]>count[0]"].queue
    assert [element[0] for element in queue] == [RECORD, RECORD]
    queue.reverse()
    _, sentence = FIFO_CHANNELS.observe(memory, system, "read:source0[0]/s")
    assert sentence == "Channel source0[0]>count[0] did not keep the order of its elements."


def test_the_undisturbed_run_is_that_of_the_policy():
    factory = counting(["a", "b", "a"])
    assert sorted(keyed_state(undisturbed(factory)).values()) == ["1", "2"]
    recording = run_job(factory)
    assert keyed_state(recording.runtime) == keyed_state(undisturbed(factory))


def test_a_job_that_does_not_end_has_no_undisturbed_run():
    with pytest.raises(InvalidJob, match="is running after 3 steps"):
        undisturbed(counting(["a", "b"]), limit=3)


def test_bounds_hold_for_jobs():
    result = breadth_first(JobSystem(ONE, ONCE), [], Bounds(states=50))
    assert isinstance(result, BoundReached)
    assert result.bound == "states"
