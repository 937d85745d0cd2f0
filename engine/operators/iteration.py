"""The head of a loop: what comes in and what comes back goes on as one stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.elements import Element
from engine.operators.base import Context, Operator


class IterationHead(Operator):
    """Forwards the records of both inputs. moved: whether anything has come back since somebody set it to False.

    Source: Flink's `StreamIterationHead`.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.moved = False

    def process(self, records: Sequence[Element], out: list[Element]) -> None:
        for _, value, timestamp, _ in records:
            out.append((0, value, timestamp, None))

    def process2(self, records: Sequence[Element], out: list[Element]) -> None:
        """Records that come back."""
        self.moved = True
        self.process(records, out)

    def keyframe(self) -> Any:
        return self.watermark, self.moved

    def rewind(self, frame: Any) -> None:
        self.watermark, self.moved = frame
