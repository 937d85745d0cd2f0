"""What a failure is told as: what was raised, in which operator or file, and in which line of the job the operator was declared."""

from __future__ import annotations

from engine.errors import USER_ERRORS, InvalidJob, StreamLabError
from engine.graph.job_graph import Vertex
from engine.values import text, without_addresses


def failure_reason(vertex: Vertex, subtask: str, error: BaseException) -> str:
    """One or two sentences on why `subtask` failed, the same in every process."""
    if not isinstance(error, StreamLabError):
        where = f" ({vertex.place})" if vertex.place else ""
        return f"{text(_told(error))}{where}"
    where = ", ".join(filter(None, [error.place or subtask, vertex.place]))
    return f"{text(error.sentence)} ({where}) {text(error.mend)}".strip()


def cannot_start(vertex: Vertex, subtask: str, error: BaseException) -> Exception:
    """What to raise where open() of a function raised before the first step: no restart can help there."""
    if isinstance(error, StreamLabError | NotImplementedError):
        return error
    return InvalidJob(
        "open_failed",
        f"open() of a function raised {_told(error)}.",
        place=", ".join(filter(None, [subtask, vertex.place])),
        mend="Mend the function's open method.",
    )


def _told(error: BaseException) -> str:
    """Type and message, without memory addresses."""
    try:
        return without_addresses(f"{type(error).__name__}: {error}")
    except USER_ERRORS:
        return type(error).__name__
