"""The states of a job.

running -> stopping (with a savepoint) -> running with another parallelism; running or stopping -> restarting after a
failure -> running; finished and failed are final.
"""

from __future__ import annotations

RUNNING, STOPPING, RESTARTING, FINISHED, FAILED = (
    "running",
    "stopping",
    "restarting",
    "finished",
    "failed",
)
