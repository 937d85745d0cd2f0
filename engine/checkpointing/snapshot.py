"""One subtask's part of a checkpoint: its state, and what was in flight on its channels.

A part is in progress from the moment at which the state is copied until it is acknowledged: an unaligned one goes on
gathering what comes before the barriers that are still under way, and one that is uploaded goes to the storage bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from engine.elements import RECORD, STATUS, WATERMARK, Element
from engine.network.channel import Link, own
from engine.state.sizes import estimated_bytes

Elements: TypeAlias = dict[Link, tuple[Element, ...]]
"""What was in flight on each channel, oldest first."""

KEPT_KINDS = (RECORD, WATERMARK, STATUS)
"""Barriers belong to their checkpoints alone, and an end is sent again by whoever has ended."""


class Snapshot(NamedTuple):
    """What a subtask acknowledges.

    state: what its operator copied. inputs: what it had not taken yet when its state was copied, of what was sent before
    the barriers. outputs: what it had sent and found no buffer for.
    """

    state: Any
    inputs: Elements
    outputs: Elements


def is_kept(element: Element) -> bool:
    """Whether an element belongs into channel state."""
    return element[0] in KEPT_KINDS


def in_flight(elements: Iterable[Element]) -> list[Element]:
    """Those of `elements` that are kept as channel state, with values that nobody else can mutate."""
    return [own(element) for element in elements if is_kept(element)]


class SnapshotInProgress:
    """A part that is not acknowledged yet.

    left: bytes that the storage does not have yet. recording: the inputs on which elements are still gathered.
    unaligned: whether it has channel state. complete: whether that channel state was told to be complete.
    """

    __slots__ = (
        "checkpoint",
        "complete",
        "inputs",
        "left",
        "outputs",
        "recording",
        "state",
        "unaligned",
    )

    def __init__(self, checkpoint: int, state: Any, left: int, unaligned: bool) -> None:
        self.checkpoint = checkpoint
        self.state = state
        self.left = left
        self.unaligned = unaligned
        self.complete = False
        self.recording: frozenset[int] = frozenset()
        self.inputs: dict[Link, list[Element]] = {}
        self.outputs: dict[Link, list[Element]] = {}

    def save(self, side: dict[Link, list[Element]], link: Link, elements: list[Element]) -> int:
        """Add elements to `inputs` or `outputs`; returns their bytes."""
        if not elements:
            return 0
        side.setdefault(link, []).extend(elements)
        return sum(estimated_bytes(element[1:]) for element in elements)

    def snapshot(self) -> Snapshot:
        return Snapshot(self.state, _frozen(self.inputs), _frozen(self.outputs))

    def keyframe(self) -> Any:
        return (
            self.checkpoint,
            self.state,
            self.left,
            self.unaligned,
            self.complete,
            self.recording,
            _frozen(self.inputs),
            _frozen(self.outputs),
        )

    @classmethod
    def of(cls, frame: Any) -> SnapshotInProgress:
        """The part that `keyframe` told."""
        checkpoint, state, left, unaligned, complete, recording, inputs, outputs = frame
        made = cls(checkpoint, state, left, unaligned)
        made.complete, made.recording = complete, recording
        made.inputs = {link: list(held) for link, held in inputs.items()}
        made.outputs = {link: list(held) for link, held in outputs.items()}
        return made


def _frozen(side: dict[Link, list[Element]]) -> Elements:
    return {link: tuple(held) for link, held in side.items()}
