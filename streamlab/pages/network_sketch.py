"""A small picture of a lab's network: the space-time diagram of its script, without words."""

from dataclasses import dataclass
from itertools import pairwise

from engine.checkpointing.space_time import SpaceTime

WIDTH, HEIGHT = 340, 104
MARGIN = 16


@dataclass(frozen=True)
class NetworkSketch:
    """Paths of SVG: the lanes, what travels, and the cut of the first snapshot."""

    lanes: str
    tokens: str
    markers: str
    cut: str


def network_sketch(diagram: SpaceTime) -> NetworkSketch:
    """Deterministic; the whole run fits, however long it is."""
    room = HEIGHT - 2 * MARGIN
    y = {
        lane: round(MARGIN + room * index / max(1, len(diagram.lanes) - 1), 1)
        for index, lane in enumerate(diagram.lanes)
    }

    def x(step: int) -> float:
        return round(MARGIN + (WIDTH - 2 * MARGIN) * step / max(1, diagram.steps), 1)

    paths = {True: "", False: ""}
    for arrow in diagram.arrows:
        if arrow.delivered is not None:
            start, end = x(arrow.sent), x(arrow.delivered)
            paths[arrow.tokens > 0] += f"M{start},{y[arrow.source]}L{end},{y[arrow.target]}"
    points = [
        (x(step), y[lane])
        for lane, step in (diagram.cuts[0].steps.items() if diagram.cuts else ())
        if step is not None
    ]
    cut = ""
    for (left, top), (right, bottom) in pairwise(points):
        middle = round((top + bottom) / 2, 1)
        cut += f"M{left},{top}C{left},{middle} {right},{middle} {right},{bottom}"
    lanes = "".join(f"M{MARGIN},{at}H{WIDTH - MARGIN}" for at in y.values())
    return NetworkSketch(lanes, paths[True], paths[False], cut)
