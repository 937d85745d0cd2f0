"""A counterexample without what it does not need.

The promise is 1-minimal: no single action can be left out. It is not the shortest counterexample; breadth-first search
finds that. Source: A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", TSE 28(2), 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.errors import ImpossibleAction, LearnerMistake
from engine.explore.explorable import Explorable
from engine.explore.invariants import Rule, first_broken


def minimize(
    system: Explorable,
    actions: Iterable[str],
    rule: Rule,
    should_stop: Callable[[], bool] | None = None,
) -> tuple[str, ...]:
    """A 1-minimal part of `actions` that still breaks `rule` from the system's present state, in the same order.

    A part that the system refuses at some action is no counterexample. The system is put back at the end. `should_stop` is
    asked before each attempt but the first; where it says so, the shortest part so far is the answer. LearnerMistake where
    `actions` themselves do not break the rule.
    """
    start = system.capture()

    def violation(tried: tuple[str, ...]) -> tuple[str, ...] | None:
        """`tried` up to the violation, or None where there is none."""
        system.restore(start)
        try:
            found = first_broken(system, tried, [rule])
        except ImpossibleAction:
            return None
        return None if found is None else tried[: found[0]]

    try:
        found = violation(tuple(actions))
        if found is None:
            raise LearnerMistake(
                "no_violation",
                f"These actions do not violate {rule.name}.",
                mend="Give the actions of a search that found a violation.",
            )
        size = max(1, len(found) // 2)
        while True:
            shorter = _leave_out(found, size, violation, should_stop)
            if shorter is not None:
                found = shorter
            elif size > 1:
                size //= 2
            else:
                return found
    finally:
        system.restore(start)


def _leave_out(
    found: tuple[str, ...],
    size: int,
    violation: Callable[[tuple[str, ...]], tuple[str, ...] | None],
    should_stop: Callable[[], bool] | None,
) -> tuple[str, ...] | None:
    """`found` without `size` actions in a row, the last possible ones first; None where none can be left out."""
    for start in range(len(found) - size, -1, -1):
        if should_stop and should_stop():
            return None
        shorter = violation(found[:start] + found[start + size :])
        if shorter is not None:
            return shorter
    return None
