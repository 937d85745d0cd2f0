"""The real engine with another watermark for several inputs than the least of theirs."""

from __future__ import annotations

from typing import Any

from engine.event_time.watermarks import Valve
from engine.runtime import Runtime
from engine.subtask import Subtask


class _WrongValve(Valve):
    __slots__ = ()

    def combined(self, index: int) -> int:
        """The watermark of all inputs after one has come on input `index`."""
        raise NotImplementedError

    def advance(self, index: int, timestamp: int) -> bool:
        self.inputs[index] = max(self.inputs[index], timestamp)
        combined = self.combined(index)
        if combined <= self.output:
            return False
        self.output = combined
        return True


class HighestValve(_WrongValve):
    __slots__ = ()

    def combined(self, index: int) -> int:
        return max(self.inputs)


class LatestValve(_WrongValve):
    __slots__ = ()

    def combined(self, index: int) -> int:
        return self.inputs[index]


class MeanValve(_WrongValve):
    __slots__ = ()

    def combined(self, index: int) -> int:
        return sum(self.inputs) // len(self.inputs)


class _Subtask(Subtask):
    valve_type: type[Valve]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        exclude = self.operator.context.exclude_ended
        self.valves = [self.valve_type(len(valve.inputs), exclude) for valve in self.valves]


class HighestWatermark(Runtime):
    """A subtask follows the input that is furthest ahead."""

    class subtask_type(_Subtask):
        valve_type = HighestValve


class LatestWatermark(Runtime):
    """A subtask follows the watermark that came last."""

    class subtask_type(_Subtask):
        valve_type = LatestValve


class MeanWatermark(Runtime):
    """A subtask takes the mean of its inputs."""

    class subtask_type(_Subtask):
        valve_type = MeanValve
