"""A search that another process can be asked for: what to explore and what came out, in forms that fit into JSON.

The caller makes the subject (a factory of the job, or a process network) from `Request.source`, which means nothing here:

    request = Request.from_data(json.loads(line))
    outcome = explore(request, factory, progress=lambda counts: False)
    print(json.dumps(outcome))

The trace of a violation is a log as `engine.keyframes.Recording` takes it, so it opens as a run: with the seed of the request,
and with the runtime of its mutant (`MUTANTS[request.mutant].make`), since the right one would refuse what the wrong one did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from engine.checkpointing.process_network import ProcessNetwork
from engine.commands import Command, command_data, parse_command
from engine.errors import LearnerMistake
from engine.explore.explorable import Explorable
from engine.explore.invariants import Rule, first_broken
from engine.explore.job import JobSystem
from engine.explore.minimize import minimize
from engine.explore.registry import INVARIANTS, MUTANTS
from engine.explore.results import Counts, Exhausted, Violated
from engine.explore.search import BREADTH_FIRST, WAYS, Subject, search, system_of
from engine.explore.ways import Bounds
from engine.graph.job_graph import JobGraph
from engine.log import LogEntry
from engine.values import text

JOB, NETWORK = KINDS = ("job", "network")

MOST_STATES = 5_000_000
MOST_DEPTH = 100_000
MOST_WALKS = 1_000_000
MOST_SEED = 2**53 - 1
MOST_TIMES = 8
"""How often a command may be given in one schedule."""

Progress: TypeAlias = Callable[[Counts], bool]
"""Is called every 256 transitions; True stops the search."""


@dataclass(frozen=True)
class Request:
    """What to explore, and how far. Valid once built: LearnerMistake says which field is wrong.

    kind: "job" or "network".
    invariants: names in `INVARIANTS`, of this kind; at least one.
    mutant: a name in `MUTANTS`, of this kind; "" is the right protocol.
    commands: (command, how often it may be given in one schedule); jobs only.
    way: "breadth first" (the shortest schedule), "depth first" (with sleep sets where no rule looks at history), or
    "random walks" (for what is too large; proves nothing).
    states: bound on distinct states, 1 to 5,000,000; walks do not look at it. depth: bound on the length of a schedule,
    1 to 100,000, or None. walks: how many random walks, 1 to 1,000,000; other ways do not look at it.
    seed: of the job, 0 to 2^53 - 1. walk_seed: of the walks, likewise; None: that of the job.
    source: what the caller makes the subject from; any JSON object.
    """

    kind: str
    invariants: tuple[str, ...]
    mutant: str = ""
    commands: tuple[tuple[Command, int], ...] = ()
    way: str = BREADTH_FIRST
    states: int = 200_000
    depth: int | None = None
    walks: int = 1000
    seed: int = 0
    walk_seed: int | None = None
    source: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_among("kind", self.kind, KINDS)
        _check_names(self)
        _check_among("way", self.way, WAYS)
        _check_number("states", self.states, 1, MOST_STATES)
        if self.depth is not None:
            _check_number("depth", self.depth, 1, MOST_DEPTH)
        _check_number("walks", self.walks, 1, MOST_WALKS)
        _check_number("seed", self.seed, 0, MOST_SEED)
        if self.walk_seed is not None:
            _check_number("walk_seed", self.walk_seed, 0, MOST_SEED)
        if self.commands and self.kind != JOB:
            raise _wrong("commands", "A process network takes no commands.", "Leave them out.")
        if len({command for command, _ in self.commands}) < len(self.commands):
            raise _wrong("commands", "A command is given twice.", "Raise `times` instead.")
        for _, times in self.commands:
            _check_number("times", times, 1, MOST_TIMES)
        if not isinstance(self.source, Mapping):
            raise _wrong("source", "The source is not an object.", "Send an object.")

    @classmethod
    def from_data(cls, data: Any) -> Request:
        """A request from its JSON form (`to_data`); fields that are left out have their defaults."""
        if not isinstance(data, dict):
            raise _wrong("request", "A request is an object.", "Send an object.")
        unknown = sorted(set(data) - set(cls.__dataclass_fields__))
        if unknown:
            fields = ", ".join(cls.__dataclass_fields__)
            raise _wrong(
                str(unknown[0]),
                f"A request has no field {text(unknown[0])!r}.",
                f"The fields are {fields}.",
            )
        for name in ("kind", "invariants"):
            if name not in data:
                raise _wrong(name, f"The field {name} is missing.", "Send it.")
        given = dict(data)
        given["invariants"] = _names(data["invariants"])
        if "commands" in given:
            given["commands"] = _budget(given["commands"])
        return cls(**given)

    def to_data(self) -> dict[str, Any]:
        """The JSON form."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        data["invariants"] = list(self.invariants)
        data["commands"] = [
            {"command": command_data(command), "times": times} for command, times in self.commands
        ]
        data["source"] = dict(self.source)
        return data


def explore(
    request: Request,
    subject: Subject,
    progress: Progress | None = None,
    before: Iterable[LogEntry] = (),
) -> dict[str, Any]:
    """Search as `request` says, and shorten what was found. `before`: actions and commands that lead to where it starts, which
    cost no budget and are not part of the trace. What comes out fits into JSON:

    result: "violated", "exhausted" or "bound reached". bound: "", or which one: "states", "depth", "walks", "stopped".
    told: all of it as a sentence. counts: states, transitions, terminal, depth, reduced (`results.Counts`).
    invariant, title, sentence: the name of the violated invariant, its title, and why it does not hold; else "".
    trace: the schedule as entries of a log, `["action", id]` and `["command", {...}]`; else [].
    minimal: whether no single entry can be left out of the trace; False where `progress` ended the shortening.
    found: how many steps the schedule had before it was shortened.
    request: the request in its JSON form.

    InvalidJob where the job cannot be explored; LearnerMistake where the subject is not of the kind of the request.
    """
    if isinstance(subject, ProcessNetwork) is not (request.kind == NETWORK):
        raise _wrong("kind", f"What is to be explored is no {request.kind}.", "Name its kind.")
    if not isinstance(subject, ProcessNetwork):
        _check_operators(request, subject())
    rules = {name: INVARIANTS[name].make(subject) for name in request.invariants}
    protocol = MUTANTS[request.mutant].make if request.mutant else None
    system = system_of(subject, rules.values(), dict(request.commands), protocol, request.seed)
    for entry in before:
        _take(system, entry)
    start = system.capture()
    bounds = Bounds(request.states, request.depth, progress)
    walks = request.walks
    seed = request.seed if request.walk_seed is None else request.walk_seed
    result = search(system, rules.values(), bounds, request.way, walks=walks, seed=seed)
    outcome: dict[str, Any] = {
        "result": "bound reached",
        "bound": getattr(result, "bound", ""),
        "told": result.told(),
        "counts": result.counts._asdict(),
        "invariant": "",
        "title": "",
        "sentence": "",
        "trace": [],
        "minimal": False,
        "found": 0,
        "request": request.to_data(),
    }
    if isinstance(result, Exhausted):
        outcome["result"] = "exhausted"
    if isinstance(result, Violated):
        system.restore(start)
        outcome.update(_violation(result, system, rules, progress))
    return outcome


def _check_operators(request: Request, job: JobGraph) -> None:
    """A command that names no operator of the job would never be possible, and nobody would be told."""
    known = [vertex.id for vertex in job.vertices]
    for command, _ in request.commands:
        subtask, operator = getattr(command, "subtask", None), getattr(command, "operator", None)
        named = operator if subtask is None else subtask.partition("[")[0]
        if named is not None and named not in known:
            raise LearnerMistake(
                "unknown_operator",
                f"This job has no operator {text(named)!r}.",
                place="commands",
                mend=f"Choose one of {', '.join(known)}.",
            )


def _take(system: Explorable, entry: LogEntry) -> None:
    if entry[0] == "command" and isinstance(system, JobSystem):
        system.give(parse_command(entry[1]))
    else:
        system.apply(entry[1])


def _violation(
    result: Violated, system: Explorable, rules: dict[str, Rule], progress: Progress | None
) -> dict[str, Any]:
    name, rule = next((n, rule) for n, rule in rules.items() if rule.name == result.invariant)
    stopped = False

    def should_stop() -> bool:
        nonlocal stopped
        stopped = stopped or (progress is not None and progress(result.counts))
        return stopped

    actions = minimize(system, result.actions, rule, should_stop)
    broken = first_broken(system, actions, [rule])
    sentence = broken[1].sentence if broken else result.sentence
    return {
        "result": "violated",
        "told": result._replace(actions=actions, sentence=sentence).told(),
        "invariant": name,
        "title": rule.name,
        "sentence": sentence,
        "trace": log_of(system, actions),
        "minimal": not stopped,
        "found": len(result.actions),
    }


def log_of(system: Explorable, actions: tuple[str, ...]) -> list[LogEntry]:
    """A schedule as entries of a log."""
    commands = system.commands if isinstance(system, JobSystem) else {}
    return [
        ["command", command_data(commands[action])] if action in commands else ["action", action]
        for action in actions
    ]


# Fields


def _wrong(place: str, sentence: str, mend: str) -> LearnerMistake:
    return LearnerMistake("request", sentence, place=place, mend=mend)


def _check_among(place: str, value: Any, names: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in names:
        raise _wrong(
            place,
            f"There is no {place.removesuffix('s')} {text(value)!r}.",
            f"Choose one of {', '.join(names)}.",
        )


def _check_number(place: str, value: Any, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise _wrong(
            place,
            f"{place} cannot be {text(value)}.",
            f"Use an integer from {least:,} to {most:,}.",
        )


def _check_names(request: Request) -> None:
    kind = request.kind
    if not request.invariants:
        raise _wrong("invariants", "There is no invariant to look at.", "Name at least one.")
    invariants = tuple(name for name, named in INVARIANTS.items() if named.kind == kind)
    for name in request.invariants:
        _check_among("invariants", name, invariants)
    mutants = tuple(name for name, mutant in MUTANTS.items() if mutant.kind == kind)
    if request.mutant:
        _check_among("mutant", request.mutant, mutants)
    elif request.mutant != "":
        raise _wrong("mutant", "The mutant is not a name.", 'Use "" for the right protocol.')


def _names(data: Any) -> tuple[Any, ...]:
    if not isinstance(data, list | tuple):
        raise _wrong("invariants", "The invariants are not a list.", "Send a list of names.")
    return tuple(data)


def _budget(data: Any) -> tuple[tuple[Command, int], ...]:
    if not isinstance(data, list | tuple):
        raise _wrong("commands", "The commands are not a list.", "Send a list.")
    budget = []
    for entry in data:
        if not isinstance(entry, dict) or set(entry) != {"command", "times"}:
            raise _wrong(
                "commands",
                "An entry of the commands has the fields command and times.",
                'Send {"command": {"kind": "checkpoint"}, "times": 1}.',
            )
        budget.append((parse_command(entry["command"]), entry["times"]))
    return tuple(budget)
