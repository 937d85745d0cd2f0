"""Starting a job that has changed from a savepoint of what it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidJob, Policy, Recording
from engine.checkpointing.savepoint import identity_of, only_claimed, savepoint_of
from engine.checkpointing.storage import write_snapshot
from engine.datastream import (
    Configuration,
    KeyedProcessFunction,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.operators.split import SplitData
from engine.testing import keyed_state, run_job, run_to_idle, trace_digest, written

from ..jobs import BACKENDS, POLICIES, job_specs, make_job, set_backend
from ..laws import LAWS
from ..small import in_order

RECORDS = [(f"k{number % 4}", number) for number in range(40)]


class Count(KeyedProcessFunction):
    """Counts per key, in state of any kind."""

    def __init__(self, kind="value", name="count"):
        self.kind, self.name = kind, name

    def open(self, runtime_context):
        if self.kind == "list":
            self.count = runtime_context.get_list_state(ListStateDescriptor(self.name))
        elif self.kind == "reducing":
            descriptor = ReducingStateDescriptor(self.name, lambda a, b: a + b)
            self.count = runtime_context.get_reducing_state(descriptor)
        else:
            self.count = runtime_context.get_state(ValueStateDescriptor(self.name))

    def process_element(self, value, ctx):
        if self.kind == "value":
            self.count.update((self.count.value() or 0) + 1)
        else:
            self.count.add(1)
        yield (ctx.get_current_key(), 1)


def make(
    *,
    backend="heap",
    uid="count",
    name="keyed",
    function=Count,
    key_type=None,
    parallelism=2,
    maximum=16,
    splits=("s",),
    records=RECORDS,
    source_uid="source",
    window=False,
    more=False,
):
    def factory():
        env = StreamExecutionEnvironment()
        set_backend(env, backend)
        data = [SplitData(split, records) for split in splits]
        stream = env.from_splits(data, in_order(), "source").uid(source_uid)
        keyed = stream.key_by(lambda value: value[0], key_type)
        if window:
            result = keyed.window(TumblingEventTimeWindows.of(Time.seconds(9))).reduce(max)
        else:
            result = keyed.process(function())
        result = result.name(name).set_parallelism(parallelism)
        if uid:
            result.uid(uid)
        if maximum:
            result.set_max_parallelism(maximum)
        if more:
            result = result.key_by(lambda value: value[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
            result.name("more")
        result.print("out")
        return env.get_job_graph("counting")

    return factory


def savepoint(recording, steps=40):
    """What a stop with savepoint leaves after so many steps."""
    recording.step(steps)
    vertex = recording.runtime.job.vertices[-1]
    more = {"kind": "rescale", "operator": vertex.id, "parallelism": vertex.parallelism + 1}
    recording.apply(more, events=False)
    recording.run_until({"kind": "checkpoint_completes"}, 5000)
    completed = recording.runtime.coordinator.storage.latest()
    assert completed.kind == "savepoint"
    return savepoint_of(recording.runtime.job, completed)


def counts(recording):
    return {
        row: value
        for row, value in keyed_state(recording).items()
        if "count" in row and "timer" not in row
    }


EXPECTED = {f"keyed/count/'k{number}'": "10" for number in range(4)}


@pytest.mark.parametrize("taken_by", BACKENDS)
@pytest.mark.parametrize("restored_by", BACKENDS)
def test_a_savepoint_fits_every_backend(taken_by, restored_by):
    saved = savepoint(Recording(make(backend=taken_by)))
    assert saved == savepoint(Recording(make())), "the same, whichever backend has taken it"
    restored = run_to_idle(Recording(make(backend=restored_by), restore=saved))
    assert counts(restored) == EXPECTED


@LAWS
@given(
    job_specs(keyed=("commutative", "reduce")), POLICIES, st.integers(0, 60),
    st.integers(1, 3), st.sampled_from(BACKENDS),
)  # fmt: skip
def test_a_job_that_goes_on_from_a_savepoint_ends_as_without_it(
    spec, policy, steps, parallelism, backend
):
    undisturbed = run_job(make_job(spec), Policy(*policy))
    recording = Recording(make_job(spec), Policy(*policy))
    recording.step(steps)
    if recording.view()["job"]["state"] != "running":
        return
    saved = savepoint(recording, 0)
    changed = {**spec, "keyed_parallelism": parallelism, "backend": backend}
    restored = Recording(make_job(changed), Policy(*policy), restore=saved)
    assert restored.view()["last_completed"] == saved.checkpoint
    restored.step(20)
    restored.apply({"kind": "fail", "subtask": "keyed[0]"}, events=False) if (
        restored.view()["job"]["state"] == "running"
    ) else None
    run_to_idle(restored)
    assert keyed_state(restored) == keyed_state(undisturbed)


def test_a_run_from_a_savepoint_is_the_same_again_whichever_way_it_is_taken():
    saved = savepoint(Recording(make()))

    def steps(restore):
        return Recording(make(), Policy("random", 2), 3, restore=restore).step(500, events=True)

    twin = savepoint(Recording(make()))
    assert twin.digest() == saved.digest()
    assert trace_digest(steps(saved)) == trace_digest(steps(twin))
    other = savepoint(Recording(make()), steps=50)
    assert other.digest() != saved.digest()

    recording = run_to_idle(Recording(make(), Policy("random", 2), 3, restore=saved))
    recording._interval = 20
    end = recording.view()
    recording.seek(0)
    assert counts(recording)
    assert recording.fork().view() == recording.view()
    recording.seek(recording.head)
    assert recording.view() == end
    replay = Recording(make(), Policy("random", 2), 3, recording.log, saved)
    replay.seek(replay.head)
    assert replay.view() == end


def test_a_failure_before_the_first_checkpoint_goes_back_to_the_savepoint():
    saved = savepoint(Recording(make()))
    recording = Recording(make(), restore=saved)
    recording.step(5)
    recording.apply({"kind": "fail", "subtask": "keyed[1]"}, events=False)
    assert "Restart from checkpoint 1" in recording.possible()[0]["label"]
    assert counts(run_to_idle(recording)) == EXPECTED
    recording.seek(5)
    recording = recording.fork()
    recording.apply({"kind": "checkpoint"}, events=False)
    recording.run_until({"kind": "checkpoint_completes"}, 5000)
    assert recording.view()["last_completed"] == 2, "ids go on"


def test_operators_are_found_by_uid_whatever_they_are_called():
    saved = savepoint(Recording(make(name="before")))
    restored = run_to_idle(Recording(make(name="after", parallelism=4), restore=saved))
    assert set(counts(restored).values()) == {"10"}


def test_without_a_uid_the_name_is_the_uid():
    saved = savepoint(Recording(make(uid=None)))
    assert counts(run_to_idle(Recording(make(uid="keyed"), restore=saved))) == EXPECTED
    with pytest.raises(InvalidJob, match="state of the operator 'keyed'"):
        Recording(make(uid=None, name="other"), restore=saved)


def test_new_operators_start_empty_and_new_splits_at_their_beginning():
    saved = savepoint(Recording(make()))
    taken = sum(map(int, counts(Recording(make(), restore=saved)).values()))
    restored = run_to_idle(Recording(make(more=True, splits=("s", "new")), restore=saved))
    assert set(counts(restored).values()) == {"20"}
    more = [value for row, value in keyed_state(restored).items() if row.startswith("more/")]
    assert sum(int(value.rpartition(", ")[2][:-1]) for value in more) == 80 - taken


def test_a_max_parallelism_that_is_not_set_is_taken_over():
    saved = savepoint(Recording(make(maximum=7)))
    restored = Recording(make(maximum=None), restore=saved)
    assert restored.runtime.job.vertex("keyed").maximum() == 7
    with pytest.raises(InvalidJob, match="from 1 to the max parallelism 7"):
        Recording(make(maximum=None, parallelism=8), restore=saved)


def refused(saved, **changed):
    with pytest.raises(InvalidJob) as error:
        Recording(make(**changed), restore=saved)
    assert error.value.code in ("restore_refused", "state_type")
    assert error.value.mend
    return str(error.value)


def test_what_does_not_fit_is_refused_with_what_and_how_to_mend_it():
    saved = savepoint(Recording(make()))
    told = refused(saved, uid="gone")
    assert "Savepoint 1 holds state of the operator 'count', which this job does not have" in told
    assert "Give an operator the uid 'count', or allow" in told
    told = refused(saved, maximum=32)
    assert "The max parallelism of 'count' is 16 in savepoint 1, and 32 in this job" in told
    told = refused(saved, key_type=Types.STRING())
    assert "of the type not declared in savepoint 1, and STRING in this job" in told
    told = refused(saved, splits=("other",))
    assert "of the split 's', which this source does not have" in told
    told = refused(saved, records=RECORDS[:2])
    assert "of the split 's', which now has 2 entries" in told
    told = refused(saved, window=True)
    assert (
        "holds the state of a process operator (keyed) for 'count', and in this job it is a" in told
    )


@pytest.mark.parametrize("before", ["value", "list", "reducing"])
@pytest.mark.parametrize("after", ["value", "list", "reducing"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_state_keeps_its_kind(before, after, backend):
    saved = savepoint(Recording(make(function=lambda: Count(before), backend=backend)))
    if before != after:
        told = refused(saved, function=lambda: Count(after), backend=backend)
        assert f"State 'count' is {before} state in what is restored, and {after} state" in told
        assert "keyed[0]" in told
        assert counts(Recording(make(function=lambda: Count(after, "new count")), restore=saved))
    else:
        Recording(make(function=lambda: Count(after), backend=backend), restore=saved)


def test_state_that_nobody_claims_can_be_left_behind():
    saved = savepoint(Recording(make()))
    job = make(uid="gone")
    restored = run_to_idle(Recording(job, restore=only_claimed(job(), saved)))
    read = saved.operators[0].parts[0]["s"]
    assert sum(map(int, counts(restored).values())) == 40 - read


def test_two_operators_of_one_uid_are_refused():
    def factory():
        env = StreamExecutionEnvironment()
        env.from_collection([1]).uid("a").map(lambda value: value).uid("a").print()
        return env.get_job_graph()

    with pytest.raises(InvalidJob, match="source and map have the same uid 'a'"):
        factory()
    with pytest.raises(InvalidJob, match="must be a text that is not empty"):
        StreamExecutionEnvironment().from_collection([1]).uid("")


def test_a_job_has_the_identity_of_its_operators_not_of_its_parallelism():
    assert identity_of(make()()) == identity_of(make(parallelism=4, backend="lsm", name="x")())
    assert identity_of(make()()) != identity_of(make(uid="other")())
    assert identity_of(make()()) != identity_of(make(key_type=Types.STRING())())


def test_a_configuration_names_the_savepoint_that_execute_starts_from(tmp_path, capsys):
    saved = savepoint(Recording(make()))
    path = write_snapshot(str(tmp_path), saved)

    def execute(uid, **settings):
        configuration = Configuration().set_string("execution.savepoint.path", f"file://{path}")
        for key, value in settings.items():
            configuration.set_boolean(f"execution.savepoint.{key}".replace("_", "-"), value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        stream = env.from_splits(
            [SplitData("s", RECORDS)], WatermarkStrategy.no_watermarks(), "source"
        ).uid("source")
        stream.key_by(lambda value: value[0]).process(Count()).uid(uid).print("out")
        return sum(len(results) for results in env.execute("counting").results.values())

    left = 40 - saved.operators[0].parts[0]["s"]
    assert execute("count") == left
    with pytest.raises(InvalidJob, match="which this job does not have"):
        execute("other")
    assert execute("other", ignore_unclaimed_state=True) == left
    capsys.readouterr()


def test_settings_that_are_not_there_or_not_possible_are_refused():
    with pytest.raises(InvalidJob, match="There is no setting taskmanager.memory"):
        Configuration().set_string("taskmanager.memory", "1g")
    for key, value in (
        ("state.backend.type", "forst"),
        ("execution.checkpointing.incremental", "maybe"),
        ("execution.checkpointing.num-retained", 0),
        ("execution.checkpointing.dir", "s3://bucket"),
        ("execution.state-recovery.path", ""),
    ):
        with pytest.raises(InvalidJob):
            StreamExecutionEnvironment().configure(Configuration().set_string(key, value))


def test_a_configuration_sets_what_the_methods_set():
    configuration = Configuration()
    configuration.set_string("state.backend.type", "rocksdb")
    configuration.set_boolean("execution.checkpointing.incremental", True)
    configuration.set_boolean("state.changelog.enabled", True)
    configuration.set_integer("state.checkpoints.num-retained", 3)
    configuration.set_string("execution.checkpointing.dir", "file:///tmp/somewhere")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_collection([1]).print()
    durability = env.get_job_graph().durability
    assert durability.backend[:3] == ("rocksdb", True, True)
    assert (durability.retained, durability.directory) == (3, "/tmp/somewhere")
    assert env.get_state_backend().is_incremental_checkpoints_enabled()
    assert written(Recording(env.get_job_graph)) == {"sink[0]": []}
