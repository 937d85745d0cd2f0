"""Who acts next in a network when nobody says: its script as far as it goes, then a policy of the scheduler."""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.errors import LearnerMistake
from engine.scheduler import Policy, make_scheduler

SCRIPT = "script"


class Choice(NamedTuple):
    """Where a policy stands. script: entries that are done with; scheduler: its keyframe."""

    script: int
    scheduler: Any


class NetworkPolicy:
    """The policy `script` follows the network's script, leaving out what is not possible, and is round robin behind it.

    Every other policy is the scheduler's, over all actions of the network in canonical order.
    """

    def __init__(self, system: ChandyLamport, policy: Policy, seed: int) -> None:
        scripted = policy.name == SCRIPT
        self.script = system.network.script if scripted else ()
        self.scheduler = make_scheduler(
            policy._replace(name="round_robin") if scripted else policy, seed
        )
        self.numbers = {action: number for number, action in enumerate(all_actions(system))}

    def start(self) -> Choice:
        return Choice(0, self.scheduler.keyframe())

    def next(self, at: Choice, enabled: list[str]) -> tuple[str, Choice] | None:
        """The action that is taken next, and where the policy stands then; None where there is none.

        LearnerMistake where the policy leaves it to a person.
        """
        if not enabled:
            return None
        place = self._in_script(at, enabled)
        if place is not None:
            return self.script[place], at._replace(script=place + 1)
        self.scheduler.rewind(at.scheduler)
        mask = sum(1 << self.numbers[action] for action in enabled)
        slot = self.scheduler.choose(mask)
        action = next(action for action in enabled if self.numbers[action] == slot)
        return action, Choice(len(self.script), self.scheduler.keyframe())

    def after(self, at: Choice, enabled: list[str], action: str) -> Choice:
        """Where the policy stands after somebody chose `action`: further on where the script says the same."""
        place = self._in_script(at, enabled)
        if place is not None and self.script[place] == action:
            return at._replace(script=place + 1)
        return at

    def _in_script(self, at: Choice, enabled: list[str]) -> int | None:
        """The place of the first entry from here on that is possible."""
        possible = set(enabled)
        for place in range(at.script, len(self.script)):
            if self.script[place] in possible:
                return place
        return None

    def would_take(self, at: Choice, enabled: list[str]) -> str | None:
        """What `next` takes, or None also where a person has to choose."""
        try:
            found = self.next(at, enabled)
        except LearnerMistake:
            return None
        return found[0] if found else None


def all_actions(system: ChandyLamport) -> list[str]:
    """Every action that can ever be possible, in canonical order."""
    network = system.network
    actions = [f"send:{process}" for process in system.processes]
    actions += [action for action, _, _ in system.starts]
    for link, name in enumerate(system.link_names):
        actions.append(f"deliver:{name}")
        if not network.links[link].fifo:
            ends = network.links[link][:2]
            most = sum(send[:2] == ends for send in network.sends) + len(network.snapshots)
            actions += [f"deliver:{name}#{place}" for place in range(1, most)]
    return [*actions, *(f"markers:{process}" for process in system.processes)]
