"""What a page may ask for: invariants, wrong protocols, ways, and the limits of this installation."""

from typing import Any

from django.conf import settings

from engine.checkpointing.chandy_lamport import ChandyLamport
from engine.checkpointing.wrong_snapshots import PROTOCOLS
from engine.explore.registry import INVARIANTS, MUTANTS
from engine.explore.request import MOST_TIMES, WAYS
from labs.networks import protocols_of
from labs.spec import LabSpec

WALKS_MAX = 100_000


def offer(lab: LabSpec) -> dict[str, Any]:
    """protocol, of a network: its name in the picture of a run that follows it."""
    return {
        "invariants": [
            {"name": name, "title": rule.title, "explanation": rule.explanation}
            for name, rule in INVARIANTS.items()
            if rule.kind == lab.kind
        ],
        "right": lab.kind == "job" or protocol_called("") in protocols_of(lab),
        "mutants": [
            {
                "name": name,
                "title": mutant.title,
                "explanation": mutant.explanation,
                "protocol": protocol_called(name) if lab.kind == "network" else None,
            }
            for name, mutant in MUTANTS.items()
            if mutant.kind == lab.kind
            and (lab.kind == "job" or protocol_called(name) in protocols_of(lab))
        ],
        "ways": list(WAYS),
        "limits": {
            "states": settings.EXPLORATION_STATES_MAX,
            "depth": settings.EXPLORATION_DEPTH_MAX,
            "walks": WALKS_MAX,
            "times": MOST_TIMES,
            "cpu_seconds": settings.EXPLORATION_CPU_SECONDS,
            "memory": settings.EXPLORATION_MEMORY_MAX,
        },
    }


def protocol_called(mutant: str) -> str:
    """The protocol of a network by its name in labs; "" is the right one."""
    make = MUTANTS[mutant].make if mutant else ChandyLamport
    return next(name for name, protocol in PROTOCOLS.items() if protocol is make)
