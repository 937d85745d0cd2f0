"""From a stored run to an engine that replays it: the only module here that makes a recording."""

import functools
import importlib.util
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from engine import ENGINE_VERSION, Policy, Recording, StepTrace
from engine.datastream import StreamExecutionEnvironment
from engine.errors import USER_ERRORS, InvalidJob, StreamLabError
from engine.explore.registry import MUTANTS
from engine.graph.job_graph import JobGraph
from engine.narration import TimeFormat
from engine.processes.recording import NetworkRecording
from engine.runtime import Runtime
from labs.networks import protocol_of, system_of
from labs.spec import LabSpec
from streamlab.runs import logs
from streamlab.runs.errors import RunError
from streamlab.runs.schemes import SCHEME, with_scheme

# lab.toml's names and the engine's
POLICIES = {
    "round_robin": "round_robin",
    "random": "random",
    "seeded_random": "random",
    "manual": "manual",
    "script": "script",
}
GRAPHS_MAX = 32

_graphs: OrderedDict[str, JobGraph] = OrderedDict()
_unshared: set[str] = set()  # names of jobs whose functions cannot be copied

AnyRecording = Recording | NetworkRecording

__all__ = ["ENGINE_VERSION", "POLICIES", "AnyRecording", "Recording", "StepTrace"]


@functools.lru_cache(maxsize=64)
def job_module(path: Path) -> ModuleType:
    """A lab's job.py, which is trusted: whoever runs this server put it there."""
    spec = importlib.util.spec_from_file_location(f"lab_job_{path.parent.parent.name[:16]}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_graph(lab: LabSpec, parameters: dict[str, Any]) -> JobGraph:
    """The job that a lab declares, under the scheme among the parameters where there is one.

    Raises InvalidJob, also for whatever its job.py raises.
    """
    env = StreamExecutionEnvironment()
    own = {name: value for name, value in parameters.items() if name != SCHEME}
    try:
        job_module(lab.job_path).build(env, own, str(lab.data_dir))
        graph = env.get_job_graph(lab.title)
        return with_scheme(graph, parameters[SCHEME]) if SCHEME in parameters else graph
    except StreamLabError:
        raise
    except USER_ERRORS as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(lab.job_path)
        ]
        raise InvalidJob(
            "job_broken",
            f"The job of this lab raised {type(error).__name__}: {error}.",
            place=f"job.py, line {lines[-1]}" if lines else "job.py",
            mend="Mend it; other labs are not touched by it.",
        ) from error


def graph_factory(lab: LabSpec, parameters: dict[str, Any]) -> Callable[[], JobGraph]:
    """Runs of one bundle and the same parameters share a graph, and with it the parsed input.

    A graph only describes the job: each subtask of each run makes its own copy of its function. The
    functions of some jobs cannot be copied; then every run gets a graph of its own.
    """
    name = f"{lab.digest} {sorted(parameters.items())}"

    def factory() -> JobGraph:
        if name in _unshared:
            return build_graph(lab, parameters)
        if name not in _graphs:
            _graphs[name] = build_graph(lab, parameters)
            if len(_graphs) > GRAPHS_MAX:
                _graphs.popitem(last=False)
        _graphs.move_to_end(name)
        return _graphs[name]

    if name not in _graphs and name not in _unshared and Recording(factory).replay_only:
        _unshared.add(name)
        _graphs.pop(name)
    return factory


def check_job(lab: LabSpec) -> None:
    """Raises RunError not_a_job for a lab about a network of processes."""
    if lab.kind != "job":
        raise RunError("not_a_job", place=lab.slug)


def of_job(recording: AnyRecording) -> Recording:
    """The recording, where it is one of a job. Raises RunError not_a_job."""
    if not isinstance(recording, Recording):
        raise RunError("not_a_job")
    return recording


def open_recording(
    *,
    lab: LabSpec,
    parameters: dict[str, Any],
    policy: str,
    quantum: int,
    seed: int,
    mutant: str = "",
    log: Iterable[logs.Entry] = (),
) -> AnyRecording:
    """A recording at position 0 whose head is the length of the log. Raises an engine error.

    mutant: name of a wrong protocol of a job, empty for the right one; that of a network is a parameter of its lab.
    """
    who = Policy(POLICIES[policy], quantum=quantum)
    if lab.kind == "network":
        make = system_of(lab, parameters)
        return NetworkRecording(make, who, seed, tuple(log), protocol_of(lab, parameters))
    factory = graph_factory(lab, parameters)
    return Recording(factory, policy=who, seed=seed, log=tuple(log), runtime=runtime_of(mutant))


def runtime_of(name: str) -> type[Runtime]:
    """The runtime of a mutant. Raises InvalidJob for a name that this engine does not know."""
    if not name:
        return Runtime
    mutant = MUTANTS.get(name)
    if mutant is None or mutant.kind != "job":
        raise InvalidJob(
            "unknown_mutant",
            f"This version knows no wrong protocol named {name!r}.",
            mend="Start a new run of this lab.",
        )
    return cast(type[Runtime], mutant.make)


def go_to(recording: AnyRecording, step: int, times: TimeFormat) -> str:
    """Seek; returns the sentence of that step, which is empty at step 0."""
    if step == 0:
        recording.seek(0)
        return ""
    recording.seek(step - 1)
    return recording.narrate(recording.step(1, events=True)[0], times)


def actions(recording: AnyRecording) -> dict[str, Any]:
    """What can be done at the position, and what cannot."""
    return {
        "possible": recording.possible(),
        "impossible": recording.impossible(),
        "commands": recording.commands(),
    }


def times_of(lab: LabSpec) -> TimeFormat:
    """How the lab's sentences write event time."""
    return TimeFormat(lab.time_zone_minutes, clock=lab.time_format != "milliseconds")


def fingerprint(recording: AnyRecording) -> list[int]:
    """[step, digest] of what the run shows at its position."""
    return [recording.position, recording.fingerprint()]


def check_fingerprint(recording: AnyRecording, stored: list[int]) -> None:
    """Raises RunError run_diverged. Moves the position."""
    step = stored[0]
    if step <= recording.head:
        recording.seek(step)
        if fingerprint(recording) != stored:
            raise RunError("run_diverged", place=f"step {step}", step=step)


def check_digests(recording: AnyRecording, stored: list[Any]) -> None:
    """Raises RunError run_diverged where the replayed trace is not the one that was stored."""
    for index, (now, then) in enumerate(zip(recording.digests, stored, strict=False)):
        if now != then:
            step = (index + 1) * 1000
            raise RunError("run_diverged", place=f"step {step}", step=step)
