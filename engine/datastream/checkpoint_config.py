"""How a job takes its snapshots (pyflink.datastream.CheckpointConfig)."""

from __future__ import annotations

from typing import Any

from engine.datastream.checkpoint_storage import CheckpointStorageMethods
from engine.datastream.checks import check_integer
from engine.datastream.common import Duration
from engine.datastream.transformation import caller
from engine.errors import InvalidJob
from engine.graph.checkpoint_settings import (
    ALIGNED,
    AT_LEAST_ONCE,
    SCHEMES,
    UNALIGNED,
    CheckpointSettings,
)
from engine.values import text

MOST_CONCURRENT = 10
MOST_TOLERATED = 1_000_000
LONGEST = 2**40
"""In ms: thirty-four years."""


class CheckpointingMode:
    """What a checkpoint promises (pyflink.datastream.CheckpointingMode)."""

    EXACTLY_ONCE = "EXACTLY_ONCE"
    AT_LEAST_ONCE = "AT_LEAST_ONCE"


class CheckpointConfig(CheckpointStorageMethods):
    """The part of pyflink.datastream.CheckpointConfig that is there. Times are in ms of the engine's clock."""

    def __init__(self) -> None:
        self._mode = CheckpointingMode.EXACTLY_ONCE
        self._unaligned = False
        self._scheme: str | None = None
        self._settings = CheckpointSettings()

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("set_", "enable_", "disable_", "is_", "get_")):
            raise NotImplementedError(
                f"CheckpointConfig.{name} is not implemented in StreamLab yet."
            )
        raise AttributeError(f"CheckpointConfig has no method {name!r}.")

    def settings(self) -> CheckpointSettings:
        """What was set, as one value."""
        scheme = self._scheme
        if scheme is None:
            scheme = ALIGNED
            if self._mode == CheckpointingMode.AT_LEAST_ONCE:
                scheme = AT_LEAST_ONCE
            elif self._unaligned:
                scheme = UNALIGNED
        return self._settings._replace(scheme=scheme)

    def _set(self, **fields: Any) -> CheckpointConfig:
        self._settings = self._settings._replace(**fields)
        return self

    def set_checkpointing_mode(self, checkpointing_mode: str) -> CheckpointConfig:
        """EXACTLY_ONCE aligns barriers; AT_LEAST_ONCE blocks no input."""
        if checkpointing_mode not in (
            CheckpointingMode.EXACTLY_ONCE,
            CheckpointingMode.AT_LEAST_ONCE,
        ):
            raise InvalidJob(
                "checkpointing_mode",
                f"There is no checkpointing mode {checkpointing_mode!r}.",
                place=caller(),
                mend="Use CheckpointingMode.EXACTLY_ONCE or AT_LEAST_ONCE.",
            )
        self._mode = checkpointing_mode
        return self

    def get_checkpointing_mode(self) -> str:
        return self._mode

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        interval = check_integer(
            "checkpoint_interval", "The checkpoint interval", checkpoint_interval, 10, unit=" ms"
        )
        return self._set(interval=interval)

    def get_checkpoint_interval(self) -> int:
        """-1 where checkpoints are taken on command only."""
        return -1 if self._settings.interval is None else self._settings.interval

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """After which a checkpoint that is not complete is given up. Without it there is none; Flink's is 10 minutes."""
        timeout = check_integer(
            "checkpoint_timeout",
            "The checkpoint timeout",
            checkpoint_timeout,
            1,
            LONGEST,
            unit=" ms",
        )
        return self._set(timeout=timeout)

    def get_checkpoint_timeout(self) -> int:
        """-1 where there is none."""
        return -1 if self._settings.timeout is None else self._settings.timeout

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        pause = check_integer(
            "min_pause", "The pause", min_pause_between_checkpoints, 0, LONGEST, unit=" ms"
        )
        return self._set(min_pause=pause)

    def get_min_pause_between_checkpoints(self) -> int:
        return self._settings.min_pause

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        concurrent = check_integer(
            "concurrent_checkpoints",
            "The number of concurrent checkpoints",
            max_concurrent_checkpoints,
            1,
            MOST_CONCURRENT,
        )
        return self._set(max_concurrent=concurrent)

    def get_max_concurrent_checkpoints(self) -> int:
        return self._settings.max_concurrent

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """How many checkpoints in a row may expire or be declined before the job fails."""
        tolerated = check_integer(
            "tolerated_failures",
            "The number of tolerated failures",
            tolerable_checkpoint_failure_number,
            0,
            MOST_TOLERATED,
        )
        return self._set(tolerated_failures=tolerated)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        return self._settings.tolerated_failures

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Barriers overtake what is queued, which becomes part of the checkpoint."""
        self._unaligned = bool(enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        return self.enable_unaligned_checkpoints(False)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        return self.settings().scheme == UNALIGNED

    def set_aligned_checkpoint_timeout(self, timeout: Duration) -> CheckpointConfig:
        """Unaligned checkpoints align first, and overtake once so much time has passed since their trigger."""
        if not isinstance(timeout, Duration):
            raise InvalidJob(
                "aligned_timeout",
                f"The alignment timeout must be a Duration, not {text(timeout)}.",
                place=caller(),
                mend="Write Duration.of_millis(500).",
            )
        return self._set(aligned_timeout=timeout.milliseconds)

    def get_aligned_checkpoint_timeout(self) -> Duration:
        return Duration.of_millis(self._settings.aligned_timeout)

    # What PyFlink lacks, for `engine.datastream.extensions`

    def set_scheme(self, scheme: str) -> CheckpointConfig:
        """One of the schemes of `engine.graph.checkpoint_settings`, whatever mode was set."""
        if scheme not in SCHEMES:
            raise InvalidJob(
                "checkpoint_scheme",
                f"There is no snapshot scheme {text(scheme)}.",
                place=caller(),
                mend=f"Choose one of {', '.join(SCHEMES)}.",
            )
        self._scheme = scheme
        return self

    def set_upload_bytes(self, upload_bytes: int) -> CheckpointConfig:
        """How many bytes of a snapshot one step brings to the storage."""
        size = check_integer(
            "upload_bytes", "The bytes of an upload", upload_bytes, 1, LONGEST, unit=" bytes"
        )
        return self._set(upload_bytes=size)
