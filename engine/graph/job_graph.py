"""The logical job: operators and the edges between them, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import networkx as nx

from engine.errors import InvalidJob
from engine.graph.checkpoint_settings import CheckpointSettings
from engine.graph.durability import Durability
from engine.network.partitioners import Forward, Partitioner
from engine.state.key_groups import UPPER_BOUND_MAX_PARALLELISM, default_max_parallelism

DEFAULT_BUFFERS = 8
ITERATION_HEAD = "iteration head"
"""The kind of an operator where a loop begins."""
DEFAULT_CHECKPOINTING = CheckpointSettings()


@dataclass
class Vertex:
    """One operator.

    make: (context, splits of this subtask, result log) -> the operator instance; what it does not need it ignores.
    redistribute: (parts of all old subtasks, owner(canonical key) -> new index, new parallelism) -> parts of the new ones.
    brief: value -> at most 8 characters for the picture, or None.
    uid: what the operator's state is found by in a savepoint; its id where it has none.
    """

    id: str
    kind: str
    make: Callable[..., Any]
    redistribute: Callable[..., list[Any]]
    parallelism: int = 1
    max_parallelism: int | None = None
    detail: str = ""
    keyed: bool = False
    key_type: str | None = None
    results: bool = False
    splits: list[Any] | None = None
    brief: Callable[[Any], str] | None = None
    place: str = ""
    uid: str | None = None

    def maximum(self) -> int:
        """The max parallelism that is in force."""
        return self.max_parallelism or default_max_parallelism(self.parallelism)


@dataclass
class Edge:
    """A link from one operator to another; `tag` names the side output that it carries, None the main output.

    gate: which input of a two-input operator it leads to.
    feedback: it leads back to the head of a loop, as gate 1.
    """

    source: str
    target: str
    partitioner: Partitioner
    tag: str | None = None
    gate: int = 0
    feedback: bool = False


@dataclass
class JobGraph:
    """Operators, edges, and the settings that belong to the job.

    buffers: records and watermarks that a channel has room for, 1 or more.
    checkpointing: how snapshots are taken.
    restart_attempts: how many failures by an exception are followed by a restart.
    exclude_ended: an input that has ended is left out of event time, instead of counting as its end.
    """

    name: str
    vertices: list[Vertex] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    buffers: int = DEFAULT_BUFFERS
    checkpointing: CheckpointSettings = DEFAULT_CHECKPOINTING
    restart_attempts: int = 3
    exclude_ended: bool = False
    durability: Durability = Durability()  # noqa: RUF009 - immutable

    def vertex(self, vertex_id: str) -> Vertex:
        for vertex in self.vertices:
            if vertex.id == vertex_id:
                return vertex
        names = ", ".join(vertex.id for vertex in self.vertices)
        raise InvalidJob(
            "unknown_operator", f"There is no operator {vertex_id!r}.", mend=f"The job has {names}."
        )

    def networkx(self, feedback: bool = False) -> nx.DiGraph[str]:
        """The operators and their edges; those that lead back only with `feedback`."""
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(vertex.id for vertex in self.vertices)
        graph.add_edges_from(
            (edge.source, edge.target) for edge in self.edges if feedback or not edge.feedback
        )
        return graph

    def loops(self) -> dict[str, frozenset[str]]:
        """The operators of each loop, by its head, which is one of them."""
        heads = {edge.target for edge in self.edges if edge.feedback}
        parts = map(frozenset, nx.strongly_connected_components(self.networkx(feedback=True)))
        return {head: part for part in parts for head in sorted(heads & part)}

    def columns(self) -> dict[str, int]:
        """The column of each operator: its distance from the sources."""
        return {
            vertex_id: column
            for column, generation in enumerate(nx.topological_generations(self.networkx()))
            for vertex_id in generation
        }

    def validated(self) -> JobGraph:
        """This graph, or InvalidJob naming the rule it breaks, the operator and the mend."""
        if not self.vertices:
            raise InvalidJob(
                "empty_job",
                "The job has no operators.",
                mend="Start with env.from_source or env.from_collection.",
            )
        if type(self.buffers) is not int or not 1 <= self.buffers <= 65_536:
            raise InvalidJob(
                "buffers",
                f"{self.buffers!r} buffers per channel are not possible: 1 to 65,536 are.",
                mend="Leave the default of 8.",
            )
        self.checkpointing.validated()
        graph = self.networkx()
        known = {vertex.id for vertex in self.vertices}
        for edge in self.edges:
            if not {edge.source, edge.target} <= known:
                raise InvalidJob(
                    "unknown_operator",
                    f"An edge leads from {edge.source!r} to {edge.target!r}, and the job has not both.",
                    place=f"{edge.source} -> {edge.target}",
                    mend=f"The job has {', '.join(sorted(known))}.",
                )
        if len(known) != len(self.vertices):
            raise InvalidJob(
                "duplicate_operator",
                "Two operators have the same id.",
                mend="Give each a name or uid of its own.",
            )
        self._check_uids()
        self._check_parallelism()
        if not nx.is_directed_acyclic_graph(graph):
            cycle = " -> ".join(start for start, _ in nx.find_cycle(graph))
            raise InvalidJob(
                "cycle",
                f"The job has a cycle: {cycle}.",
                mend="Remove the edge that leads back; loops need a feedback edge.",
            )
        self._check_loops()
        for vertex in self.vertices:
            if vertex.splits is None and graph.in_degree(vertex.id) == 0:
                raise InvalidJob(
                    "no_input",
                    "An operator has no input.",
                    place=vertex.id,
                    mend="Connect it to a source.",
                )
        for edge in self.edges:
            source, target = self.vertex(edge.source), self.vertex(edge.target)
            if type(edge.partitioner) is Forward and source.parallelism != target.parallelism:
                raise InvalidJob(
                    "forward",
                    f"Forward partitioning needs equal parallelism: {source.id} has {source.parallelism}, {target.id} has {target.parallelism}.",
                    place=f"{source.id} -> {target.id}",
                    mend="Use rebalance or rescale, or set the same parallelism.",
                )
        return self

    def _check_loops(self) -> None:
        """Every feedback edge leads from inside a loop to its head, and no two loops share an operator."""
        loops = self.loops()
        for edge in self.edges:
            if not edge.feedback:
                continue
            place = f"{edge.source} -> {edge.target}"
            if self.vertex(edge.target).kind != ITERATION_HEAD or edge.gate != 1:
                raise InvalidJob(
                    "feedback",
                    f"A feedback edge leads to {edge.target}, which is no head of a loop.",
                    place=place,
                    mend="Begin the loop with iterate and close it with close_with.",
                )
            if edge.source not in loops[edge.target]:
                raise InvalidJob(
                    "feedback",
                    f"{edge.source} does not get its records from {edge.target}, so this closes no loop.",
                    place=place,
                    mend="Close the loop with a stream that comes from its head.",
                )
        for vertex in self.vertices:
            if vertex.kind == ITERATION_HEAD and vertex.id not in loops:
                raise InvalidJob(
                    "open_loop",
                    "A loop is begun and never closed.",
                    place=vertex.id,
                    mend="Call close_with with the stream that goes back, or leave iterate out.",
                )
        for head, part in loops.items():
            shared = sorted(other for other in loops if other in part and other != head)
            if shared:
                raise InvalidJob(
                    "nested_loops",
                    f"The loops of {head} and {shared[0]} have operators in common.",
                    place=head,
                    mend="Put one loop behind the other, or use one feedback edge for both.",
                )

    def _check_uids(self) -> None:
        used: dict[str, str] = {}
        for vertex in self.vertices:
            uid = vertex.uid or vertex.id
            if uid in used:
                raise InvalidJob(
                    "duplicate_uid",
                    f"{used[uid]} and {vertex.id} have the same uid {uid!r}.",
                    place=vertex.place or vertex.id,
                    mend="Give each operator a uid of its own, that is no other operator's name.",
                )
            used[uid] = vertex.id

    def _check_parallelism(self) -> None:
        for vertex in self.vertices:
            highest = vertex.maximum()
            if not 1 <= highest <= UPPER_BOUND_MAX_PARALLELISM:
                raise InvalidJob(
                    "max_parallelism",
                    f"Max parallelism {highest} is not possible: 1 to {UPPER_BOUND_MAX_PARALLELISM} are.",
                    place=vertex.id,
                    mend="Choose 128, Flink's default.",
                )
            if not 1 <= vertex.parallelism <= highest:
                raise InvalidJob(
                    "parallelism",
                    f"Parallelism {vertex.parallelism} must be from 1 to the max parallelism {highest}.",
                    place=vertex.id,
                    mend="Lower the parallelism or raise max_parallelism.",
                )
