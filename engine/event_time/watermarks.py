"""How watermarks are made at a source and merged.

Sources: Flink's `BoundedOutOfOrdernessWatermarks`, `StatusWatermarkValve`, `CombinedWatermarkStatus` and
`WatermarksWithIdleness`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP

PROBE_INTERVAL = 200
"""How often, in ms, idleness is looked at where no watermark interval is set (Flink's default interval)."""


class AlignmentGroup(NamedTuple):
    """Splits of one group pause when they are more than `drift` ms ahead of the group's slowest."""

    name: str
    drift: int


class WatermarkSpec(NamedTuple):
    """What a WatermarkStrategy says, in plain values.

    bound: out-of-orderness in ms, 0 or more; None where no bounded watermark is made.
    assign: (value, timestamp so far or None) -> timestamp in ms; None keeps the timestamp.
    punctuated: (value, timestamp) -> a watermark in ms or None, asked for each record.
    idleness: ms of the clock after which a silent split is idle; None for never.
    """

    bound: int | None
    assign: Callable[[Any, int | None], int] | None
    punctuated: Callable[[Any, int | None], int | None] | None = None
    idleness: int | None = None
    alignment: AlignmentGroup | None = None

    def makes_watermarks(self) -> bool:
        return self.bound is not None or self.punctuated is not None


def bounded(max_timestamp: int, bound: int) -> int:
    """The watermark after the highest timestamp seen: max - bound - 1 (Flink: BoundedOutOfOrdernessWatermarks)."""
    return max_timestamp - bound - 1


class Valve:
    """The watermark and the status of the channels of one gate (Flink: StatusWatermarkValve).

    The output is the minimum over the channels that are active and aligned, and never goes back. A channel that was idle
    and wakes up behind the output is not aligned: it is left out until it has caught up. When the last active channel
    goes idle, what is left of the watermarks is flushed.

    An ended channel counts as the end of event time, as in Flink 2.2; with `exclude_ended` it is left out instead.
    """

    __slots__ = ("aligned", "ended", "exclude_ended", "idle", "idles", "inputs", "output", "simple")

    def __init__(self, inputs: int, exclude_ended: bool = False) -> None:
        self.inputs = [MIN_TIMESTAMP] * inputs
        self.idles = [False] * inputs
        self.aligned = [True] * inputs
        self.ended = [False] * inputs
        self.output = MIN_TIMESTAMP
        self.idle = False
        self.exclude_ended = exclude_ended
        self.simple = True
        """No channel has ever been idle: the minimum over all is the answer."""

    def advance(self, index: int, timestamp: int) -> bool:
        """Note a watermark on channel `index`; True when the output rose (`output` holds it)."""
        inputs = self.inputs
        if timestamp <= inputs[index]:
            return False
        if self.simple:
            inputs[index] = timestamp
            lowest = min(inputs)
            if lowest <= self.output:
                return False
            self.output = lowest
            return True
        if self.idle or self.idles[index]:
            return False
        inputs[index] = timestamp
        if not self.aligned[index] and timestamp >= self.output:
            self.aligned[index] = True
        return self._find_minimum()

    def _find_minimum(self) -> bool:
        held = [
            watermark
            for watermark, aligned, idle in zip(self.inputs, self.aligned, self.idles, strict=True)
            if aligned and not idle
        ]
        if not held or min(held) <= self.output:
            return False
        self.output = min(held)
        return True

    def set_idle(self, index: int) -> tuple[bool, bool]:
        """Channel `index` went idle: (output rose, the gate as a whole went idle)."""
        if self.idles[index]:
            return False, False
        self.simple = False
        self.idles[index] = True
        self.aligned[index] = False
        held_back = self.inputs[index] == self.output
        if not all(self.idles):
            return held_back and self._find_minimum(), False
        rose = False
        if held_back:
            highest = max(
                [
                    w
                    for w, ended in zip(self.inputs, self.ended, strict=True)
                    if not (ended and self.exclude_ended)
                ],
                default=self.output,
            )
            if highest > self.output:
                self.output = highest
                rose = True
        self.idle = True
        return rose, True

    def set_active(self, index: int) -> bool:
        """Channel `index` woke up; True when the gate as a whole did."""
        if not self.idles[index]:
            return False
        self.idles[index] = False
        if self.inputs[index] >= self.output:
            self.aligned[index] = True
        woke = self.idle
        self.idle = False
        return woke

    def end(self, index: int) -> tuple[bool, bool]:
        """Channel `index` ended: (output rose, the gate went idle)."""
        self.ended[index] = True
        if all(self.ended):
            self.inputs[index] = MAX_TIMESTAMP
            rose = self.output < MAX_TIMESTAMP
            self.output = MAX_TIMESTAMP
            return rose, False
        if self.exclude_ended:
            return self.set_idle(index)
        if self.idles[index]:
            # Flink's task sends the end of event time on an active channel.
            self.set_active(index)
        return self.advance(index, MAX_TIMESTAMP), False

    def keyframe(self) -> Any:
        return (
            list(self.inputs),
            list(self.idles),
            list(self.aligned),
            list(self.ended),
            self.output,
            self.idle,
            self.simple,
        )

    def rewind(self, frame: Any) -> None:
        (
            self.inputs[:],
            self.idles[:],
            self.aligned[:],
            self.ended[:],
            self.output,
            self.idle,
            self.simple,
        ) = frame


class Combined:
    """The watermark of a two-input operator, or of the splits of a source (Flink: CombinedWatermarkStatus).

    The minimum over the active ones, without the valve's exclusion: one that wakes up behind holds the output where it is.
    When all are idle, the highest of them is flushed, so that the order in which they fell silent does not matter.

    One that has ended counts as the end of event time; with `exclude_ended` it is left out until all have ended.
    """

    __slots__ = ("ended", "exclude_ended", "idle", "idles", "output", "parts")

    def __init__(self, parts: int, exclude_ended: bool = False) -> None:
        self.parts = [MIN_TIMESTAMP] * parts
        self.idles = [False] * parts
        self.ended: set[int] = set()
        """The parts that are left out."""
        self.exclude_ended = exclude_ended
        self.output = MIN_TIMESTAMP
        self.idle = False

    def update(self, index: int, watermark: int, idle: bool, ended: bool = False) -> bool:
        """Set one part; True when the output rose."""
        self.parts[index] = max(watermark, self.parts[index])
        self.idles[index] = idle
        if ended and self.exclude_ended:
            self.ended.add(index)
        counted = list(zip(self.parts, self.idles, strict=True))
        if 0 < len(self.ended) < len(counted):
            counted = [part for number, part in enumerate(counted) if number not in self.ended]
        active = [watermark for watermark, idle in counted if not idle]
        self.idle = not active
        lowest = min(active) if active else max(watermark for watermark, _ in counted)
        if lowest <= self.output:
            return False
        self.output = lowest
        return True

    def keyframe(self) -> Any:
        return list(self.parts), list(self.idles), set(self.ended), self.output, self.idle

    def rewind(self, frame: Any) -> None:
        self.parts[:], self.idles[:], ended, self.output, self.idle = frame
        self.ended = set(ended)


class IdleTimer:
    """Whether a split has been silent for longer than its timeout, looked at by periodic probes.

    The timer starts at the first probe that saw no activity, so that a split is idle between one and three probe
    intervals after the timeout, never at it (Flink: WatermarksWithIdleness.IdlenessTimer).
    """

    __slots__ = ("count", "last_count", "since", "timeout")

    def __init__(self, timeout: int) -> None:
        self.timeout = timeout * 1000
        self.count = 0
        self.last_count = -1
        self.since: int | None = None

    def probe(self, now: int) -> bool:
        """True when idle; `now` in microseconds."""
        if self.count != self.last_count:
            self.last_count = self.count
            self.since = None
            return False
        if self.since is None:
            self.since = now
            return False
        return now - self.since > self.timeout

    def keyframe(self) -> Any:
        return self.count, self.last_count, self.since

    def rewind(self, frame: Any) -> None:
        self.count, self.last_count, self.since = frame
