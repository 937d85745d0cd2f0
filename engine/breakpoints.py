"""What "run until" can wait for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.errors import LearnerMistake

if TYPE_CHECKING:
    from engine.keyframes import Recording

_MARKS = {
    "window_fires": ("fired", "a window of {} fired"),
    "checkpoint_completes": ("checkpoint_completed", "a checkpoint completed"),
    "late_record": ("late", "a record came late to {}"),
}
KINDS = (*_MARKS, "watermark_passes", "step", "end")


class Breakpoint(NamedTuple):
    """kind: one of KINDS. subtask: only there, or anywhere if None. timestamp: ms. step: a step number."""

    kind: str
    subtask: str | None = None
    timestamp: int | None = None
    step: int | None = None

    def holds_before(self, recording: Recording) -> str | None:
        """What holds already, before any step is taken."""
        if self.kind == "watermark_passes":
            return self._passed(recording)
        if self.kind == "step" and recording.position >= (self.step or 0):
            return f"step {recording.position} is reached"
        return None

    def matched(self, recording: Recording, recent: Sequence[tuple[str, str]]) -> str | None:
        """What the step just taken brought about, or None."""
        if self.kind in _MARKS:
            kind, sentence = _MARKS[self.kind]
            for happened, subtask in recent:
                if happened == kind and self.subtask in (None, subtask):
                    return sentence.format(subtask)
            return None
        return self.holds_before(recording)

    def _passed(self, recording: Recording) -> str | None:
        wanted = self.timestamp
        assert wanted is not None
        for name, subtask in recording.runtime.deployment.subtasks.items():
            if subtask.inputs and self.subtask in (None, name) and subtask.watermark >= wanted:
                return f"the watermark of {name} passed"
        return None


def parse_breakpoint(data: Any) -> Breakpoint:
    """A breakpoint from its JSON form; LearnerMistake says what does not fit."""
    if not isinstance(data, dict) or data.get("kind") not in KINDS:
        raise LearnerMistake(
            "unknown_breakpoint",
            "There is no such thing to run until.",
            mend=f"The kinds are {', '.join(KINDS)}.",
        )
    kind = data["kind"]
    known = {"kind", "subtask", "timestamp", "step"}
    if set(data) - known:
        raise LearnerMistake(
            "breakpoint_fields",
            f"Unknown field {sorted(set(data) - known)[0]!r}.",
            place=kind,
            mend="Leave it out.",
        )
    subtask, timestamp, step = data.get("subtask"), data.get("timestamp"), data.get("step")
    if subtask is not None and not isinstance(subtask, str):
        raise LearnerMistake(
            "breakpoint_fields",
            "subtask must be a name.",
            place=kind,
            mend="Send a name such as window[0].",
        )
    if kind == "watermark_passes" and type(timestamp) is not int:
        raise LearnerMistake(
            "breakpoint_fields",
            "timestamp must be an integer in milliseconds.",
            place=kind,
            mend="Send timestamp.",
        )
    if kind == "step" and type(step) is not int:
        raise LearnerMistake(
            "breakpoint_fields", "step must be an integer.", place=kind, mend="Send step."
        )
    return Breakpoint(kind, subtask, timestamp, step)
