"""The choices of a run: the truth from which everything else can be made again.

An entry is `["policy", n]` for n steps of the policy, `["action", id]`, or `["command", {...}]`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

from engine.errors import LearnerMistake, WouldBranch

LogEntry = list[Any]


class Log:
    """The choices of a run, and at which step each entry starts."""

    def __init__(self, entries: Iterable[LogEntry] = ()) -> None:
        self.entries: list[LogEntry] = []
        self.starts: list[int] = []
        self.steps = 0
        for entry in entries:
            self.append(entry)

    def append(self, entry: LogEntry) -> None:
        """Add an entry; a policy entry is merged with one before it."""
        kind, payload = entry
        if kind == "policy":
            if type(payload) is not int or payload < 0:
                raise LearnerMistake(
                    "log",
                    f"A policy entry of {payload!r} steps is not possible.",
                    mend="Use a number of steps.",
                )
            if payload == 0:
                return
            if self.entries and self.entries[-1][0] == "policy":
                self.entries[-1] = ["policy", self.entries[-1][1] + payload]
            else:
                self.entries.append(["policy", payload])
                self.starts.append(self.steps)
            self.steps += payload
        elif kind in ("action", "command"):
            self.entries.append([kind, payload])
            self.starts.append(self.steps)
            self.steps += 1
        else:
            raise LearnerMistake(
                "log",
                f"A log entry of kind {kind!r} is not known.",
                mend="The kinds are policy, action and command.",
            )

    def at(self, step: int) -> tuple[str, Any, int]:
        """(kind, payload, steps left in the entry) of what is done at `step` (0 <= step < steps)."""
        index = bisect_right(self.starts, step) - 1
        kind, payload = self.entries[index]
        length = payload if kind == "policy" else 1
        return kind, payload, self.starts[index] + length - step

    def prefix(self, steps: int) -> list[LogEntry]:
        """The entries of the first `steps` steps, the last one cut where it goes on."""
        kept: list[LogEntry] = []
        for entry, start in zip(self.entries, self.starts, strict=True):
            if start >= steps:
                break
            kept.append(
                ["policy", min(entry[1], steps - start)] if entry[0] == "policy" else list(entry)
            )
        return kept

    def holds(self, step: int, entry: LogEntry, next_action: Callable[[], str | None]) -> bool:
        """Whether `entry` is what was done at `step`; False where the log ends there. `next_action`: what the policy takes.

        WouldBranch where the log goes on otherwise.
        """
        if step >= self.steps:
            return False
        kind, payload, _ = self.at(step)
        if [kind, payload] == entry or (
            kind == "policy" and entry[0] == "action" and next_action() == entry[1]
        ):
            return True
        raise WouldBranch(
            "would_branch", f"The run goes on otherwise after step {step}.", mend="Act on a branch."
        )


def check_step(step: int, head: int) -> None:
    """LearnerMistake where a run of `head` steps has no such step."""
    if type(step) is not int or not 0 <= step <= head:
        raise LearnerMistake(
            "seek",
            f"Step {step!r} is not in this run.",
            mend=f"Choose a step from 0 to {head}.",
        )
