"""What an operator is to its subtask.

An operator takes records in lists. An atomic step hands it a list of one; a burst hands it as many as the credit allows.
There is one code path, so a burst cannot compute anything that single steps would not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.elements import MIN_TIMESTAMP, Element
from engine.events import StatePut, TimerSet, Warned
from engine.state.backends import BackendSettings
from engine.state.keyed_state import Rows
from engine.trace import Trace


@dataclass(frozen=True, slots=True)
class Context:
    """What an operator gets when it is deployed."""

    subtask: str
    index: int
    parallelism: int
    max_parallelism: int
    key_type: str | None
    trace: Trace
    now: Callable[[], int]
    """The engine's clock, in microseconds."""
    wake: Callable[[int], None]
    """Ask to be called back (on_clock) at a time in microseconds."""
    exclude_ended: bool = False
    """Whether ended inputs are left out of watermarks, instead of counting as the end of event time."""
    place: str = ""
    """File and line of the job where the operator was declared, where known."""
    backend: BackendSettings = BackendSettings()  # noqa: RUF009 - immutable

    def rows(self) -> Rows:
        return Rows(self.subtask, self.trace, self.max_parallelism, self.key_type)


class Operator:
    """One parallel instance of an operator.

    fanout: the most elements that one record puts into the main output, or None where there is no such number.
    side: records for side outputs by tag id, emptied by the subtask after each call.
    """

    fanout: int | None = 1
    keyed: ClassVar[bool] = False
    uses_clock: ClassVar[bool] = False
    forwards_watermarks: ClassVar[bool] = True
    mixes: ClassVar[bool] = False
    """Whether there is a `process_mixed`, which saves a call per watermark."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.trace = context.trace
        self.watermark = MIN_TIMESTAMP
        self.side: dict[str, list[Element]] = {}
        self.broadcast: Callable[[Element], None] = lambda element: None
        """Sends what has been emitted so far, then a control element to every channel; set by the subtask."""

    def open(self) -> None:
        """Called once after deployment and restore, before the first record."""

    def warn(self, code: str, text: str, position: int = 1) -> None:
        """Say that something looks wrong; at the `position`-th of the elements that are being taken, from 1."""
        if self.context.place:
            text = f"{text} ({self.context.place})"
        self.trace.mark("warned", text, self.context.subtask, position)
        if self.trace.events is not None:
            self.trace.events.append(Warned(self.context.subtask, code, text))

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        """Process records in order and append what they emit to `out`."""
        raise NotImplementedError

    def process_mixed(self, elements: Sequence[Element], out: list[Element], room: int) -> int:
        """Records and watermarks of the only input: what `process` and `on_watermark` would do with each in turn.

        Forwards the watermarks, ends early once `out` holds `room` elements, and returns how many it has taken.
        """
        raise NotImplementedError

    def process2(self, records: Sequence[Element], out: list[Element]) -> None:
        """As `process`, for the second input of a two-input operator."""
        raise NotImplementedError

    def on_clock(self, now: int, out: list[Element]) -> bool:
        """The clock has reached a time that was asked for. Do one thing that is due; True where more is."""
        return False

    def awaits_clock(self) -> bool:
        """Whether something that the clock brings may still make this operator emit records."""
        return False

    def on_watermark(self, timestamp: int, out: list[Element]) -> None:
        """Event time of this subtask has risen to `timestamp`; the watermark is forwarded after what is emitted here."""
        self.watermark = timestamp

    def snapshot(self) -> Any:
        """This subtask's part of a checkpoint: a copy that later changes do not reach, or None."""
        return None

    def savepoint(self) -> Any:
        """This subtask's part of a savepoint: the same on every backend, and without references to what was stored before."""
        return self.snapshot()

    def restore(self, part: Any) -> None:
        """Take over a part made by `snapshot` or `redistribute`."""

    def entries(self) -> int:
        """Number of rows of state."""
        return 0

    def keyframe(self) -> Any:
        """Everything that changes, for stepping back; more than a checkpoint holds."""
        return self.watermark

    def rewind(self, frame: Any) -> None:
        self.watermark = frame

    def shown_state(self) -> Iterable[StatePut]:
        return ()

    def shown_timers(self) -> Iterable[TimerSet]:
        return ()


def keep_nothing(parts: list[Any], owner: Callable[[Any], int], parallelism: int) -> list[Any]:
    """The redistribution of an operator without state."""
    return [None] * parallelism
