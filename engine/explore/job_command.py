"""`python -m engine.explore JOB.py`: every schedule of a job, from a Python file that builds it."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

from engine.commands import parse_command
from engine.errors import USER_ERRORS, InvalidJob, LearnerMistake, StreamLabError
from engine.explore.registry import INVARIANTS, MUTANTS
from engine.explore.request import JOB, Request, explore
from engine.explore.results import Counts
from engine.explore.search import BREADTH_FIRST, DEPTH_FIRST, RANDOM_WALKS
from engine.graph.job_graph import JobGraph
from engine.keyframes import Recording
from engine.runtime import Runtime
from engine.scheduler import Policy

STATUS = {"exhausted": 0, "violated": 1, "bound reached": 3}
COMMANDS = ("checkpoint", "fail=SUBTASK", "rescale=OPERATOR:PARALLELISM")


def add_arguments(made: argparse._ArgumentGroup) -> None:
    """The options that are for jobs only."""
    names = {
        "invariant": [name for name, rule in INVARIANTS.items() if rule.kind == JOB],
        "mutant": [name for name, mutant in MUTANTS.items() if mutant.kind == JOB],
    }
    made.add_argument(
        "--invariant",
        action="append",
        choices=names["invariant"],
        help="what must hold, once or more often",
    )
    made.add_argument("--mutant", choices=names["mutant"], default="", help="a wrong protocol")
    made.add_argument(
        "--command",
        action="append",
        default=[],
        help=f"may be given once at any time: {', '.join(COMMANDS)}; say it twice for twice",
    )


def run(place: str, options: argparse.Namespace, progress: Callable[[Counts], bool]) -> int:
    """Search the job at `place`, "FILE.py" or "FILE.py:FUNCTION", and print what came out. Raises StreamLabError."""
    path, _, name = place.partition(".py:")
    factory = read_job(path if path.endswith(".py") else f"{path}.py", name or "job")
    commands = Counter(options.command)
    walks = options.walks
    request = Request.from_data(
        {
            "kind": JOB,
            "invariants": options.invariant or ["exactly-once"],
            "mutant": options.mutant,
            "commands": [
                {"command": command_of(text), "times": times} for text, times in commands.items()
            ],
            "way": RANDOM_WALKS if walks else DEPTH_FIRST if options.reduced else BREADTH_FIRST,
            "states": options.states,
            "depth": options.depth,
            "walks": walks or 1,
            "seed": options.seed,
        }
    )
    outcome = explore(request, factory, progress)
    print(outcome["told"])
    if len(outcome["trace"]) < outcome["found"]:
        print(f"Shortened from {outcome['found']} steps.")
    runtime = cast(type[Runtime], MUTANTS[request.mutant].make if request.mutant else Runtime)
    recording = Recording(
        factory, Policy("manual"), request.seed, tuple(outcome["trace"]), runtime=runtime
    )
    for step in recording.step(recording.head, events=True):
        print(f"{step.step:>5}  {recording.narrate(step)}")
    return STATUS[outcome["result"]]


def command_of(text: str) -> dict[str, Any]:
    """The JSON form of a command as the command line has it. Raises LearnerMistake."""
    kind, _, argument = text.partition("=")
    operator, _, parallelism = argument.rpartition(":")
    if kind == "fail":
        data: dict[str, Any] = {"kind": kind, "subtask": argument}
    elif kind == "rescale" and parallelism.isdecimal():
        data = {"kind": kind, "operator": operator, "parallelism": int(parallelism)}
    else:
        data = {"kind": text}
    try:
        parse_command(data)
    except LearnerMistake:
        raise LearnerMistake(
            "unknown_command",
            f"There is no command {text!r}.",
            place="--command",
            mend=f"Write {', '.join(COMMANDS)}.",
        ) from None
    return data


def read_job(path: str, name: str) -> Callable[[], JobGraph]:
    """The function of a Python file that builds a job. The file is run. Raises InvalidJob with file and line."""
    spec = importlib.util.spec_from_file_location("explored_job", path)
    assert spec is not None, "the name ends in .py"
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except StreamLabError:
        raise
    except SyntaxError as error:
        raise _broken(path, error, error.lineno) from error
    except USER_ERRORS as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == path
        ]
        raise _broken(path, error, lines[-1] if lines else None) from error
    factory = getattr(module, name, None)
    if not callable(factory):
        raise InvalidJob(
            "no_job",
            f"There is no function {name} that builds a job.",
            place=path,
            mend="Define it, without parameters, or name another one: FILE.py:FUNCTION.",
        )
    made = factory()
    if not isinstance(made, JobGraph):
        raise InvalidJob(
            "no_job",
            f"{name} returned no job graph but {type(made).__name__}.",
            place=path,
            mend="Let it return env.get_job_graph(name).",
        )
    return cast(Callable[[], JobGraph], factory)


def _broken(path: str, error: BaseException, line: int | None) -> InvalidJob:
    return InvalidJob(
        "job_broken",
        f"The file raised {type(error).__name__}: {error}.",
        place=f"{path}, line {line}" if line else path,
        mend="Mend it.",
    )
