"""Where the parts of a state stand in its tuple, and which of them an action may touch.

A state of a job is a tuple of integers: the masks of readiness in one integer, numbers of parts (`numbers.py`), the
subtasks that have not finished as bits, and how many outputs of each subtask are full.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import itemgetter
from typing import Any, NamedTuple

from engine.deployment import Deployment, Slot
from engine.explore.watched import JOB, NEAR, WIDE
from engine.network.channel import Channel
from engine.subtask import Subtask

State = tuple[int, ...]

MASKS, SETTING, CHECKPOINTS, SNAPSHOTS, COORDINATOR, CLOCK, BUDGET, FIRST = range(8)
"""SETTING: state of the job, attempt and parallelism. BUDGET: what is left of it. From FIRST on: subtasks and channels."""

Effect = tuple[int, tuple[tuple[int, int], ...]]
"""(bits of the masks, (index, number) of each part that may be another one)"""


class Reach:
    """What an action looks at and what it changes: bits of the masks, and parts by their index.

    covers: how far the action may have reached (`watched.py`) for this to be all that it looked at. changes: what it
    changes beyond what it looks at. known: the effects seen so far, by what was looked at; None where it reached further.
    """

    __slots__ = ("bits", "changes", "covers", "kept", "known", "looks", "pick")

    def __init__(
        self,
        covers: int,
        bits: int,
        looks: Iterable[int],
        changes: Iterable[int] = (),
        changed_bits: int = 0,
    ) -> None:
        self.covers = covers
        self.bits = bits
        self.kept = ~(bits | changed_bits)
        self.looks = frozenset(looks)
        self.changes = self.looks.union(changes)
        self.pick: Any = itemgetter(*self.looks)
        self.known: dict[Any, Effect | None] = {}

    def looked(self, state: State) -> Any:
        """What the action looks at in a state."""
        return state[MASKS] & self.bits, self.pick(state)

    def remember(self, before: State, after: State) -> bool:
        """Note the effect of an action, unless it went beyond; returns whether it did not."""
        within = not (before[MASKS] ^ after[MASKS]) & self.kept and all(
            index in self.changes or before[index] == after[index]
            for index in range(SETTING, len(before))
        )
        self.known[self.looked(before)] = (
            (
                after[MASKS] & ~self.kept,
                tuple(
                    (index, after[index])
                    for index in sorted(self.changes)
                    if index not in self.looks or before[index] != after[index]
                ),
            )
            if within
            else None
        )
        return within


class Action(NamedTuple):
    """An action, and what it looks at: the nearest reach first."""

    slot: Slot
    reaches: tuple[Reach, ...]


class Layout:
    """The places of the parts of one deployment; the same for every attempt with this parallelism.

    results: whether there is a part for what each subtask has written. key: the parts that tell states apart; what stands
    behind them follows from them.
    """

    def __init__(self, deployment: Deployment, results: bool) -> None:
        names = list(deployment.subtasks)
        count = len(names)
        self.subtasks = range(FIRST, FIRST + count)
        self.boxes = range(self.subtasks.stop, self.subtasks.stop + count)
        self.logs = range(self.boxes.stop, self.boxes.stop + (count if results else 0))
        self.channels = range(self.logs.stop, self.logs.stop + len(deployment.channels))
        self.credits = range(self.channels.stop, self.channels.stop + count)
        self.senders = [
            self.credits[names.index(channel.sender)] for channel in deployment.channels.values()
        ]
        """Where the credit of the sender of each channel stands."""
        self.unfinished = self.credits.stop
        self.under_way = slice(self.boxes.start, self.channels.stop)
        """Boxes and channels, which tell what is under way (and logs, which tell nothing)."""
        self.key = slice(SETTING, self.channels.stop)
        self.slots = len(deployment.slots)
        self.subtask_of = dict(zip(names, self.subtasks, strict=True))
        self._deployment = deployment
        self._place = {name: place for place, name in enumerate(names)}
        self._for_all = deployment.timers | 1 << deployment.restart | 1 << deployment.clock
        self.actions = {slot.action: Action(slot, self._reaches(slot)) for slot in deployment.slots}

    def _planes(
        self, bits: int, nonempty: bool = True, blocked: bool = True, stalled: bool = True
    ) -> int:
        """These bits of these masks."""
        n = self.slots
        return bits * nonempty | (bits * blocked) << n | (bits * stalled) << 2 * n

    def _reaches(self, slot: Slot) -> tuple[Reach, ...]:
        job = (SETTING, CHECKPOINTS, SNAPSHOTS)
        whole = (*job, COORDINATOR, CLOCK)
        everything = self._planes((1 << self.slots) - 1)
        if slot.kind == "restart":
            restart = 1 << self._deployment.restart
            parts = range(SETTING, self.unfinished + 1)
            changed = [index for index in parts if index != BUDGET]
            return (Reach(WIDE, restart, (*whole, *self.logs), changed, everything),)
        if slot.subtask is None:
            return (Reach(WIDE, everything, (*whole, *self.boxes, self.unfinished)),)
        place = self._place[slot.subtask]
        own = self._bits([slot.subtask])
        last = self._planes(self._for_all)
        if slot.kind == "ack":
            bits = self._planes(own, blocked=False, stalled=False) | last
            return (Reach(WIDE, bits, (*whole, self.boxes[place])),)
        subtask = list(self._deployment.subtasks.values())[place]
        name = slot.action.partition(":")[2]
        near = [channel for channel in subtask.inputs if channel.name == name]
        nearest, close = self._around(subtask, place, own, near)
        bits, around = self._around(subtask, place, own, subtask.inputs)
        return (
            Reach(NEAR, nearest, close),
            Reach(JOB, bits, (*around, *job, self.unfinished)),
            Reach(WIDE, bits | last, (*around, *whole, self.unfinished)),
        )

    def _around(
        self, subtask: Subtask, place: int, own: int, inputs: list[Channel]
    ) -> tuple[int, tuple[int, ...]]:
        """A subtask, its box of messages, these inputs, its outputs, and the credit of those who send to it there."""
        below = others = 0
        for channel in subtask.output.channels:
            below |= channel.bit | channel.priority_bit
        for channel in subtask.inputs:
            if channel not in inputs:
                others |= channel.bit | channel.priority_bit
        senders = {channel.sender for channel in inputs}
        around = (*inputs, *subtask.output.channels)
        numbers = {name: number for number, name in enumerate(self._deployment.channels)}
        bits = (
            self._planes(own & ~others, blocked=False, stalled=False)
            | self._planes(own, nonempty=False)
            | self._planes(below, stalled=False)
            | self._planes(self._bits(senders), nonempty=False, blocked=False)
        )
        return bits, (
            self.subtasks[place],
            self.boxes[place],
            *self.logs[place : place + 1],
            *(self.channels[numbers[channel.name]] for channel in around),
            *(self.credits[self._place[name]] for name in {subtask.id, *senders}),
        )

    def _bits(self, subtasks: Collection[str]) -> int:
        bits = 0
        for number, slot in enumerate(self._deployment.slots):
            if slot.subtask in subtasks:
                bits |= 1 << number
        return bits

    def adjacent(self, one: str | None, other: str | None) -> bool:
        """Whether one of two subtasks sends to the other."""
        channels = self._deployment.channels.values()
        return any({channel.sender, channel.receiver} == {one, other} for channel in channels)

    def by_sender(self, credits: Iterable[int]) -> list[int]:
        """The credit of each subtask, out of that of the senders of each channel."""
        held = [0] * len(self.credits)
        for index, credit in zip(self.senders, credits, strict=True):
            held[index - self.credits.start] = credit
        return held

    def masks(self, nonempty: int, blocked: int, stalled: int) -> int:
        """The masks of readiness in one integer."""
        return nonempty | blocked << self.slots | stalled << 2 * self.slots

    def readiness(self, masks: int) -> tuple[int, int, int]:
        plane = (1 << self.slots) - 1
        return masks & plane, masks >> self.slots & plane, masks >> 2 * self.slots

    def enabled(self, masks: int) -> tuple[str, ...]:
        """Ids of the actions that the masks allow, in canonical order."""
        nonempty, blocked, stalled = self.readiness(masks)
        possible = nonempty & ~(blocked | stalled)
        return tuple(action for number, action in enumerate(self.actions) if possible >> number & 1)
