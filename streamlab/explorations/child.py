"""The process that searches: `python -m streamlab.explorations.child`.

One JSON line comes in (services.exploration_job), then perhaps the line "stop". JSON lines go out: {"counts": {...}} about four
times a second, and in the end {"outcome": {...}}, {"refused": {code, sentence, place, mend}} or {"bound": name}. When its
input ends, so does it: a search never outlives its server.

It limits itself before it reads the job of a lab: CPU time (a soft limit that it tells, and a hard one) and memory.
"""

import json
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from engine.errors import EngineBug, ImpossibleAction, LearnerMistake, StreamLabError
from engine.explore.request import Request, explore
from engine.explore.results import Counts
from engine.explore.search import Subject
from engine.log import LogEntry
from labs.networks import read_lab_network
from labs.spec import LabSpec, load_lab
from streamlab.runs import recordings

PROGRESS_SECONDS = 0.25
GRACE_SECONDS = 20
"""CPU time between the limit that is told and the one that kills: to put a violation into words."""

FULL = 0.75
"""Of the memory that it may have: then the search ends, and says so."""
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Child:
    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.stopping = ""  # which bound ends the search, once one does
        self.told_at = 0.0
        self.memory = sys.maxsize

    def tell(self, **message: Any) -> None:
        self.out.write(json.dumps(message) + "\n")
        self.out.flush()

    def listen(self) -> None:
        """A thread: whoever started this process may stop it, or be gone."""
        for line in sys.stdin:
            if line.strip() == "stop":
                self.stop("stopped")
        os._exit(0)

    def stop(self, bound: str) -> None:
        self.stopping = self.stopping or bound

    def limit(self, cpu_seconds: int, memory: int) -> None:
        signal.signal(signal.SIGXCPU, lambda *_: self.stop("time"))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + GRACE_SECONDS))
        self.memory = memory
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def nearly_full(self) -> bool:
        """Before an allocation fails, which might happen inside a function of the job and be taken for its failure."""
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used * RSS_UNIT > self.memory * FULL

    def progress(self, counts: Counts) -> bool:
        if self.nearly_full():
            self.stop("memory")
        now = time.monotonic()
        if now - self.told_at >= PROGRESS_SECONDS:
            self.told_at = now
            self.tell(counts=counts._asdict())
        return bool(self.stopping)

    def search(self, asked: dict[str, Any]) -> None:
        try:
            self.tell(outcome=self.outcome(asked))
        except StreamLabError as error:
            self.tell(
                refused={
                    "code": error.code,
                    "sentence": error.sentence,
                    "place": str(error.place or ""),
                    "mend": error.mend or "",
                }
            )

    def outcome(self, asked: dict[str, Any]) -> dict[str, Any]:
        request = Request.from_data(asked["request"])
        lab = load_lab(Path(asked["folder"]))
        subject = subject_of(lab, asked["parameters"])
        before = choices(asked, request, lab)
        outcome = explore(request, subject, self.progress, before)
        if outcome["bound"] == "stopped":
            outcome["bound"] = self.stopping
        del outcome["request"]
        outcome["steps"] = narrated(asked, request, lab, outcome["trace"])
        return outcome


def subject_of(lab: LabSpec, parameters: dict[str, Any]) -> Subject:
    """What is searched. Raises InvalidJob."""
    if lab.kind == "network":
        return read_lab_network(lab, parameters)
    return recordings.graph_factory(lab, parameters)


def opened(
    asked: dict[str, Any], request: Request, lab: LabSpec, log: list[LogEntry]
) -> recordings.AnyRecording:
    return recordings.open_recording(
        lab=lab,
        parameters=asked["parameters"],
        policy=asked["policy"],
        quantum=asked["quantum"],
        seed=request.seed,
        mutant=request.mutant,
        log=log,
    )


def choices(asked: dict[str, Any], request: Request, lab: LabSpec) -> list[LogEntry]:
    """What leads to the step where the search starts, action by action: the policy's choices are spelled out."""
    recording = opened(asked, request, lab, asked["log"])
    commands = [entry for entry in asked["log"] if entry[0] == "command"]
    commands.reverse()
    entries: list[LogEntry] = []
    while recording.position < asked["step"]:
        try:
            trace = recording.step(1, events=True)[0]
        except (EngineBug, ImpossibleAction) as error:
            raise LearnerMistake(
                "other_protocol",
                f"Step {recording.position + 1} of the run is not possible under this protocol.",
                mend="Explore from the beginning, or under the protocol of the run.",
            ) from error
        entries.append(commands.pop() if trace.action == "command" else ["action", trace.action])
    return entries


def narrated(
    asked: dict[str, Any], request: Request, lab: LabSpec, trace: list[LogEntry]
) -> list[dict[str, str]]:
    """Each step of the trace with its sentence, as the viewer will tell it."""
    if not trace:
        return []
    recording = opened(asked, request, lab, [*asked["log"], *trace])
    recording.seek(asked["step"])
    times = recordings.times_of(lab)
    return [
        {"action": step.action, "say": recording.narrate(step, times)}
        for step in recording.step(len(trace), events=True)
    ]


def main() -> None:
    child = Child(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a job prints is no message
    os.nice(10)  # pages come first
    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=child.listen, daemon=True).start()
    child.limit(asked["cpu_seconds"], asked["memory"])
    try:
        child.search(asked)
    except MemoryError:
        out_of_memory = True
    else:
        out_of_memory = False
    if out_of_memory:  # what filled the memory is gone with the frames of the exception
        child.tell(bound="memory")
    os._exit(0)


if __name__ == "__main__":
    main()
