"""The websocket of one exploration: shows its owner how far it is, and lets them stop it."""

import asyncio
import logging
import secrets
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from streamlab.explorations import selectors, services
from streamlab.explorations.messages import MESSAGES
from streamlab.explorations.pool import pool
from streamlab.runs import protocol
from streamlab.runs.consumers import REFUSED_MAX, owner_of
from streamlab.runs.errors import RunError
from streamlab.runs.registry import registry

logger = logging.getLogger(__name__)

ELSEWHERE_SECONDS = 1.0
"""Between two looks at a search of another server process."""


class ExplorationConsumer(AsyncWebsocketConsumer):
    async def connect(self) -> None:
        self.exploration_id: str = self.scope["url_route"]["kwargs"]["exploration_id"]
        self.owner = await database_sync_to_async(owner_of)(self.scope)
        self.visitor_key = self.owner.visitor or secrets.token_hex(8)
        self.refused = 0
        self.closing = False
        self.news = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        await self.accept()
        try:
            await self.stored()
        except RunError as error:
            await self.refuse(error)
            return
        self.task = asyncio.create_task(self.keep_telling())

    async def disconnect(self, code: int) -> None:
        if self.task is not None:
            self.task.cancel()

    async def stored(self) -> dict[str, Any]:
        """Raises RunError unknown_exploration."""
        found = await database_sync_to_async(selectors.exploration_get)(
            exploration_id=self.exploration_id, owner=self.owner
        )
        return selectors.shown(found)

    async def keep_telling(self) -> None:
        search = pool().searches.get(self.exploration_id)
        try:
            if search is None:
                await self.tell_stored()
                return
            search.listen(self.news.set)
            try:
                while search.active:
                    self.news.clear()
                    await self.tell(search.shown())
                    await self.news.wait()
            finally:
                search.leave(self.news.set)
            await self.tell_stored()
        except Exception:
            logger.exception("exploration %s could not be shown", self.exploration_id)
            await self.refuse(RunError("our_mistake"))

    async def tell_stored(self) -> None:
        """It has ended, or another server process searches."""
        told = None
        while True:
            shown = await self.stored()
            if shown != told:
                told = shown
                await self.tell(shown)
            if not shown["active"]:
                return
            await database_sync_to_async(services.exploration_look)(
                exploration_id=self.exploration_id
            )
            await asyncio.sleep(ELSEWHERE_SECONDS)

    async def tell(self, shown: dict[str, Any]) -> None:
        await self.send(protocol.encode("exploration", **shown))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.closing or self.task is None:
            return
        try:
            if not registry().visitor_rate.allows(self.visitor_key):
                rate = registry().visitor_rate.per_second
                raise RunError("too_fast", rate=rate, whom="you")
            binary = bytes_data is not None
            message, values = protocol.parse(text_data, binary=binary, messages=MESSAGES)
        except RunError as error:
            await self.refuse(error, protocol.ref_of(text_data))
            return
        if message.name == "stop":
            await pool().stop(self.exploration_id)
        self.refused = 0
        kind = "pong" if message.name == "ping" else "done"
        await self.send(protocol.encode(kind, ref=values["ref"]))

    async def refuse(self, error: RunError, ref: int | None = None) -> None:
        self.refused += 1
        await self.send(protocol.encode_error(error, ref))
        if self.refused > REFUSED_MAX:
            error = RunError("flood", count=REFUSED_MAX)
            await self.send(protocol.encode_error(error, ref))
        if error.closes:
            self.closing = True
            await self.close(error.closes)

    async def send(self, text_data: str | None = None, **others: Any) -> None:
        if not self.closing:
            await super().send(text_data, **others)
