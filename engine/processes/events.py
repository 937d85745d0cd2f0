"""The catalogue of trace events of a process network: one frozen type per observable happening.

`link` is written "sender>receiver"; `message` is the number of a message, counted from 0 in the order of sending, markers
included; `snapshot` counts from 1. The docstring of a type is its sentence in docs/protocol.md; `engine.processes.fold`
says what each does to the picture and `engine.processes.narration` tells it to a person.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class TokensSent(NamedTuple):
    """A process put tokens on a link; `left` is what it has then."""

    link: str
    message: int
    source: str
    target: str
    tokens: int
    left: int


class TokensReceived(NamedTuple):
    """The tokens of a message arrived; `has` is what the receiver has then."""

    link: str
    message: int
    source: str
    target: str
    tokens: int
    has: int


class MarkerSent(NamedTuple):
    """A process put the marker of a snapshot on a link."""

    link: str
    message: int
    source: str
    target: str
    snapshot: int


class MarkerReceived(NamedTuple):
    """The marker of a snapshot arrived."""

    link: str
    message: int
    source: str
    target: str
    snapshot: int


class SnapshotStarted(NamedTuple):
    """A process started a snapshot, or joined it before a marker of it had come."""

    snapshot: int
    process: str


class ProcessRecorded(NamedTuple):
    """A process recorded its own tokens, and from now on what arrives on each of its incoming links."""

    snapshot: int
    process: str
    tokens: int


class LinkRecorded(NamedTuple):
    """A message that arrived was recorded as part of the state of its link."""

    snapshot: int
    link: str
    message: int
    tokens: int


class LinkClosed(NamedTuple):
    """The record of a link is complete: its marker came."""

    snapshot: int
    link: str


class MarkersOwed(NamedTuple):
    """The snapshots for which a process has still to send its markers; only where the protocol sends them late."""

    process: str
    snapshots: tuple[int, ...]


class SnapshotCompleted(NamedTuple):
    """Every process has recorded its tokens and its incoming links.

    state: what was recorded, in words. total: its tokens; there_are: those of the network. occurred: the first step after
    which the network was in that state, or None. backwards: messages sent after the cut and received before it. missed:
    messages that were on a link when the cut passed and are in no record. order: where the state never occurred, the same
    actions in another order that lead to it. verdict: all that as sentences.
    """

    snapshot: int
    state: str
    total: int
    there_are: int
    occurred: int | None
    backwards: tuple[int, ...]
    missed: tuple[int, ...]
    order: tuple[str, ...]
    verdict: str


class NetworkFinished(NamedTuple):
    """Nothing more can happen."""

    steps: int


CATALOGUE: tuple[type[Any], ...] = tuple(
    found
    for found in list(globals().values())
    if isinstance(found, type) and found.__module__ == __name__
)
"""Every event type, in the order in which they are defined, which is that of the documentation."""
