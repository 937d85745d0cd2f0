"""What can happen next in a network and what cannot, in canonical order, for a person to choose from."""

from __future__ import annotations

from typing import Any

from engine.checkpointing.chandy_lamport import UNRECORDED, ChandyLamport
from engine.checkpointing.cut import counted
from engine.checkpointing.space_time import delivered

ORDINALS = ("", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def possible_actions(system: ChandyLamport, default: str | None) -> list[dict[str, Any]]:
    """Every action that is possible; `default` is the id of the one that is next anyway."""
    return [{**shown(system, action), "default": action == default} for action in system.enabled()]


def impossible_actions(system: ChandyLamport) -> list[dict[str, Any]]:
    """Sends that lack tokens and snapshots that a process cannot start any more, each with the reason."""
    found = []
    for process, program in enumerate(system.program):
        done, has = system.sent[process], system.tokens[process]
        if done < len(program) and program[done][1] > has:
            name = system.processes[process]
            found.append(
                _impossible(system, f"send:{name}", "tokens", f"{name} has {counted(has)}")
            )
    count = len(system.processes)
    for action, process, snapshot in system.starts:
        if system.recorded[snapshot * count + process] != UNRECORDED:
            sentence = f"{system.processes[process]} has recorded for it"
            found.append(_impossible(system, action, "recorded", sentence))
    return found


def _impossible(system: ChandyLamport, action: str, code: str, sentence: str) -> dict[str, Any]:
    reason = {"code": code, "sentence": sentence, "about": []}
    return {**shown(system, action), "default": False, "reason": reason}


def shown(system: ChandyLamport, action: str) -> dict[str, Any]:
    """An action as a page shows it. `message`: what moves, {tokens, marker}, or None; `label` ends with its route."""
    kind, _, rest = action.partition(":")
    channel: str | None = None
    snapshot: int | None = None
    message: dict[str, int] | None = None
    label = f"Send the late markers of {rest}"
    delivery = delivered(system, action)
    if delivery is not None:
        link, place = delivery
        channel = system.link_names[link]
        item = system.links[link][place]
        message = {"tokens": max(item, 0), "marker": max(-item, 0)}
        snapshot = -item if item < 0 else None
        past = f", {ORDINALS[min(place, 8)]} in line," if place else ""
        what = counted(item) if item > 0 else f"marker {-item}"
        label = f"Deliver {what}{past} {_route(channel)}"
    elif kind == "send":
        process = system.processes.index(rest)
        link, tokens = system.program[process][system.sent[process]]
        channel, message = system.link_names[link], {"tokens": tokens, "marker": 0}
        label = f"Send {counted(tokens)} {_route(channel)}"
    elif kind == "snapshot":
        name, _, number = rest.rpartition("/")
        snapshot = int(number)
        message = {"tokens": 0, "marker": snapshot}
        label = f"Start snapshot {snapshot} at {name}"
    return {
        "id": action,
        "kind": kind,
        "subtask": system.processes[system.acting(action)],
        "channel": channel,
        "split": None,
        "element": None,
        "checkpoint": snapshot,
        "message": message,
        "label": label,
    }


def _route(link: str) -> str:
    return link.replace(">", " → ")
