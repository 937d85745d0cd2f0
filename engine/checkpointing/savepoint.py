"""A snapshot that a job can be started from: what it holds of each operator, and how it fits into a job that has changed.

A savepoint (kind "savepoint") is full and the same on every backend, and fits by uid into a job that has changed. A checkpoint
(kind "checkpoint") may refer to layers of its backend, and is for the job that took it, with any parallelism.

Source: Flink's `StateAssignmentOperation` and `Checkpoints.loadAndValidateCheckpoint`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, NamedTuple

from engine.checkpointing.completed import SAVEPOINT, Completed
from engine.checkpointing.snapshot import Elements
from engine.errors import InvalidJob
from engine.graph.job_graph import JobGraph, Vertex
from engine.state.codec import encode, writable
from engine.state.sizes import full_bytes
from engine.version import ENGINE_VERSION


@writable
class SavedOperator(NamedTuple):
    """uid: the operator's uid, or its name where it has none. kind: of the operator. shape: how its parts are dealt out, which
    says what they are.

    max_parallelism: how many key groups a keyed operator had; 0 for one without keys. parts: by subtask.
    """

    uid: str
    kind: str
    shape: str
    key_type: str | None
    max_parallelism: int
    parts: tuple[Any, ...]

    def empty(self) -> bool:
        """Whether it holds no state."""
        return not full_bytes(self.parts)


@writable
class Savepoint(NamedTuple):
    """kind: "savepoint" or "checkpoint". identity: that of the job that took it. engine: the version that took it.

    in_flight: what an unaligned checkpoint found in the channels; a savepoint finds nothing there.
    """

    checkpoint: int
    kind: str
    job: str
    identity: str
    engine: int
    operators: tuple[SavedOperator, ...]
    in_flight: Elements

    def digest(self) -> str:
        """SHA-256 of the content: two runs from savepoints with one digest, with the same choices, are the same."""
        return hashlib.sha256(encode(self)).hexdigest()


def uid_of(vertex: Vertex) -> str:
    return vertex.uid or vertex.id


def shape_of(vertex: Vertex) -> str:
    """What the operator's parts are, by the name of what deals them out."""
    name: str = getattr(vertex.redistribute, "__name__", "")
    return name.removeprefix("redistribute_").replace("_", " ")


def identity_of(job: JobGraph) -> str:
    """The same for two jobs whose operators have the same uids, kinds of state and types of keys, and the same edges."""
    operators = tuple(
        (uid_of(vertex), vertex.kind, shape_of(vertex), vertex.keyed, vertex.key_type)
        for vertex in job.vertices
    )
    edges = tuple(
        (uid_of(job.vertex(edge.source)), uid_of(job.vertex(edge.target)), edge.partitioner.name, edge.tag, edge.gate)
        for edge in job.edges
    )  # fmt: skip
    return hashlib.sha256(encode((operators, edges))).hexdigest()


def savepoint_of(job: JobGraph, completed: Completed) -> Savepoint:
    """A completed savepoint or checkpoint of a run of `job`, as something that can be kept."""
    operators = tuple(
        SavedOperator(
            uid_of(vertex),
            vertex.kind,
            shape_of(vertex),
            vertex.key_type,
            vertex.maximum() if vertex.keyed else 0,
            tuple(completed.parts.get(vertex.id, ())),
        )
        for vertex in job.vertices
    )
    return Savepoint(
        completed.checkpoint, completed.kind, job.name, identity_of(job), ENGINE_VERSION, operators,
        completed.in_flight,
    )  # fmt: skip


def only_claimed(job: JobGraph, savepoint: Savepoint) -> Savepoint:
    """Without the state of operators that `job` does not have (Flink: allowNonRestoredState)."""
    uids = set(map(uid_of, job.vertices))
    claimed = tuple(saved for saved in savepoint.operators if saved.uid in uids)
    return savepoint._replace(operators=claimed)


def fitted(job: JobGraph, savepoint: Savepoint) -> tuple[JobGraph, dict[str, list[Any]]]:
    """The job as it is to be started, and the parts of its operators; InvalidJob says why it cannot be started from there.

    An operator that sets no max parallelism takes over the one that its state has. New operators start empty, new splits at
    their beginning.
    """
    what = _told(savepoint)
    if savepoint.kind != SAVEPOINT and savepoint.identity != identity_of(job):
        raise _refused(
            f"{what} was taken by another job ({savepoint.job}): its operators, kinds of state or types of keys differ.",
            "Start from a savepoint, which fits into a job that has changed, or from a checkpoint of this job.",
        )
    by_uid = {uid_of(vertex): vertex for vertex in job.vertices}
    parts: dict[str, list[Any]] = {}
    maximums: dict[str, int] = {}
    for saved in savepoint.operators:
        vertex = by_uid.get(saved.uid)
        if vertex is None:
            if not saved.empty():
                raise _refused(
                    f"{what} holds state of the operator {saved.uid!r}, which this job does not have.",
                    f"Give an operator the uid {saved.uid!r}, or allow state that is not restored (allow_non_restored_state).",
                    saved.uid,
                )
        elif not saved.empty():
            maximums[vertex.id] = _check(vertex, saved, what)
            parts[vertex.id] = list(saved.parts)
    vertices = [
        replace(vertex, max_parallelism=maximums.get(vertex.id) or vertex.max_parallelism)
        for vertex in job.vertices
    ]
    return replace(job, vertices=vertices).validated(), parts


def _check(vertex: Vertex, saved: SavedOperator, what: str) -> int:
    """That a vertex can go on with what was saved; its max parallelism, 0 where it has no keys."""
    place = ", ".join(filter(None, [saved.uid, vertex.place]))
    if shape_of(vertex) != saved.shape or (vertex.keyed and vertex.kind != saved.kind):
        raise _refused(
            f"{what} holds the state of a {saved.kind} operator ({saved.shape}) for {saved.uid!r}, and in this job it is a {vertex.kind} operator ({shape_of(vertex)}).",
            "Keep the kind of operator, or give the new one another uid.",
            place,
        )
    if vertex.keyed and vertex.key_type != saved.key_type:
        raise _refused(
            f"The keys of {saved.uid!r} are of the type {saved.key_type or 'not declared'} in {what.lower()}, and {vertex.key_type or 'not declared'} in this job.",
            "Declare the type of the keys as it was.",
            place,
        )
    if vertex.keyed and vertex.max_parallelism not in (None, saved.max_parallelism):
        raise _refused(
            f"The max parallelism of {saved.uid!r} is {saved.max_parallelism} in {what.lower()}, and {vertex.max_parallelism} in this job: its keys are in other key groups.",
            f"Set the max parallelism to {saved.max_parallelism}, or leave it unset.",
            place,
        )
    if vertex.splits is not None:
        _check_splits(vertex, saved, what, place)
    return saved.max_parallelism


def _check_splits(vertex: Vertex, saved: SavedOperator, what: str, place: str) -> None:
    lengths = {split.name: len(split.entries) for split in vertex.splits or ()}
    for part in saved.parts:
        for name, offset in (part or {}).items():
            if offset and name not in lengths:
                raise _refused(
                    f"{what} was taken at offset {offset} of the split {name!r}, which this source does not have.",
                    f"Give the source the split {name!r} back, or give it another uid to read everything anew.",
                    place,
                )
            if offset > lengths.get(name, 0):
                raise _refused(
                    f"{what} was taken at offset {offset} of the split {name!r}, which now has {lengths[name]} entries.",
                    "Give the split its entries back: a source only goes on where it was.",
                    place,
                )


def _told(savepoint: Savepoint) -> str:
    kind = "Savepoint" if savepoint.kind == SAVEPOINT else "Checkpoint"
    return f"{kind} {savepoint.checkpoint}"


def _refused(sentence: str, mend: str, place: str = "") -> InvalidJob:
    return InvalidJob("restore_refused", sentence, place=place, mend=mend)
