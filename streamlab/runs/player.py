"""Plays a run at a rate, and knows whether it plays, runs until something happens, or stands still.

A player is told to stop and finishes its step; it is never cancelled in the middle of one.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from streamlab.runs.errors import CATALOGUE, RunError
from streamlab.runs.messages import FASTEST
from streamlab.runs.outbox import FRAME_SECONDS
from streamlab.runs.slices import Pace

if TYPE_CHECKING:
    from streamlab.runs.live import LiveRun

logger = logging.getLogger(__name__)

ACTIONS_RATE_MAX = 4  # steps/s up to which every frame lists the possible actions
DEBT_SECONDS = 0.25  # a player that was held up makes up for this much, not for more


class Player:
    def __init__(self, live: "LiveRun") -> None:
        self.live = live
        self.state = "paused"  # or playing, or running
        self.rate = 1.0
        self.stopping = False
        self.task: asyncio.Task[object] | None = None
        self.wake = asyncio.Event()
        self.pace = Pace()

    @property
    def shows_actions(self) -> bool:
        return self.state != "playing" or self.rate <= ACTIONS_RATE_MAX

    async def stop(self) -> None:
        """Returns when the run stands still; whoever asked for it goes first now."""
        while self.task is not None and self.task is not asyncio.current_task():
            self.stopping = True
            self.wake.set()
            await asyncio.wait([self.task])

    @contextmanager
    def running(self) -> Iterator[None]:
        """For a run_until: the current task does the work and looks at `stopping`."""
        self.state, self.stopping, self.task = "running", False, asyncio.current_task()
        try:
            yield
        finally:
            self.state, self.task = "paused", None

    async def play(self, rate: float) -> None:
        if self.state != "playing":
            await self.stop()
            self.state, self.stopping = "playing", False
            self.task = asyncio.create_task(self.keep_stepping())
        self.set_rate(rate)

    def set_rate(self, rate: float) -> None:
        self.rate = rate
        self.wake.set()
        self.live.tell_status()

    async def keep_stepping(self) -> None:
        why = "paused"
        try:
            why = await self.step_until_stopped()
        except RunError as error:
            why = error.sentence
        except Exception:
            logger.exception("run %s stopped playing", self.live.id)
            why = CATALOGUE["our_mistake"].sentence
        finally:
            self.state, self.task = "paused", None
        await self.live.at_rest(why)

    async def step_until_stopped(self) -> str:
        clock = asyncio.get_running_loop().time
        owed, last = 1.0, clock()
        while not self.stopping:
            self.wake.clear()
            if self.rate == FASTEST:
                if self.somebody_reads:
                    why = await self.live.play_slice(self.pace)
                    owed, last = 0.0, clock()
                    pause = FRAME_SECONDS
                else:
                    why, pause = "", 1.0  # woken when an outbox has drained
            else:
                now = clock()
                owed = min(owed + (now - last) * self.rate, max(1.0, self.rate * DEBT_SECONDS))
                last = now
                count, why = int(owed), ""
                if count:
                    owed -= count
                    why = await self.live.play_steps(count)
                pause = max((1 - owed) / self.rate - (clock() - last), FRAME_SECONDS)
            if why:
                return why
            await self.sleep(pause)
        return "paused"

    @property
    def somebody_reads(self) -> bool:
        return any(outbox.is_drained for outbox in self.live.audience)

    def drained(self) -> None:
        """An outbox is ready for more."""
        if self.rate == FASTEST:
            self.wake.set()

    async def sleep(self, seconds: float) -> None:
        if self.stopping or self.wake.is_set():
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self.wake.wait(), seconds)
