"""What waits to be sent to one browser.

The browser grants credit in events; the frame that uses it up ends with a whole step, and nothing
follows until more is granted. At most one frame of steps or view leaves every 33 ms. A reader that
falls more than a few batches behind loses the steps in between and gets one fresh view instead, so
what waits is bounded however long a run plays.

    steps, views    cost credit, keep their order
    other frames    cost none, but do not overtake the steps before them
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from streamlab.runs import protocol
from streamlab.runs.protocol import Frame

FRAME_SECONDS = 0.033
BATCHES_BEHIND_MAX = 4
FRAMES_WAITING_MAX = 64


@dataclass(frozen=True, slots=True)
class Step:
    """A step, encoded once for all who watch. cost: its events."""

    number: int
    cost: int
    say: str
    encoded: bytes


@dataclass(slots=True)
class Batch:
    """Steps that became visible together. `actions` describe the state after the last of them."""

    steps: list[Step]
    position: int
    head: int
    actions: bytes | None


class Outbox:
    """One connection's way out. `run` is a task of its own; everything else returns at once.

    view(outbox) waits until the run stands still between two steps, calls `view_taken` and returns
    the frame of its view; marks() are all marks published so far.
    """

    def __init__(
        self,
        *,
        send: Callable[[Frame], Awaitable[None]],
        view: Callable[["Outbox"], Awaitable[Frame]],
        marks: Callable[[], list[Any]],
        credit: int,
    ) -> None:
        self.send = send
        self.view = view
        self.marks = marks
        self.credit = credit
        self.marks_sent = 0
        self.items: deque[Batch | Frame] = deque()
        self.view_wanted = ""  # why, empty for none
        self.wake = asyncio.Event()
        self.sent_at = 0.0
        self.on_drained: Callable[[], None] = lambda: None

    # ---- what happens in the run ------------------------------------------------------------------

    def put_batch(self, batch: Batch) -> None:
        if self.view_wanted:
            return  # the view that is due shows it
        self.items.append(Batch(list(batch.steps), batch.position, batch.head, batch.actions))
        waiting = sum(isinstance(item, Batch) for item in self.items)
        if self.credit <= 0 and waiting > BATCHES_BEHIND_MAX:
            self.want_view("catch-up")
        self.wake.set()

    def put_frame(self, frame: Frame) -> None:
        self.items.append(frame)
        if len(self.items) > FRAMES_WAITING_MAX:
            self.want_view("catch-up")
            while len(self.items) > FRAMES_WAITING_MAX:
                self.items.popleft()
        self.wake.set()

    def want_view(self, why: str) -> None:
        """Steps that wait are in the view, so they are not sent."""
        self.drop_batches()
        self.view_wanted = why
        self.wake.set()

    def view_taken(self) -> None:
        """The view is being made: all that was published so far is in it."""
        self.drop_batches()
        self.view_wanted = ""

    def drop_batches(self) -> None:
        self.items = deque(item for item in self.items if not isinstance(item, Batch))

    # ---- what the browser grants ------------------------------------------------------------------

    def grant(self, events: int) -> None:
        self.credit = min(self.credit + events, 10**7)
        self.wake.set()

    @property
    def is_drained(self) -> bool:
        """Ready for more: a run that plays as fast as it is read goes on."""
        return self.credit > 0 and not self.items and not self.view_wanted

    # ---- sending ----------------------------------------------------------------------------------

    async def run(self) -> None:
        while True:
            await self.wake.wait()
            self.wake.clear()
            await self.flush()
            if self.is_drained:
                self.on_drained()

    async def flush(self) -> None:
        while self.items or self.view_wanted:
            head = self.items[0] if self.items else None
            if not self.view_wanted and isinstance(head, str):
                self.items.popleft()
                await self.send(head)
            elif self.credit <= 0:
                return
            elif self.view_wanted:
                await self.send_view()
            else:
                await self.send_steps()

    async def send_view(self) -> None:
        await self.frame_gap()
        frame = await self.view(self)
        self.credit -= 1
        await self.send(frame)
        marks = self.marks()
        if len(marks) != self.marks_sent:
            self.marks_sent = len(marks)
            await self.send(protocol.encode("marks", marks=marks))

    async def send_steps(self) -> None:
        await self.frame_gap()
        steps: list[Step] = []
        last: Batch | None = None
        while self.credit > 0 and self.items and isinstance(self.items[0], Batch):
            last = self.items[0]
            while self.credit > 0 and last.steps:
                step = last.steps.pop(0)
                self.credit -= step.cost
                steps.append(step)
            if last.steps:
                break
            self.items.popleft()
        if last is None:  # a view was asked for meanwhile
            return
        whole = not last.steps
        to = last.position if whole else steps[-1].number
        marks = self.marks()
        new, self.marks_sent = marks[self.marks_sent :], len(marks)
        await self.send(
            protocol.encode(
                "steps",
                **{"from": steps[0].number - 1 if steps else to},
                to=to,
                head=last.head,
                steps=[protocol.part(step.encoded) for step in steps],
                actions=protocol.part(last.actions if whole else None),
                marks=new,
            )
        )

    async def frame_gap(self) -> None:
        pause = self.sent_at + FRAME_SECONDS - time.monotonic()
        if pause > 0:
            await asyncio.sleep(pause)
        self.sent_at = time.monotonic()
