"""`python -m engine.explore SUBJECT`: every schedule of a job, or of a process network from the text that describes it.

The exit status tells the three results apart: 0 exhausted, 1 violated, 3 a bound was reached; 2 is a mistake in the
arguments, in the job or in the text. Progress goes to the error output; a search that is interrupted is undecided.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.cut import verdict
from engine.checkpointing.network_text import read_network
from engine.checkpointing.space_time import History
from engine.checkpointing.wrong_snapshots import WRONG_SNAPSHOTS
from engine.errors import StreamLabError
from engine.explore import job_command
from engine.explore.invariants import Rule
from engine.explore.minimize import minimize
from engine.explore.network_invariants import (
    CONSISTENT_CUT,
    FIFO,
    RECORDED_STATE_OCCURRED,
    SNAPSHOT_RULES,
)
from engine.explore.results import Counts, Exhausted, Result, Violated
from engine.explore.search import BREADTH_FIRST, DEPTH_FIRST, RANDOM_WALKS, search
from engine.explore.ways import Bounds

RULES: dict[str, Sequence[Rule]] = {
    "snapshots": SNAPSHOT_RULES,
    "cut": (CONSISTENT_CUT,),
    "fifo": (FIFO,),
    "occurred": (RECORDED_STATE_OCCURRED,),
}
PROTOCOLS = {"right": ChandyLamport, **WRONG_SNAPSHOTS}
PROGRESS = 100
"""A line of progress for every so many questions whether to stop."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m engine.explore",
        description="Look through every schedule of a job or a process network for one that breaks a rule.",
    )
    made.add_argument(
        "subject",
        help="FILE.py or FILE.py:FUNCTION (job, where none is named), which builds a job; or a text that describes a network",
    )
    job_command.add_arguments(made.add_argument_group("of a job"))
    network = made.add_argument_group("of a network")
    network.add_argument("--protocol", choices=PROTOCOLS, default="right")
    network.add_argument("--rules", choices=RULES, default="snapshots")
    made.add_argument("--reduced", action="store_true", help="depth first, with sleep sets")
    made.add_argument("--walks", type=int, default=0, help="so many random schedules instead")
    made.add_argument("--seed", type=int, default=0, help="of the random schedules")
    made.add_argument("--states", type=int, default=1_000_000, help="bound on distinct states")
    made.add_argument("--depth", type=int, help="bound on the length of a schedule")
    return made


def main(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    subject: str = options.subject
    try:
        if subject.endswith(".py") or ".py:" in subject:
            return job_command.run(subject, options, _teller())
        return _explore_network(subject, options)
    except (OSError, UnicodeDecodeError, StreamLabError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Undecided, the search was interrupted.")
        return 3


def _explore_network(path: str, options: argparse.Namespace) -> int:
    with open(path, encoding="utf-8") as file:
        network = read_network(file.read(), path.rpartition("/")[2])
    rules = RULES[options.rules]
    make = PROTOCOLS[options.protocol]
    result = _searched(make(network), rules, options)
    print(result.told())
    if not isinstance(result, Violated):
        return 0 if isinstance(result, Exhausted) else 3
    rule = next(rule for rule in rules if rule.name == result.invariant)
    actions = minimize(make(network), result.actions, rule)
    if len(actions) < len(result.actions):
        print(f"{len(actions)} of these steps are enough:")
    history = History(make(network), actions)
    for step, action in enumerate(actions, 1):
        print(f"{step:>5}  {action}")
    for number in range(1, len(network.snapshots) + 1):
        if history.system.recorded_state(number):
            print(verdict(history, number))
    return 1


def _teller() -> Callable[[Counts], bool]:
    """Prints how far a search is, and never stops it."""
    asked = 0

    def should_stop(counts: Counts) -> bool:
        nonlocal asked
        asked += 1
        if not asked % PROGRESS:
            print(counts.told(), file=sys.stderr)
        return False

    return should_stop


def _searched(system: ChandyLamport, rules: Sequence[Rule], options: argparse.Namespace) -> Result:
    way = RANDOM_WALKS if options.walks else DEPTH_FIRST if options.reduced else BREADTH_FIRST
    bounds = Bounds(options.states, options.depth, _teller())
    return search(system, rules, bounds, way, walks=options.walks, seed=options.seed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
