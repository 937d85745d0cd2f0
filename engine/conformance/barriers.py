"""Scripts of barriers, cancellations and ends through the barrier handler, decision by decision.

Blocked inputs queue what arrives; when they are resumed, the lowest open input is drained first.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from engine.checkpointing.barrier_handler import (
    Abort,
    BarrierHandler,
    Block,
    Decision,
    Resume,
    StartChannelState,
    StopChannelState,
    Trigger,
)
from engine.conformance.report import Outcome


def run_file(path: str) -> list[Outcome]:
    with open(path, encoding="utf-8") as file:
        return [run_case(case) for case in json.load(file)]


def run_case(case: dict[str, Any]) -> Outcome:
    if case["mode"] not in ("aligned", "unaligned"):
        return Outcome(case["name"], unsupported=f"the mode {case['mode']}")
    gate = _Gate(case["channels"], case["mode"] == "unaligned")
    for number, step in enumerate(case["steps"]):
        got = gate.arrive(step["arrive"])
        if got != step["emits"]:
            return Outcome(case["name"], f"step {number} gave {got} instead of {step['emits']}")
    if "still_blocked" in case and sorted(gate.blocked) != case["still_blocked"]:
        return Outcome(
            case["name"],
            f"{sorted(gate.blocked)} are blocked at the end instead of {case['still_blocked']}",
        )
    if gate.handler.checkpoint != case["latest_checkpoint"]:
        newest = gate.handler.checkpoint
        return Outcome(
            case["name"],
            f"the newest checkpoint is {newest} instead of {case['latest_checkpoint']}",
        )
    return Outcome(case["name"])


class _Gate:
    """The inputs in front of a handler."""

    def __init__(self, inputs: int, unaligned: bool) -> None:
        self.handler = BarrierHandler(inputs)
        self.unaligned = unaligned
        self.queues: list[deque[dict[str, Any]]] = [deque() for _ in range(inputs)]
        self.blocked: set[int] = set()

    def arrive(self, element: dict[str, Any]) -> list[dict[str, Any]]:
        """Queue an element, take what can be taken, and tell what happened."""
        if element["ch"] not in range(len(self.queues)):
            raise IndexError(f"there is no channel {element['ch']}")
        self.queues[element["ch"]].append(element)
        told: list[dict[str, Any]] = []
        while True:
            ready = [
                index
                for index, queue in enumerate(self.queues)
                if queue and index not in self.blocked
            ]
            if not ready:
                return told
            told += self._take(ready[0], self.queues[ready[0]].popleft())

    def _take(self, index: int, element: dict[str, Any]) -> list[dict[str, Any]]:
        if "rec" in element:
            return [{"process_ch": index, "rec": element["rec"]}]
        if "barrier" in element:
            decisions = self.handler.barrier(index, element["barrier"], self.unaligned)
        elif "cancel" in element:
            decisions = self.handler.cancel(element["cancel"])
        elif "eop" in element:
            decisions = self.handler.end(index)
        else:
            raise KeyError(f"an arrival without rec, barrier, cancel or eop: {element}")
        return [line for decision in decisions for line in self._carry_out(decision)]

    def _carry_out(self, decision: Decision) -> list[dict[str, Any]]:
        if isinstance(decision, Block):
            self.blocked.add(decision.input)
            return [{"block": decision.input}]
        if isinstance(decision, Resume):
            self.blocked.discard(decision.input)
            return [{"resume": decision.input}]
        if isinstance(decision, Trigger):
            return [{"trigger": decision.checkpoint, "unaligned": decision.unaligned}]
        if isinstance(decision, Abort):
            return [{"abort": decision.checkpoint, "reason": decision.reason}]
        if isinstance(decision, StartChannelState):
            # Flink tells its inputs and its writer of channel state one after the other.
            return [
                {"init_inputs_checkpoint": decision.checkpoint},
                {"channel_state_start": decision.checkpoint},
            ]
        assert isinstance(decision, StopChannelState)
        return [{"channel_state_stop": decision.checkpoint}]
