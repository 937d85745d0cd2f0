"""Arithmetic on the log of a run.

A log is a list of entries, oldest first, each worth a number of steps:

    ["policy", n]        the policy chose n times in a row       n steps
    ["action", id]       somebody took this action               1 step
    ["command", {...}]   somebody gave this command              1 step

Two policy entries never stand side by side. In the database the last policy entry of a run is not
written down while it is still growing: it is what `head` has beyond the rows.
"""

from collections.abc import Iterable, Sequence
from typing import Any

Entry = list[Any]  # ["policy", n] and so on: the engine's form


def steps_of(entry: Sequence[Any]) -> int:
    return int(entry[1]) if entry[0] == "policy" else 1


def length(log: Iterable[Sequence[Any]]) -> int:
    """Steps in the log."""
    return sum(steps_of(entry) for entry in log)


def cut(log: Iterable[Sequence[Any]], steps: int) -> list[Entry]:
    """The first `steps` steps of the log; a policy entry that crosses the cut is shortened."""
    kept: list[Entry] = []
    for entry in log:
        if steps <= 0:
            break
        taken = min(steps_of(entry), steps)
        kept.append(["policy", taken] if entry[0] == "policy" else list(entry))
        steps -= taken
    return kept


def join(*logs: Iterable[Sequence[Any]]) -> list[Entry]:
    """The logs one after another; policy entries that meet become one."""
    joined: list[Entry] = []
    for log in logs:
        for entry in log:
            if entry[0] == "policy":
                if entry[1] == 0:
                    continue
                if joined and joined[-1][0] == "policy":
                    joined[-1] = ["policy", joined[-1][1] + entry[1]]
                    continue
            joined.append(list(entry))
    return joined


class Tail:
    """Where the stored log of one run ends, and which rows a choice adds to it.

    rows     rows written so far, which is the index of the next one
    covered  the step that the last row reaches; from there to `head` the policy chose
    """

    def __init__(self, *, rows: int, covered: int) -> None:
        self.rows = rows
        self.covered = covered

    def choice(self, head: int, kind: str, payload: Any) -> list[tuple[int, str, Any, int]]:
        """Rows (index, kind, payload, n) for a choice that was made at step `head`."""
        new: list[tuple[int, str, Any, int]] = []
        if head > self.covered:
            new.append((self.rows, "policy", None, head - self.covered))
        new.append((self.rows + len(new), kind, payload, 1))
        self.rows += len(new)
        self.covered = head + 1
        return new
