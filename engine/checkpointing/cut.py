"""What a completed snapshot is worth: whether its cut is consistent, and whether its state ever occurred.

A cut is consistent where nothing crosses it backwards: no message was sent after it and received before it. A recorded
state need not have occurred. It might have: the same actions in another order, each process's own order kept, pass through
it (Chandy and Lamport 1985, theorem 1); `reordered` finds that order.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.checkpointing.chandy_lamport import ChandyLamport, RecordedState
from engine.checkpointing.process_network import ProcessNetwork
from engine.checkpointing.space_time import Arrow, Cut, History, delivered
from engine.errors import LearnerMistake

GlobalState = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""(tokens of each process, tokens on each link in order): the state of the network without its markers."""


def global_state(system: ChandyLamport) -> GlobalState:
    return tuple(system.tokens), _without_markers(tuple(system.links))


def _without_markers(links: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(item for item in content if item > 0) for content in links)


def recorded_as_global(system: ChandyLamport, recorded: RecordedState) -> GlobalState:
    """A recorded state in the form in which states of the network are compared."""
    return (
        tuple(recorded.tokens.values()),
        tuple(recorded.links.get(name, ()) for name in system.link_names),
    )


def occurrences(history: History, number: int) -> list[int]:
    """The steps after which the network was in the state that snapshot `number` recorded; empty where it never was."""
    wanted = recorded_as_global(history.system, completed(history, number))
    return [
        step
        for step, state in enumerate(history.states)
        if (state.tokens, _without_markers(state.links)) == wanted
    ]


def completed(history: History, number: int) -> RecordedState:
    """What snapshot `number` recorded; LearnerMistake where it has not completed."""
    recorded = history.system.recorded_state(number)
    if recorded is None:
        raise LearnerMistake(
            "incomplete_snapshot",
            f"Snapshot {number} is not complete: a marker of it is still under way, or it was not started.",
            mend="Go on until every process has got a marker on every incoming link.",
        )
    return recorded


def backwards(arrows: tuple[Arrow, ...], cut: Cut) -> list[Arrow]:
    """Tokens that were sent after the cut and received before it: with one of them the cut is inconsistent."""
    return [
        arrow
        for arrow in arrows
        if arrow.tokens
        and not cut.before(arrow.source, arrow.sent)
        and arrow.delivered is not None
        and cut.before(arrow.target, arrow.delivered)
    ]


def in_flight(arrows: tuple[Arrow, ...], cut: Cut) -> list[Arrow]:
    """Tokens that were sent before the cut and not received before it: the channel state that belongs to it."""
    return [
        arrow
        for arrow in arrows
        if arrow.tokens
        and cut.before(arrow.source, arrow.sent)
        and not (arrow.delivered is not None and cut.before(arrow.target, arrow.delivered))
    ]


def reordered(history: History, number: int) -> tuple[tuple[str, ...], int]:
    """(sends and deliveries of tokens in another order, how many of them lead to the recorded state).

    What each process did before it recorded goes first; both parts keep the order of the run. For links that keep order.
    """
    completed(history, number)
    cut = history.cut(number)
    before: list[str] = []
    after: list[str] = []
    for step, action in enumerate(history.actions, 1):
        delivery = delivered(history.system, action)
        if delivery is not None:
            if history.states[step - 1].links[delivery[0]][delivery[1]] < 0:
                continue
        elif not action.startswith("send:"):
            continue
        (before if cut.before(history.acting(step), step) else after).append(action)
    return (*before, *after), len(before)


def without_snapshots(network: ProcessNetwork) -> ProcessNetwork:
    """The network in which nobody takes a snapshot: what `reordered` can be run on."""
    return ProcessNetwork(network.tokens, network.links, network.sends)


def counted(tokens: int) -> str:
    return "1 token" if tokens == 1 else f"{tokens} tokens"


def told(recorded: RecordedState) -> str:
    """A recorded state in words."""
    own = ", ".join(f"{process} {tokens}" for process, tokens in recorded.tokens.items())
    held = ", ".join(
        f"{'+'.join(map(str, tokens))} on {link}" for link, tokens in recorded.links.items()
    )
    return f"{own}; {held}" if held else f"{own}; nothing on the links"


class Judgement(NamedTuple):
    """What a completed snapshot is worth; messages are named by their numbers among the arrows of the run.

    state: what was recorded, in words. occurred: the first step after which the network was in it, or None. backwards:
    messages that make the cut inconsistent. missed: messages that belong to the state of a link and are in no record.
    order: where the state never occurred though it might have, actions in another order that lead to it.
    """

    state: str
    total: int
    there_are: int
    occurred: int | None
    backwards: tuple[int, ...]
    missed: tuple[int, ...]
    order: tuple[str, ...]
    sentence: str


def judge(history: History, number: int) -> Judgement:
    """The judgement of snapshot `number` by the run so far; LearnerMistake where it has not completed."""
    recorded = completed(history, number)
    network = history.system.network
    arrows, cut = history.space_time().arrows, history.cut(number)
    kept = history.kept(number)
    wrong = backwards(arrows, cut)
    missed = _missed(arrows, cut, kept)
    steps = occurrences(history, number)
    never = not (wrong or missed or steps) and recorded.total() == network.total()
    order: tuple[str, ...] = ()
    if never and all(link.fifo for link in network.links):
        actions, count = reordered(history, number)
        order = actions[:count]
    return Judgement(
        told(recorded),
        recorded.total(),
        network.total(),
        steps[0] if steps else None,
        tuple(map(arrows.index, wrong)),
        tuple(map(arrows.index, missed)),
        order,
        verdict(history, number),
    )


def _missed(arrows: tuple[Arrow, ...], cut: Cut, kept: set[int]) -> list[Arrow]:
    """Messages that belong to the state of a link by the cut, and that nobody recorded."""
    return [arrow for arrow in in_flight(arrows, cut) if arrows.index(arrow) not in kept]


def verdict(history: History, number: int) -> str:
    """Whether the recorded state occurred, and if not, why it is a snapshot all the same, or none at all."""
    recorded = completed(history, number)
    state = f"Snapshot {number} recorded {told(recorded)}"
    total, there_are = recorded.total(), history.system.network.total()
    arrows, cut = history.space_time().arrows, history.cut(number)
    wrong = backwards(arrows, cut)
    if wrong:
        arrow = wrong[0]
        return (
            f"{state}. Its cut is inconsistent: {arrow.source} sent {counted(arrow.tokens)} to {arrow.target} after it "
            f"had recorded, and {arrow.target} received what was sent before it recorded."
            + (
                f" So it holds {counted(total)}, and the network has {there_are}."
                if total != there_are
                else ""
            )
        )
    if total != there_are:
        lost = "".join(
            f" What {arrow.source} sent to {arrow.target} in step {arrow.sent} ({counted(arrow.tokens)}) was under way and is in no record."
            for arrow in _missed(arrows, cut, history.kept(number))
        )
        return f"{state}.{lost} That makes {counted(total)} where the network has {there_are}: this state cannot occur."
    steps = occurrences(history, number)
    if steps:
        when = "before the first step" if steps[0] == 0 else f"after step {steps[0]}"
        return f"{state}. The network was in this state {when}."
    return (
        f"{state}. This recorded state never occurred in this run. It might have: no message crosses the cut backwards, "
        "so the same actions in another order pass through it."
    )
