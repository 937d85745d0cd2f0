"""Snapshot schemes that a run may take instead of its lab's: the only module that knows how a job is given one."""

from dataclasses import dataclass, replace

from engine.graph.job_graph import JobGraph

SCHEME = "@scheme"
"""Its name among the parameters of a run; no parameter of a lab can be called so."""


@dataclass(frozen=True)
class Scheme:
    label: str
    sentence: str


SCHEMES = {
    "aligned": Scheme(
        "aligned",
        "An input on which the barrier has come is blocked until it has come on all: exactly once, and records wait.",
    ),
    "at_least_once": Scheme(
        "at least once",
        "No input is blocked: nothing waits, and after a failure some records may have counted twice.",
    ),
}


def with_scheme(graph: JobGraph, name: str) -> JobGraph:
    """The same job under another scheme; the graph that is given stays as it is."""
    return replace(graph, at_least_once=name == "at_least_once")


def scheme_of(graph: JobGraph) -> str:
    """The scheme that the job itself asks for."""
    return "at_least_once" if graph.at_least_once else "aligned"


def other_scheme(name: str) -> str:
    """One to compare with."""
    return next(one for one in ("aligned", *SCHEMES) if one != name and one in SCHEMES)
