"""Turns on the event loop for work that may take long.

Rebuilding a run, running until something happens and playing at full speed advance in slices of at
most 5 ms. One slice at a time, first come, first served: so many runs at work take turns, and between
two slices the loop serves every socket.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

SLICE_SECONDS = 0.005
STEPS_AT_FIRST = 64
STEPS_MAX = 4096


class Turns:
    """An asyncio.Lock wakes its waiters in the order in which they came."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        async with self.lock:
            yield
        await asyncio.sleep(0)


class Pace:
    """How many steps fill a slice: measured, since it depends on the job."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.steps = STEPS_AT_FIRST

    def measured(self, steps: int, seconds: float) -> None:
        if steps <= 0:
            return
        wanted = int(steps * SLICE_SECONDS / max(seconds, 1e-6))
        self.steps = max(1, min(wanted, self.steps * 4, STEPS_MAX))

    @asynccontextmanager
    async def slice(self, turns: Turns, limit: int) -> AsyncIterator[int]:
        """The number of steps to take in this turn; it must be taken without awaiting."""
        async with turns.turn():
            steps = max(1, min(self.steps, limit))
            began = self.clock()
            yield steps
            self.measured(steps, self.clock() - began)
