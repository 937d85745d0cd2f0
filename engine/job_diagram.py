"""The checkpoints of a job as a space-time diagram: a lane per subtask, an arrow per barrier and record, a cut per checkpoint.

It is read off the events of a bounded range of steps, found by replay on a copy. A cut passes a subtask where it copied its
state. A record that is sent after a cut and taken before it crosses it backwards: that is what at-least-once allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine import events as e
from engine.trace import StepTrace

if TYPE_CHECKING:
    from engine.keyframes import Recording

MOST_STEPS = 400
MOST_RECORDS = 160
MARGIN = 3
"""Steps that are shown before the trigger of a checkpoint, and behind its end."""
WITHOUT_CHECKPOINT = 40
"""Steps that are shown where there is no checkpoint yet."""


@dataclass
class JobArrow:
    """A barrier or a record on its way. sent: None where it was sent before the range; delivered: None while it is under way.

    held: it was saved as state in flight of a checkpoint. lost: the step of the failure that destroyed it. crossing: the
    checkpoint whose cut it crosses backwards.
    """

    channel: str
    source: str
    target: str
    checkpoint: int | None
    text: str
    sent: int | None
    delivered: int | None = None
    held: int | None = None
    lost: int | None = None
    crossing: int | None = None

    def shown(self) -> dict[str, Any]:
        return {
            "channel": self.channel,
            "from": self.source,
            "to": self.target,
            "kind": "record" if self.checkpoint is None else "barrier",
            "checkpoint": self.checkpoint,
            "text": self.text,
            "sent": self.sent,
            "delivered": self.delivered,
            "held": self.held,
            "lost": self.lost,
            "crossing": self.crossing,
        }


@dataclass
class JobDiagram:
    """Steps `start` (not included) to `end`, of which `follow` gets the traces."""

    start: int
    end: int
    lanes: list[str] = field(default_factory=list)
    arrows: list[JobArrow] = field(default_factory=list)
    cuts: dict[int, dict[str, int]] = field(default_factory=dict)
    _under_way: dict[str, JobArrow] = field(default_factory=dict)
    _just_taken: dict[str, JobArrow] = field(default_factory=dict)
    _barriers: dict[tuple[str, int], JobArrow] = field(default_factory=dict)

    def follow(self, steps: Iterable[StepTrace]) -> None:
        for step in steps:
            self._just_taken.clear()
            for event in step.events:
                rule = _RULES.get(type(event))
                if rule is not None:
                    rule(self, step.step, event)

    def judge(self) -> None:
        """Mark the records that cross a cut backwards; call it when all steps are in."""
        for arrow in self.arrows:
            if arrow.checkpoint is not None or arrow.sent is None or arrow.delivered is None:
                continue
            for checkpoint, points in self.cuts.items():
                left, right = points.get(arrow.source), points.get(arrow.target)
                if (
                    left is not None
                    and right is not None
                    and left < arrow.sent
                    and arrow.delivered < right
                ):
                    arrow.crossing = checkpoint

    def answer(self, checkpoint: int | None, most: int = MOST_RECORDS) -> dict[str, Any]:
        """The diagram for a page; of many records those that matter to a cut, and the last ones."""
        marked = [arrow for arrow in self.arrows if _matters(arrow)]
        plain = [arrow for arrow in self.arrows if not _matters(arrow)]
        left_out = max(0, len(plain) - max(0, most - len(marked)))
        kept = {id(arrow) for arrow in [*marked, *plain[left_out:]]}
        return {
            "from": self.start,
            "to": self.end,
            "checkpoint": checkpoint,
            "lanes": self.lanes,
            "arrows": [arrow.shown() for arrow in self.arrows if id(arrow) in kept],
            "cuts": [
                {"checkpoint": number, "points": points} for number, points in self.cuts.items()
            ],
            "left_out": left_out,
        }

    def _arrow(self, channel: str, checkpoint: int | None, text: str, sent: int | None) -> JobArrow:
        source, _, target = channel.partition(">")
        arrow = JobArrow(channel, source, target.partition("#")[0], checkpoint, text, sent)
        self.arrows.append(arrow)
        return arrow

    def _emitted(self, step: int, event: e.ElementEmitted) -> None:
        element = event.element
        if element.kind == "barrier" and element.checkpoint is not None:
            arrow = self._arrow(event.channel, element.checkpoint, "", step)
            self._barriers[event.channel, element.checkpoint] = arrow
        elif element.kind == "record":
            arrow = self._arrow(event.channel, None, element.key or element.brief, step)
        else:
            return
        self._under_way[element.id] = arrow

    def _taken(self, step: int, event: e.ElementTaken) -> None:
        arrow = self._under_way.pop(event.id, None)
        if arrow is None and event.kind == "record":
            arrow = self._arrow(event.channel, None, event.key or "", None)
        if arrow is not None:
            arrow.delivered = step
            self._just_taken[event.id] = arrow

    def _overtook(self, step: int, event: Any) -> None:
        key = (event.channel, event.checkpoint)
        if key not in self._barriers:
            self._barriers[key] = self._arrow(event.channel, event.checkpoint, "", step)

    def _priority_taken(self, step: int, event: Any) -> None:
        arrow = self._barriers.get((event.channel, event.checkpoint))
        if arrow is not None:
            arrow.delivered = step

    def _saved(self, step: int, event: Any) -> None:
        for element in event.elements:
            arrow = self._under_way.get(element) or self._just_taken.get(element)
            if arrow is None:
                arrow = self._under_way[element] = self._arrow(event.channel, None, "", None)
            arrow.held = event.checkpoint

    def _triggered(self, step: int, event: e.CheckpointTriggered) -> None:
        self.cuts.setdefault(event.checkpoint, {})

    def _snapshot(self, step: int, event: e.SnapshotTaken) -> None:
        self.cuts.setdefault(event.checkpoint, {})[event.subtask] = step

    def _failed(self, step: int, event: Any) -> None:
        for arrow in self._under_way.values():
            arrow.lost = step
        for arrow in self._barriers.values():
            if arrow.delivered is None:
                arrow.lost = step
        self._under_way.clear()
        self._barriers.clear()

    def _deployed(self, step: int, event: e.Deployed) -> None:
        self.lanes += [name for name in event.subtasks if name not in self.lanes]
        self._under_way.clear()


def _matters(arrow: JobArrow) -> bool:
    return arrow.checkpoint is not None or arrow.held is not None or arrow.crossing is not None


_RULES: dict[type[Any], Callable[[JobDiagram, int, Any], None]] = {
    e.Deployed: JobDiagram._deployed,
    e.ElementEmitted: JobDiagram._emitted,
    e.ElementTaken: JobDiagram._taken,
    e.BarrierOvertook: JobDiagram._overtook,
    e.PriorityBarrierTaken: JobDiagram._priority_taken,
    e.ElementsSaved: JobDiagram._saved,
    e.CheckpointTriggered: JobDiagram._triggered,
    e.SnapshotTaken: JobDiagram._snapshot,
    e.SubtaskFailed: JobDiagram._failed,
}


class DiagramSearch:
    """The diagram about a checkpoint, the newest where none is named, as far as the run's position.

    `slice(steps)` takes at most so many steps of a copy and says whether the diagram is known.
    """

    def __init__(self, recording: Recording, checkpoint: int | None = None) -> None:
        view = recording.view()
        self.checkpoint, start, end = _range(view, checkpoint)
        self.diagram = JobDiagram(start, end)
        self._copy = recording.fork()
        self._copy.seek(start)
        self.diagram.lanes = list(self._copy.view()["subtasks"])

    def slice(self, steps: int) -> bool:
        wanted = min(steps, self.diagram.end - self._copy.position)
        if wanted > 0:
            self.diagram.follow(self._copy.step(wanted, events=True))
        if self._copy.position < self.diagram.end:
            return False
        self.diagram.judge()
        return True

    def answer(self) -> dict[str, Any]:
        return self.diagram.answer(self.checkpoint)


def _range(view: dict[str, Any], checkpoint: int | None) -> tuple[int | None, int, int]:
    """(checkpoint, first step, last step) of the diagram."""
    position, known = view["step"], view["checkpoints"]
    chosen = str(checkpoint) if str(checkpoint) in known else max(known, key=int, default=None)
    if chosen is None:
        return None, max(0, position - WITHOUT_CHECKPOINT), position
    entry = known[chosen]
    start = max(0, entry["triggered"] - 1 - MARGIN)
    ended = position if entry["ended"] is None else entry["ended"] + MARGIN
    return int(chosen), start, min(position, ended, start + MOST_STEPS)
