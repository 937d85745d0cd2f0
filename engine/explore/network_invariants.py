"""Rules about snapshots of process networks (`engine.checkpointing.chandy_lamport`)."""

from __future__ import annotations

from engine.checkpointing.chandy_lamport import UNRECORDED, ChandyLamport
from engine.checkpointing.cut import GlobalState, counted, global_state, recorded_as_global, told
from engine.checkpointing.space_time import delivered
from engine.explore.invariants import Invariant, Monitor


def _tokens_kept(system: ChandyLamport) -> str:
    total, there_are = system.total(), system.network.total()
    return "" if total == there_are else f"The network has {counted(total)} instead of {there_are}."


def _recorded_all(system: ChandyLamport) -> str:
    for number in range(1, len(system.network.snapshots) + 1):
        recorded = system.recorded_state(number)
        if recorded is not None and recorded.total() != system.network.total():
            return (
                f"Snapshot {number} recorded {counted(recorded.total())} ({told(recorded)}), "
                f"and the network has {system.network.total()}."
            )
    return ""


def _all_complete(system: ChandyLamport) -> str:
    for snapshot in range(len(system.network.snapshots)):
        if not system.complete(snapshot):
            missing = [
                process
                for index, process in enumerate(system.processes)
                if not system.complete_at(snapshot, index)
            ]
            return (
                f"Nothing more can happen, and snapshot {snapshot + 1} is not complete: "
                f"{' and '.join(missing)} never got every marker."
            )
    return ""


Sent = tuple[tuple[int, ...], ...]
"""For each link and each message on it, the snapshots (as bits) that its sender had recorded when it sent it."""


def _nothing_sent(system: ChandyLamport) -> Sent:
    return tuple((0,) * len(content) for content in system.links)


def _crossing(memory: Sent, system: ChandyLamport, action: str) -> tuple[Sent, str]:
    """A message that is received must not come from behind a cut that the receiver stands before."""
    marks = [list(held) for held in memory]
    sentence = ""
    delivery = delivered(system, action)
    if delivery is not None:
        link, place = delivery
        bits = marks[link].pop(place)
        target = system.target[link]
        behind = bits & ~_recorded_by(system, target)
        if behind:
            source, name = (system.processes[end] for end in (system.source[link], target))
            number = (behind & -behind).bit_length()
            sentence = f"{name} received before its cut of snapshot {number} what {source} sent after its own."
    for link, content in enumerate(system.links):
        new = content[len(marks[link]) :]
        if new:
            bits = _recorded_by(system, system.source[link])
            # A marker is no message of the network: it may cross, and it makes its receiver record.
            marks[link] += [bits if item > 0 else 0 for item in new]
    return tuple(map(tuple, marks)), sentence


def _recorded_by(system: ChandyLamport, process: int) -> int:
    """The snapshots that a process has recorded, as bits."""
    count = len(system.processes)
    return sum(
        1 << snapshot
        for snapshot in range(len(system.network.snapshots))
        if system.recorded[snapshot * count + process] != UNRECORDED
    )


def _order(memory: None, system: ChandyLamport, action: str) -> tuple[None, str]:
    delivery = delivered(system, action)
    if delivery is None or not delivery[1]:
        return None, ""
    return (
        None,
        f"On link {system.link_names[delivery[0]]} a message overtook {delivery[1]} sent before it.",
    )


Occurred = tuple[frozenset[GlobalState], frozenset[int]]
"""The states so far, and the snapshots that are judged already."""


def _start_occurred(system: ChandyLamport) -> Occurred:
    return frozenset([global_state(system)]), frozenset()


def _occurred(memory: Occurred, system: ChandyLamport, action: str) -> tuple[Occurred, str]:
    states, judged = memory[0] | {global_state(system)}, memory[1]
    for number in range(1, len(system.network.snapshots) + 1):
        recorded = system.recorded_state(number)
        if recorded is None or number in judged:
            continue
        judged |= {number}
        if recorded_as_global(system, recorded) not in states:
            return (
                (states, judged),
                f"Snapshot {number} recorded {told(recorded)}: the network was never in this state.",
            )
    return (states, judged), ""


TOKENS_CONSERVED = Invariant("tokens are conserved", _tokens_kept)
SNAPSHOT_CONSERVES = Invariant("a complete snapshot holds every token once", _recorded_all)
SNAPSHOTS_COMPLETE = Invariant("every snapshot completes", _all_complete, at_end=True)
CONSISTENT_CUT = Monitor("the cut is consistent", _nothing_sent, _crossing)
FIFO = Monitor("links keep their order", lambda system: None, _order)
RECORDED_STATE_OCCURRED = Monitor("the recorded state occurred", _start_occurred, _occurred)
"""Not a rule but a belief: that a snapshot is the state at some instant. Its violation is the counterexample."""

SNAPSHOT_RULES = (TOKENS_CONSERVED, SNAPSHOT_CONSERVES, SNAPSHOTS_COMPLETE)
"""What the right protocol keeps in every schedule, and every wrong one breaks in some."""
