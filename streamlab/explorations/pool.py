"""The searches of one server process: so many at once, the others wait for their turn."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings

from streamlab.explorations import selectors, services
from streamlab.explorations.models import Exploration
from streamlab.explorations.search import Search
from streamlab.runs.database import DatabaseThread
from streamlab.runs.errors import RunError
from streamlab.runs.leases import new_holder

logger = logging.getLogger(__name__)

ROUND_SECONDS = 1.0


class Pool:
    """Used from one event loop only."""

    def __init__(self) -> None:
        self.holder = new_holder()
        self.database = DatabaseThread()
        self.searches: dict[str, Search] = {}  # in the order in which they came
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.keeper: asyncio.Task[None] | None = None

    async def start(self, create: Callable[..., Exploration], **asked: Any) -> dict[str, Any]:
        """Make an exploration and let it search as soon as there is room; returns it as a page gets it.

        Raises RunError explorations_full, and what `create` raises.
        """
        if len(self.searches) >= settings.EXPLORATIONS_AT_ONCE + settings.EXPLORATIONS_WAITING_MAX:
            raise RunError("explorations_full", limit=settings.EXPLORATIONS_WAITING_MAX)
        exploration = await self.database(create, holder=self.holder, **asked)
        job = await self.database(services.exploration_job, exploration=exploration)
        search = Search(exploration.pk, selectors.shown(exploration), job)
        self.searches[search.id] = search
        self.fill()
        if self.keeper is None or self.keeper.done():
            self.keeper = asyncio.create_task(self.keep())
        return search.shown()

    def fill(self) -> None:
        """Start those that there is room for, and tell the others their place."""
        waiting = [one for one in self.searches.values() if one.id not in self.tasks]
        free = settings.EXPLORATIONS_AT_ONCE - len(self.tasks)
        for search in waiting[: max(0, free)]:
            self.tasks[search.id] = asyncio.create_task(self.run(search))
        for place, search in enumerate(waiting[max(0, free) :], 1):
            if search.place != place:
                search.place = place
                search.tell()

    async def run(self, search: Search) -> None:
        try:
            await search.run()
        except Exception:
            logger.exception("exploration %s failed", search.id)
            search.failed("our_mistake")
        await self.end(search)

    async def end(self, search: Search) -> None:
        """Keep the result, then let whoever looks know: what a page has been shown survives."""
        try:
            await self.database(
                services.exploration_end,
                exploration_id=search.id,
                state=search.state,
                counts=search.counts,
                seconds=search.seconds,
                outcome=search.outcome,
                error=search.error,
            )
        except Exception:
            logger.exception("the result of exploration %s could not be kept", search.id)
        self.searches.pop(search.id, None)
        self.tasks.pop(search.id, None)
        search.tell()
        self.fill()

    async def stop(self, exploration_id: str, bound: str = "stopped") -> None:
        """Wherever it runs: another server process looks for it once a second."""
        search = self.searches.get(exploration_id)
        if search is None:
            await self.database(services.exploration_stop, exploration_id=exploration_id)
            return
        search.stop(bound)
        if search.id not in self.tasks:
            await self.end(search)

    async def keep(self) -> None:
        """Once a second, while there is something to search."""
        while self.searches:
            await asyncio.sleep(ROUND_SECONDS)
            try:
                await self.round()
            except Exception:
                logger.exception("the explorations could not be looked after; it is tried again")

    async def round(self) -> None:
        for search in list(self.searches.values()):
            if search.alone > settings.EXPLORATION_ABANDONED_SECONDS and not await self.database(
                selectors.exploration_is_watched, exploration_id=search.id
            ):
                await self.stop(search.id, "abandoned")
        news = [
            services.Progress(one.id, one.state, one.counts, one.seconds)
            for one in self.searches.values()
            if one.active
        ]
        for exploration_id in await self.database(services.explorations_progress, news):
            await self.stop(exploration_id)

    async def close(self) -> None:
        """Nothing is searched any more; what runs is killed."""
        if self.keeper is not None:
            self.keeper.cancel()
        for search in list(self.searches.values()):
            search.stop("stopped")
            search.kill()
        if self.tasks:
            await asyncio.wait(list(self.tasks.values()))
        await self.database.close()


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()


def pool() -> Pool:
    """The pool of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _pools:
        _pools[loop] = Pool()
    return _pools[loop]
