"""Why a checkpoint fails: the names of Flink's `CheckpointFailureReason`, in words."""

from __future__ import annotations

EXPIRED = "CHECKPOINT_EXPIRED"
SUBSUMED = "CHECKPOINT_SUBSUMED"
ASYNC_EXCEPTION = "CHECKPOINT_ASYNC_EXCEPTION"
FINALIZE = "FINALIZE_CHECKPOINT_FAILURE"
DECLINED_ON_CANCELLATION = "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER"
DECLINED_SUBSUMED = "CHECKPOINT_DECLINED_SUBSUMED"
TASK_FAILURE = "TASK_FAILURE"
LOOP_NOT_DRAINED = "CHECKPOINT_LOOP_NOT_DRAINED"
"""Not in Flink, which has no stop-the-world."""

REASONS = {
    EXPIRED: "it was not complete within the checkpoint timeout",
    SUBSUMED: "a newer checkpoint was complete first",
    ASYNC_EXCEPTION: "the storage refused a snapshot",
    FINALIZE: "the checkpoint could not be stored",
    DECLINED_ON_CANCELLATION: "a subtask before it had given the checkpoint up",
    DECLINED_SUBSUMED: "a barrier of a newer checkpoint came before all of its own",
    TASK_FAILURE: "a subtask failed",
    LOOP_NOT_DRAINED: "a loop went on while the sources paused, and did not run empty",
}

COUNTED = frozenset({EXPIRED, ASYNC_EXCEPTION, FINALIZE, LOOP_NOT_DRAINED})
"""What counts against the failures that a job tolerates (Flink: `CheckpointFailureManager`)."""
