"""What a search came to: one of three things, which are never mixed up.

`Violated`     - a schedule breaks a rule: here it is.
`Exhausted`    - every schedule was covered: none breaks a rule.
`BoundReached` - no violation so far, and something is left that was not looked at.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Counts(NamedTuple):
    """What was looked at.

    states: distinct states, the first included. transitions: actions taken. terminal: distinct states in which nothing is
    possible. depth: the longest schedule that was followed. reduced: whether sleep sets left transitions out.
    """

    states: int
    transitions: int
    terminal: int
    depth: int
    reduced: bool = False

    def told(self) -> str:
        return (
            f"{self.states:,} states, {self.transitions:,} transitions, "
            f"{self.terminal:,} terminal states, depth {self.depth:,}"
        )


class Violated(NamedTuple):
    """`actions` lead from the first state to the violation of `invariant`; `sentence` says why it is one."""

    invariant: str
    sentence: str
    actions: tuple[str, ...]
    counts: Counts

    def told(self) -> str:
        return f"{self.invariant} is violated after {len(self.actions)} steps: {self.sentence}"


class Exhausted(NamedTuple):
    """Every reachable state was looked at."""

    counts: Counts

    def told(self) -> str:
        return f"No schedule violates it: {self.counts.told()}."


class BoundReached(NamedTuple):
    """`bound` ended the search: "states", "depth", "walks" or "stopped"."""

    bound: str
    counts: Counts

    def told(self) -> str:
        return f"Undecided, the bound on {self.bound} was reached: {self.counts.told()}."


Result: TypeAlias = Violated | Exhausted | BoundReached
