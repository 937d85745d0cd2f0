"""Every rule and every wrong protocol that can be asked for by name, each with a title and a sentence for a reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.checkpointing.wrong_snapshots import WRONG_SNAPSHOTS
from engine.explore.invariants import Rule
from engine.explore.job_invariants import (
    FIFO_CHANNELS,
    ONE_OWNER,
    WATERMARKS_RISE,
    exactly_once,
    nothing_lost,
)
from engine.explore.network_invariants import (
    CONSISTENT_CUT,
    FIFO,
    RECORDED_STATE_OCCURRED,
    SNAPSHOT_CONSERVES,
    SNAPSHOTS_COMPLETE,
    TOKENS_CONSERVED,
)
from engine.explore.wrong_barriers import WRONG_BARRIERS


class NamedRule(NamedTuple):
    """A rule for a reader.

    make: (subject: factory of the job, or network) -> the rule itself.
    belief: whether it is a belief that people hold rather than something the engine promises.
    """

    kind: str
    title: str
    explanation: str
    make: Callable[[Any], Rule]
    belief: bool = False


class Mutant(NamedTuple):
    """A wrong protocol for a reader. make: a subclass of `Runtime`, or (network) -> runner."""

    kind: str
    title: str
    explanation: str
    make: Callable[..., Any]


def _same(rule: Rule) -> Callable[[Any], Rule]:
    return lambda subject: rule


INVARIANTS: dict[str, NamedRule] = {
    "exactly-once": NamedRule(
        "job",
        "Every record has its effect on state exactly once",
        "A job that has finished holds the same keyed state as in a run in which nothing failed.",
        exactly_once,
    ),
    "nothing-lost": NamedRule(
        "job",
        "No result is lost",
        "A job that has finished has written every result of a run in which nothing failed, as often or more often.",
        nothing_lost,
    ),
    "one-owner": NamedRule(
        "job",
        "One owner per key group",
        "State of a key is held by the subtask that owns the key's group, and by no other.",
        _same(ONE_OWNER),
    ),
    "watermarks-rise": NamedRule(
        "job",
        "Watermarks never go backwards",
        "Within one attempt the watermark of a subtask rises or stays.",
        _same(WATERMARKS_RISE),
    ),
    "fifo-channels": NamedRule(
        "job",
        "Channels keep their order",
        "What was put into a channel first is taken from it first.",
        _same(FIFO_CHANNELS),
    ),
    "tokens-conserved": NamedRule(
        "network",
        "Tokens are conserved",
        "Processes and links hold as many tokens as the network started with.",
        _same(TOKENS_CONSERVED),
    ),
    "snapshot-conserves": NamedRule(
        "network",
        "A complete snapshot holds every token once",
        "Recorded processes and recorded links together hold as many tokens as the network.",
        _same(SNAPSHOT_CONSERVES),
    ),
    "snapshots-complete": NamedRule(
        "network",
        "Every snapshot completes",
        "Where nothing more can happen, every process has recorded itself and got every marker.",
        _same(SNAPSHOTS_COMPLETE),
    ),
    "consistent-cut": NamedRule(
        "network",
        "The cut is consistent",
        "No process receives before its cut what was sent after the sender's cut.",
        _same(CONSISTENT_CUT),
    ),
    "fifo-links": NamedRule(
        "network",
        "Links keep their order",
        "What was sent first on a link is delivered first.",
        _same(FIFO),
    ),
    "recorded-state-occurred": NamedRule(
        "network",
        "A snapshot is the state at some instant",
        "The recorded state is one that the network was in at some step of the run.",
        _same(RECORDED_STATE_OCCURRED),
        belief=True,
    ),
}

MUTANTS: dict[str, Mutant] = {
    "no-alignment": Mutant(
        "job",
        "No alignment",
        "A subtask goes on taking from inputs whose barrier has come, and copies its state at the last barrier.",
        WRONG_BARRIERS["no alignment"],
    ),
    "snapshot-after-emit": Mutant(
        "job",
        "Snapshot after emit",
        "A subtask forwards the barrier first and copies its state later, with what has arrived in between.",
        WRONG_BARRIERS["snapshot after emit"],
    ),
    "no-channel-state": Mutant(
        "network",
        "No channel state",
        "Only processes are recorded: tokens on their way are in no record.",
        WRONG_SNAPSHOTS["no channel state"],
    ),
    "late-markers": Mutant(
        "network",
        "Marker sent late",
        "A process may send tokens between its recording and its markers.",
        WRONG_SNAPSHOTS["marker sent late"],
    ),
    "not-fifo": Mutant(
        "network",
        "Non-FIFO channel",
        "The right protocol on links that keep no order.",
        WRONG_SNAPSHOTS["non-FIFO channel"],
    ),
    "wrong-id": Mutant(
        "network",
        "Wrong id",
        "A marker is taken for one of the newest snapshot that the process takes part in.",
        WRONG_SNAPSHOTS["wrong id"],
    ),
}
