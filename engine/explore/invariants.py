"""Rules that must hold in every run, as named values; a broken one says why in a sentence.

An `Invariant` looks at one state. A `Monitor` looks at history through a small memory of its own, which a search makes
part of the state. Both are plain values: a search, a viewer, a grader and a test use the same ones. The rules themselves
are in `network_invariants.py` and `job_invariants.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Invariant:
    """A rule about states.

    broken: (system) -> why the rule does not hold now, as a sentence; empty where it holds.
    at_end: whether it has to hold only where nothing more is possible.
    results: whether it looks at what the sinks of a job have written, so that states have to tell it apart.
    """

    name: str
    broken: Callable[[Any], str]
    at_end: bool = False
    results: bool = False


@dataclass(frozen=True)
class Monitor:
    """A rule about history.

    start: (system) -> the memory in the first state.
    observe: (memory, system after the action, action) -> (memory, sentence; empty where the rule holds).
    results: as of an invariant.
    """

    name: str
    start: Callable[[Any], Hashable]
    observe: Callable[[Any, Any, str], tuple[Hashable, str]]
    results: bool = False


Rule = Invariant | Monitor
Memories = tuple[Hashable, ...]


class Broken(NamedTuple):
    """A rule that does not hold, and why."""

    name: str
    sentence: str


class Watch:
    """Rules, evaluated along a run. The first broken rule, in the order given, is the answer."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        rules = list(rules)
        self.always = [rule for rule in rules if isinstance(rule, Invariant) and not rule.at_end]
        self.at_end = [rule for rule in rules if isinstance(rule, Invariant) and rule.at_end]
        self.monitors = [rule for rule in rules if isinstance(rule, Monitor)]

    def start(self, system: Any) -> Memories:
        return tuple(monitor.start(system) for monitor in self.monitors)

    def observe(
        self, memories: Memories, system: Any, action: str
    ) -> tuple[Memories, Broken | None]:
        """The memories after an action, and the first rule about history that it breaks."""
        after: list[Hashable] = []
        broken: Broken | None = None
        for monitor, memory in zip(self.monitors, memories, strict=True):
            memory, sentence = monitor.observe(memory, system, action)
            after.append(memory)
            if sentence and broken is None:
                broken = Broken(monitor.name, sentence)
        return tuple(after), broken

    def judge(self, system: Any, ended: bool) -> Broken | None:
        """The first rule about states that does not hold; `ended` where nothing more is possible."""
        for invariant in self.always:
            sentence = invariant.broken(system)
            if sentence:
                return Broken(invariant.name, sentence)
        if ended:
            for invariant in self.at_end:
                sentence = invariant.broken(system)
                if sentence:
                    return Broken(invariant.name, sentence)
        return None


def first_broken(
    system: Any, actions: Iterable[str], rules: Iterable[Rule]
) -> tuple[int, Broken] | None:
    """Take `actions` one by one: (steps taken, rule) where a rule is broken first, or None.

    What the system refuses is raised, as by `apply`.
    """
    watch = Watch(rules)
    memories = watch.start(system)
    broken = watch.judge(system, not system.enabled())
    if broken:
        return 0, broken
    for step, action in enumerate(actions, 1):
        system.apply(action)
        memories, broken = watch.observe(memories, system, action)
        broken = broken or watch.judge(system, bool(watch.at_end) and not system.enabled())
        if broken:
            return step, broken
    return None
