"""Chandy and Lamport's snapshot algorithm on a network of processes, one atomic action at a time.

A process that starts a snapshot, or gets the first marker of one, records its own tokens and sends a marker on every
outgoing link before anything else. From then on it records what arrives on each incoming link, until that link's marker
comes. Several snapshots may be under way, and one snapshot may have several initiators: a marker carries its number.

Actions: `send:P` the next send of P; `snapshot:P/n` P starts snapshot n; `deliver:P>Q` the head of a link, and
`deliver:P>Q#i` what stands i places behind it, where the link keeps no order.

Source: K. M. Chandy, L. Lamport, "Distributed Snapshots: Determining Global States of Distributed Systems", ACM TOCS
3(1), 1985. Where it is wrong on purpose: `wrong_snapshots.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from engine.checkpointing.process_network import ProcessNetwork
from engine.errors import ImpossibleAction

UNRECORDED = -1


class NetworkState(NamedTuple):
    """Everything that changes, and nothing of how it came about: two runs in the same state can do the same.

    links: what is on each link, head first; n > 0 are n tokens, -n is the marker of snapshot n.
    recorded: the recorded tokens by snapshot and process, snapshot by snapshot, or UNRECORDED.
    recording: one bit per snapshot and link, set while arrivals on the link belong to the snapshot.
    kept: what was recorded on each link, by snapshot and link.
    owed: snapshots for which a process has still to send its markers; empty in the right protocol.
    """

    tokens: tuple[int, ...]
    sent: tuple[int, ...]
    links: tuple[tuple[int, ...], ...]
    recorded: tuple[int, ...]
    recording: int
    kept: tuple[tuple[int, ...], ...]
    owed: tuple[tuple[int, ...], ...]


class RecordedState(NamedTuple):
    """A completed snapshot: the tokens of each process, and what each link held (empty links are left out)."""

    number: int
    tokens: dict[str, int]
    links: dict[str, tuple[int, ...]]

    def total(self) -> int:
        return sum(self.tokens.values()) + sum(map(sum, self.links.values()))


class ChandyLamport:
    """A running network. Processes, links and snapshots are numbered from 0 inside, in the order of the network."""

    def __init__(self, network: ProcessNetwork) -> None:
        self.network = network
        self.processes = list(network.tokens)
        self.link_names = [link.name for link in network.links]
        number = {process: index for index, process in enumerate(self.processes)}
        by_ends = {link[:2]: index for index, link in enumerate(network.links)}
        self.source = [number[link.source] for link in network.links]
        self.target = [number[link.target] for link in network.links]
        self.outgoing: list[list[int]] = [[] for _ in self.processes]
        self.incoming = [0] * len(self.processes)
        """The incoming links of each process, as bits."""
        for link, (source, target) in enumerate(zip(self.source, self.target, strict=True)):
            self.outgoing[source].append(link)
            self.incoming[target] |= 1 << link
        self.program: list[list[tuple[int, int]]] = [[] for _ in self.processes]
        """(link, tokens) of the sends of each process."""
        for send in network.sends:
            self.program[number[send.source]].append((by_ends[send[:2]], send.tokens))
        self.starts = [
            (f"snapshot:{initiator}/{snapshot + 1}", number[initiator], snapshot)
            for snapshot, initiators in enumerate(network.snapshots)
            for initiator in initiators
        ]
        self._sends = [f"send:{process}" for process in self.processes]
        self._deliveries = [f"deliver:{name}" for name in self.link_names]
        self._actions: dict[str, tuple[str, int, int]] = {
            **{action: ("send", index, 0) for index, action in enumerate(self._sends)},
            **{action: ("start", process, snapshot) for action, process, snapshot in self.starts},
            **{action: ("deliver", index, 0) for index, action in enumerate(self._deliveries)},
        }
        self._all_fifo = all(link.fifo for link in network.links)
        self.tokens = list(network.tokens.values())
        self.sent = [0] * len(self.processes)
        self.links: list[tuple[int, ...]] = [()] * len(self.source)
        self.recorded = [UNRECORDED] * (len(self.processes) * len(network.snapshots))
        self.recording = 0
        self.kept: list[tuple[int, ...]] = [()] * (len(self.source) * len(network.snapshots))
        self.owed: list[tuple[int, ...]] = [()] * len(self.processes)

    # Actions

    def enabled(self) -> list[str]:
        """Ids of what can happen next: sends, snapshots, deliveries, each in the order of the network."""
        actions = []
        for process, program in enumerate(self.program):
            done = self.sent[process]
            if done < len(program) and program[done][1] <= self.tokens[process]:
                actions.append(self._sends[process])
        count = len(self.processes)
        for action, process, snapshot in self.starts:
            if self.recorded[snapshot * count + process] == UNRECORDED:
                actions.append(action)
        deliveries = self._deliveries
        for link, content in enumerate(self.links):
            if content:
                actions.append(deliveries[link])
                if len(content) > 1 and not self._all_fifo:
                    actions += self._overtaking(link, content)
        return actions

    def _overtaking(self, link: int, content: tuple[int, ...]) -> list[str]:
        """Deliveries past the head of an unordered link; of equals the first stands for all."""
        if self.network.links[link].fifo:
            return []
        return [
            f"{self._deliveries[link]}#{place}"
            for place in range(1, len(content))
            if content[place] not in content[:place]
        ]

    def apply(self, action: str) -> None:
        """Take one action; ImpossibleAction says why it cannot be taken."""
        kind, index, place = self._actions.get(action) or self._parsed(action)
        if kind == "deliver":
            content = self.links[index]
            if len(content) <= place:
                raise self._impossible(action, f"link {self.link_names[index]} holds no more")
            self.links[index] = content[:place] + content[place + 1 :]
            if content[place] > 0:
                self._take_tokens(index, content[place])
            else:
                self._take_marker(index, -content[place] - 1)
        elif kind == "send":
            self._send(action, index)
        else:
            self._start(action, index, place)

    def _send(self, action: str, process: int) -> None:
        program, done = self.program[process], self.sent[process]
        if done == len(program):
            raise self._impossible(action, f"{self.processes[process]} has nothing more to send")
        link, tokens = program[done]
        if tokens > self.tokens[process]:
            raise self._impossible(
                action,
                f"{self.processes[process]} has {self.tokens[process]} tokens and has to send {tokens}",
            )
        self.sent[process] = done + 1
        self.tokens[process] -= tokens
        self.links[link] += (tokens,)

    def _start(self, action: str, process: int, snapshot: int) -> None:
        if self.recorded[snapshot * len(self.processes) + process] != UNRECORDED:
            raise self._impossible(
                action, f"{self.processes[process]} has recorded for snapshot {snapshot + 1}"
            )
        self._record(process, snapshot)

    def _parsed(self, action: str) -> tuple[str, int, int]:
        """(kind, index, place) of an action that is not in the table: a delivery past the head."""
        delivery, mark, place = action.rpartition("#")
        known = self._actions.get(delivery)
        if mark and known and known[0] == "deliver" and place.isdecimal():
            if self.network.links[known[1]].fifo and int(place):
                raise self._impossible(
                    action, f"link {self.link_names[known[1]]} keeps the order of what it carries"
                )
            return "deliver", known[1], int(place)
        raise ImpossibleAction(
            "unknown_action",
            f"There is no action {action!r} in this network.",
            mend="Choose one of the possible actions.",
        )

    def _impossible(self, action: str, reason: str) -> ImpossibleAction:
        return ImpossibleAction(
            "impossible",
            f"This is not possible now: {reason}.",
            place=action,
            mend="Choose one of the possible actions.",
        )

    def run(self, actions: Iterable[str]) -> None:
        for action in actions:
            self.apply(action)

    # The protocol

    def _record(self, process: int, snapshot: int) -> None:
        """Record the process's own tokens, and send its markers before it can send anything else."""
        self.recorded[snapshot * len(self.processes) + process] = self.tokens[process]
        self.recording |= self.incoming[process] << snapshot * len(self.links)
        self._send_markers(process, snapshot)

    def _send_markers(self, process: int, snapshot: int) -> None:
        for link in self.outgoing[process]:
            self.links[link] += (-snapshot - 1,)

    def _take_tokens(self, link: int, tokens: int) -> None:
        """Tokens arrive; a snapshot that still records this link keeps them as the link's state."""
        self.tokens[self.target[link]] += tokens
        bits, width = self.recording >> link, len(self.links)
        place = link
        while bits:
            if bits & 1:
                self.kept[place] += (tokens,)
            bits >>= width
            place += width

    def _take_marker(self, link: int, snapshot: int) -> None:
        """A marker arrives: record where it is the first of its snapshot, and close this link in any case."""
        process = self.target[link]
        if self.recorded[snapshot * len(self.processes) + process] == UNRECORDED:
            self._record(process, snapshot)
        self.recording &= ~(1 << (snapshot * len(self.links) + link))

    # What a snapshot has recorded

    def complete_at(self, snapshot: int, process: int) -> bool:
        """Whether a process has recorded its tokens and all its incoming links."""
        recording = self.recording >> snapshot * len(self.links) & self.incoming[process]
        return (
            self.recorded[snapshot * len(self.processes) + process] != UNRECORDED and not recording
        )

    def complete(self, snapshot: int) -> bool:
        """Whether every process has recorded its part; `snapshot` counts from 0."""
        count, width = len(self.processes), len(self.links)
        return (
            UNRECORDED not in self.recorded[snapshot * count : (snapshot + 1) * count]
            and not self.recording >> snapshot * width & (1 << width) - 1
        )

    def recorded_state(self, number: int) -> RecordedState | None:
        """What snapshot `number` (from 1) recorded, or None while it is not complete."""
        if not self.complete(number - 1):
            return None
        count, width = len(self.processes), len(self.links)
        own = self.recorded[(number - 1) * count : number * count]
        kept = self.kept[(number - 1) * width : number * width]
        return RecordedState(
            number,
            dict(zip(self.processes, own, strict=True)),
            {name: held for name, held in zip(self.link_names, kept, strict=True) if held},
        )

    def total(self) -> int:
        """The tokens of all processes and links now."""
        return sum(self.tokens) + sum(
            item for content in self.links for item in content if item > 0
        )

    # Stepping back and exploring

    def capture(self) -> NetworkState:
        return NetworkState(
            tuple(self.tokens),
            tuple(self.sent),
            tuple(self.links),
            tuple(self.recorded),
            self.recording,
            tuple(self.kept),
            tuple(self.owed),
        )

    def restore(self, state: NetworkState) -> None:
        tokens, sent, links, recorded, self.recording, kept, owed = state
        self.tokens[:] = tokens
        self.sent[:] = sent
        self.links[:] = links
        self.recorded[:] = recorded
        self.kept[:] = kept
        self.owed[:] = owed

    def state_key(self) -> NetworkState:
        return self.capture()

    def acting(self, action: str) -> int:
        """The process that an action happens at: the sender, the receiver, or who starts a snapshot."""
        kind, index, _ = self._actions.get(action) or self._parsed(action)
        return self.target[index] if kind == "deliver" else index

    def independent(self, first: str, second: str) -> bool:
        """Whether two actions that are both possible give the same in either order.

        Actions at different processes do: they share at most a link, which one lengthens at its tail and the other
        shortens before it.
        """
        return self.acting(first) != self.acting(second)
