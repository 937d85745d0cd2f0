"""How watermarks are made at a source and merged at a gate.

Sources: Flink's `BoundedOutOfOrdernessWatermarks` and `StatusWatermarkValve`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP


class WatermarkSpec(NamedTuple):
    """What a WatermarkStrategy says, in plain values.

    bound: out-of-orderness in ms, 0 or more; None where no watermark is made before the end of input.
    assign: (value, timestamp so far or None) -> timestamp in ms; None keeps the timestamp.
    """

    bound: int | None
    assign: Callable[[Any, int | None], int] | None


def bounded(max_timestamp: int, bound: int) -> int:
    """The watermark after the highest timestamp seen: max - bound - 1 (Flink: BoundedOutOfOrdernessWatermarks)."""
    return max_timestamp - bound - 1


class Valve:
    """The watermark of a gate: the minimum over its inputs, which never goes back.

    An ended input counts as the end of event time, as in Flink 2.2.
    """

    __slots__ = ("inputs", "output")

    def __init__(self, inputs: int) -> None:
        self.inputs = [MIN_TIMESTAMP] * inputs
        self.output = MIN_TIMESTAMP

    def advance(self, index: int, timestamp: int) -> bool:
        """Note a watermark on input `index`; True when the output rose (`output` holds it)."""
        inputs = self.inputs
        if timestamp <= inputs[index]:
            return False
        inputs[index] = timestamp
        lowest = min(inputs)
        if lowest <= self.output:
            return False
        self.output = lowest
        return True

    def end(self, index: int) -> bool:
        return self.advance(index, MAX_TIMESTAMP)

    def keyframe(self) -> tuple[list[int], int]:
        return list(self.inputs), self.output

    def rewind(self, frame: tuple[list[int], int]) -> None:
        self.inputs[:] = frame[0]
        self.output = frame[1]
