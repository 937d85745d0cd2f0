"""A small picture of a lab's job: operators as columns, subtasks as boxes, a queue in front of each of their inputs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from zlib import crc32

from engine.graph.job_graph import Edge, JobGraph

WIDTH, HEIGHT = 340, 104
MARGIN, GAP = 14, 8
BOX_HIGHEST, LANE_HIGHEST = 34, 5
BOX_SHARE, LANE_SHARE = 0.42, 0.5  # of a column's width, of what is left between two columns
SUBTASKS_MAX = 6  # of an operator; more would be a grey patch
MARKS = ("key-2", "time", "key-0", "", "key-3", "barrier", "key-1", "")
"""What may stand at the head of a queue; the name of the job decides, so that jobs of one shape look different."""


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float


@dataclass
class Sketch:
    """`routes` and `lanes`: paths of SVG; `marks`: (what, x, y)."""

    boxes: list[Box] = field(default_factory=list)
    routes: str = ""
    lanes: str = ""
    discs: list[tuple[str, float, float]] = field(default_factory=list)
    times: str = ""
    barriers: str = ""


def sketch(graph: JobGraph) -> Sketch:
    """Deterministic; independent of anything that has happened."""
    drawn = Sketch()
    boxes = place(graph)
    drawn.boxes = list(boxes.values())
    inputs: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for edge in graph.edges:
        for sender, receiver in links(graph, edge):
            inputs.setdefault(receiver, []).append(sender)
    wide = (WIDTH - 2 * MARGIN) / (max(graph.columns().values()) + 1)
    marks = marks_of(graph.name)
    for receiver, senders in inputs.items():
        box = boxes[receiver]
        pitch = min(LANE_HIGHEST + 2, box.height / len(senders))
        for number, sender in enumerate(senders):
            y = box.y + box.height / 2 + (number - (len(senders) - 1) / 2) * pitch
            lane = wide * (1 - BOX_SHARE) * LANE_SHARE
            x = box.x - lane
            start = boxes[sender]
            x0, y0 = start.x + start.width, start.y + start.height / 2
            bend = (x - x0) / 2
            drawn.routes += f"M{x0:.1f},{y0:.1f}C{x0 + bend:.1f},{y0:.1f} {x - bend:.1f},{y:.1f} {x:.1f},{y:.1f}"
            thick = max(1.5, min(LANE_HIGHEST, pitch - 1))
            drawn.lanes += f"M{x:.1f},{y - thick / 2:.1f}h{lane:.1f}v{thick:.1f}h{-lane:.1f}z"
            if thick >= LANE_HIGHEST - 1:
                put(drawn, next(marks), box.x - 6, y)
    return drawn


def marks_of(name: str) -> Iterator[str]:
    """Marks without end, the same for the same name."""
    drawn = crc32(name.encode())
    while True:
        yield MARKS[drawn >> 16 & 7]
        drawn = (drawn * 1103515245 + 12345) & 0x7FFFFFFF  # the generator of the C standard


def put(drawn: Sketch, mark: str, x: float, y: float) -> None:
    if mark == "time":
        drawn.times += f"M{x - 2.5:.1f},{y - 2.5:.1f}l5.5,2.5l-5.5,2.5z"
    elif mark == "barrier":
        drawn.barriers += f"M{x:.1f},{y - 4:.1f}h2.2v8h-2.2z"
    elif mark:
        drawn.discs.append((mark, round(x, 1), round(y, 1)))


def place(graph: JobGraph) -> dict[tuple[str, int], Box]:
    """The box of every subtask."""
    columns: dict[int, list[tuple[str, int]]] = {}
    for vertex_id, column in graph.columns().items():
        for index in shown(graph, vertex_id):
            columns.setdefault(column, []).append((vertex_id, index))
    wide = (WIDTH - 2 * MARGIN) / len(columns)
    boxes = {}
    for column, subtasks in columns.items():
        room = (HEIGHT - GAP) / len(subtasks)
        height = min(BOX_HIGHEST, room - GAP if room > 2 * GAP else room * 0.7)
        # The first column begins at the left margin, the last ends at the right one.
        share = column / (len(columns) - 1) if len(columns) > 1 else 0.5
        x = MARGIN + share * (WIDTH - 2 * MARGIN - wide * BOX_SHARE)
        for row, subtask in enumerate(subtasks):
            y = GAP / 2 + room * (row + 0.5) - height / 2
            boxes[subtask] = Box(
                round(x, 1), round(y, 1), round(wide * BOX_SHARE, 1), round(height, 1)
            )
    return boxes


def links(graph: JobGraph, edge: Edge) -> list[tuple[tuple[str, int], tuple[str, int]]]:
    """(sender, receiver) of each channel: forward keeps the index, everything else reaches everybody."""
    senders = shown(graph, edge.source)
    receivers = shown(graph, edge.target)
    forward = edge.partitioner.name == "forward"
    return [
        ((edge.source, sender), (edge.target, receiver))
        for receiver in receivers
        for sender in senders
        if not forward or sender == receiver
    ]


def shown(graph: JobGraph, vertex_id: str) -> range:
    return range(min(SUBTASKS_MAX, graph.vertex(vertex_id).parallelism))
