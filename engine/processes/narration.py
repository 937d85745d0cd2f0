"""Every event of a process network as a clause, and every step as one sentence."""

from __future__ import annotations

from typing import Any

from engine.checkpointing.cut import counted
from engine.processes import events as e
from engine.trace import StepTrace


def narrate_network(step: StepTrace) -> str:
    """The step in one sentence, and one more for each snapshot that it completed."""
    by_type: dict[type[Any], list[Any]] = {}
    for event in step.events:
        by_type.setdefault(type(event), []).append(event)
    clauses = [*_lead(by_type), *_links(by_type)]
    if e.MarkersOwed in by_type and by_type[e.MarkersOwed][0].snapshots:
        clauses.append("its markers are still to be sent")
    done: list[e.SnapshotCompleted] = by_type.get(e.SnapshotCompleted, [])
    clauses += [f"snapshot {completed.snapshot} is complete" for completed in done]
    if e.NetworkFinished in by_type:
        clauses.append("nothing more can happen")
    return " ".join(["; ".join(clauses) + ".", *map(_worth, done)])


def _worth(done: e.SnapshotCompleted) -> str:
    """What the snapshot is worth, as shortly as it can be said; its verdict has the reasons."""
    if done.backwards:
        return "Its cut is inconsistent: a message crosses it backwards."
    if done.total != done.there_are:
        return f"It holds {counted(done.total)} where the network has {done.there_are}."
    if done.occurred is None:
        return "The state that it recorded never occurred in this run."
    when = f"after step {done.occurred}" if done.occurred else "before the first step"
    return f"The network was in the state that it recorded {when}."


def _lead(by_type: dict[type[Any], list[Any]]) -> list[str]:
    recorded: list[e.ProcessRecorded] = by_type.get(e.ProcessRecorded, [])
    what = f"it recorded its {counted(recorded[0].tokens)}{_markers(by_type)}" if recorded else ""
    if e.SnapshotStarted in by_type:
        started: e.SnapshotStarted = by_type[e.SnapshotStarted][0]
        return [f"{started.process} started snapshot {started.snapshot}: {what}"]
    if e.MarkerReceived in by_type:
        marker: e.MarkerReceived = by_type[e.MarkerReceived][0]
        arrived = f"{marker.target} received marker {marker.snapshot} from {marker.source}"
        return [f"{arrived} for the first time: {what}" if recorded else arrived]
    if e.TokensReceived in by_type:
        taken: e.TokensReceived = by_type[e.TokensReceived][0]
        return [
            f"{taken.target} received {counted(taken.tokens)} from {taken.source} and has {taken.has} now"
        ]
    if e.TokensSent in by_type:
        sent: e.TokensSent = by_type[e.TokensSent][0]
        return [
            f"{sent.source} sent {counted(sent.tokens)} to {sent.target} and has {sent.left} left"
        ]
    owed: e.MarkersOwed = by_type[e.MarkersOwed][0]
    return [f"{owed.process} sent the markers that it owed{_markers(by_type, ', ')}"]


def _markers(by_type: dict[type[Any], list[Any]], joint: str = " and sent ") -> str:
    """Where markers went."""
    sent: list[e.MarkerSent] = by_type.get(e.MarkerSent, [])
    if not sent:
        return ""
    targets = [marker.target for marker in sent]
    listed = ", ".join(targets[:-1]) + " and " + targets[-1] if len(targets) > 1 else targets[0]
    numbers = " and ".join(dict.fromkeys(str(marker.snapshot) for marker in sent))
    return f"{joint}marker {numbers} to {listed}"


def _links(by_type: dict[type[Any], list[Any]]) -> list[str]:
    """What became of the records of links."""
    kept: list[e.LinkRecorded] = by_type.get(e.LinkRecorded, [])
    closed: list[e.LinkClosed] = by_type.get(e.LinkClosed, [])
    return [
        *(
            f"snapshot {one.snapshot} records {'it' if one.tokens == 1 else 'them'} as state of {_link(one.link)}"
            for one in kept
        ),
        *(
            f"the record of {_link(one.link)} for snapshot {one.snapshot} is complete"
            for one in closed
        ),
    ]


def _link(name: str) -> str:
    return name.replace(">", " → ")
