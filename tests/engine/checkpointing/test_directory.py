"""Checkpoints in a directory: what another process finds there, and what it refuses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import InvalidJob, Policy, Recording
from engine.checkpointing import manifest as manifests
from engine.checkpointing.completed import shared_state
from engine.checkpointing.manifest import read_manifest
from engine.checkpointing.savepoint import identity_of, savepoint_of
from engine.checkpointing.storage import DirectoryStorage, read_snapshot, sound, write_snapshot
from engine.datastream import (
    KeyedProcessFunction,
    MapStateDescriptor,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from engine.operators.split import SplitData
from engine.testing import keyed_state, run_to_idle, written

from ..jobs import BACKENDS, set_backend

ROOT = Path(__file__).resolve().parents[3]
CHECKPOINT = {"kind": "checkpoint"}


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen"))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen.put(value[1] % 7, {"last": value[1]})
        ctx.timer_service().register_event_time_timer(value[1] + 1000)
        yield (value[0], count)

    def on_timer(self, timestamp, ctx):
        yield (ctx.get_current_key(), "timer", timestamp)


def make(
    backend="heap",
    function=Count,
    parallelism=2,
    retained=1,
    name="count",
    changes=9,
    unaligned=False,
):
    def factory():
        env = StreamExecutionEnvironment()
        set_backend(env, backend)
        env.set_changelog_materialization(changes)
        env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(1)
        if unaligned:
            env.get_checkpoint_config().enable_unaligned_checkpoints()
        env.durability = env.durability._replace(retained=retained)
        splits = [
            SplitData(f"p{index}", [(f"k{number % 5}", number) for number in range(index, 60, 2)])
            for index in range(2)
        ]
        stream = env.from_splits(splits, WatermarkStrategy.no_watermarks(), "source")
        keyed = stream.key_by(lambda value: value[0]).process(function())
        keyed.name(name).set_parallelism(parallelism).set_max_parallelism(16)
        keyed.print("out")
        return env.get_job_graph("counting")

    return factory


def checkpointed(directory, backend="heap", checkpoints=1, **settings) -> Recording:
    """A run that has completed so many checkpoints, some steps apart."""
    recording = Recording(
        make(backend, **settings), Policy(), storage=lambda job: DirectoryStorage(directory, job)
    )
    for _ in range(checkpoints):
        recording.step(15)
        recording.apply(CHECKPOINT, events=False)
        recording.run_until({"kind": "checkpoint_completes"}, 1000)
    return recording


def files(directory):
    return sorted(path for path in Path(directory).rglob("*") if path.is_file())


def folders(directory):
    return sorted(path.parent.name for path in Path(directory).rglob("manifest"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_goes_on_from_the_directory_as_from_memory(tmp_path, backend):
    recording = checkpointed(str(tmp_path), backend, checkpoints=3)
    restored = Recording(make(backend), restore=read_snapshot(str(tmp_path)))
    again = Recording(make("heap", parallelism=3), restore=read_snapshot(str(tmp_path)))
    expected = keyed_state(run_to_idle(Recording(make())))
    for run in (recording, restored, again):
        assert keyed_state(run_to_idle(run)) == expected
        assert run.view()["job"]["state"] == "finished"


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from engine import Recording
from engine.checkpointing.storage import read_snapshot
from engine.testing import keyed_state, run_to_idle
from tests.engine.checkpointing.test_directory import make
saved = read_snapshot({directory!r})
run = run_to_idle(Recording(make({backend!r}), restore=saved))
print(saved.digest(), sorted(keyed_state(run).items()))
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_another_process_restores_the_same(tmp_path, backend):
    checkpointed(str(tmp_path), backend, checkpoints=2)
    saved = read_snapshot(str(tmp_path))
    state = keyed_state(run_to_idle(Recording(make(backend), restore=saved)))
    script = SCRIPT.format(root=str(ROOT), directory=str(tmp_path), backend=backend)
    for seed in ("0", "77"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, cwd=ROOT, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == f"{saved.digest()} {sorted(state.items())}"


@pytest.fixture(scope="module")
def sound_directory(tmp_path_factory):
    """Two checkpoints of an LSM job with shared layers."""
    directory = tmp_path_factory.mktemp("sound")
    checkpointed(str(directory), "lsm", checkpoints=2, retained=2)
    assert len(folders(directory)) == 2
    return directory


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_byte_that_was_flipped_anywhere_is_noticed(sound_directory, tmp_path_factory, data):
    directory = tmp_path_factory.mktemp("damaged") / "copy"
    shutil.copytree(sound_directory, directory)
    newest = Path(sound(str(directory))[0].path)
    for file in [*files(newest), *files(newest.parent / "shared")]:
        content = file.read_bytes()
        place = data.draw(st.integers(0, len(content) - 1))
        flipped = bytes([content[place] ^ data.draw(st.integers(1, 255))])
        file.write_bytes(content[:place] + flipped + content[place + 1 :])
        with pytest.raises(InvalidJob) as refused:
            read_all(newest.parent)
        assert refused.value.code == "checkpoint_refused"
        assert "damaged" in refused.value.sentence
        assert "sound" in refused.value.mend
        file.write_bytes(content)
    assert read_snapshot(str(newest))


def read_all(home):
    for folder in folders_of(home):
        read_snapshot(str(folder))


def folders_of(home):
    return sorted((path.parent for path in home.rglob("manifest")), reverse=True)


def test_a_file_that_is_cut_off_or_missing_is_noticed(sound_directory, tmp_path):
    directory = tmp_path / "copy"
    shutil.copytree(sound_directory, directory)
    newest = Path(sound(str(directory))[0].path)
    for file in files(newest):
        content = file.read_bytes()
        file.write_bytes(content[:-1])
        with pytest.raises(InvalidJob, match="damaged"):
            read_snapshot(str(newest))
        file.unlink()
        with pytest.raises(InvalidJob, match="missing|no manifest"):
            read_snapshot(str(newest))
        file.write_bytes(content)
    assert read_snapshot(str(directory)) == read_snapshot(str(newest))


def test_the_newest_older_one_that_is_sound_is_offered_never_taken(sound_directory, tmp_path):
    directory = tmp_path / "copy"
    shutil.copytree(sound_directory, directory)
    newest, older = sound(str(directory))
    assert (newest.sequence, older.sequence) == (2, 1)
    for damaged in (b"", b"not a manifest", Path(older.path, "manifest").read_bytes()):
        Path(newest.path, "manifest").write_bytes(damaged)
        for asked in (str(directory), newest.path):
            with pytest.raises(InvalidJob) as refused:
                read_snapshot(asked)
            assert older.path in refused.value.mend
        assert [found.path for found in sound(str(directory))] == [older.path]
    Path(older.path, "manifest").unlink()
    with pytest.raises(InvalidJob, match="no older one that is sound"):
        read_snapshot(newest.path)


def test_what_another_version_has_written_is_refused(tmp_path, monkeypatch):
    recording = checkpointed(str(tmp_path))
    monkeypatch.setattr(manifests, "ENGINE_VERSION", 9999)
    with pytest.raises(InvalidJob, match="version 9999"):
        read_snapshot(str(tmp_path))
    monkeypatch.undo()
    monkeypatch.setattr(manifests, "FORMAT", 2)
    with pytest.raises(InvalidJob, match="written in format 1, and this is format 2"):
        read_snapshot(str(tmp_path))
    assert recording.view()["last_completed"] == 1


def test_a_checkpoint_of_another_job_is_refused(tmp_path):
    checkpointed(str(tmp_path))
    with pytest.raises(InvalidJob, match="Checkpoint 1 was taken by another job"):
        Recording(make(name="other"), restore=read_snapshot(str(tmp_path)))


def test_a_folder_that_holds_nothing_or_half_of_something_is_no_checkpoint(tmp_path):
    with pytest.raises(InvalidJob, match="no folder of a snapshot here"):
        read_snapshot(str(tmp_path))
    recording = checkpointed(str(tmp_path))
    (folder,) = folders_of(tmp_path)
    half = folder.with_name(".writing-1-chk-9-abc")
    shutil.copytree(folder, half)
    assert len(sound(str(tmp_path))) == 1
    assert recording.runtime.coordinator.storage.latest().checkpoint == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_layers_are_stored_once_and_released_with_their_last_checkpoint(tmp_path, backend):
    recording = checkpointed(str(tmp_path), backend, checkpoints=5, retained=2, changes=1000)
    completed = recording.runtime.coordinator.storage.completed
    assert [one.checkpoint for one in completed] == [4, 5]
    assert len(folders(tmp_path)) == 2
    layers = shared_state(completed)
    assert len(list(tmp_path.rglob("shared/*"))) == len(layers)
    if backend == "heap":
        assert layers == []
    else:
        assert {count for _, count in layers} <= {1, 2}
        assert any(count == 2 for _, count in layers), "something is shared"


@pytest.mark.parametrize("backend", BACKENDS)
def test_going_back_and_forth_writes_the_same_again_and_nothing_else(tmp_path, backend):
    recording = checkpointed(str(tmp_path), backend, checkpoints=3, retained=2)
    recording._interval = 20
    before = {path: path.read_bytes() for path in files(tmp_path)}
    for step in (0, 20, recording.head, 5, recording.head):
        recording.seek(step)
    after = {path: path.read_bytes() for path in files(tmp_path)}
    assert list(after) == list(before)
    for path, content in before.items():
        if path.name == "manifest":
            renumbered = read_manifest(content)._replace(sequence=0)
            assert read_manifest(after[path])._replace(sequence=0) == renumbered
        else:
            assert after[path] == content
    assert [found.checkpoint for found in sound(str(tmp_path))] == [3, 2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_in_flight_comes_back_from_the_directory(tmp_path, backend):
    recording = checkpointed(str(tmp_path), backend, unaligned=True)
    saved = read_snapshot(str(tmp_path))
    assert saved.in_flight == recording.runtime.coordinator.storage.latest().in_flight != {}
    expected = keyed_state(run_to_idle(Recording(make())))
    for parallelism in (2, 3):
        restored = Recording(make(backend, unaligned=True, parallelism=parallelism), restore=saved)
        assert any(channel["queue"] for channel in restored.view()["channels"].values())
        assert keyed_state(run_to_idle(restored)) == expected


def test_a_fork_keeps_its_checkpoints_in_memory(tmp_path):
    recording = checkpointed(str(tmp_path))
    fork = recording.fork()
    fork.step(10)
    fork.apply(CHECKPOINT, events=False)
    fork.run_until({"kind": "checkpoint_completes"}, 1000)
    assert fork.view()["last_completed"] == 2
    assert [found.checkpoint for found in sound(str(tmp_path))] == [1]


class Secret:
    """Nothing that the codec knows."""


class Hiding(Count):
    def process_element(self, value, ctx):
        self.count.update(Secret())
        yield value


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_value_that_cannot_be_written_aborts_the_checkpoint_and_says_where(tmp_path, backend):
    storage = lambda job: DirectoryStorage(str(tmp_path), job)  # noqa: E731
    recording = Recording(make(backend, Hiding), Policy(), storage=storage)
    recording.step(25)
    recording.apply(CHECKPOINT, events=False)
    run_to_idle(recording)
    (entry,) = recording.view()["checkpoints"].values()
    assert entry["status"] == "aborted"
    assert "type Secret cannot be written" in entry["reason"]
    assert "(count, state 'count')" in entry["reason"]
    assert files(tmp_path) == []


def test_a_directory_that_cannot_be_written_aborts_the_checkpoint(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    recording = checkpointed(str(blocked / "below"))
    (entry,) = recording.view()["checkpoints"].values()
    assert entry["status"] == "aborted"
    assert "could not be written" in entry["reason"]


def test_a_job_writes_into_its_directory_when_it_is_executed_and_only_then(tmp_path, capsys):
    def build():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(10)
        env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{tmp_path}")
        stream = env.from_splits(
            [SplitData("s", [("a", number) for number in range(30)])],
            WatermarkStrategy.no_watermarks(), "source",
        )  # fmt: skip
        from engine.operators.split import Wait

        stream._transformation.splits[0].entries.insert(20, Wait(25))
        stream.key_by(lambda value: value[0]).process(Count()).name("count").print("out")
        return env

    run_to_idle(Recording(lambda: build().get_job_graph()))
    assert files(tmp_path) == []
    env = build()
    env.execute()
    assert [found.kind for found in sound(str(tmp_path))] == ["checkpoint"]
    assert "('a', 30)" in capsys.readouterr().out


def test_a_savepoint_is_written_by_whoever_took_it(tmp_path):
    recording = checkpointed(str(tmp_path / "a"), "lsm")
    recording.apply({"kind": "rescale", "operator": "count", "parallelism": 3}, events=False)
    recording.run_until({"kind": "checkpoint_completes"}, 1000)
    job = recording.runtime.job
    saved = savepoint_of(job, recording.runtime.coordinator.storage.latest())
    assert (saved.kind, saved.identity) == ("savepoint", identity_of(job))
    path = write_snapshot(str(tmp_path / "b"), saved)
    assert Path(path).name.startswith("savepoint-2-")
    assert read_snapshot(path) == saved
    assert read_snapshot(path).digest() == saved.digest()
    assert written(Recording(make("changelog"), restore=saved)) is not None
