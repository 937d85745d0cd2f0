"""How a job takes its snapshots: the scheme, and when one is triggered, waited for and given up."""

from __future__ import annotations

from typing import NamedTuple

from engine.errors import InvalidJob

ALIGNED = "aligned"
UNALIGNED = "unaligned"
AT_LEAST_ONCE = "at_least_once"
NONE = "none"
STOP_THE_WORLD = "stop_the_world"

SCHEMES = {
    ALIGNED: "Barriers align: an input whose barrier has come waits for the others.",
    UNALIGNED: "Barriers overtake what is queued, and what they overtook becomes part of the snapshot.",
    AT_LEAST_ONCE: "Barriers block nothing: after a failure some records have their effect twice.",
    NONE: "No snapshots: after a failure the job starts from its beginning.",
    STOP_THE_WORLD: "The sources pause, the channels drain, everything is copied, and the job goes on.",
}
"""Every scheme, in one sentence each."""


class CheckpointSettings(NamedTuple):
    """Times are in ms of the engine's clock.

    scheme: one of SCHEMES.
    aligned_timeout: with UNALIGNED, how long after its trigger a checkpoint aligns before its barriers overtake; 0 for
        at once.
    interval: between two periodic triggers, or None for those on command only.
    min_pause: between the end of a checkpoint and the next periodic trigger.
    timeout: after which a checkpoint that is not complete is given up, or None for never. (Flink: 10 minutes.)
    max_concurrent: how many checkpoints may be in progress at once; 1 with UNALIGNED and STOP_THE_WORLD.
    tolerated_failures: how many checkpoints in a row may fail before the job does.
    upload_bytes: how much of a snapshot one step brings to the storage; None where a snapshot is there at once.
    """

    scheme: str = ALIGNED
    aligned_timeout: int = 0
    interval: int | None = None
    min_pause: int = 0
    timeout: int | None = None
    max_concurrent: int = 1
    tolerated_failures: int = 0
    upload_bytes: int | None = None

    def validated(self) -> CheckpointSettings:
        """These settings, or InvalidJob naming the rule they break and the mend."""
        if self.scheme not in SCHEMES:
            raise InvalidJob(
                "checkpoint_scheme",
                f"There is no snapshot scheme {self.scheme!r}.",
                mend=f"Choose one of {', '.join(SCHEMES)}.",
            )
        if self.max_concurrent > 1 and self.scheme in (UNALIGNED, STOP_THE_WORLD):
            raise InvalidJob(
                "concurrent_checkpoints",
                f"{self.max_concurrent} checkpoints at once are not possible with the scheme {self.scheme}.",
                mend="Use set_max_concurrent_checkpoints(1), or aligned checkpoints.",
            )
        if self.max_concurrent > 1 and self.min_pause:
            raise InvalidJob(
                "concurrent_checkpoints",
                "A pause between checkpoints leaves no room for several at once.",
                mend="Use either set_min_pause_between_checkpoints or set_max_concurrent_checkpoints.",
            )
        if self.aligned_timeout and self.scheme != UNALIGNED:
            raise InvalidJob(
                "aligned_timeout",
                "An alignment timeout switches to unaligned checkpoints, and they are not enabled.",
                mend="Call enable_unaligned_checkpoints(), or leave the timeout at 0.",
            )
        return self
