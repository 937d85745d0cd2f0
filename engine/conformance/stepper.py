"""Drives a job one scripted entry at a time and notes what leaves the operator under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.elements import RECORD, STATUS, WATERMARK
from engine.graph.job_graph import JobGraph
from engine.keyframes import Recording
from engine.scheduler import Policy

Emitted = tuple[str, Any, Any]
"""(output, value, timestamp): output is a sink's name, "wm" or "status"."""


class Stepper:
    """`main` is the sink of the main output; watermarks and statuses are read off its channel."""

    def __init__(self, factory: Callable[[], JobGraph], main: str) -> None:
        self._recording = Recording(factory, Policy("manual"))
        self._main = main
        runtime = self._recording.runtime
        self._sinks = {vertex.id for vertex in runtime.job.vertices if vertex.kind == "sink"}

    def read(self, source: str) -> list[Emitted]:
        """Read the next entry of a source (or its end), let it flow through, and return what came out."""
        runtime = self._recording.runtime
        (split,) = [
            split.id
            for split in runtime.deployment.splits.values()
            if split.id.startswith(f"{source}[")
        ]
        self._recording.act(f"read:{split}", events=False)
        emitted: list[Emitted] = []
        while self._take_one(emitted):
            pass
        return emitted

    def _take_one(self, emitted: list[Emitted]) -> bool:
        runtime = self._recording.runtime
        enabled = runtime.readiness.enabled()
        for number, slot in enumerate(runtime.deployment.slots):
            if slot.channel is None or not enabled >> number & 1:
                continue
            sink = slot.channel.receiver.rpartition("[")[0]
            if sink in self._sinks:
                element = slot.channel.queue[0]
                if element[0] == RECORD:
                    emitted.append((sink, element[1], element[2]))
                elif sink == self._main and element[0] == WATERMARK:
                    emitted.append(("wm", element[1], None))
                elif sink == self._main and element[0] == STATUS:
                    emitted.append(("status", "idle" if element[1] else "active", None))
            self._recording.act(slot.action, events=False)
            return True
        return False
