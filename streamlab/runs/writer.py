"""Group commit: what many runs have grown by goes to the disk in one transaction.

A run waits for its commit before anybody is shown the effect. The first growth after a pause is
written at once; while one transaction is under way, or within `gather` seconds of the last, growths
collect for the next. So a lone click costs one transaction's time, and a full house about
1 / gather transactions a second.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from streamlab.runs import services
from streamlab.runs.database import DatabaseThread
from streamlab.runs.errors import RunError
from streamlab.runs.services import Growth

logger = logging.getLogger(__name__)


class Conflict(Exception):
    """Another process has driven the run: what is in memory here is out of date."""


class Writer:
    def __init__(
        self,
        *,
        gather: float = 0.02,
        append: Callable[[Sequence[Growth]], services.Written] = services.log_append,
    ) -> None:
        self.gather = gather
        self.append = append
        self.database = DatabaseThread()  # a commit never waits behind what others read
        self.waiting: list[tuple[Growth, asyncio.Future[None]]] = []
        self.wake = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.writing = False

    async def commit(self, growth: Growth) -> None:
        """Returns once it is on the disk. Raises Conflict, or RunError not_saved."""
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.work())
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((growth, done))
        self.wake.set()
        await done

    async def work(self) -> None:
        last = 0.0
        while True:
            await self.wake.wait()
            pause = last + self.gather - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            self.wake.clear()
            batch, self.waiting = self.waiting, []
            self.writing = True
            await self.write(batch)
            self.writing = False
            last = time.monotonic()

    async def write(self, batch: list[tuple[Growth, "asyncio.Future[None]"]]) -> None:
        try:
            written = await self.database(self.append, [growth for growth, _ in batch])
        except Exception:
            logger.exception("%d runs could not be saved", len(batch))
            for _, done in batch:
                settle(done, RunError("not_saved"))
            return
        for growth, done in batch:
            settle(done, Conflict() if growth.run_id in written.conflicts else None)

    async def close(self) -> None:
        """What was handed over is written; nothing may be handed over afterwards."""
        while self.waiting or self.writing:
            await asyncio.sleep(self.gather / 2)
        if self.task is not None:
            self.task.cancel()
        await self.database.close()


def settle(done: "asyncio.Future[Any]", error: Exception | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
