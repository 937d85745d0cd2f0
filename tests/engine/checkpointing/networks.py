"""Process networks for tests: two that stories are told of, and generated ones."""

from __future__ import annotations

from hypothesis import strategies as st

from engine.checkpointing.network_text import read_network
from engine.checkpointing.process_network import Link, ProcessNetwork, Send

PAIR = """
process P 1
process Q 1
link P <-> Q
send P -> Q 1
send Q -> P 1
snapshot P
"""


def pair(*more: str) -> ProcessNetwork:
    """P and Q, one token each, both of which send it once; P may start snapshot 1."""
    return read_network("\n".join([PAIR, *more]))


RING = read_network(
    """
    process A 4
    process B 0
    process C 2
    link A -> B
    link B -> C
    link C -> A
    send A -> B 3
    send A -> B 1
    send C -> A 2
    snapshot A
    snapshot B
    """
)


@st.composite
def networks(draw, sends: int = 3, snapshots: int = 2) -> ProcessNetwork:
    """Strongly connected: a ring with some links more."""
    names = ["P0", "P1", "P2"][: draw(st.integers(2, 3))]
    ring = [(name, names[(number + 1) % len(names)]) for number, name in enumerate(names)]
    pairs = [(a, b) for a in names for b in names if a != b and (a, b) not in ring]
    chosen = ring + draw(st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([]))
    some = st.lists(st.sampled_from(chosen), max_size=sends)
    return ProcessNetwork(
        {name: draw(st.integers(0, 3)) for name in names},
        tuple(Link(*ends) for ends in chosen),
        tuple(Send(*ends, draw(st.integers(1, 2))) for ends in draw(some)),
        tuple(
            tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))
            for _ in range(draw(st.integers(0, snapshots)))
        ),
    )


def walk(system, choices: list[int], most: int = 200) -> list[str]:
    """Take possible actions until there is none; `choices` say which, and the first one when they are used up."""
    taken: list[str] = []
    while (actions := system.enabled()) and len(taken) < most:
        action = actions[choices[len(taken)] % len(actions) if len(taken) < len(choices) else 0]
        system.apply(action)
        taken.append(action)
    return taken
