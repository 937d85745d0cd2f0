"""Every rule and every wrong protocol that can be asked for by name, each with a title and a sentence for a reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.checkpointing.wrong_snapshots import WRONG_SNAPSHOTS
from engine.explore.beliefs import (
    BEHIND_IS_DROPPED,
    BROADCAST_IS_ORDERED,
    CHECKPOINTS_STOP_THE_PIPELINE,
    DROPPED_IS_BEHIND,
    JOB_ENDS,
    LOCAL_STATES_SUFFICE,
    NOTHING_IS_LATE,
    same_results,
)
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
from engine.explore.wrong_barriers import (
    AliasedSnapshot,
    ForgetsCancel,
    NoAlignment,
    NoChannelState,
    SnapshotAfterEmit,
)
from engine.explore.wrong_loops import AwaitsTheBackEdge, NoLoopLog
from engine.explore.wrong_valves import HighestWatermark, LatestWatermark, MeanWatermark


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
    "job-ends": NamedRule(
        "job",
        "The job comes to its end",
        "Where nothing more can happen, the job has finished: nobody waits for ever.",
        _same(JOB_ENDS),
    ),
    "dropped-is-behind": NamedRule(
        "job",
        "What is dropped was behind the watermark",
        "A record that a window operator drops was behind its watermark when it came.",
        _same(DROPPED_IS_BEHIND),
    ),
    "checkpoints-stop-the-pipeline": NamedRule(
        "job",
        "A checkpoint stops the pipeline",
        "While a subtask waits for barriers it takes no record.",
        _same(CHECKPOINTS_STOP_THE_PIPELINE),
        belief=True,
    ),
    "nothing-is-late": NamedRule(
        "job",
        "A watermark is a guarantee",
        "No record is late: after a watermark nothing older comes.",
        _same(NOTHING_IS_LATE),
        belief=True,
    ),
    "behind-is-dropped": NamedRule(
        "job",
        "What is behind the watermark is dropped",
        "A record whose time the watermark has passed is late, whatever its window.",
        _same(BEHIND_IS_DROPPED),
        belief=True,
    ),
    "same-results": NamedRule(
        "job",
        "Results depend on the input alone",
        "Every schedule writes the same results, since every function is deterministic.",
        same_results,
        belief=True,
    ),
    "broadcast-is-ordered": NamedRule(
        "job",
        "Broadcast is a total order",
        "All subtasks see broadcast records in the same order, and end with the same broadcast state.",
        _same(BROADCAST_IS_ORDERED),
        belief=True,
    ),
    "snapshot-conserves": NamedRule(
        "network",
        "A complete snapshot holds every token once",
        "Recorded processes and recorded links together hold as many tokens as the network.",
        _same(SNAPSHOT_CONSERVES),
    ),
    "tokens-conserved": NamedRule(
        "network",
        "Tokens are conserved",
        "Processes and links hold as many tokens as the network started with.",
        _same(TOKENS_CONSERVED),
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
    "local-states-suffice": NamedRule(
        "network",
        "The states of the processes are the whole snapshot",
        "What processes recorded is everything: the channels hold nothing.",
        _same(LOCAL_STATES_SUFFICE),
        belief=True,
    ),
}

MUTANTS: dict[str, Mutant] = {
    "no-alignment": Mutant(
        "job",
        "No alignment",
        "A subtask goes on taking from inputs whose barrier has come, and copies its state at the last barrier.",
        NoAlignment,
    ),
    "snapshot-after-emit": Mutant(
        "job",
        "Snapshot after emit",
        "A subtask forwards the barrier first and copies its state later, with what has arrived in between.",
        SnapshotAfterEmit,
    ),
    "unaligned-without-channel-state": Mutant(
        "job",
        "Unaligned without channel state",
        "Barriers overtake what is queued, and nothing of it is kept with the checkpoint.",
        NoChannelState,
    ),
    "aliased-snapshot": Mutant(
        "job",
        "Snapshot of live objects",
        "The upload writes the state as it is at its end, not as it was at the barrier.",
        AliasedSnapshot,
    ),
    "forgets-cancel": Mutant(
        "job",
        "Forgets to cancel",
        "A subtask takes no notice of a checkpoint that was given up, and keeps its inputs blocked.",
        ForgetsCancel,
    ),
    "highest-watermark": Mutant(
        "job",
        "Watermark: the highest",
        "A subtask with several inputs follows the one that is furthest ahead.",
        HighestWatermark,
    ),
    "latest-watermark": Mutant(
        "job",
        "Watermark: the latest",
        "A subtask with several inputs follows the watermark that came last.",
        LatestWatermark,
    ),
    "mean-watermark": Mutant(
        "job",
        "Watermark: the mean",
        "A subtask with several inputs takes the mean of their watermarks.",
        MeanWatermark,
    ),
    "no-loop-log": Mutant(
        "job",
        "No log of the loop",
        "The head of a loop acknowledges with its copy, without what is on its way back.",
        NoLoopLog,
    ),
    "waits-for-back-edge": Mutant(
        "job",
        "Waits for the back edge",
        "The head of a loop copies its state only after a barrier has come back, which it has not sent.",
        AwaitsTheBackEdge,
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
