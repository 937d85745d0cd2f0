"""Snapshot schemes that a run may take instead of its lab's: the only module of the web that knows how a job is given one."""

from dataclasses import dataclass, replace
from typing import Any

from engine.graph import checkpoint_settings
from engine.graph.checkpoint_settings import ALIGNED, STOP_THE_WORLD, UNALIGNED
from engine.graph.job_graph import JobGraph

SCHEME = "@scheme"
"""Its name among the parameters of a run; no parameter of a lab can be called so."""

TIMED = "unaligned_after_timeout"
LEAST_TIMEOUT = 1
"""ms of the engine's clock that a checkpoint aligns, where the job sets no timeout of its own."""

AFTER_TIMEOUT = "Barriers align until a timeout on the engine's clock, and overtake what is queued from then on."


@dataclass(frozen=True)
class Scheme:
    label: str
    sentence: str


def _known() -> dict[str, Scheme]:
    """The engine's schemes, and unaligned once with and once without a timeout."""
    known = {}
    for name, sentence in checkpoint_settings.SCHEMES.items():
        known[name] = Scheme(name.replace("_", " "), sentence)
        if name == UNALIGNED:
            known[TIMED] = Scheme("unaligned after a timeout", AFTER_TIMEOUT)
    return known


SCHEMES = _known()


def with_scheme(graph: JobGraph, name: str) -> JobGraph:
    """The same job under another scheme; the graph that is given stays as it is."""
    settings = graph.checkpointing
    scheme = UNALIGNED if name == TIMED else name
    changed = settings._replace(
        scheme=scheme,
        aligned_timeout=(settings.aligned_timeout or LEAST_TIMEOUT) if name == TIMED else 0,
        max_concurrent=1 if scheme in (UNALIGNED, STOP_THE_WORLD) else settings.max_concurrent,
    )
    return replace(graph, checkpointing=changed)


def scheme_of(graph: JobGraph) -> str:
    """The scheme that the job itself asks for."""
    settings = graph.checkpointing
    return TIMED if settings.aligned_timeout else settings.scheme


def scheme_shown(graph: JobGraph) -> dict[str, Any]:
    """{name, timeout}: the scheme, and after how many ms of the engine's clock its barriers overtake."""
    return {"name": scheme_of(graph), "timeout": graph.checkpointing.aligned_timeout}


def other_scheme(name: str) -> str:
    """One to compare with."""
    return UNALIGNED if name == ALIGNED else ALIGNED
