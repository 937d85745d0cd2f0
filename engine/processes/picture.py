"""The picture of a process network at one step: what a browser draws, read off the states that the run went through.

`engine.processes.fold.fold_network` builds the same picture from events alone.
"""

from __future__ import annotations

from typing import Any

from engine.checkpointing.chandy_lamport import UNRECORDED, ChandyLamport
from engine.checkpointing.cut import judge
from engine.checkpointing.space_time import Arrow, Cut, History
from engine.processes.events import SnapshotCompleted
from engine.processes.fold import message_entry, outcome_entry
from engine.processes.happenings import completed_in

Outcomes = dict[int, tuple[int, SnapshotCompleted]]
"""By snapshot, the step that completed it and how it was judged then."""


def network_picture(history: History, protocol: str, outcomes: Outcomes) -> dict[str, Any]:
    """The picture after the last step of `history`, whose system stands there. outcomes: of snapshots, also later ones."""
    system = history.system
    network = system.network
    diagram = history.space_time()
    messages = [_message(arrow) for arrow in diagram.arrows]
    snapshots = {}
    for cut in diagram.cuts:
        for message in history.kept(cut.number):
            messages[message]["recorded"].append(cut.number)
        snapshots[str(cut.number)] = _snapshot(history, cut, outcomes.get(cut.number))
    return {
        "step": len(history.actions),
        "network": {
            "protocol": protocol,
            "total": network.total(),
            "state": "running" if system.enabled() else "finished",
        },
        "processes": {
            name: {
                "tokens": system.tokens[index],
                "sent": system.sent[index],
                "sends": len(system.program[index]),
                "owed": [number + 1 for number in system.owed[index]],
            }
            for index, name in enumerate(system.processes)
        },
        "links": {
            link.name: {
                "from": link.source,
                "to": link.target,
                "fifo": link.fifo,
                "queue": [
                    number
                    for number, arrow in enumerate(diagram.arrows)
                    if arrow.link == link.name and arrow.delivered is None
                ],
            }
            for link in network.links
        },
        "messages": messages,
        "snapshots": snapshots,
    }


def _message(arrow: Arrow) -> dict[str, Any]:
    entry = message_entry(
        arrow.link, arrow.source, arrow.target, arrow.tokens, arrow.marker, arrow.sent
    )
    entry["delivered"] = arrow.delivered
    return entry


def _snapshot(
    history: History, cut: Cut, judged: tuple[int, SnapshotCompleted] | None
) -> dict[str, Any]:
    system, number = history.system, cut.number
    count, width = len(system.processes), len(system.link_names)
    begun = [step for step in cut.steps.values() if step is not None]
    ended = judged[0] if judged and completed_in(system, history.states[-1], number) else None
    return {
        "initiators": list(system.network.snapshots[number - 1]),
        "started": min(begun) if begun else None,
        "ended": ended,
        "processes": {
            name: {
                "tokens": None
                if cut.steps[name] is None
                else system.recorded[(number - 1) * count + index],
                "step": cut.steps[name],
            }
            for index, name in enumerate(system.processes)
        },
        "links": {
            name: {
                "status": _status(system, number - 1, link),
                "held": list(system.kept[(number - 1) * width + link]),
            }
            for link, name in enumerate(system.link_names)
        },
        "outcome": outcome_entry(judged[1]) if judged and ended is not None else None,
    }


def _status(system: ChandyLamport, snapshot: int, link: int) -> str:
    if system.recorded[snapshot * len(system.processes) + system.target[link]] == UNRECORDED:
        return "waiting"
    open_ = system.recording >> snapshot * len(system.link_names) + link & 1
    return "recording" if open_ else "closed"


def outcome(history: History, number: int) -> SnapshotCompleted:
    """How snapshot `number`, which the last step of `history` completed, is judged."""
    found = judge(history, number)
    return SnapshotCompleted(
        number,
        found.state,
        found.total,
        found.there_are,
        found.occurred,
        found.backwards,
        found.missed,
        found.order,
        found.sentence,
    )
