"""Elements that a checkpoint found in flight, put back into the channels of a new deployment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.checkpointing.channel_state import ARBITRARY, OF_PARTITIONER, ROUND_ROBIN
from engine.checkpointing.snapshot import Elements
from engine.deployment import Deployment
from engine.elements import RECORD, Element
from engine.errors import USER_ERRORS
from engine.graph.execution_graph import subtask_id
from engine.network.channel import Link


def refill(
    deployment: Deployment, in_flight: Elements, parts: dict[str, list[Any]]
) -> tuple[str, BaseException] | None:
    """Fill the channels as they were, or spread the elements over the present parallelism of their edge.

    parts: those of the checkpoint, which tell its parallelism. Returns (subtask, error) where a user's partitioner raised:
    the first subtask that sends along its edge. Source: Flink's `RescalingStreamTaskNetworkInput`.
    """
    channels = {channel.link: channel for channel in deployment.channels.values()}
    for edge in sorted({link.edge for link in in_flight}):
        ends = deployment.job.edges[edge].source, deployment.job.edges[edge].target
        before = [len(parts.get(vertex, ())) for vertex in ends]
        after = [deployment.graph.parallelism[vertex] for vertex in ends]
        held = {link: elements for link, elements in in_flight.items() if link.edge == edge}
        if before != after:
            try:
                held = _spread(deployment, edge, held, before, after)
            except USER_ERRORS as error:
                return subtask_id(ends[0], 0), error
        for link, elements in held.items():
            channels[link].refill(elements)
    return None


def _spread(
    deployment: Deployment, edge: int, held: Elements, before: list[int], after: list[int]
) -> Elements:
    """The records of one edge by the channels of another parallelism.

    A watermark or a status speaks for one old channel, of which a new one may hold several, so both are left out: the
    sources say them anew. Where the new senders and receivers are not all connected, as on a feedback edge they may not
    be, a record goes to its receiver by the first channel that leads there.
    """
    mapper = OF_PARTITIONER.get(deployment.graph.partitioners[edge].name, ROUND_ROBIN)
    channels = [
        channel.link for channel in deployment.channels.values() if channel.link.edge == edge
    ]
    senders = ARBITRARY.new_to_old(before[0], after[0])
    receivers = mapper.new_to_old(before[1], after[1])
    spread: dict[Link, tuple[Element, ...]] = {}
    for sender, receiver, link in _readers(edge, senders, receivers):
        elements = [element for element in held.get(link, ()) if element[0] == RECORD]
        if mapper.ambiguous:
            route = deployment.route(edge, sender)
            elements = [element for element in elements if route.receiver(element) == receiver]
        if elements:
            new = Link(edge, sender, receiver)
            if new not in channels:
                new = next(link for link in channels if link.receiver == receiver)
            spread[new] = (*spread.get(new, ()), *elements)
    return spread


def _readers(
    edge: int, senders: list[list[int]], receivers: list[list[int]]
) -> Iterator[tuple[int, int, Link]]:
    """(new sender, new receiver, old link) of every old channel that a new one reads."""
    for sender, old_senders in enumerate(senders):
        for receiver, old_receivers in enumerate(receivers):
            for old_sender in old_senders:
                for old_receiver in old_receivers:
                    yield sender, receiver, Link(edge, old_sender, old_receiver)
