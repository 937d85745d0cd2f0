"""What the stream objects build up: a transformation per operator, turned into a job graph at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.errors import InvalidJob
from engine.graph.job_graph import Edge, JobGraph, Vertex
from engine.network.partitioners import Partitioner
from engine.operators.base import keep_nothing

_PACKAGE = "engine.datastream."


class Input(NamedTuple):
    """One input of an operator to be: from where, how connected, which side output, to which gate, and whether it goes back."""

    upstream: Transformation
    partitioner: Partitioner
    tag: str | None = None
    gate: int = 0
    feedback: bool = False


@dataclass
class Transformation:
    """One operator to be."""

    kind: str
    make: Callable[..., Any]
    inputs: list[Input] = field(default_factory=list)
    redistribute: Callable[..., list[Any]] = keep_nothing
    detail: str = ""
    name: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    keyed: bool = False
    key_type: str | None = None
    results: bool = False
    splits: list[Any] | None = None
    brief: Callable[[Any], str] | None = None
    place: str = ""
    uid: str | None = None


def caller() -> str:
    """File and line of the job that called into this package, for error messages."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    name = frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f"{name}, line {frame.f_lineno}"


def build_graph(
    transformations: list[Transformation],
    name: str,
    parallelism: int,
    max_parallelism: int | None,
    **settings: Any,
) -> JobGraph:
    """The validated job graph. Operators are named by `name`, else by kind, with a number where that is taken."""
    ids: dict[int, str] = {}
    used: set[str] = set()
    vertices: list[Vertex] = []
    edges: list[Edge] = []
    for transformation in transformations:
        wanted = transformation.name or transformation.kind
        if any(character in wanted for character in "[]>#/:"):
            raise InvalidJob(
                "operator_name",
                f"The operator name {wanted!r} has one of the characters [ ] > # / : in it.",
                place=transformation.place,
                mend="Leave them out.",
            )
        chosen, number = wanted, 1
        while chosen in used:
            number += 1
            chosen = f"{wanted}-{number}"
        used.add(chosen)
        ids[id(transformation)] = chosen
        vertices.append(
            Vertex(
                id=chosen,
                kind=transformation.kind,
                make=transformation.make,
                redistribute=transformation.redistribute,
                parallelism=transformation.parallelism or parallelism,
                max_parallelism=transformation.max_parallelism or max_parallelism,
                detail=transformation.detail,
                keyed=transformation.keyed,
                key_type=transformation.key_type,
                results=transformation.results,
                splits=transformation.splits,
                brief=transformation.brief,
                place=transformation.place,
                uid=transformation.uid,
            )
        )
    for back in (
        False,
        True,
    ):  # what leads back comes last, so that every head has its own inputs first
        for transformation in transformations:
            target = ids[id(transformation)]
            for upstream, partitioner, tag, gate, feedback in transformation.inputs:
                if feedback == back:
                    edges.append(Edge(ids[id(upstream)], target, partitioner, tag, gate, feedback))
    return JobGraph(name, vertices, edges, **settings).validated()


def function_with(function: Any, method: str, place: str) -> Any:
    if not callable(function) and not hasattr(function, method):
        raise InvalidJob(
            "function",
            f"{function!r} is neither callable nor has it a method {method}.",
            place=place,
            mend=f"Pass a function or an object with {method}.",
        )
    return function
