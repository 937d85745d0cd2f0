"""The job graph expanded: one subtask per parallel instance, one channel per connected pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from engine.graph.job_graph import Edge, JobGraph
from engine.network.channel import Link
from engine.network.partitioners import Automatic, Forward, Partitioner, pointwise


@dataclass(frozen=True, slots=True)
class SubtaskPlan:
    """One subtask to be."""

    id: str
    vertex: str
    index: int


class ChannelPlan(NamedTuple):
    """`link` names the edge by its index in the job graph."""

    name: str
    link: Link
    sender: str
    receiver: str
    gate: int


class ExecutionGraph(NamedTuple):
    """Subtasks by operator and index; channels by edge, then sender, then receiver."""

    parallelism: dict[str, int]
    partitioners: list[Partitioner]
    subtasks: list[SubtaskPlan]
    channels: list[ChannelPlan]


def subtask_id(vertex: str, index: int) -> str:
    return f"{vertex}[{index}]"


def resolved(edge: Edge, senders: int, receivers: int) -> Partitioner:
    """The partitioner that is in force between so many senders and receivers."""
    partitioner = edge.partitioner
    return (
        partitioner.resolve(senders, receivers)
        if isinstance(partitioner, Automatic)
        else partitioner
    )


def expand(job: JobGraph, parallelism: dict[str, int]) -> ExecutionGraph:
    """The execution graph of `job` with the given parallelism of each operator."""
    subtasks = [
        SubtaskPlan(subtask_id(vertex.id, index), vertex.id, index)
        for vertex in job.vertices
        for index in range(parallelism[vertex.id])
    ]
    partitioners: list[Partitioner] = []
    channels: list[ChannelPlan] = []
    used: set[str] = set()
    for number, edge in enumerate(job.edges):
        senders, receivers = parallelism[edge.source], parallelism[edge.target]
        partitioner = resolved(edge, senders, receivers)
        partitioners.append(partitioner)
        if partitioner.all_to_all:
            connected = [list(range(receivers))] * senders
        elif isinstance(partitioner, Forward):
            connected = [[index] for index in range(senders)]
        else:
            connected = pointwise(senders, receivers)
        for sender, targets in enumerate(connected):
            for receiver in targets:
                start, end = subtask_id(edge.source, sender), subtask_id(edge.target, receiver)
                name = f"{start}>{end}"
                if name in used:
                    name = f"{name}#{number}"
                used.add(name)
                link = Link(number, sender, receiver)
                channels.append(ChannelPlan(name, link, start, end, edge.gate))
    return ExecutionGraph(dict(parallelism), partitioners, subtasks, channels)
