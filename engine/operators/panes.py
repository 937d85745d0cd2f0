"""Windows whose results are panes, numbered and said to be early, on time or late; Apache Beam's rules beside Flink's.

What differs from a `WindowOperator`: a trigger that has finished closes its window, and what still comes for it is lost. A
window fires even if it is empty. Records that arrive together, as a `Bundle`, are asked about together. Each record is judged
late by its own window, before that is merged into a session. Results carry the timestamp that `PaneRules` chooses.

Source: what `GeneralTriggerDriver` of Apache Beam's Python SDK 2.61 does. Its windows are never removed; here they are, once
no record that is not late can reach them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from engine.elements import MAX_TIMESTAMP, Element
from engine.event_time.composite_triggers import CompositeTrigger
from engine.event_time.evictors import Evictor
from engine.event_time.windows import SessionWindows, TimeWindow, WindowSpec, merge_windows
from engine.operators.base import Context
from engine.operators.window import CONTENTS, SESSIONS, WindowContext, WindowOperator, no_timestamp
from engine.operators.window_contents import Contents
from engine.state.codec import writable

PANES = "panes"

Stamped = tuple[Any, int]
"""(value, timestamp)"""


class Bundle(NamedTuple):
    """Pairs (value, timestamp) that arrive together, as one record: a trigger is asked once, after all of them."""

    elements: tuple[Stamped, ...]


class ResultTime(Enum):
    """Which timestamp the results of a pane carry.

    That of the earliest or the latest record in it that was not behind the watermark when it came; the end of the window
    where there is none. A pane before the end of the window leaves its timestamp to the next, if the trigger fires at the end.
    """

    END_OF_WINDOW = "end of window"
    LATEST = "latest"
    EARLIEST = "earliest"


@dataclass(frozen=True)
class PaneRules:
    """discarding: whether a pane holds only what came since the one before it."""

    discarding: bool = False
    result_time: ResultTime = ResultTime.END_OF_WINDOW


class Timing(Enum):
    """Where a pane stands to the end of its window: before it, by it, or after it."""

    EARLY = "early"
    ON_TIME = "on time"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Pane:
    """One result of a window.

    index: its number among all of the window's panes, from 0. on_time_index: its number among those that are not early, or
    -1. last: the trigger has finished, and the window is closed. A session that grows begins to count anew.
    """

    index: int
    on_time_index: int
    timing: Timing
    last: bool


class PaneContext(WindowContext):
    """A window function's context that tells which pane it is called for."""

    def __init__(self, window: TimeWindow, watermark: int, now: int, pane: Pane) -> None:
        super().__init__(window, watermark, now)
        self._pane = pane

    def pane(self) -> Pane:
        return self._pane


@writable
class PaneState(NamedTuple):
    """What is kept of a window's panes. fired: how many. not_early: how many of them were not. time: of the next result."""

    fired: int = 0
    not_early: int = 0
    time: int | None = None


class PaneWindowOperator(WindowOperator):
    """Windows by key, with panes. Event time only; the windows may be global ones."""

    def __init__(
        self,
        context: Context,
        rules: PaneRules,
        spec: WindowSpec,
        trigger: CompositeTrigger,
        make_contents: Callable[[Any], Contents],
        aggregate: Any,
        function: Any,
        *,
        evictor: Evictor | None = None,
        lateness: int = 0,
        late_tag: str | None = None,
        retract: bool = False,
    ) -> None:
        super().__init__(
            context, spec, trigger, make_contents, aggregate, function,
            evictor=evictor, lateness=lateness, late_tag=late_tag, retract=retract,
        )  # fmt: skip
        self.rules = rules
        self.panes = self.state.table(PANES, "window")

    # Records

    def process(self, records: Any, out: list[Element]) -> None:
        for _, value, timestamp, key in records:
            self.state.key = key
            if isinstance(value, Bundle):
                self._add_all(value.elements, out)
            elif timestamp is None:
                raise no_timestamp(self.context.subtask)
            else:
                self._add_all(((value, timestamp),), out)

    def _add_all(self, elements: Iterable[Stamped], out: list[Element]) -> None:
        found: dict[TimeWindow, list[Stamped]] = {}
        for element in elements:
            value, timestamp = element
            windows = [w for w in self.spec.assign(value, timestamp) if not self._is_late(w)]
            if not windows and timestamp + self.lateness < self.watermark:
                self._drop(value, timestamp)
            for window in windows:
                found.setdefault(window, []).append(element)
        if self.spec.merges:
            found = self._merged(found)
        for window, added in found.items():
            self._add_to(window, added, out)

    def _is_late(self, window: TimeWindow) -> bool:
        return window.max_timestamp() + self.lateness < self.watermark

    def _add_to(self, window: TimeWindow, added: list[Stamped], out: list[Element]) -> None:
        self._set_cleanup(window)
        trigger = self.trigger.instance
        context = self.key_and_window
        context.window = window
        if trigger.is_finished(context):
            return
        held = self.table.get(self.state.key, {}).get(window)
        for value, timestamp in added:
            held = self.contents.add(held, value, timestamp)
            trigger.record(window, context)
        self.state.put(CONTENTS, self.table, window, held)
        self._note_time(window, added)
        if trigger.ask(window, context, self.watermark):
            self._fire_pane(window, self.watermark, False, out)

    # Timestamps of results

    def _note_time(self, window: TimeWindow, added: list[Stamped]) -> None:
        if self.rules.result_time is ResultTime.END_OF_WINDOW:
            return
        known = self._pane_state(window)
        times = [timestamp for _, timestamp in added if timestamp > self.watermark]
        time = self._combine(times, known.time)
        if time != known.time:
            self.state.put(PANES, self.panes, window, known._replace(time=time))

    def _combine(self, times: list[int], known: int | None = None) -> int | None:
        if known is not None:
            times = [*times, known]
        choose = min if self.rules.result_time is ResultTime.EARLIEST else max
        return choose(times, default=None)

    def _pane_state(self, window: TimeWindow) -> PaneState:
        known: PaneState | None = self.panes.get(self.state.key, {}).get(window)
        return known or PaneState()

    # Merging

    def _merged(self, found: dict[TimeWindow, list[Stamped]]) -> dict[TimeWindow, list[Stamped]]:
        """The same elements by the sessions that their windows become part of; state goes over to those."""
        assert isinstance(self.spec, SessionWindows)
        known = set(self.sessions.get(self.state.key, {}))
        covers: dict[TimeWindow, TimeWindow] = {}
        for cover, members in merge_windows({*known, *found}, self.spec.intersects):
            merged = [member for member in members if member in known]
            if merged and merged != [cover]:
                self._merge(cover, merged)
            covers.update(dict.fromkeys(members, cover))
        sessions: dict[TimeWindow, list[Stamped]] = {}
        for window, elements in found.items():
            cover = covers.get(window, window)
            sessions.setdefault(cover, []).extend(elements)
            if cover not in self.sessions.get(self.state.key, {}):
                self.state.put(SESSIONS, self.sessions, cover, True)
        return sessions

    def _merge(self, cover: TimeWindow, merged: list[TimeWindow]) -> None:
        """Panes are counted anew; the timestamp of the next result goes over."""
        removed = [self.state.remove(PANES, self.panes, window) for window in merged]
        super()._merge(cover, merged)
        time = self._combine([held.time for held in removed if held and held.time is not None])
        if time is not None:
            self.state.put(PANES, self.panes, cover, PaneState(time=time))

    # Firing

    def on_timer(self, clock: str, timestamp: int, namespace: Any, out: list[Element]) -> None:
        window: TimeWindow = namespace
        if self.spec.merges and window not in self.sessions.get(self.state.key, {}):
            return  # it has been merged into another
        self.key_and_window.window = window
        if timestamp == window.max_timestamp() and self.trigger.instance.ask(
            window, self.key_and_window, timestamp
        ):
            self._fire_pane(window, timestamp, True, out)
        if timestamp == self._cleanup_time(window):
            self._clean(window)

    def _fire_pane(
        self, window: TimeWindow, watermark: int, by_timer: bool, out: list[Element]
    ) -> None:
        """watermark: the one that the trigger was asked with. by_timer: whether the end of the window asked it."""
        trigger = self.trigger.instance
        known = self._pane_state(window)
        early = watermark < window.max_timestamp()
        last = trigger.is_finished(self.key_and_window)
        if early:
            timing, on_time_index = Timing.EARLY, known.not_early or -1
        else:
            on_time = by_timer and known.not_early == 0
            timing = Timing.ON_TIME if on_time else Timing.LATE
            on_time_index = known.not_early
        pane = Pane(known.fired, on_time_index, timing, last)
        not_early = known.not_early + (on_time_index >= 0)
        kept = known.time if early and trigger.has_on_time_pane() else None
        self.state.put(PANES, self.panes, window, PaneState(known.fired + 1, not_early, kept))
        held = self.table.get(self.state.key, {}).get(window)
        elements = self.contents.nothing() if held is None else self._evict(window, held)
        timestamp = known.time
        if timestamp is None:
            timestamp = min(window.max_timestamp(), MAX_TIMESTAMP)
        context = PaneContext(window, self.watermark, self.context.now() // 1000, pane)
        self._deliver(context, elements, timestamp, out)
        if last or self.rules.discarding:
            self.state.remove(CONTENTS, self.table, window)

    # Cleaning up

    def _cleanup_time(self, window: TimeWindow) -> int:
        """From when on no record can reach the window: a session can still be reached a gap after it is late itself."""
        gap = self.spec.gap if isinstance(self.spec, SessionWindows) else 0
        reach = gap if type(gap) is int else 0
        return window.max_timestamp() + self.lateness + 1 + reach

    def _clean(self, window: TimeWindow) -> None:
        super()._clean(window)
        self.state.remove(PANES, self.panes, window)
