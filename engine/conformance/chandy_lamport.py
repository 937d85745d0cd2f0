"""Snapshots of process networks under an explicit order of deliveries, and the size of a small state space.

A file of the first kind says at which tick, and at which place within it, each message was delivered. A tick means nothing
to the runner: it only orders the actions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from engine.checkpointing.chandy_lamport import ChandyLamport, RecordedState
from engine.checkpointing.process_network import Link, ProcessNetwork, Send
from engine.conformance.report import Outcome
from engine.errors import StreamLabError
from engine.explore.invariants import Watch
from engine.explore.network_invariants import SNAPSHOT_RULES
from engine.explore.results import Exhausted
from engine.explore.ways import breadth_first

SENDS = (("P0", "P1", 1), ("P1", "P2", 2), ("P2", "P0", 3), ("P0", "P2", 4), ("P1", "P0", 5))
"""What the three processes send, in this order; a case uses the first so many."""


def run_file(path: str) -> list[Outcome]:
    with open(path, encoding="utf-8") as file:
        return [run_case(case) for case in json.load(file)["cases"]]


def run_case(case: dict[str, Any]) -> Outcome:
    try:
        return Outcome(case["name"], _Replay(case).difference())
    except StreamLabError as error:
        return Outcome(case["name"], str(error))


def network_of(case: dict[str, Any]) -> ProcessNetwork:
    """The network of a case, with its sends and snapshots in the order of its script."""
    topology, script = case["topology"], case["script"]
    return ProcessNetwork(
        dict(topology["nodes"]),
        tuple(Link(*ends) for ends in topology["links"]),
        tuple(Send(s["src"], s["dest"], s["tokens"]) for s in script if s["op"] == "send"),
        tuple((s["node"],) for s in script if s["op"] == "snapshot"),
    )


class _Replay:
    """One case, step by step. Files count snapshots from 0, the runner from 1."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.system = ChandyLamport(network_of(case))
        self.watch = Watch(SNAPSHOT_RULES)
        self.tick = 0
        self.started = 0
        self.completions: list[tuple[str, int, int]] = []

    def difference(self) -> str:
        """The first difference from the case, or nothing."""
        for found in self._steps():
            if found:
                return found
        return self._outcome()

    def _steps(self) -> Iterator[str]:
        for entry in self.case["script"]:
            if entry["op"] == "tick":
                for _ in range(entry.get("n", 1)):
                    yield from self._next_tick()
            elif entry["op"] == "send":
                yield self._act(f"send:{entry['src']}")
            else:
                self.started += 1
                yield self._act(f"snapshot:{entry['node']}/{self.started}")
        last = max([tick for tick in map(_tick, self.case["messages"]) if tick], default=0)
        while self.tick < last:
            yield from self._next_tick()

    def _next_tick(self) -> Iterator[str]:
        self.tick += 1
        due = [message for message in self.case["messages"] if _tick(message) == self.tick]
        for message in sorted(due, key=lambda message: int(message["order_in_tick"])):
            link = f"{message['src']}>{message['dest']}"
            content = self.system.links[self.system.link_names.index(link)]
            value = message["value"]
            wanted = value if message["kind"] == "token" else -value - 1
            if content[:1] != (wanted,):
                yield f"tick {self.tick}: {link} holds {content} instead of a {message['kind']} {value} at its head"
            yield self._act(f"deliver:{link}")

    def _act(self, action: str) -> str:
        """Take an action; why a rule does not hold after it, or nothing."""
        system = self.system
        before = self._complete()
        system.apply(action)
        for snapshot, process in sorted(self._complete() - before):
            self.completions.append((system.processes[process], snapshot, self.tick))
        broken = self.watch.judge(system, ended=False)
        return f"after {action} at tick {self.tick}: {broken.sentence}" if broken else ""

    def _complete(self) -> set[tuple[int, int]]:
        system = self.system
        return {
            (snapshot, process)
            for snapshot in range(self.started)
            for process in range(len(system.processes))
            if system.complete_at(snapshot, process)
        }

    def _outcome(self) -> str:
        wanted = sorted(
            (entry["node"], entry["id"], entry["tick"])
            for entry in self.case.get("local_completions", ())
        )
        if "local_completions" in self.case and sorted(self.completions) != wanted:
            return f"processes completed {sorted(self.completions)} instead of {wanted}"
        for entry in self.case["expected"]:
            recorded = self.system.recorded_state(entry["id"] + 1)
            if recorded is None:
                return f"snapshot {entry['id']} is not complete"
            expected = _expected(entry)
            if recorded != expected:
                return f"snapshot {entry['id']} recorded {recorded[1:]} instead of {expected[1:]}"
        left = sum(map(len, self.system.links))
        if left != len(self.case.get("undelivered", ())):
            return (
                f"{left} messages are left on the links instead of {len(self.case['undelivered'])}"
            )
        return ""


def _tick(message: dict[str, Any]) -> int | None:
    tick: int | None = message["delivered_tick"]
    return tick


def _expected(entry: dict[str, Any]) -> RecordedState:
    links: dict[str, tuple[int, ...]] = {}
    for message in entry["messages"]:
        link = f"{message['src']}>{message['dest']}"
        links[link] = (*links.get(link, ()), message["tokens"])
    return RecordedState(entry["id"] + 1, dict(entry["tokens"]), links)


# The state space of three processes


def three_processes(messages: int) -> ProcessNetwork:
    """Three processes with 10 tokens each and a link in each direction between every two; P0 takes the one snapshot."""
    names = ("P0", "P1", "P2")
    links = tuple(Link(source, target) for source in names for target in names if source != target)
    sends = tuple(Send(*send) for send in SENDS[:messages])
    return ProcessNetwork(dict.fromkeys(names, 10), links, sends, (("P0",),))


def state_spaces(path: str) -> list[Outcome]:
    with open(path, encoding="utf-8") as file:
        return [_state_space(case) for case in json.load(file)["cases"]]


def _state_space(case: dict[str, Any]) -> Outcome:
    name = f"{case['messages']} messages"
    if case["messages"] > len(SENDS):
        return Outcome(name, unsupported="the model is described for at most 5 messages")
    result = breadth_first(ChandyLamport(three_processes(case["messages"])), SNAPSHOT_RULES)
    wanted = tuple(case[field] for field in ("distinct_states", "transitions", "terminal_states"))
    if not isinstance(result, Exhausted):
        return Outcome(name, result.told())
    found = result.counts[:3]
    if found != wanted:
        return Outcome(name, f"(states, transitions, terminal) are {found} instead of {wanted}")
    return Outcome(name)
