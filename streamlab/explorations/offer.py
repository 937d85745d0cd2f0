"""What a page may ask for: invariants, wrong protocols, ways, and the limits of this installation."""

from typing import Any

from django.conf import settings

from engine.explore.registry import INVARIANTS, MUTANTS
from engine.explore.request import MOST_TIMES, WAYS

WALKS_MAX = 100_000


def offer(kind: str = "job") -> dict[str, Any]:
    return {
        "invariants": [
            {"name": name, "title": rule.title, "explanation": rule.explanation}
            for name, rule in INVARIANTS.items()
            if rule.kind == kind
        ],
        "mutants": [
            {"name": name, "title": mutant.title, "explanation": mutant.explanation}
            for name, mutant in MUTANTS.items()
            if mutant.kind == kind
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
