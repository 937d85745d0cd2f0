"""One entry to every search: what to look through, the rules, the bounds, and the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.process_network import ProcessNetwork
from engine.commands import Command
from engine.errors import LearnerMistake
from engine.explore.explorable import Explorable
from engine.explore.invariants import Rule
from engine.explore.job import JobSystem
from engine.explore.results import Result
from engine.explore.ways import Bounds, breadth_first, depth_first, random_walks
from engine.graph.job_graph import JobGraph
from engine.runtime import Runtime
from engine.values import text

BREADTH_FIRST, DEPTH_FIRST, RANDOM_WALKS = WAYS = ("breadth first", "depth first", "random walks")

MOST_DEPTH = 100_000
"""How long a random walk may become where nobody says."""

Subject: TypeAlias = Callable[[], JobGraph] | ProcessNetwork
"""A factory of a job, or a process network."""


def search(
    subject: Subject | Explorable,
    rules: Iterable[Rule],
    bounds: Bounds = Bounds(),  # noqa: B008 - immutable
    way: str = BREADTH_FIRST,
    *,
    commands: Mapping[Command, int] | None = None,
    protocol: Any = None,
    walks: int = 1000,
    seed: int = 0,
) -> Result:
    """Look through the schedules of `subject` for one that breaks a rule.

    way: "breadth first" finds the shortest schedule there is; "depth first" leaves out orders of independent actions (sleep
    sets) and finds some schedule; "random walks" draws `walks` schedules for what is too large, and proves nothing.
    commands: how often each command may be given in one schedule; of a job only. protocol: a wrong one to look for a
    counterexample of, a subclass of `Runtime` for a job, (network) -> runner for a network. seed: of the job and the walks.

    LearnerMistake where there is no such way; InvalidJob where the job cannot be explored.
    """
    rules = tuple(rules)
    system = system_of(subject, rules, commands, protocol, seed)
    if way == BREADTH_FIRST:
        return breadth_first(system, rules, bounds)
    if way == DEPTH_FIRST:
        return depth_first(system, rules, bounds)
    if way == RANDOM_WALKS:
        depth = bounds.depth or MOST_DEPTH
        return random_walks(system, rules, walks, depth, seed, bounds.should_stop)
    raise LearnerMistake(
        "way", f"There is no way {text(way)!r}.", mend=f"Choose one of {', '.join(WAYS)}."
    )


def system_of(
    subject: Subject | Explorable,
    rules: Iterable[Rule],
    commands: Mapping[Command, int] | None = None,
    protocol: Any = None,
    seed: int = 0,
) -> Explorable:
    """`subject` in its first state; what sinks write belongs to its states where a rule looks at it."""
    if isinstance(subject, ProcessNetwork):
        network: Explorable = (protocol or ChandyLamport)(subject)
        return network
    if callable(subject):
        results = any(rule.results for rule in rules)
        return JobSystem(subject, commands, results, seed, protocol or Runtime)
    return subject
