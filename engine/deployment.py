"""A deployment: the subtasks and channels of one attempt, with a slot for each thing that can happen to them.

Slots are numbered in canonical order - splits, channels, message boxes, then the two of last resort - and the number is
the bit in the masks of `network.credit.Readiness`. Actions have ids that stay the same from attempt to attempt.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.checkpointing.channel_state import OF_PARTITIONER
from engine.errors import USER_ERRORS, EngineBug
from engine.graph.checkpoint_settings import STOP_THE_WORLD, UNALIGNED
from engine.graph.execution_graph import ExecutionGraph, expand, subtask_id
from engine.graph.job_graph import JobGraph, Vertex
from engine.loop_end import LoopPlace
from engine.network.channel import Channel
from engine.network.credit import Credit
from engine.network.partitioners import RecordsOnly, Route
from engine.network.result_partition import ResultPartition
from engine.operators.base import Context
from engine.operators.sink import ResultLog
from engine.operators.source import SourceOperator
from engine.operators.split import Split, SplitData, assign_splits
from engine.randomness import RandomStream
from engine.state.key_groups import key_group_range, operator_index_for_key_group
from engine.state.keyed_state import Rows
from engine.subtask import Host, Subtask
from engine.takers import (
    Taker,
    channel_taker,
    priority_taker,
    split_taker,
    upload_taker,
)

NO_SPLIT = SplitData("no split", ())


class Slot(NamedTuple):
    """One thing that can happen: its action id, its kind, and what it concerns."""

    action: str
    kind: str
    subtask: str | None
    channel: Channel | None
    split: Split | None


class Deployment:
    """Built anew for every attempt and every change of parallelism."""

    def __init__(
        self,
        host: Host,
        job: JobGraph,
        parallelism: dict[str, int],
        seed: int,
        attempt: int,
        logs: dict[str, ResultLog],
    ) -> None:
        self.job = job
        self.graph: ExecutionGraph = expand(job, parallelism)
        self.readiness = host.readiness
        self.slots: list[Slot] = []
        self.takers: list[Taker | None] = []
        self.channels: dict[str, Channel] = {}
        self.subtasks: dict[str, Subtask] = {}
        self.splits: dict[str, Split] = {}
        self.rows: dict[str, Rows] = {}
        self.channel_bits = 0
        self.timers = 0
        """The bits of what the clock makes possible."""
        self._seed = seed
        self._attempt = attempt
        self._credits = {plan.id: Credit() for plan in self.graph.subtasks}
        self._routes: dict[tuple[int, int], Route] = {}
        self._loops = job.loops()
        self._plan_splits()
        self._plan_channels()
        for plan in self.graph.subtasks:
            self._deploy(host, job.vertex(plan.vertex), plan.id, plan.index, logs)
        self._plan_boxes()
        self.by_action = {slot.action: number for number, slot in enumerate(self.slots)}
        self._make_takers()

    def _add(self, slot: Slot) -> int:
        self.slots.append(slot)
        return len(self.slots) - 1

    def _plan_splits(self) -> None:
        self._assigned: dict[str, list[Split]] = {}
        for vertex in self.job.vertices:
            if vertex.splits is None:
                continue
            parallelism = self.graph.parallelism[vertex.id]
            for index in range(parallelism):
                owner = subtask_id(vertex.id, index)
                mine = assign_splits(vertex.splits, parallelism, index) or [NO_SPLIT]
                self._assigned[owner] = []
                for data in mine:
                    split = Split(data, f"{owner}/{data.name}")
                    split.bit = 1 << self._add(Slot(f"read:{split.id}", "read", owner, None, split))
                    self._credits[owner].inputs |= split.bit
                    self.splits[split.id] = split
                    self._assigned[owner].append(split)

    def _plan_channels(self) -> None:
        for plan in self.graph.channels:
            slot = len(self.slots)
            channel = Channel(
                plan.name,
                plan.sender,
                plan.receiver,
                self.job.buffers,
                slot,
                self.readiness,
                self._credits[plan.sender],
                plan.link,
                self.job.edges[plan.link.edge].feedback,
            )
            self._add(Slot(f"take:{plan.name}", "take", plan.receiver, channel, None))
            self._credits[plan.receiver].inputs |= channel.bit
            self.channels[plan.name] = channel
            self.channel_bits |= channel.bit
        if self.job.checkpointing.scheme != UNALIGNED:
            return
        for name, channel in self.channels.items():
            name_of_edge = self.graph.partitioners[channel.link.edge].name
            if name_of_edge in OF_PARTITIONER and not channel.feedback:
                action = f"barrier:{name}"
                channel.priority_bit = 1 << self._add(
                    Slot(action, "barrier", channel.receiver, None, None)
                )

    def _deploy(
        self, host: Host, vertex: Vertex, subtask: str, index: int, logs: dict[str, ResultLog]
    ) -> None:
        parallelism = self.graph.parallelism[vertex.id]
        context = Context(
            subtask,
            index,
            parallelism,
            vertex.maximum(),
            vertex.key_type,
            host.trace,
            now=lambda: host.clock.now,
            wake=lambda time: host.wake(subtask, time),
            exclude_ended=self.job.exclude_ended,
            place=vertex.place,
            backend=self.job.durability.backend,
        )
        log = logs.setdefault(subtask, ResultLog())
        operator = vertex.make(context, self._assigned.get(subtask, []), log)
        plans = [plan for plan in self.graph.channels if plan.receiver == subtask]
        inputs = [self.channels[plan.name] for plan in plans]
        gate_of = [plan.gate for plan in plans]
        main: list[Route] = []
        side: dict[str, list[Route]] = {}
        for number, edge in enumerate(self.job.edges):
            if edge.source != vertex.id:
                continue
            channels = [
                self.channels[plan.name]
                for plan in self.graph.channels
                if plan.link.edge == number and plan.sender == subtask
            ]
            stream = RandomStream(self._seed, f"{subtask}/edge {number}/attempt {self._attempt}")
            route = self.graph.partitioners[number].route(
                channels, index, stream, self.job.vertex(edge.target).maximum()
            )
            if edge.feedback:
                route = RecordsOnly(route)
            self._routes[number, index] = route
            if edge.tag is None:
                main.append(route)
            else:
                side.setdefault(edge.tag, []).append(route)
        output = ResultPartition(main, side, self._credits[subtask], host.trace, vertex.brief)
        self.subtasks[subtask] = host.subtask_type(
            host,
            subtask,
            vertex.id,
            index,
            operator,
            inputs,
            gate_of,
            output,
            self.job.checkpointing,
            self._loop(vertex.id, output),
        )

    def _loop(self, vertex: str, output: ResultPartition) -> LoopPlace | None:
        """Where a subtask of an operator stands in a loop, or None where it stands in none."""
        for head, members in self._loops.items():
            if vertex in members:
                inside = [
                    channel
                    for channel in output.channels
                    if self.job.edges[channel.link.edge].target in members
                ]
                return LoopPlace(vertex == head, self.graph.parallelism[head], inside)
        return None

    def _plan_boxes(self) -> None:
        settings = self.job.checkpointing
        for subtask in self.subtasks.values():
            if isinstance(subtask.operator, SourceOperator) or settings.scheme == STOP_THE_WORLD:
                self._add(Slot(f"trigger:{subtask.id}", "trigger", subtask.id, None, None))
        for kind in ("ack", "abort"):
            for subtask in self.subtasks.values():
                self._add(Slot(f"{kind}:{subtask.id}", kind, subtask.id, None, None))
        if settings.upload_bytes:
            for subtask in self.subtasks.values():
                self._add(Slot(f"upload:{subtask.id}", "upload", subtask.id, None, None))
        if settings.aligned_timeout:
            for subtask in self.subtasks.values():
                self._add(Slot(f"switch:{subtask.id}", "switch", subtask.id, None, None))
        for subtask in self.subtasks.values():
            if subtask.operator.uses_clock:
                bit = 1 << self._add(Slot(f"timer:{subtask.id}", "timer", subtask.id, None, None))
                self._credits[subtask.id].inputs |= bit
                self.timers |= bit
        if settings.interval is not None:
            self.timers |= 1 << self._add(Slot("timer:coordinator", "timer", None, None, None))
        if settings.timeout is not None:
            self.timers |= 1 << self._add(Slot("expire", "expire", None, None, None))
        self.restart = self._add(Slot("restart", "restart", None, None, None))
        self.clock = self._add(Slot("clock", "clock", None, None, None))
        self.first_choice = (1 << self.restart) - 1

    def _make_takers(self) -> None:
        for slot in self.slots:
            taker: Taker | None = None
            if slot.channel is not None:
                receiver = self.subtasks[slot.channel.receiver]
                taker = channel_taker(receiver, receiver.inputs.index(slot.channel))
            elif slot.split is not None:
                subtask = self.subtasks[slot.subtask or ""]
                if not isinstance(subtask.operator, SourceOperator):
                    raise EngineBug(
                        "not_a_source",
                        "A split was assigned to an operator that is no source.",
                        place=subtask.id,
                        mend="Report it with the job.",
                    )
                taker = split_taker(subtask, subtask.operator, slot.split)
            elif slot.kind == "barrier":
                channel = self.channels[slot.action.removeprefix("barrier:")]
                receiver = self.subtasks[channel.receiver]
                taker = priority_taker(receiver, receiver.inputs.index(channel))
            elif slot.kind == "upload":
                taker = upload_taker(self.subtasks[slot.subtask or ""])
            self.takers.append(taker)
        self.plain_takers = list(self.takers)

    def sources(self) -> list[Subtask]:
        return [
            subtask
            for subtask in self.subtasks.values()
            if isinstance(subtask.operator, SourceOperator)
        ]

    def route(self, edge: int, sender: int) -> Route:
        """How subtask `sender` at the start of an edge spreads its records."""
        return self._routes[edge, sender]

    def bit(self, action: str) -> int:
        return 1 << self.by_action[action]

    def split_bits(self) -> int:
        bits = 0
        for split in self.splits.values():
            bits |= split.bit
        return bits

    def key_groups(self, subtask: Subtask) -> tuple[int, int] | None:
        """The key groups that a subtask owns, first and last, or None where its operator is not keyed."""
        vertex = self.job.vertex(subtask.vertex)
        if not vertex.keyed:
            return None
        return key_group_range(vertex.maximum(), self.graph.parallelism[vertex.id], subtask.index)

    def unblock_sources(self) -> None:
        """Let the sources read again, but for the splits that their alignment group holds back."""
        for source in self.sources():
            self.readiness.blocked &= ~self.inputs(source.id)
            for split in self._assigned[source.id]:
                if split.paused:
                    self.readiness.blocked |= split.bit

    def restore(self, parts: dict[str, list[Any]]) -> None:
        """Give every subtask its part of a checkpoint, spread over the present parallelism."""
        for vertex in self.job.vertices:
            parallelism = self.graph.parallelism[vertex.id]
            rows = Rows(
                vertex.id,
                self.subtasks[subtask_id(vertex.id, 0)].host.trace,
                vertex.maximum(),
                vertex.key_type,
            )

            def owner(
                key: Any,
                rows: Rows = rows,
                maximum: int = vertex.maximum(),
                parallelism: int = parallelism,
            ) -> int:
                return operator_index_for_key_group(maximum, parallelism, rows.group(key))

            spread = vertex.redistribute(parts.get(vertex.id, []), owner, parallelism)
            for index, part in enumerate(spread):
                self.subtasks[subtask_id(vertex.id, index)].operator.restore(part)

    def inputs(self, subtask: str) -> int:
        """The bits of what needs credit of a subtask: its channels, or its splits and periodic watermarks."""
        return self._credits[subtask].inputs

    def open(self) -> tuple[str, BaseException] | None:
        """Open every function and make every split readable; returns (subtask, error) where the first function raised."""
        self.readiness.rewind((self.split_bits(), 0, 0))
        failed: tuple[str, BaseException] | None = None
        for subtask in self.subtasks.values():
            try:
                subtask.operator.open()
            except USER_ERRORS as error:
                failed = failed or (subtask.id, error)
        return failed


def moved_key_groups(job: JobGraph, before: dict[str, int], after: dict[str, int]) -> int:
    """How many key groups have another owner after a change of parallelism, over all keyed operators."""
    return sum(
        operator_index_for_key_group(vertex.maximum(), before[vertex.id], group)
        != operator_index_for_key_group(vertex.maximum(), after[vertex.id], group)
        for vertex in job.vertices
        if vertex.keyed
        for group in range(vertex.maximum())
    )
