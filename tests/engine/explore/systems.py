"""Small systems to search, of which everything is known."""

from __future__ import annotations

from collections.abc import Hashable

from engine import ImpossibleAction
from engine.explore.invariants import Invariant, Monitor


class Programs:
    """Processes that run their programs over shared variables, one statement an action: `0` is the next one of process 0.

    A statement is (variable, factor, term): variable = variable * factor + term. Two statements are independent where
    they are of different processes and about different variables.
    """

    def __init__(self, programs: list[list[tuple[str, int, int]]]) -> None:
        self.programs = programs
        self.at = [0] * len(programs)
        self.values: dict[str, int] = {}

    def enabled(self) -> list[str]:
        return [str(i) for i, program in enumerate(self.programs) if self.at[i] < len(program)]

    def apply(self, action: str) -> None:
        if action not in self.enabled():
            raise ImpossibleAction("impossible", "This is not possible now.")
        process = int(action)
        variable, factor, term = self.programs[process][self.at[process]]
        self.values[variable] = self.values.get(variable, 0) * factor + term
        self.at[process] += 1

    def capture(self) -> tuple[list[int], dict[str, int]]:
        return list(self.at), dict(self.values)

    def restore(self, state: tuple[list[int], dict[str, int]]) -> None:
        self.at, self.values = list(state[0]), dict(state[1])

    def state_key(self) -> Hashable:
        return tuple(self.at), frozenset(self.values.items())

    def independent(self, first: str, second: str) -> bool:
        # What one statement ahead is about is not known, so whole programs are compared.
        touched = [{name for name, _, _ in self.programs[int(a)]} for a in (first, second)]
        return first != second and not touched[0] & touched[1]


def never(variable: str, value: int, at_end: bool = False) -> Invariant:
    """The variable never has this value; at the end only, with `at_end`."""

    def broken(system: Programs) -> str:
        return f"{variable} is {value}." if system.values.get(variable, 0) == value else ""

    return Invariant(f"{variable} is not {value}", broken, at_end)


def never_taken(*order: str) -> Monitor:
    """The actions of `order` are never taken one right after the other."""

    def observe(memory: int, system: Programs, action: str) -> tuple[int, str]:
        memory = memory + 1 if action == order[memory] else int(action == order[0])
        done = memory == len(order)
        return 0 if done else memory, f"{' then '.join(order)}." if done else ""

    return Monitor(f"never {order}", lambda system: 0, observe)


COUNTERS = [[("x", 1, 1)] * 3, [("y", 1, 1)] * 3]
"""Two processes that share nothing: 16 states, 24 transitions, 20 interleavings."""
