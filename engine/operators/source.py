"""Sources read replayable splits, one record per action, and make watermarks per split.

A split is a list and an offset into it, so that rewinding costs nothing. Each split has its own watermark; the source
emits the lowest of those that have not ended (Flink: per-split outputs of a SourceReader).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, RECORD, STATUS, WATERMARK, Element
from engine.errors import InvalidJob
from engine.event_time.magnitude import FAR_FUTURE, doubt
from engine.event_time.watermarks import PROBE_INTERVAL, Combined, IdleTimer, WatermarkSpec
from engine.events import (
    RecordRead,
    RecordSkipped,
    ScriptRead,
    SplitEnded,
    SplitStatus,
    SplitWatermark,
    SubtaskStatus,
    WatermarkAdvanced,
)
from engine.operators.base import Context, Operator
from engine.operators.split import SCRIPT, At, Broken, EmitWatermark, Raw, SetIdle, Skip, Split
from engine.values import by_value, text

Assign = Callable[[Any, int | None], int]


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
    """Reads the splits that are assigned to one subtask.

    `interval` is the watermark interval in ms, 0 for a watermark with each record that raises it.
    """

    uses_clock = True

    def __init__(
        self, context: Context, splits: list[Split], spec: WatermarkSpec, interval: int
    ) -> None:
        super().__init__(context)
        self.splits = splits
        self.spec = spec
        self.periodic = interval > 0
        self.interval = interval or PROBE_INTERVAL
        self.combined = Combined(len(splits), context.exclude_ended)
        self.emitted = MIN_TIMESTAMP
        self.idle = False
        self.records = 0
        self.skipped = 0
        self.warned: frozenset[str] = frozenset()
        """Codes of the warnings that were given: each is given once."""
        self.most = 1 if not spec.makes_watermarks() or self.periodic else 2
        """The most elements that one record puts into each output."""
        self.probing = False
        for number, split in enumerate(splits):
            split.number = number
            if spec.idleness is not None:
                split.timer = IdleTimer(spec.idleness)
        self.one_by_one = (
            any(split.scripted for split in splits)
            or spec.idleness is not None
            or spec.alignment is not None
        )
        """Whether entries are read one at a time even in a burst."""
        self.simple = not self.one_by_one and spec.punctuated is None
        """Whether records do nothing but raise the watermark."""

    def open(self) -> None:
        if self.periodic or self.spec.idleness is not None:
            self._probe_later()

    def read(self, split: Split, count: int, out: list[Element]) -> int:
        """Read `count` entries of a split (there are as many)."""
        events = self.trace.events
        offset = split.offset
        if split.plain and events is None and self.simple:
            if self.spec.assign is not None:
                self._read_plain(split, count, self.spec.assign, out)
                if not split.seen or split.highest >= FAR_FUTURE:
                    self._look_at_all(split, out)
            elif count == 1:
                out.append((0, split.entries[offset], None, None))
            else:
                entries = split.entries[offset : offset + count]
                out.extend([(0, entry, None, None) for entry in entries])
            split.offset = offset + count
            self.records += count
            return count
        assign, bound, periodic = self.spec.assign, self.spec.bound, self.periodic
        special = not split.plain or self.one_by_one or self.spec.punctuated is not None
        subtask = self.context.subtask
        for entry in split.entries[offset : offset + count]:
            timestamp = None
            if special:
                entry, timestamp, is_record = self._special(split, entry, out)
                if not is_record:
                    continue
            if assign is not None:
                timestamp = checked_timestamp(assign(entry, timestamp), subtask, entry)
            out.append((0, entry, timestamp, None))
            split.offset += 1
            self.records += 1
            if events is not None:
                events.append(
                    RecordRead(subtask, split.id, split.offset - 1, text(entry), timestamp)
                )
            if timestamp is not None and not split.seen:
                self._look_at(split, timestamp, split.offset - offset)
            if bound is not None and timestamp is not None and timestamp > split.highest:
                if timestamp >= FAR_FUTURE:
                    self._look_at(split, timestamp, split.offset - offset)
                split.highest = timestamp
                split.watermark = timestamp - bound - 1
                if events is not None:
                    events.append(SplitWatermark(subtask, split.id, split.watermark))
                if not periodic:
                    self.emit_watermark(out)
            elif special and self.spec.punctuated is not None:
                punctuated = self.spec.punctuated(entry, timestamp)
                if punctuated is not None:
                    self._raise_split(split, punctuated, out)
        return split.offset - offset

    def _read_plain(self, split: Split, count: int, assign: Assign, out: list[Element]) -> None:
        """What `read` does with entries that need no copy while nobody listens; every name is bound before the loop."""
        bound, highest, emitted = self.spec.bound, split.highest, self.emitted
        behind = 0 if bound is None else -bound - 1
        others = MAX_TIMESTAMP
        if bound is None or self.periodic:
            others = MIN_TIMESTAMP  # nothing is emitted here
        elif len(self.splits) > 1:
            others = self._lowest_beside(split)
        append = out.append
        offset = split.offset
        for entry in split.entries[offset : offset + count]:
            timestamp = assign(entry, None)
            if type(timestamp) is not int or not MIN_TIMESTAMP < timestamp < MAX_TIMESTAMP:
                checked_timestamp(timestamp, self.context.subtask, entry)
            append((0, entry, timestamp, None))
            if timestamp > highest:
                highest = timestamp
                lowest = timestamp + behind
                if lowest > others:
                    lowest = others
                if lowest > emitted:
                    emitted = lowest
                    append((1, lowest))
        if bound is None or highest == split.highest:
            return
        split.highest = highest
        split.watermark = highest + behind
        if not self.periodic:
            self._combine()
            if emitted > self.emitted:
                self.emitted = self.watermark = emitted

    def _look_at_all(self, split: Split, out: list[Element]) -> None:
        timestamps = [element[2] for element in out if element[0] == RECORD]
        for position, timestamp in enumerate(timestamps, 1):
            if not split.seen or timestamp >= FAR_FUTURE:
                self._look_at(split, timestamp, position)

    def _look_at(self, split: Split, timestamp: int, position: int) -> None:
        """Warn, once per kind, of a timestamp that looks wrong."""
        split.seen = True
        found = doubt(timestamp)
        if found and found.code not in self.warned:
            self.warned |= {found.code}
            self.warn(found.code, f"{split.name}: {found.text}", position)

    def _lowest_beside(self, split: Split) -> int:
        """The lowest watermark of the other splits that count."""
        return min(
            [
                MAX_TIMESTAMP if other.ended else other.watermark
                for other in self.splits
                if other is not split and not other.idle
            ],
            default=MAX_TIMESTAMP,
        )

    def _special(
        self, split: Split, entry: Any, out: list[Element]
    ) -> tuple[Any, int | None, bool]:
        """An entry that may be more than a record: (value, its timestamp, whether it is a record)."""
        kind = type(entry)
        if split.timer is not None:
            split.timer.count += 1
            if not self.probing:
                self._probe_later()
        if kind is not SetIdle and kind is not Raw and split.idle:
            self._set_status(split, False, out)
        if kind is At:
            return by_value(entry.value), entry.timestamp, True
        if kind is Broken:
            raise InvalidJob(
                "broken_row",
                entry.reason,
                place=f"{entry.file}, line {entry.line}",
                mend="Mend the row, or let the source skip broken rows.",
            )
        if kind is not Skip and kind not in SCRIPT:
            return by_value(entry), None, True
        split.offset += 1
        if kind is Skip:
            self.skipped += 1
            if self.trace.events is not None:
                self.trace.events.append(
                    RecordSkipped(
                        self.context.subtask, split.id, split.offset - 1, entry.line, entry.reason
                    )
                )
        else:
            if self.trace.events is not None:
                self.trace.events.append(
                    ScriptRead(self.context.subtask, split.id, split.offset - 1, text(entry))
                )
            if kind is Raw:
                if entry.element[0] == WATERMARK:
                    out.append(entry.element)
                else:
                    self.broadcast(entry.element)
            elif kind is EmitWatermark:
                self._raise_split(split, entry.timestamp, out)
            elif kind is SetIdle:
                self._set_status(split, entry.idle, out)
            else:
                split.ready_at = self.context.now() + entry.milliseconds * 1000
                self.context.wake(split.ready_at)
        return None, None, False

    def _raise_split(self, split: Split, watermark: int, out: list[Element]) -> None:
        if watermark <= split.watermark:
            return
        split.watermark = watermark
        if self.trace.events is not None:
            self.trace.events.append(SplitWatermark(self.context.subtask, split.id, watermark))
        if not self.periodic:
            self.emit_watermark(out)

    # Watermarks and statuses of the source as a whole

    def emit_watermark(self, out: list[Element]) -> None:
        """Emit the combined watermark of the splits where it rose."""
        lowest = self._combine()
        if lowest > self.emitted:
            self.raise_watermark(lowest, out)

    def _combine(self) -> int:
        """The combined watermark of the splits as they are now."""
        splits = self.splits
        if len(splits) == 1 and not splits[0].idle and not splits[0].ended:
            return splits[0].watermark
        for split in splits:
            watermark = MAX_TIMESTAMP if split.ended else split.watermark
            self.combined.update(split.number, watermark, split.idle, split.ended)
        return self.combined.output

    def raise_watermark(self, timestamp: int, out: list[Element]) -> None:
        if self.trace.events is not None:
            self.trace.events.append(
                WatermarkAdvanced(self.context.subtask, self.emitted, timestamp)
            )
        self.emitted = self.watermark = timestamp
        out.append((1, timestamp))

    def _set_status(self, split: Split, idle: bool, out: list[Element]) -> None:
        if split.idle == idle:
            return
        split.idle = idle
        if self.trace.events is not None:
            self.trace.events.append(SplitStatus(self.context.subtask, split.id, idle))
        self.emit_watermark(out)
        self._find_status()

    def _find_status(self) -> None:
        """The source is idle where every split is that counts."""
        all_idle = all(
            split.idle or (split.ended and self.context.exclude_ended) for split in self.splits
        )
        if all_idle != self.idle:
            self.idle = all_idle
            if self.trace.events is not None:
                self.trace.events.append(SubtaskStatus(self.context.subtask, all_idle))
            self.broadcast((STATUS, all_idle))

    # The clock

    def _probe_later(self) -> None:
        self.probing = True
        self.context.wake(self.context.now() + self.interval * 1000)

    def on_clock(self, now: int, out: list[Element]) -> bool:
        """Wake what has waited long enough, look for idle splits, emit the periodic watermark."""
        for split in self.splits:
            if split.ready_at is not None and split.ready_at <= now:
                split.ready_at = None
            if (
                split.timer is not None
                and not split.ended
                and not split.idle
                and not split.paused
                and split.timer.probe(now)
            ):
                self._set_status(split, True, out)
        if self.periodic:
            self.emit_watermark(out)
        silent = all(split.idle or split.ended for split in self.splits)
        if self.ended() or (silent and not self.periodic):
            self.probing = False
        elif self.periodic or self.spec.idleness is not None:
            self._probe_later()
        return False

    # Ends

    def end(self, split: Split, out: list[Element]) -> bool:
        """End a split; True where it was the last one, after which the source has ended."""
        split.ended = True
        if self.trace.events is not None:
            self.trace.events.append(SplitEnded(self.context.subtask, split.id))
        if not self.ended():
            self.emit_watermark(out)
            self._find_status()
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
        scalars = (
            self.watermark,
            self.emitted,
            self.idle,
            self.records,
            self.skipped,
            self.probing,
            self.warned,
        )
        return scalars, self.combined.keyframe(), [split.keyframe() for split in self.splits]

    def rewind(self, frame: Any) -> None:
        (
            self.watermark,
            self.emitted,
            self.idle,
            self.records,
            self.skipped,
            self.probing,
            self.warned,
        ) = frame[0]
        self.combined.rewind(frame[1])
        for split, held in zip(self.splits, frame[2], strict=True):
            split.rewind(held)


def redistribute_offsets(
    parts: list[Any], owner: Callable[[Any], int], parallelism: int
) -> list[Any]:
    """Every subtask gets all offsets and takes those of its own splits."""
    merged: dict[str, int] = {}
    for part in parts:
        merged.update(part or {})
    return [merged] * parallelism
