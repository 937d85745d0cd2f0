"""Why a window has not fired, and why a record was late: chains of facts down to what holds event time back.

A fact is a sentence and what it is about, so that a page can point at it. Nothing here changes the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from engine.clock import on_clock
from engine.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, WATERMARK
from engine.errors import USER_ERRORS, LearnerMistake
from engine.event_time.composite_triggers import FINISHED, CompositeTrigger
from engine.event_time.triggers import EventTimeTrigger, NeverTrigger
from engine.event_time.windows import GLOBAL_WINDOW, TimeWindow, WindowSpec
from engine.narration import NUMBERS, TimeFormat
from engine.network.channel import Channel
from engine.operators.source import SourceOperator
from engine.operators.split import SCRIPT, At, Broken, Skip, Split
from engine.operators.tumbling import TumblingWindowOperator
from engine.operators.window import TRIGGER, WindowOperator
from engine.state.key_groups import original
from engine.subtask import Subtask
from engine.values import text

if TYPE_CHECKING:
    from engine.runtime import Runtime

NO_RECORDS = {Skip, Broken, *SCRIPT}
LOOK_AHEAD = 20_000
"""How many entries of a split are looked at for the record that will move its watermark."""


class Fact(NamedTuple):
    """kind and id name what the sentence is about: a subtask, a channel, a split, an element, a window or the clock."""

    sentence: str
    kind: str
    id: str


class Explainer:
    """Reads one runtime; `times` says how event time is written."""

    def __init__(self, runtime: Runtime, times: TimeFormat = NUMBERS) -> None:
        self.runtime = runtime
        self.times = times
        self.facts: list[Fact] = []
        self._seen: set[str] = set()

    def _add(self, sentence: str, kind: str, identity: str) -> None:
        self.facts.append(Fact(sentence, kind, identity))

    # Windows

    def window(self, subtask: str, key: str, window: TimeWindow) -> list[Fact]:
        """Why the window of a key (as the picture shows it) has not fired at a subtask."""
        held = self._subtask(subtask)
        operator = held.operator
        if not isinstance(operator, TumblingWindowOperator | WindowOperator):
            raise LearnerMistake(
                "no_window", f"{subtask} has no windows.", mend="Choose a subtask of a window."
            )
        shown = self.times.span(window.start, window.end)
        identity = f"{subtask}/{key}/{window.start}:{window.end}"
        if not self._is_open(operator, key, window):
            self._add(
                f"{shown} of {key} is not open at {subtask}: it has no record yet, or it fired and was removed.",
                "window",
                identity,
            )
            return self.facts
        if isinstance(operator, WindowOperator):
            own = self._by_trigger(operator, key, window)
            if own is not None:
                self._add(own, "window", identity)
                return self.facts
            if not operator.spec.event_time:
                self._by_clock(window, identity)
                return self.facts
            trigger = operator.trigger.instance
            if type(trigger) is not EventTimeTrigger:
                self._add(
                    f"It is the trigger {type(trigger).__name__} that decides; event time is one part of it.",
                    "window",
                    identity,
                )
        target = window.max_timestamp()
        self._add(
            f"{shown} fires when the watermark of {subtask} reaches {self.times.mark(target)}.",
            "window",
            identity,
        )
        if held.watermark >= target:
            self._add(
                f"The watermark stands at {self.times.mark(held.watermark)}: the window has fired, and is kept for late records.",
                "subtask",
                subtask,
            )
            return self.facts
        self._holders(held, target)
        return self.facts

    def _by_trigger(self, operator: WindowOperator, key: str, window: TimeWindow) -> str | None:
        """Why no end of a window will make it fire, if so."""
        trigger = operator.trigger.instance
        name = type(trigger).__name__
        if isinstance(trigger, NeverTrigger):
            return "It never fires: its trigger is NeverTrigger, as of every global window that is given no other."
        if isinstance(trigger, CompositeTrigger) and any(
            row.name == TRIGGER + FINISHED and row.key == key and row.window == window
            for row in operator.shown_state()
        ):
            return f"Its trigger {name} has finished, so it fires no more."
        if window == GLOBAL_WINDOW:
            return (
                f"A global window has no end of its own: its trigger {name} decides when it fires."
            )
        return None

    def _is_open(self, operator: Any, key: str, window: TimeWindow) -> bool:
        return any(
            row.key == key and row.window == (window.start, window.end)
            for row in operator.shown_state()
        )

    def _by_clock(self, window: TimeWindow, identity: str) -> None:
        now = on_clock(self.runtime.clock.now)
        due = on_clock(window.max_timestamp() * 1000)
        self._add(
            f"It fires when the engine's clock reaches {due}; it stands at {now}, and moves when "
            "nothing else can happen.",
            "clock",
            identity,
        )

    def _subtask(self, name: str) -> Subtask:
        found = self.runtime.deployment.subtasks.get(name)
        if found is None:
            raise LearnerMistake(
                "unknown_subtask",
                f"There is no subtask {text(name)!r}.",
                mend="Choose one that the picture shows.",
            )
        return found

    # What holds a watermark back

    def _holders(self, subtask: Subtask, target: int) -> None:
        """Say which inputs of a subtask are below `target`, and go on behind each of them."""
        if subtask.id in self._seen:
            return
        self._seen.add(subtask.id)
        if isinstance(subtask.operator, SourceOperator):
            self._source(subtask, subtask.operator, target)
            return
        held = self.times.mark(subtask.watermark)
        behind = [
            (channel, watermark)
            for index, channel in enumerate(subtask.inputs)
            for watermark in [subtask.valves[subtask.gate_of[index]].inputs[subtask.place[index]]]
            if not channel.feedback and watermark < target and self._counts(subtask, index)
        ]
        if len(behind) == len(subtask.inputs) - len(subtask.feedback):
            which = "its input is" if len(behind) == 1 else "all its inputs are"
        else:
            which = (
                "the lowest input decides; behind " + ("is " if len(behind) == 1 else "are ")
            ) + " and ".join(channel.sender for channel, _ in behind)
        self._add(f"The watermark of {subtask.id} is {held}: {which}.", "subtask", subtask.id)
        for channel, watermark in behind:
            self._channel(subtask, channel, watermark, target)

    def _counts(self, subtask: Subtask, index: int) -> bool:
        """Whether an input has a say: an idle one has none, and one that woke up behind has none until it caught up."""
        valve, place = subtask.valves[subtask.gate_of[index]], subtask.place[index]
        if valve.idles[place]:
            self._add(
                f"{_arrow(subtask.inputs[index])} is idle and holds nothing back.",
                "channel",
                subtask.inputs[index].name,
            )
            return False
        if not valve.aligned[place]:
            self._add(
                f"{_arrow(subtask.inputs[index])} woke up behind and is left out until it has caught up.",
                "channel",
                subtask.inputs[index].name,
            )
            return False
        return True

    def _channel(self, subtask: Subtask, channel: Channel, watermark: int, target: int) -> None:
        blocked = bool(self.runtime.readiness.blocked & channel.bit)
        lock = ", and the input is blocked until the alignment ends" if blocked else ""
        for place, element in enumerate(channel.queue):
            if element[0] == WATERMARK and element[1] >= target:
                number = channel.taken + place
                count = "first" if place == 0 else f"number {place + 1}"
                self._add(
                    f"{_arrow(channel)} stands at {self.times.mark(watermark)}; the watermark {self.times.mark(element[1])} is "
                    f"{count} in its queue{lock}.",
                    "element",
                    f"{channel.name}:{number}",
                )
                return
        self._add(
            f"{_arrow(channel)} stands at {self.times.mark(watermark)}, and no watermark in its queue is high enough{lock}.",
            "channel",
            channel.name,
        )
        self._holders(self.runtime.deployment.subtasks[channel.sender], target)

    # Sources

    def _source(self, subtask: Subtask, operator: SourceOperator, target: int) -> None:
        behind = [
            split
            for split in operator.splits
            if not split.ended and not split.idle and split.watermark < target
        ]
        held = self.times.mark(operator.watermark)
        if not behind:
            self._add(
                f"{subtask.id} stands at {held}; its splits are far enough, and the watermark has still to be sent.",
                "subtask",
                subtask.id,
            )
            return
        names = " and ".join(split.name for split in behind)
        self._add(
            f"{subtask.id} has sent {held}: the lowest of its splits decides; behind {'is' if len(behind) == 1 else 'are'} {names}.",
            "subtask",
            subtask.id,
        )
        for split in behind:
            self._split(operator, split, target)

    def _split(self, operator: SourceOperator, split: Split, target: int) -> None:
        stands = f"{split.name} stands at {self.times.mark(split.watermark)}"
        spec = operator.spec
        if split.highest != MIN_TIMESTAMP and spec.bound is not None:
            stands += f", for its latest record is of {self.times.show(split.highest)} and the bound is {self.times.length(spec.bound)}"
        if split.ready_at is not None:
            self._add(
                f"{stands}; it is silent until the clock reaches {on_clock(split.ready_at)}; it stands at {on_clock(self.runtime.clock.now)}.",
                "split",
                split.id,
            )
        elif split.paused:
            self._add(
                f"{stands}; it is paused, being too far ahead of its alignment group.",
                "split",
                split.id,
            )
        elif split.offset >= len(split.entries):
            self._add(
                f"{stands}; it has only its end left, which ends event time for it.",
                "split",
                split.id,
            )
        else:
            self._add(f"{stands}; {self._next_mover(operator, split, target)}", "split", split.id)

    def _next_mover(self, operator: SourceOperator, split: Split, target: int) -> str:
        """Which record to come will bring the split's watermark to `target`."""
        spec = operator.spec
        if not spec.makes_watermarks():
            return "its strategy makes no watermarks, so only its end helps."
        if spec.bound is None or spec.assign is None:
            return f"{len(split.entries) - split.offset} entries are still to be read."
        needed = target + spec.bound + 1
        upcoming = split.entries[split.offset : split.offset + LOOK_AHEAD]
        for distance, entry in enumerate(upcoming, 1):
            value = getattr(entry, "value", entry)
            if not _is_record(entry):
                continue
            try:
                timestamp = spec.assign(value, getattr(entry, "timestamp", None))
            except USER_ERRORS:
                break
            if isinstance(timestamp, int) and timestamp >= needed:
                return (
                    f"the record of {self.times.show(timestamp)} at offset {split.offset + distance - 1} will move it far enough, "
                    f"{distance} {'read' if distance == 1 else 'reads'} from now."
                )
        return f"no record among its next {len(upcoming)} is late enough; its end is."

    # Late records

    def late(self, subtask: str, timestamp: int, watermark: int) -> list[Fact]:
        """Why a record of `timestamp` was dropped by a subtask whose watermark was `watermark`."""
        held = self._subtask(subtask)
        window = _window_of(held.operator, timestamp)
        if window is not None:
            self._add(
                f"The record of {self.times.show(timestamp)} belongs to {self.times.span(window.start, window.end)}, which "
                f"was over when the watermark reached {self.times.mark(window.max_timestamp())}.",
                "window",
                f"{subtask}/{window.start}:{window.end}",
            )
        self._add(
            f"The watermark of {subtask} was {self.times.mark(watermark)} when it came.",
            "subtask",
            subtask,
        )
        for source in self._sources_above(held):
            operator = source.operator
            assert isinstance(operator, SourceOperator)
            for split in operator.splits:
                self._mover(operator, split, watermark)
        if window is not None:
            short = watermark - window.max_timestamp() + 1
            self._add(
                f"Kept {self.times.length(short)} longer, by a larger bound or by allowed lateness, the window would have taken it.",
                "window",
                f"{subtask}/{window.start}:{window.end}",
            )
        return self.facts

    def _mover(self, operator: SourceOperator, split: Split, watermark: int) -> None:
        """Which record of a split brought its watermark to `watermark` first."""
        spec = operator.spec
        if spec.bound is None or spec.assign is None or watermark in (MIN_TIMESTAMP, MAX_TIMESTAMP):
            return
        for offset, entry in enumerate(split.entries[: split.offset]):
            if not _is_record(entry):
                continue
            try:
                timestamp = spec.assign(
                    getattr(entry, "value", entry), getattr(entry, "timestamp", None)
                )
            except USER_ERRORS:
                return
            if isinstance(timestamp, int) and timestamp - spec.bound - 1 >= watermark:
                self._add(
                    f"{split.name} had promised that much since offset {offset}: a record of {self.times.show(timestamp)}, less "
                    f"the bound of {self.times.length(spec.bound)}.",
                    "split",
                    split.id,
                )
                return

    def _sources_above(self, subtask: Subtask) -> list[Subtask]:
        found: dict[str, Subtask] = {}
        stack = [subtask]
        while stack:
            current = stack.pop()
            for channel in current.inputs:
                sender = self.runtime.deployment.subtasks[channel.sender]
                if channel.feedback:
                    continue
                if isinstance(sender.operator, SourceOperator):
                    found[sender.id] = sender
                elif sender.id not in found:
                    stack.append(sender)
        return [found[name] for name in sorted(found)]


def _is_record(entry: Any) -> bool:
    return type(entry) is At or type(entry) not in NO_RECORDS


def _arrow(channel: Channel) -> str:
    return f"{channel.sender} → {channel.receiver}"


def _window_of(operator: Any, timestamp: int) -> TimeWindow | None:
    """The last window that a timestamp belongs to, where that does not depend on the value."""
    spec = getattr(operator, "spec", None) or getattr(operator, "windows", None)
    if not isinstance(spec, WindowSpec) or callable(getattr(spec, "gap", None)):
        return None
    return max(spec.assign(None, timestamp), key=lambda window: window.end, default=None)


def open_windows(runtime: Runtime) -> list[tuple[str, str, TimeWindow]]:
    """(subtask, key, window) of every open window, the earliest end first."""
    found = []
    for name, subtask in runtime.deployment.subtasks.items():
        operator = subtask.operator
        if isinstance(operator, TumblingWindowOperator):
            found += [
                (name, text(original(key)), TimeWindow(start, start + operator.windows.size))
                for start, panes in operator.contents.items()
                for key in panes
            ]
        elif isinstance(operator, WindowOperator):
            found += [
                (name, text(original(key)), window)
                for key, windows in operator.table.items()
                for window in windows
            ]
    return sorted(found, key=lambda entry: (entry[2].end, entry[0], entry[1]))
