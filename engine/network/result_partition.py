"""Everything that one subtask emits: its main output, its side outputs, and its control elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from engine import events
from engine.elements import (
    BARRIER,
    CANCEL,
    KIND_NAMES,
    PROBE,
    RECORD,
    STATUS,
    WATERMARK,
    Element,
)
from engine.errors import USER_ERRORS
from engine.network.channel import Channel, own_all
from engine.network.credit import Credit
from engine.network.partitioners import Emit, Route
from engine.state.key_groups import original
from engine.trace import Trace
from engine.values import text

Brief = Callable[[Any], str]


def element_id(channel: Channel, number: int) -> str:
    return f"{channel.name}:{number}"


def shown_element(
    channel: Channel, number: int, element: Element, brief: Brief | None
) -> events.Element:
    """The element as the picture shows it; `number` counts the elements ever put into the channel."""
    kind = element[0]
    name = KIND_NAMES[kind]
    identity = element_id(channel, number)
    if kind == RECORD:
        _, value, timestamp, key = element
        key_text = None if key is None else text(original(key))
        return events.Element(
            identity, name, key_text, text(value), _brief(brief, value), timestamp, None
        )
    if kind == WATERMARK:
        return events.Element(identity, name, None, "", "", element[1], None)
    if kind == PROBE:
        laps = "1 quiet lap" if element[1] == 1 else f"{element[1]} quiet laps"
        return events.Element(identity, name, None, laps, "", None, None)
    if kind == STATUS:
        return events.Element(
            identity, name, None, "idle" if element[1] else "active", "", None, None
        )
    return events.Element(
        identity, name, None, "", "", None, element[1] if kind in (BARRIER, CANCEL) else None
    )


def _brief(brief: Brief | None, value: Any) -> str:
    """A label is decoration: one that raises is left out, and never changes what the job does."""
    if brief is None:
        return ""
    try:
        return str(brief(value))[:8]
    except USER_ERRORS:
        return "?"


class ResultPartition:
    """The outputs of a subtask. `main` and `side` are routes in the order of the edges; `channels` are all of them."""

    def __init__(
        self,
        main: Sequence[Route],
        side: dict[str, list[Route]],
        credit: Credit,
        trace: Trace,
        brief: Brief | None,
    ) -> None:
        self.main = main
        self.side = side
        self.credit = credit
        self.trace = trace
        self.brief = brief
        self.routes: list[Route] = [*main, *(route for routes in side.values() for route in routes)]
        self.channels: list[Channel] = [
            channel for route in self.routes for channel in route.channels
        ]
        self.forward = [channel for channel in self.channels if not channel.feedback]
        self.emit: Emit = self._emitter()
        """Puts main output into the channels without announcing it: for when nobody listens."""

    def send(self, out: list[Element]) -> None:
        """Put main output into the channels."""
        if self.trace.events is None:
            self.emit(out)
        else:
            self._traced(lambda: self.emit(out))

    def _emitter(self) -> Emit:
        if self.side:
            return self._emit_with_sides
        if len(self.main) == 1:
            return self.main[0].emit
        return self._emit_main

    def _emit_main(self, out: list[Element]) -> None:
        for number, route in enumerate(self.main):
            route.emit(out if number == 0 else list(own_all(out)))

    def _emit_with_sides(self, out: list[Element]) -> None:
        """A watermark of the main output belongs to the side outputs as well."""
        self._emit_main(out)
        control = [element for element in out if element[0]]
        if control:
            for routes in self.side.values():
                for route in routes:
                    route.emit(control)

    def send_side(self, side: dict[str, list[Element]]) -> None:
        """Emit the records of side outputs; a tag that nobody reads is dropped, as in Flink."""

        def everywhere() -> None:
            for tag, records in side.items():
                for number, route in enumerate(self.side.get(tag, ())):
                    route.emit(records if number == 0 else list(own_all(records)))

        self._observed(everywhere)
        side.clear()

    def broadcast(self, element: Element) -> None:
        """Put a control element into every channel, but for a status into those that lead back; none needs credit."""
        self.send_to(self.forward if element[0] == STATUS else self.channels, element)

    def send_to(self, channels: Sequence[Channel], element: Element) -> None:
        """Put a control element into some of the channels."""

        def everywhere() -> None:
            for channel in channels:
                channel.push(element)

        self._observed(everywhere)

    def overtake(self, checkpoint: int) -> dict[Channel, list[Element]]:
        """Send an unaligned barrier: before the queues of channels where it may overtake, else to their tails.

        Returns what it has overtaken of the elements that had found no buffer and wait here, by channel.
        """
        waiting: dict[Channel, list[Element]] = {}
        for channel in self.channels:
            if not channel.priority_bit:
                self._observed(lambda channel=channel: channel.push((BARRIER, checkpoint)))  # type: ignore[misc]
                continue
            queued = len(channel.queue)
            mine = channel.beyond_buffers()
            if mine:
                waiting[channel] = list(islice(channel.queue, queued - mine, None))
            channel.overtake(checkpoint, queued - mine)
            if self.trace.events is not None:
                self.trace.events.append(events.BarrierOvertook(channel.name, checkpoint, queued))
        return waiting

    def free(self) -> int:
        """The fewest free buffers of any output channel; a large number where there is no output."""
        return min([channel.free() for channel in self.channels], default=1 << 60)

    def _observed(self, action: Callable[[], Any]) -> None:
        if self.trace.events is None:
            action()
        else:
            self._traced(action)

    def _traced(self, action: Callable[[], Any]) -> None:
        """Run `action` and announce what it put into the channels, also where a user's selector raised half-way."""
        before = [len(channel.queue) for channel in self.channels]
        try:
            action()
        finally:
            collected = self.trace.events
            assert collected is not None
            for channel, start in zip(self.channels, before, strict=True):
                for number, element in enumerate(islice(channel.queue, start, None), start):
                    shown = shown_element(channel, channel.taken + number, element, self.brief)
                    collected.append(events.ElementEmitted(channel.name, shown))

    def keyframe(self) -> list[Any]:
        return [route.keyframe() for route in self.routes]

    def rewind(self, frame: list[Any]) -> None:
        for route, held in zip(self.routes, frame, strict=True):
            route.rewind(held)
