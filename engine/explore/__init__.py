"""Looks through the interleavings of something that runs step by step, for one that breaks a rule.

`search` says that a rule was violated, with the schedule; or that there is no other schedule; or which bound ended it.
`minimize` leaves out of a schedule what does not matter. `explore` does both for a `Request` that came as JSON.
"""

from engine.explore.invariants import Invariant, Monitor
from engine.explore.minimize import minimize
from engine.explore.registry import INVARIANTS, MUTANTS
from engine.explore.request import Request, explore
from engine.explore.results import BoundReached, Counts, Exhausted, Violated
from engine.explore.search import search
from engine.explore.ways import Bounds

__all__ = [
    "INVARIANTS",
    "MUTANTS",
    "BoundReached",
    "Bounds",
    "Counts",
    "Exhausted",
    "Invariant",
    "Monitor",
    "Request",
    "Violated",
    "explore",
    "minimize",
    "search",
]
