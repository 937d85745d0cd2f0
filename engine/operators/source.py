"""Sources read replayable splits, one record per action, and make watermarks per split.

A split is a list and an offset into it, so that rewinding costs nothing. Each split has its own watermark; the source
emits the lowest of those that have not ended (Flink: per-split outputs of a SourceReader).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Element
from engine.errors import InvalidJob
from engine.event_time.watermarks import WatermarkSpec, bounded
from engine.events import RecordRead, RecordSkipped, SplitEnded, SplitWatermark, WatermarkAdvanced
from engine.operators.base import Context, Operator
from engine.values import by_value, is_immutable, text


class Skip(NamedTuple):
    """An entry of a split that holds no record: it is counted, with its reason."""

    line: int | None
    reason: str


class Broken(NamedTuple):
    """An entry that the source was told to refuse: reading it fails the subtask."""

    line: int | None
    reason: str
    file: str


class SplitData(NamedTuple):
    """A partition of the input: its name and its entries (values, `Skip` or `Broken`)."""

    name: str
    entries: Sequence[Any]

    def plain(self) -> bool:
        """Whether every entry is a record that nobody can mutate."""
        return all(
            type(entry) not in (Skip, Broken) and is_immutable(entry) for entry in self.entries
        )


class Split:
    """A split that is being read."""

    __slots__ = ("bit", "ended", "entries", "highest", "id", "name", "offset", "plain", "watermark")

    def __init__(self, data: SplitData, split_id: str) -> None:
        self.name = data.name
        self.id = split_id
        self.entries = data.entries
        self.plain = data.plain()
        self.bit = 0
        self.offset = 0
        self.ended = False
        self.highest = MIN_TIMESTAMP
        self.watermark = MIN_TIMESTAMP


def checked_timestamp(timestamp: Any, place: str, value: Any) -> int:
    """`timestamp` where it is an integer in the range of a 64-bit long, else InvalidJob."""
    if type(timestamp) is not int or not MIN_TIMESTAMP < timestamp < MAX_TIMESTAMP:
        raise InvalidJob(
            "timestamp",
            f"The timestamp assigner returned {text(timestamp)} for {text(value)}: an integer in milliseconds is needed.",
            place=place,
            mend="Return int(seconds * 1000) or the like.",
        )
    return timestamp


class SourceOperator(Operator):
    """Reads the splits that are assigned to one subtask."""

    def __init__(
        self, context: Context, splits: list[Split], spec: WatermarkSpec, periodic: bool
    ) -> None:
        super().__init__(context)
        self.splits = splits
        self.spec = spec
        self.periodic = periodic
        self.emitted = MIN_TIMESTAMP
        self.records = 0
        self.skipped = 0
        self.most = 1 if spec.bound is None or periodic else 2
        """The most elements that one record puts into each output."""

    def read(self, split: Split, count: int, out: list[Element]) -> int:
        """Read `count` entries of a split (there are as many); returns how many were read before one was refused."""
        events = self.trace.events
        assign, bound = self.spec.assign, self.spec.bound
        offset = split.offset
        subtask = self.context.subtask
        if split.plain and assign is None and events is None:
            if count == 1:
                out.append((0, split.entries[offset], None, None))
            else:
                entries = split.entries[offset : offset + count]
                out.extend([(0, entry, None, None) for entry in entries])
            split.offset += count
            self.records += count
            return count
        shared = not split.plain
        for entry in split.entries[offset : offset + count]:
            kind = type(entry)
            if kind is Skip or kind is Broken:
                if kind is Broken:
                    raise InvalidJob(
                        "broken_row",
                        entry.reason,
                        place=f"{entry.file}, line {entry.line}",
                        mend="Mend the row, or let the source skip broken rows.",
                    )
                split.offset += 1
                self.skipped += 1
                if events is not None:
                    events.append(
                        RecordSkipped(subtask, split.id, split.offset - 1, entry.line, entry.reason)
                    )
                continue
            if shared:
                entry = by_value(entry)
            timestamp = (
                None if assign is None else checked_timestamp(assign(entry, None), subtask, entry)
            )
            out.append((0, entry, timestamp, None))
            split.offset += 1
            self.records += 1
            if events is not None:
                events.append(
                    RecordRead(subtask, split.id, split.offset - 1, text(entry), timestamp)
                )
            if bound is not None and timestamp is not None and timestamp > split.highest:
                split.highest = timestamp
                split.watermark = bounded(timestamp, bound)
                if events is not None:
                    events.append(SplitWatermark(subtask, split.id, split.watermark))
                if not self.periodic:
                    self.emit_watermark(out)
        return split.offset - offset

    def emit_watermark(self, out: list[Element]) -> None:
        """Emit the lowest watermark of the open splits where it rose."""
        lowest = min(
            [split.watermark for split in self.splits if not split.ended], default=MAX_TIMESTAMP
        )
        if lowest > self.emitted:
            self.raise_watermark(lowest, out)

    def raise_watermark(self, timestamp: int, out: list[Element]) -> None:
        if self.trace.events is not None:
            self.trace.events.append(
                WatermarkAdvanced(self.context.subtask, self.emitted, timestamp)
            )
        self.emitted = self.watermark = timestamp
        out.append((1, timestamp))

    def end(self, split: Split, out: list[Element]) -> bool:
        """End a split; True where it was the last one, after which the source has ended."""
        split.ended = True
        if self.trace.events is not None:
            self.trace.events.append(SplitEnded(self.context.subtask, split.id))
        if self.spec.bound is not None and not self.periodic:
            self.emit_watermark(out)
        return self.ended()

    def ended(self) -> bool:
        return all(split.ended for split in self.splits)

    def snapshot(self) -> dict[str, int]:
        """Offsets by split name. As in Flink, watermarks are not part of it."""
        return {split.name: split.offset for split in self.splits}

    def restore(self, part: dict[str, int] | None) -> None:
        for split in self.splits:
            split.offset = (part or {}).get(split.name, 0)

    def entries(self) -> int:
        return len(self.splits)

    def keyframe(self) -> Any:
        counters = self.records, self.skipped
        return (
            self.watermark,
            self.emitted,
            counters,
            [(s.offset, s.ended, s.highest, s.watermark) for s in self.splits],
        )

    def rewind(self, frame: Any) -> None:
        self.watermark, self.emitted, (self.records, self.skipped), splits = frame
        for split, held in zip(self.splits, splits, strict=True):
            split.offset, split.ended, split.highest, split.watermark = held


def assign_splits(splits: Sequence[SplitData], parallelism: int, index: int) -> list[SplitData]:
    """The splits of subtask `index`: split i goes to subtask i mod parallelism."""
    return [split for number, split in enumerate(splits) if number % parallelism == index]


def redistribute_offsets(
    parts: list[Any], owner: Callable[[Any], int], parallelism: int
) -> list[Any]:
    """Every subtask gets all offsets and takes those of its own splits."""
    merged: dict[str, int] = {}
    for part in parts:
        merged.update(part or {})
    return [merged] * parallelism
