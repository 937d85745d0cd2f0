"""The fold of a process network: what each event does to the picture. static/js/apply_network_event.js is its mirror.

`fold_network(picture, trace)` changes the picture in place. Nothing here looks at the network itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.processes import events as e
from engine.trace import StepTrace

Picture = dict[str, Any]


def fold_network(picture: Picture, step: StepTrace) -> Picture:
    """Apply one step: its number first, then its events in order."""
    picture["step"] = step.step
    for event in step.events:
        _RULES[type(event)](picture, event)
    return picture


def message_entry(
    link: str, source: str, target: str, tokens: int, marker: int, sent: int
) -> Picture:
    """A message as the picture shows it. tokens: 0 for a marker; marker: its snapshot, or 0."""
    return {
        "link": link,
        "from": source,
        "to": target,
        "tokens": tokens,
        "marker": marker,
        "sent": sent,
        "delivered": None,
        "recorded": [],
    }


def _sent(picture: Picture, event: e.TokensSent | e.MarkerSent, tokens: int, marker: int) -> None:
    picture["messages"].append(
        message_entry(event.link, event.source, event.target, tokens, marker, picture["step"])
    )
    picture["links"][event.link]["queue"].append(event.message)


def _tokens_sent(picture: Picture, event: e.TokensSent) -> None:
    _sent(picture, event, event.tokens, 0)
    process = picture["processes"][event.source]
    process["tokens"] = event.left
    process["sent"] += 1


def _marker_sent(picture: Picture, event: e.MarkerSent) -> None:
    _sent(picture, event, 0, event.snapshot)


def _arrived(picture: Picture, event: e.TokensReceived | e.MarkerReceived) -> None:
    picture["messages"][event.message]["delivered"] = picture["step"]
    picture["links"][event.link]["queue"].remove(event.message)


def _tokens_received(picture: Picture, event: e.TokensReceived) -> None:
    _arrived(picture, event)
    picture["processes"][event.target]["tokens"] = event.has


def _process_recorded(picture: Picture, event: e.ProcessRecorded) -> None:
    snapshot = picture["snapshots"][str(event.snapshot)]
    if snapshot["started"] is None:
        snapshot["started"] = picture["step"]
    snapshot["processes"][event.process] = {"tokens": event.tokens, "step": picture["step"]}
    for name, link in picture["links"].items():
        if link["to"] == event.process:
            snapshot["links"][name]["status"] = "recording"


def _link_recorded(picture: Picture, event: e.LinkRecorded) -> None:
    picture["snapshots"][str(event.snapshot)]["links"][event.link]["held"].append(event.tokens)
    picture["messages"][event.message]["recorded"].append(event.snapshot)


def _link_closed(picture: Picture, event: e.LinkClosed) -> None:
    picture["snapshots"][str(event.snapshot)]["links"][event.link]["status"] = "closed"


def _markers_owed(picture: Picture, event: e.MarkersOwed) -> None:
    picture["processes"][event.process]["owed"] = list(event.snapshots)


def outcome_entry(event: e.SnapshotCompleted) -> Picture:
    """What the picture keeps of a completed snapshot."""
    return {
        "state": event.state,
        "total": event.total,
        "occurred": event.occurred,
        "backwards": list(event.backwards),
        "missed": list(event.missed),
        "order": list(event.order),
        "verdict": event.verdict,
    }


def _snapshot_completed(picture: Picture, event: e.SnapshotCompleted) -> None:
    picture["snapshots"][str(event.snapshot)].update(
        ended=picture["step"], outcome=outcome_entry(event)
    )


def _finished(picture: Picture, event: e.NetworkFinished) -> None:
    picture["network"]["state"] = "finished"


def _nothing(picture: Picture, event: Any) -> None:
    """For events that only tell what others show."""


_RULES: dict[type[Any], Callable[[Picture, Any], None]] = {
    e.TokensSent: _tokens_sent,
    e.TokensReceived: _tokens_received,
    e.MarkerSent: _marker_sent,
    e.MarkerReceived: _arrived,
    e.SnapshotStarted: _nothing,
    e.ProcessRecorded: _process_recorded,
    e.LinkRecorded: _link_recorded,
    e.LinkClosed: _link_closed,
    e.MarkersOwed: _markers_owed,
    e.SnapshotCompleted: _snapshot_completed,
    e.NetworkFinished: _finished,
}
