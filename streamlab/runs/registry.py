"""The live runs of one process. A cache: any process can rebuild any run from its choices."""

import asyncio
import logging
import time
import tomllib
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings

from streamlab.runs import logs, recordings, selectors, services
from streamlab.runs.comparisons import Comparison, Comparisons, Wanted
from streamlab.runs.database import DatabaseThread
from streamlab.runs.errors import RunError
from streamlab.runs.leases import new_holder
from streamlab.runs.limits import creation_rate, message_rate
from streamlab.runs.live import LiveRun
from streamlab.runs.slices import Turns
from streamlab.runs.writer import Writer

logger = logging.getLogger(__name__)

LEASE_SECONDS = 5
ROUND_SECONDS = 1.0  # between two rounds of housekeeping
EXPIRY_SECONDS = 3600.0  # between two looks for expired runs; the first is at the start
IN_USE_SECONDS = 60.0  # a run that was used less long ago is evicted only where no other can go


class Registry:
    """Used from one event loop only."""

    def __init__(self) -> None:
        self.holder = new_holder()
        self.lease_seconds = LEASE_SECONDS
        self.runs: dict[str, LiveRun] = {}
        self.database = DatabaseThread()
        self.writer = Writer()
        self.turns = Turns()
        self.making = asyncio.Lock()  # one rule after another, see invariants.py
        self.comparisons = Comparisons(self.turns)
        self.visitor_rate = message_rate()
        self.run_rate = message_rate()
        self.creation_rate = creation_rate()
        self.server_version = server_version()
        self.housekeeper: asyncio.Task[None] | None = None
        self.seen_elsewhere: dict[str, tuple[int, int]] = {}

    # ---- finding runs ------------------------------------------------------------------------------

    async def open(self, run_id: str) -> LiveRun:
        """The live run, which has no engine in memory yet. Raises RunError unknown_run."""
        if self.housekeeper is None or self.housekeeper.done():
            self.housekeeper = asyncio.create_task(self.keep_house())
        if run_id not in self.runs:
            run = await self.database(selectors.run_get, run_id=run_id)
            self.runs.setdefault(run_id, LiveRun(self, run))
        return self.runs[run_id]

    async def branch(self, parent: LiveRun, fork: Any, kind: str, payload: Any) -> LiveRun:
        """A new run out of `fork`, which has just taken the choice that differs."""
        await self.make_room(parent)
        step = parent.position
        run = await self.database(services.run_branch, run_id=parent.id, fork_step=step)
        live = LiveRun(self, run)
        async with live.lock:
            live.times, live.recording = parent.times, fork
            live.tail = logs.Tail(rows=0, covered=step)
            live.digests = len(run.digests)
            try:
                await live.hold_lease()
                await live.save(live.tail.choice(step, kind, payload))
            except Exception:
                live.drop()
                raise
            live.go_to(fork.position)
            live.note()
        self.runs[run.pk] = live
        return live

    # ---- room in memory ----------------------------------------------------------------------------

    async def make_room(self, newcomer: LiveRun) -> None:
        """Raises RunError server_full when every run in memory is playing or being worked on.

        A run that stands still can go even while somebody looks at it: the next use rebuilds it, and nobody can
        keep others out by opening many.
        """
        limit = settings.RUNS_LIVE_MAX
        while self.in_memory(newcomer) >= limit:
            if self.comparisons.drop_oldest():  # the next look makes it again
                continue
            candidates = self.evictable(IN_USE_SECONDS) or self.evictable(0)
            oldest = min(candidates, key=by_use, default=None)
            if oldest is None:
                raise RunError("server_full", limit=limit)
            await self.evict([oldest])

    async def compare(self, wanted: Wanted) -> Comparison:
        """Its two runs count like live ones. Raises RunError server_full or comparisons_full, or an engine error."""
        limit = settings.RUNS_LIVE_MAX
        while wanted not in self.comparisons and self.in_memory() + 2 > limit:
            if not self.comparisons.drop_oldest():
                raise RunError("server_full", limit=limit)
        return await self.comparisons.get(wanted)

    def in_memory(self, besides: LiveRun | None = None) -> int:
        return self.comparisons.runs_in_memory + sum(
            live.recording is not None or live.loading
            for live in self.runs.values()
            if live is not besides
        )

    def evictable(self, seconds: float) -> list[LiveRun]:
        """Runs in memory that stand still; those that nobody looks at, without further ado."""
        now = time.monotonic()
        return [
            live
            for live in self.runs.values()
            if live.recording is not None
            and not live.lock.locked()
            and live.player.state == "paused"
            and (not live.audience or now - live.used_at > seconds)
        ]

    async def evict(self, runs: Iterable[LiveRun]) -> None:
        """The engine goes, whoever looks at the run stays; the next use rebuilds it."""
        for live in runs:
            async with live.lock:
                await self.save_positions([live])
                live.drop()
                await self.release(live)
                if not live.audience:  # who waits for the lock puts it back, see LiveRun.attach
                    self.runs.pop(live.id, None)

    # ---- leases and positions ----------------------------------------------------------------------

    async def acquire(self, live: LiveRun) -> bool:
        return await self.database(
            services.lease_acquire, run_id=live.id, holder=self.holder, seconds=self.lease_seconds
        )

    async def release(self, live: LiveRun) -> None:
        if live.leased:
            live.leased = False
            await self.database(services.leases_release, holder=self.holder, run_ids=[live.id])

    async def save_positions(self, runs: Iterable[LiveRun]) -> None:
        """With what is shown there. None of these runs may be in the middle of a change."""
        moved = [live for live in runs if live.leased and live.has_moved]
        if moved:
            positions = [
                (live.id, live.position, recordings.fingerprint(live.recording)) for live in moved
            ]
            await self.database(services.positions_save, positions)
            for live, (_, position, _) in zip(moved, positions, strict=True):
                live.stored_position = live.printed_position = position

    # ---- once a second -----------------------------------------------------------------------------

    async def keep_house(self) -> None:
        expired_at = float("-inf")
        while True:
            await asyncio.sleep(ROUND_SECONDS)
            try:
                await self.round()
                if time.monotonic() - expired_at > EXPIRY_SECONDS:
                    expired_at = time.monotonic()
                    await self.database(services.runs_expire)
            except Exception:
                logger.exception("housekeeping failed; it is tried again")

    async def round(self) -> None:
        runs = list(self.runs.values())
        await self.save_positions(live for live in runs if not live.lock.locked())
        if any(live.leased for live in runs):
            await self.database(
                services.leases_renew, holder=self.holder, seconds=self.lease_seconds
            )
        await self.follow([live for live in runs if live.audience and not live.leased])
        now = time.monotonic()
        idle = [
            live
            for live in self.evictable(settings.RUN_IDLE_SECONDS)
            if now - live.used_at > settings.RUN_IDLE_SECONDS
        ]
        await self.evict(idle)
        for live in runs:  # shells that nobody holds any more
            if live.recording is None and not live.audience and not live.lock.locked():
                self.runs.pop(live.id, None)

    async def follow(self, watched: list[LiveRun]) -> None:
        """Runs that another process drives: show where they are, once they stand still."""
        if not watched:
            self.seen_elsewhere = {}
            return
        places = await self.database(selectors.run_places, run_ids=[live.id for live in watched])
        seen, self.seen_elsewhere = self.seen_elsewhere, places
        for live in watched:
            place = places.get(live.id)
            if place in (None, (live.head, live.position)) or seen.get(live.id) != place:
                continue
            async with live.lock:
                if not live.leased:
                    live.drop()
                    await live.ensure()
                    live.audience.show_view("other tab")

    # ---- the end -----------------------------------------------------------------------------------

    async def close(self) -> None:
        """Stop everything, with positions saved and leases given back."""
        if self.housekeeper is not None:
            self.housekeeper.cancel()
        for live in list(self.runs.values()):
            await live.player.stop()
            async with live.lock:
                await self.save_positions([live])
        await self.comparisons.close()
        await self.writer.close()
        await self.database(services.leases_release, holder=self.holder)
        await self.database.close()
        self.runs.clear()


def by_use(live: LiveRun) -> tuple[bool, float]:
    """Runs that nobody looks at go first, then the one that was used least recently."""
    return bool(live.audience), live.used_at


def server_version() -> str:
    """From pyproject.toml: the project runs from its checkout and is not installed."""
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["project"]["version"])


_registries: WeakKeyDictionary[asyncio.AbstractEventLoop, Registry] = WeakKeyDictionary()


def registry() -> Registry:
    """The registry of the running event loop: a server process has one of each."""
    loop = asyncio.get_running_loop()
    if loop not in _registries:
        _registries[loop] = Registry()
    return _registries[loop]
