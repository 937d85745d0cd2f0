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


class Graph:
    """States and the steps between them, all dependent: `a>b` leads from a to b."""

    def __init__(self, steps: str, start: str = "a") -> None:
        self.steps = steps.split()
        self.state = start

    def enabled(self) -> list[str]:
        return [step for step in self.steps if step.startswith(f"{self.state}>")]

    def apply(self, action: str) -> None:
        self.state = action.partition(">")[2]

    def capture(self) -> str:
        return self.state

    def restore(self, state: str) -> None:
        self.state = state

    def state_key(self) -> Hashable:
        return self.state

    def independent(self, first: str, second: str) -> bool:
        return False


def never_at(state: str) -> Invariant:
    """The graph never stands there."""
    return Invariant(
        f"never {state}", lambda system: f"At {state}." if system.state == state else ""
    )


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
