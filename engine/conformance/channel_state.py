"""Which elements in flight belong to an unaligned checkpoint, and who takes them over after a rescale."""

from __future__ import annotations

import json
from typing import Any

from engine.checkpointing.channel_state import MAPPERS
from engine.conformance.report import Outcome
from engine.datastream import StreamExecutionEnvironment, WatermarkStrategy
from engine.datastream.extensions import ScriptedSource, snapshot_scheme
from engine.errors import StreamLabError
from engine.graph.checkpoint_settings import UNALIGNED
from engine.graph.job_graph import JobGraph
from engine.keyframes import Recording
from engine.scheduler import Policy

OPERATOR = "operator[0]"


def rescales(path: str) -> list[Outcome]:
    """A file of mappers with old and new parallelism: for each new subtask the old ones that it reads."""
    with open(path, encoding="utf-8") as file:
        return [_rescale(case) for case in json.load(file)]


def _rescale(case: dict[str, Any]) -> Outcome:
    name = f"{case['mapper']} from {case['old']} to {case['new']}"
    mapper = MAPPERS.get(case["mapper"])
    if mapper is None:
        return Outcome(name, unsupported=f"the mapper {case['mapper']}")
    got = mapper.new_to_old(case["old"], case["new"]), mapper.ambiguous
    wanted = case["new_to_old"], case["ambiguous"]
    return Outcome(name, "" if got == wanted else f"gave {got} instead of {wanted}")


def in_flight(path: str) -> list[Outcome]:
    """A file of sequences of buffers, barriers and ends that come to one subtask on so many channels, one after the other."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    sequences = content["sequences"]
    gate = _Gate(content["channels"], [sequence["items"] for sequence in sequences])
    return [gate.compare(number, sequence) for number, sequence in enumerate(sequences)]


class _Gate:
    """A job with a source for each channel, whose operator takes everything as soon as it comes."""

    def __init__(self, channels: int, sequences: list[list[dict[str, Any]]]) -> None:
        items = [item for sequence in sequences for item in sequence if "buffer" in item]
        self.channels = range(channels)
        values = [
            [item["buffer"] for item in items if item["ch"] == channel] for channel in self.channels
        ]
        self.recording = Recording(lambda: _job(values), Policy("manual"))

    def _act(self, action: str) -> bool:
        """Take an action where it is possible now."""
        possible = any(known["id"] == action for known in self.recording.possible())
        if possible:
            self.recording.act(action, events=False)
        return possible

    def compare(self, number: int, sequence: dict[str, Any]) -> Outcome:
        name = f"sequence {number}"
        try:
            found = self._feed(sequence["items"])
        except StreamLabError as error:
            return Outcome(name, f"{error}")
        started = self.recording.runtime.deployment.subtasks[OPERATOR].snapshots.handler.checkpoint
        wanted = sequence["expected_inflight_indices"], sequence["last_started_checkpoint"]
        got = found, started
        return Outcome(name, "" if got == wanted else f"gave {got} instead of {wanted}")

    def _feed(self, items: list[dict[str, Any]]) -> list[int]:
        """The buffers in the channel state of the checkpoint that these items bring, in the order of their numbers."""
        runtime = self.recording.runtime
        for item in items:
            source = f"source{item['ch']}[0]"
            if "barrier" in item:
                if not runtime.coordinator.pending:
                    self.recording.apply({"kind": "checkpoint"}, events=False)
                self._act(f"trigger:{source}")
                self._act(f"barrier:{source}>{OPERATOR}")
            else:
                self._act(f"read:{source}/split")
                while self._act(f"take:{source}>{OPERATOR}"):
                    pass
        part = next(
            (
                part
                for message, part in runtime.coordinator.messages
                if message.sender == OPERATOR and message.kind == "acknowledge"
            ),
            None,
        )
        self._finish()
        held = part.inputs.values() if part else ()
        return sorted(element[1] for elements in held for element in elements)

    def _finish(self) -> None:
        """Deliver what is under way behind the operator, so that the checkpoint completes."""
        sink = f"{OPERATOR}>sink[0]"
        while any(
            self._act(action)
            for action in (
                f"take:{sink}",
                *(f"ack:{subtask}" for subtask in self.recording.runtime.deployment.subtasks),
            )
        ):
            pass


def _job(values: list[list[int]]) -> JobGraph:
    env = StreamExecutionEnvironment()
    snapshot_scheme(env, UNALIGNED)
    streams = [
        env.from_source(
            ScriptedSource({"split": held}), WatermarkStrategy.no_watermarks(), f"source{number}"
        ).rebalance()
        for number, held in enumerate(values)
    ]
    united = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
    united.map(lambda value: value).name("operator").print("sink")
    return env.get_job_graph("gate")
