"""Three ways through the interleavings of a system.

`breadth_first`: every state, without reduction; the violation that it finds has the shortest schedule there is.
`depth_first`: every state, but with sleep sets not every transition: of two orders of independent actions one is left out.
`random_walks`: for what is too large; seeded, and never a proof.

Sleep sets are kept with states as in P. Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems",
LNCS 1032, 1996, chapter 5: the set of a visited state becomes the intersection of all it was reached with, and reaching
it again explores what left the set. So where the stored set is a subset, nothing is done again. A monitor can tell the
order of independent actions, so rules about history switch the reduction off; the counts say whether it was on.

A search has no clock: a limit of time is a `should_stop` that the caller brings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

from engine.explore.explorable import Explorable
from engine.explore.invariants import Broken, Memories, Rule, Watch
from engine.explore.results import BoundReached, Counts, Exhausted, Result, Violated
from engine.keyframes import collector_paused
from engine.randomness import RandomStream

CHECK_EVERY = 256
"""Transitions between two questions to `should_stop`."""


class Bounds(NamedTuple):
    """Where a search gives up: distinct states, length of a schedule (None: no bound), and a callback."""

    states: int = 1_000_000
    depth: int | None = None
    should_stop: Callable[[Counts], bool] | None = None


class _Tree:
    """The schedules that were followed, as a tree: node i was reached from `parents[i]` by `actions[i]`."""

    def __init__(self) -> None:
        self.parents = [-1]
        self.actions = [""]

    def add(self, parent: int, action: str) -> int:
        self.parents.append(parent)
        self.actions.append(action)
        return len(self.parents) - 1

    def path(self, node: int) -> tuple[str, ...]:
        actions = []
        while node:
            actions.append(self.actions[node])
            node = self.parents[node]
        return tuple(reversed(actions))


def breadth_first(
    system: Explorable,
    rules: Iterable[Rule],
    bounds: Bounds = Bounds(),  # noqa: B008
) -> Result:
    """Every state once, nearest first."""
    with collector_paused():
        return _breadth_first(system, Watch(rules), bounds)


def _breadth_first(system: Explorable, watch: Watch, bounds: Bounds) -> Result:
    enabled, apply, restore = system.enabled, system.apply, system.restore
    capture, state_key = system.capture, system.state_key
    judge, observe, remembers = watch.judge, watch.observe, bool(watch.monitors)
    tree = _Tree()
    transitions = terminal = deepest = 0
    seen: set[Hashable] = set()
    memories = watch.start(system)
    first = enabled()
    broken = judge(system, not first)
    frontier: deque[tuple[Any, Any, Memories, int, int]] = deque()

    def counts() -> Counts:
        return Counts(len(seen), transitions, terminal, deepest)

    seen.add((state_key(), memories) if remembers else state_key())
    frontier.append((capture(), first, memories, 0, 0))
    if broken:
        return Violated(*broken, (), counts())
    terminal += not first
    cut = ""
    while frontier:
        state, actions, memories, node, depth = frontier.popleft()
        if depth == bounds.depth:
            cut = cut or ("depth" if actions else "")
            continue
        for number, action in enumerate(actions):
            if number or transitions:
                restore(state)
            apply(action)
            transitions += 1
            if (
                not transitions % CHECK_EVERY
                and bounds.should_stop
                and bounds.should_stop(counts())
            ):
                return BoundReached("stopped", counts())
            after = memories
            broken = None
            if remembers:
                after, broken = observe(memories, system, action)
            key = (state_key(), after) if remembers else state_key()
            if key in seen and not broken:
                continue
            seen.add(key)
            deepest = depth + 1
            following = enabled()
            broken = broken or judge(system, not following)
            if broken:
                return Violated(*broken, (*tree.path(node), action), counts())
            terminal += not following
            if len(seen) > bounds.states:
                return BoundReached("states", counts())
            frontier.append((capture(), following, after, tree.add(node, action), depth + 1))
    return BoundReached(cut, counts()) if cut else Exhausted(counts())


class _Visit:
    """What is known of a state: the sleep set that it is stored with, and the least depth it was reached at."""

    __slots__ = ("depth", "sleep")

    def __init__(self, sleep: frozenset[str], depth: int) -> None:
        self.sleep = sleep
        self.depth = depth


def depth_first(
    system: Explorable,
    rules: Iterable[Rule],
    bounds: Bounds = Bounds(),  # noqa: B008
) -> Result:
    """Every state, deepest first, with sleep sets unless a rule looks at history."""
    with collector_paused():
        return _DepthFirst(system, Watch(rules), bounds).run()


class _DepthFirst:
    """One search. The stack holds transitions to take: (state before, action, sleep set after, memories, node, depth)."""

    def __init__(self, system: Explorable, watch: Watch, bounds: Bounds) -> None:
        self.system = system
        self.watch = watch
        self.bounds = bounds
        self.reduced = not watch.monitors
        self.visits: dict[Hashable, _Visit] = {}
        self.tree = _Tree()
        self.stack: list[tuple[Any, str, frozenset[str], Memories, int, int]] = []
        self.transitions = self.terminal = self.deepest = 0
        self.cut = ""
        self._dependent: dict[tuple[str, str], bool] = {}

    def counts(self) -> Counts:
        return Counts(len(self.visits), self.transitions, self.terminal, self.deepest, self.reduced)

    def run(self) -> Result:
        system, watch, stack = self.system, self.watch, self.stack
        should_stop = self.bounds.should_stop
        memories = watch.start(system)
        broken = self._arrive(frozenset(), memories, 0, 0)
        if broken:
            return Violated(*broken, (), self.counts())
        while stack:
            state, action, sleep, memories, node, depth = stack.pop()
            system.restore(state)
            system.apply(action)
            self.transitions += 1
            if not self.transitions % CHECK_EVERY and should_stop and should_stop(self.counts()):
                return BoundReached("stopped", self.counts())
            broken = None
            if watch.monitors:
                memories, broken = watch.observe(memories, system, action)
            broken = broken or self._arrive(sleep, memories, node, depth, action)
            if broken:
                return Violated(*broken, (*self.tree.path(node), action), self.counts())
            if len(self.visits) > self.bounds.states:
                return BoundReached("states", self.counts())
        return BoundReached(self.cut, self.counts()) if self.cut else Exhausted(self.counts())

    def _arrive(
        self, sleep: frozenset[str], memories: Memories, parent: int, depth: int, action: str = ""
    ) -> Broken | None:
        """The system stands in a state: judge it where it is new, and put what is to be explored from it on the stack."""
        system = self.system
        key: Hashable = system.state_key()
        if self.watch.monitors:
            key = key, memories
        visit = self.visits.get(key)
        if visit is None:
            actions = list(system.enabled())
            self.visits[key] = _Visit(sleep, depth)
            self.deepest = max(self.deepest, depth)
            self.terminal += not actions
            broken = self.watch.judge(system, not actions)
            if broken:
                return broken
            explored = [possible for possible in actions if possible not in sleep]
        else:
            shallower = self.bounds.depth is not None and depth < visit.depth
            if visit.sleep <= sleep and not shallower:
                return None
            actions = list(system.enabled())
            if shallower:
                # What lies behind may have been cut off by the bound on depth: all of it again.
                sleep = visit.sleep & sleep
                explored = [possible for possible in actions if possible not in sleep]
                visit.depth = depth
            else:
                explored = [
                    possible
                    for possible in actions
                    if possible in visit.sleep and possible not in sleep
                ]
                sleep = visit.sleep & sleep
            visit.sleep = sleep
        if depth == self.bounds.depth:
            self.cut = self.cut or ("depth" if actions else "")
            return None
        if explored:
            node = self.tree.add(parent, action) if action else 0
            self._push(explored, sleep, memories, node, depth)
        return None

    def _push(
        self, explored: list[str], sleep: frozenset[str], memories: Memories, node: int, depth: int
    ) -> None:
        """Each action goes to sleep for those that are explored after it."""
        state = self.system.capture()
        asleep = set(sleep)
        transitions = []
        for action in explored:
            after: frozenset[str] = frozenset()
            if self.reduced:
                after = frozenset([other for other in asleep if not self._depends(other, action)])
                asleep.add(action)
            transitions.append((state, action, after, memories, node, depth + 1))
        self.stack.extend(reversed(transitions))

    def _depends(self, first: str, second: str) -> bool:
        known = self._dependent.get((first, second))
        if known is None:
            known = self._dependent[first, second] = not self.system.independent(first, second)
        return known


def random_walks(
    system: Explorable,
    rules: Iterable[Rule],
    walks: int,
    depth: int,
    seed: int = 0,
    should_stop: Callable[[Counts], bool] | None = None,
) -> Result:
    """`walks` schedules of at most `depth` steps, each drawn by a stream of its own; the counts are those of the walks.

    Walks prove nothing, so their result is `Violated` or `BoundReached`.
    """
    watch = Watch(rules)
    start = system.capture()
    seen: set[Hashable] = set()
    ends: set[Hashable] = set()
    transitions = deepest = 0

    def counts() -> Counts:
        return Counts(len(seen), transitions, len(ends), deepest)

    with collector_paused():
        for walk in range(walks):
            stream = RandomStream(seed, f"explore/walk {walk}")
            system.restore(start)
            memories = watch.start(system)
            taken: list[str] = []
            while True:
                actions = system.enabled()
                key = system.state_key()
                seen.add(key)
                if not actions:
                    ends.add(key)
                broken = watch.judge(system, not actions)
                if broken:
                    return Violated(*broken, tuple(taken), counts())
                if not actions or len(taken) == depth:
                    break
                action = actions[stream.below(len(actions))]
                system.apply(action)
                transitions += 1
                taken.append(action)
                deepest = max(deepest, len(taken))
                memories, broken = watch.observe(memories, system, action)
                if broken:
                    return Violated(*broken, tuple(taken), counts())
                if not transitions % CHECK_EVERY and should_stop and should_stop(counts()):
                    return BoundReached("stopped", counts())
    return BoundReached("walks", counts())
