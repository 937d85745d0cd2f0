"""A run of a process network as a space-time diagram: one lane per process, an arrow per message, a line per cut.

Everything is read off the states that the run went through, so it is the same for a protocol that is wrong on purpose.
Steps count from 1; step 0 is the state before anything happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from engine.checkpointing.chandy_lamport import UNRECORDED, ChandyLamport, NetworkState


class Arrow(NamedTuple):
    """One message. tokens: 1 or more, or 0 for a marker. marker: its snapshot, or 0. delivered: the step, or None."""

    link: str
    source: str
    target: str
    tokens: int
    marker: int
    sent: int
    delivered: int | None


class Cut(NamedTuple):
    """Where snapshot `number` (from 1) cuts each lane: the step at which the process recorded, or None."""

    number: int
    steps: dict[str, int | None]

    def before(self, process: str, step: int) -> bool:
        """Whether what `process` did at `step` belongs to the recorded past. Recording itself does not."""
        at = self.steps[process]
        return at is None or step < at


class SpaceTime(NamedTuple):
    lanes: tuple[str, ...]
    steps: int
    arrows: tuple[Arrow, ...]
    cuts: tuple[Cut, ...]


class History:
    """A runner and the states that it went through: `states[i]` is the state after `actions[:i]`."""

    def __init__(self, system: ChandyLamport, actions: Iterable[str] = ()) -> None:
        self.system = system
        self.states: list[NetworkState] = [system.capture()]
        self.actions: list[str] = []
        self._drawn: tuple[int, SpaceTime] | None = None
        for action in actions:
            self.act(action)

    def act(self, action: str) -> None:
        self.system.apply(action)
        self.actions.append(action)
        self.states.append(self.system.capture())

    @classmethod
    def of(cls, system: ChandyLamport, states: list[NetworkState], actions: list[str]) -> History:
        """The history of a run whose states are known: one more than there are actions."""
        history = cls(system)
        history.states, history.actions = states, actions
        return history

    def acting(self, step: int) -> str:
        """The process that step `step` (from 1) happened at."""
        return self.system.processes[self.system.acting(self.actions[step - 1])]

    def space_time(self) -> SpaceTime:
        """The diagram of the run so far; it is drawn once and kept until the run goes on."""
        if self._drawn is None or self._drawn[0] != len(self.actions):
            self._drawn = (len(self.actions), self._draw())
        return self._drawn[1]

    def _draw(self) -> SpaceTime:
        system = self.system
        arrows: list[Arrow] = []
        travelling: list[list[int]] = [[] for _ in system.link_names]
        """Numbers of the arrows on each link, as the messages stand there."""
        for step, action in enumerate(self.actions, 1):
            after = self.states[step]
            delivery = delivered(system, action)
            if delivery is not None:
                number = travelling[delivery[0]].pop(delivery[1])
                arrows[number] = arrows[number]._replace(delivered=step)
            for link, content in enumerate(after.links):
                for item in content[len(travelling[link]) :]:
                    travelling[link].append(len(arrows))
                    arrows.append(self._arrow(link, item, step))
        cuts = tuple(self.cut(number) for number in range(1, len(system.network.snapshots) + 1))
        return SpaceTime(tuple(system.processes), len(self.actions), tuple(arrows), cuts)

    def kept(self, number: int) -> set[int]:
        """Numbers of the arrows that snapshot `number` recorded as the state of their link."""
        width = len(self.system.link_names)
        found: set[int] = set()
        arrows = self.space_time().arrows
        for number_, arrow in enumerate(arrows):
            if arrow.tokens and arrow.delivered is not None:
                place = (number - 1) * width + self.system.link_names.index(arrow.link)
                before, after = self.states[arrow.delivered - 1], self.states[arrow.delivered]
                if len(after.kept[place]) > len(before.kept[place]):
                    found.add(number_)
        return found

    def _arrow(self, link: int, item: int, step: int) -> Arrow:
        system = self.system
        source, target = system.network.links[link][:2]
        name = system.link_names[link]
        return Arrow(name, source, target, max(item, 0), max(-item, 0), step, None)

    def cut(self, number: int) -> Cut:
        """The cut of snapshot `number` (from 1)."""
        processes = self.system.processes
        steps: dict[str, int | None] = {}
        for index, process in enumerate(processes):
            place = (number - 1) * len(processes) + index
            steps[process] = next(
                (
                    step
                    for step, state in enumerate(self.states)
                    if state.recorded[place] != UNRECORDED
                ),
                None,
            )
        return Cut(number, steps)


def delivered(system: ChandyLamport, action: str) -> tuple[int, int] | None:
    """(link, place on it) of a delivery, or None for another action."""
    kind, _, rest = action.partition(":")
    if kind != "deliver":
        return None
    name, _, place = rest.partition("#")
    return system.link_names.index(name), int(place or 0)
