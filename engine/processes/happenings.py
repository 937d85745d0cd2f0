"""What one step of a process network made happen, read off the states before and after it.

So it is the same for the right protocol and for one that breaks a rule on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from engine.checkpointing.chandy_lamport import UNRECORDED, ChandyLamport, NetworkState
from engine.checkpointing.space_time import delivered
from engine.events import Event
from engine.processes import events as e


class Travelling(NamedTuple):
    """Numbers of the messages on each link, as they stand there, and how many messages were ever sent."""

    links: tuple[tuple[int, ...], ...]
    sent: int


def nothing_sent(system: ChandyLamport) -> Travelling:
    return Travelling(((),) * len(system.link_names), 0)


def travelled(
    system: ChandyLamport, before: Travelling, action: str, after: NetworkState
) -> Travelling:
    """What is under way after a step."""
    links = [list(numbers) for numbers in before.links]
    delivery = delivered(system, action)
    if delivery is not None:
        del links[delivery[0]][delivery[1]]
    sent = before.sent
    for link, content in enumerate(after.links):
        fresh = len(content) - len(links[link])
        links[link] += range(sent, sent + fresh)
        sent += fresh
    return Travelling(tuple(map(tuple, links)), sent)


def happened(
    system: ChandyLamport,
    action: str,
    before: tuple[NetworkState, Travelling],
    after: tuple[NetworkState, Travelling],
) -> Iterator[Event]:
    """Events of one step in order, without the judgement of a snapshot that it completed."""
    was, now = before[0], after[0]
    yield from _cause(system, action, before, now)
    recorded = now.recorded != was.recorded
    if recorded:
        yield from _recorded(system, was, now)
    if now.kept != was.kept:
        yield from _kept(system, action, before, now)
    if recorded or now.recording != was.recording:
        yield from _closed(system, was, now)
    yield from _sent(system, before, after)
    for index, owed in enumerate(now.owed):
        if owed != was.owed[index]:
            yield e.MarkersOwed(system.processes[index], tuple(number + 1 for number in owed))


def _recorded(system: ChandyLamport, was: NetworkState, now: NetworkState) -> Iterator[Event]:
    count = len(system.processes)
    for place, tokens in enumerate(now.recorded):
        if tokens != was.recorded[place]:
            yield e.ProcessRecorded(place // count + 1, system.processes[place % count], tokens)


def _kept(
    system: ChandyLamport, action: str, before: tuple[NetworkState, Travelling], now: NetworkState
) -> Iterator[Event]:
    delivery = delivered(system, action)
    assert delivery is not None
    width = len(system.link_names)
    message = before[1].links[delivery[0]][delivery[1]]
    for place, held in enumerate(now.kept):
        if len(held) > len(before[0].kept[place]):
            link = system.link_names[place % width]
            yield e.LinkRecorded(place // width + 1, link, message, held[-1])


def _closed(system: ChandyLamport, was: NetworkState, now: NetworkState) -> Iterator[Event]:
    """Links whose record ended in this step, also those whose record began in it."""
    count, width = len(system.processes), len(system.link_names)
    for place in range(len(now.kept)):
        snapshot, link = divmod(place, width)
        recorder = snapshot * count + system.target[link]
        opened = now.recorded[recorder] != was.recorded[recorder]
        if (opened or was.recording >> place & 1) and not now.recording >> place & 1:
            yield e.LinkClosed(snapshot + 1, system.link_names[link])


def _cause(
    system: ChandyLamport, action: str, before: tuple[NetworkState, Travelling], now: NetworkState
) -> Iterator[Event]:
    kind, _, rest = action.partition(":")
    if kind == "snapshot":
        process, _, number = rest.rpartition("/")
        yield e.SnapshotStarted(int(number), process)
    delivery = delivered(system, action)
    if delivery is None:
        return
    link, place = delivery
    item, message = before[0].links[link][place], before[1].links[link][place]
    ends = system.network.links[link]
    name = system.link_names[link]
    if item > 0:
        has = now.tokens[system.target[link]]
        yield e.TokensReceived(name, message, ends.source, ends.target, item, has)
    else:
        yield e.MarkerReceived(name, message, ends.source, ends.target, -item)


def _sent(
    system: ChandyLamport,
    before: tuple[NetworkState, Travelling],
    after: tuple[NetworkState, Travelling],
) -> Iterator[Event]:
    """Messages that are new on the links, in the order of their numbers."""
    state, travelling = after
    for link, numbers in enumerate(travelling.links):
        ends, name = system.network.links[link], system.link_names[link]
        for place, number in enumerate(numbers):
            if number < before[1].sent:
                continue
            item = state.links[link][place]
            if item > 0:
                left = state.tokens[system.source[link]]
                yield e.TokensSent(name, number, ends.source, ends.target, item, left)
            else:
                yield e.MarkerSent(name, number, ends.source, ends.target, -item)


def completed_in(system: ChandyLamport, state: NetworkState, number: int) -> bool:
    """Whether snapshot `number` (from 1) is complete in a state."""
    count, width = len(system.processes), len(system.link_names)
    return (
        UNRECORDED not in state.recorded[(number - 1) * count : number * count]
        and not state.recording >> (number - 1) * width & (1 << width) - 1
    )
