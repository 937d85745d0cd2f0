"""A network of processes that send each other tokens: what it is made of, before anything runs.

A process starts with some tokens. A link leads from one process to another; what travels on it keeps its order, unless
the link is unordered. The delay of a link is arbitrary: a run chooses, step by step, whose head is delivered next. Each
process makes its own sends in their order, whenever it likes, and may start the snapshots that name it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from engine.errors import InvalidJob

NAME = re.compile(r"[^\W_]\w*")


class Link(NamedTuple):
    """A one-way link. fifo: whether what travels keeps its order."""

    source: str
    target: str
    fifo: bool = True

    @property
    def name(self) -> str:
        return f"{self.source}>{self.target}"


class Send(NamedTuple):
    """One send of a process: `tokens` (1 or more) to a process that it has a link to."""

    source: str
    target: str
    tokens: int


@dataclass(frozen=True)
class ProcessNetwork:
    """Valid once built: InvalidJob says which rule a network breaks.

    tokens: what each process starts with, 0 or more; their order is the order of the lanes in a picture.
    snapshots: who may start each; the first is snapshot 1. A snapshot of several processes has several initiators.
    script: ids of actions, one run of this network that somebody wrote down.
    """

    tokens: dict[str, int]
    links: tuple[Link, ...]
    sends: tuple[Send, ...] = ()
    snapshots: tuple[tuple[str, ...], ...] = ()
    script: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.tokens:
            raise _invalid("no_process", "A network needs at least one process.", "Add a process.")
        for process, tokens in self.tokens.items():
            check_process(process, tokens)
        known: set[tuple[str, str]] = set()
        for link in self.links:
            check_link(link, self.tokens, known)
            known.add(link[:2])
        for send in self.sends:
            check_send(send, known)
        for initiators in self.snapshots:
            for initiator in initiators:
                check_known(initiator, self.tokens)

    def total(self) -> int:
        """All tokens there are: no step changes their number."""
        return sum(self.tokens.values())

    def unreached(self, initiators: tuple[str, ...]) -> list[str]:
        """Processes that no path of links leads to from `initiators`: a snapshot of theirs never ends there."""
        reached = set(initiators)
        waiting = list(initiators)
        while waiting:
            process = waiting.pop()
            for link in self.links:
                if link.source == process and link.target not in reached:
                    reached.add(link.target)
                    waiting.append(link.target)
        return [process for process in self.tokens if process not in reached]

    def unordered(self) -> ProcessNetwork:
        """The same network with links that keep no order."""
        links = tuple(link._replace(fifo=False) for link in self.links)
        return ProcessNetwork(self.tokens, links, self.sends, self.snapshots, self.script)


def check_process(process: str, tokens: int) -> None:
    if not NAME.fullmatch(process):
        raise _invalid(
            "process_name",
            f"{process!r} cannot be the name of a process.",
            "Use letters, digits and underscores, and begin with a letter or a digit.",
        )
    if type(tokens) is not int or tokens < 0:
        raise _invalid(
            "tokens",
            f"Process {process} cannot start with {tokens!r} tokens.",
            "Use an integer that is at least 0.",
        )


def check_known(process: str, tokens: dict[str, int]) -> None:
    if process not in tokens:
        raise _invalid(
            "unknown_process",
            f"There is no process {process!r}.",
            f"The processes are {', '.join(tokens)}; declare a process before it is used.",
        )


def check_link(link: Link, tokens: dict[str, int], known: set[tuple[str, str]]) -> None:
    check_known(link.source, tokens)
    check_known(link.target, tokens)
    if (link.source, link.target) in known:
        raise _invalid(
            "double_link",
            f"There are two links from {link.source} to {link.target}.",
            "Leave one out.",
        )


def check_send(send: Send, links: set[tuple[str, str]]) -> None:
    if (send.source, send.target) not in links:
        raise _invalid(
            "no_link",
            f"There is no link from {send.source} to {send.target}.",
            f"Add `link {send.source} -> {send.target}`, or send to another process.",
        )
    if type(send.tokens) is not int or send.tokens < 1:
        raise _invalid(
            "tokens",
            f"{send.source} cannot send {send.tokens!r} tokens.",
            "Use an integer that is at least 1.",
        )


def _invalid(code: str, sentence: str, mend: str) -> InvalidJob:
    return InvalidJob(code, sentence, mend=mend)
