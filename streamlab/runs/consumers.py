"""One websocket: reads messages, asks the live run, answers. Knows neither the wire form nor the engine."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from streamlab.runs import protocol, questions
from streamlab.runs.errors import RunError
from streamlab.runs.live import Impossible, LiveRun
from streamlab.runs.messages import MESSAGES, Message
from streamlab.runs.outbox import Outbox
from streamlab.runs.registry import Registry, registry
from streamlab.runs.selectors import Owner, run_is_of

logger = logging.getLogger(__name__)

HELLO_SECONDS = 10
REFUSED_MAX = 200  # refusals in a row, after which the connection ends

Values = dict[str, Any]
Question = Callable[..., Awaitable[Values]]


class RunConsumer(AsyncWebsocketConsumer):
    registry: Callable[[], Registry] = staticmethod(registry)
    hello_seconds: float = HELLO_SECONDS

    async def dispatch(self, message: dict[str, Any]) -> None:
        """As Channels does, but for its visit to the database thread before each message.

        It closes connections there that this consumer does not use after `connect`.
        """
        if message["type"] == "websocket.receive":
            if not self.closing:
                await self.websocket_receive(message)
        else:
            await super().dispatch(message)

    async def connect(self) -> None:
        self.run_id: str = self.scope["url_route"]["kwargs"]["run_id"]
        self.live: LiveRun | None = None
        self.outbox: Outbox | None = None
        self.mine = False
        self.refused = 0
        self.said_hello = False
        self.closing = False
        self.asking = False
        self.tasks: set[asyncio.Task[Any]] = set()
        self.owner = await database_sync_to_async(owner_of)(self.scope)
        self.visitor_key = self.owner.visitor or secrets.token_hex(8)
        self.here = self.registry()
        await self.accept()
        self.in_background(self.wait_for_hello())

    async def wait_for_hello(self) -> None:
        await asyncio.sleep(self.hello_seconds)
        if not self.said_hello:
            await self.refuse(RunError("hello_late", seconds=self.hello_seconds))

    async def disconnect(self, code: int) -> None:
        if self.live is not None and self.outbox is not None:
            await self.live.detach(self.outbox)
        for task in self.tasks:
            task.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            if not self.here.visitor_rate.allows(self.visitor_key):
                rate = self.here.visitor_rate.per_second
                raise RunError("too_fast", rate=rate, whom="you")
            message, values = protocol.parse(text_data, binary=bytes_data is not None)
        except RunError as error:
            await self.refuse(error, protocol.ref_of(text_data))
            return
        ref = values.pop("ref", None)
        if (
            message.asking or message.name == "run_until"
        ):  # take their time; `pause` is heard meanwhile
            self.in_background(self.carry_out(message, values, ref))
        else:
            await self.carry_out(message, values, ref)

    async def carry_out(self, message: Message, values: Values, ref: int | None) -> None:
        try:
            if message.name != "hello" and self.live is None:
                raise RunError("hello_first")
            if message.driving:
                self.check_driver()
            await HANDLERS[message.name](self, ref=ref, **values)
            self.refused = 0
        except (RunError, Impossible) as error:
            await self.refuse(error, ref)
        except Exception:
            logger.exception("%s of run %s failed", message.name, self.run_id)
            await self.refuse(RunError("our_mistake"), ref)

    def check_driver(self) -> None:
        if not self.mine:
            raise RunError("not_yours")
        if not self.here.run_rate.allows(self.run_id):
            raise RunError(
                "too_fast", rate=self.here.run_rate.per_second, whom="this run's windows"
            )

    async def refuse(self, error: RunError | Impossible, ref: int | None = None) -> None:
        self.refused += 1
        await self.send(protocol.encode_error(error, ref))
        if self.refused > REFUSED_MAX:
            error = RunError("flood", count=REFUSED_MAX)
            await self.send(protocol.encode_error(error, ref))
        if error.code == "stale" and self.outbox is not None:
            self.outbox.want_view("other tab")
        if closes := getattr(error, "closes", 0):
            await self.end(closes)

    async def end(self, code: int) -> None:
        """Close from this side. What a flood still has under way is neither read nor answered.

        An answer would fail, and take `disconnect` with it.
        """
        if not self.closing:
            self.closing = True
            await self.close(code)

    async def send(self, text_data: str | None = None, **others: Any) -> None:
        if not self.closing:
            await super().send(text_data, **others)

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def done(self, ref: int) -> None:
        self.outbox.put_frame(protocol.encode("done", ref=ref))

    # ---- one method per message ---------------------------------------------------------------------

    async def hello(self, ref: None, protocol: int, credit: int, have: int | None) -> None:
        if self.live is not None:
            raise RunError("hello_twice")
        check_version(protocol)
        self.said_hello = True
        attached = False
        while not attached:
            live = await self.here.open(self.run_id)
            self.mine = await database_sync_to_async(run_is_of)(owner=self.owner, run=live.run)
            self.outbox = self.new_outbox(live, credit)
            attached = await live.attach(self.outbox, mine=self.mine, have=have)
        self.live = live
        self.in_background(self.keep_sending(self.outbox))

    def new_outbox(self, live: LiveRun, credit: int) -> Outbox:
        outbox = Outbox(
            send=self.send, view=live.view_frame, marks=lambda: live.marks, credit=credit
        )
        outbox.on_drained = live.player.drained
        return outbox

    async def keep_sending(self, outbox: Outbox) -> None:
        while True:
            try:
                await outbox.run()
            except RunError as error:  # there is no view to be had
                outbox.view_taken()
                await self.refuse(error)
            except Exception:
                logger.exception("run %s could not be shown", self.run_id)
                outbox.view_taken()
                await self.refuse(RunError("our_mistake"))
            outbox.wake.set()  # whatever else waits

    async def credit(self, ref: None, n: int) -> None:
        self.outbox.grant(n)

    async def step(self, ref: int, **asked: Any) -> None:
        await self.live.step(**asked)
        self.done(ref)

    async def choose(self, ref: int, **asked: Any) -> None:
        self.tell_outcome(ref, await self.live.choose(**asked))

    async def command(self, ref: int, **asked: Any) -> None:
        self.tell_outcome(ref, await self.live.command(**asked))

    def tell_outcome(self, ref: int, branch: LiveRun | None) -> None:
        if branch is not None:
            step = branch.run.fork_step
            self.outbox.put_frame(protocol.encode("branched", ref=ref, run=branch.id, step=step))
        self.done(ref)

    async def play(self, ref: int, rate: float) -> None:
        await self.live.play(rate)
        self.done(ref)

    async def pause(self, ref: int) -> None:
        await self.live.player.stop()
        self.done(ref)

    async def rate(self, ref: None, rate: float) -> None:
        self.live.player.set_rate(rate)

    async def run_until(self, ref: int, **asked: Any) -> None:
        await self.live.run_until(asked=self.outbox, **asked)
        self.done(ref)

    async def seek(self, ref: int, step: int) -> None:
        await self.live.seek(step, asked=self.outbox)
        self.done(ref)

    async def watch(self, ref: int, name: str, on: bool) -> None:
        await self.live.invariants.watch(name, on)
        self.done(ref)

    async def explain(self, ref: int, **asked: Any) -> None:
        await self.answer("explanation", ref, questions.explain, asked)

    async def explain_late(self, ref: int, **asked: Any) -> None:
        await self.answer("explanation", ref, questions.explain_late, asked)

    async def lineage(self, ref: int, **asked: Any) -> None:
        await self.answer("lineage", ref, questions.lineage, asked)

    async def space_time(self, ref: int, **asked: Any) -> None:
        await self.answer("space_time", ref, questions.space_time, asked)

    async def answer(self, kind: str, ref: int, question: Question, asked: Values) -> None:
        if self.asking:
            raise RunError("still_asking")
        self.asking = True
        try:
            found = await question(self.live, **asked)
        finally:
            self.asking = False
        await self.send(protocol.encode(kind, ref=ref, **found))

    async def ping(self, ref: int) -> None:
        await self.send(protocol.encode("pong", ref=ref))


Handler = Callable[..., Awaitable[None]]
HANDLERS: dict[str, Handler] = {name: getattr(RunConsumer, name) for name in MESSAGES}


def check_version(version: int) -> None:
    if version != protocol.VERSION:
        raise RunError("old_page", place="hello.protocol")


def owner_of(scope: dict[str, Any]) -> Owner:
    """Reads the session, hence the database."""
    session, user = scope.get("session"), scope.get("user")
    return Owner(
        visitor=session.get("visitor", "") if session is not None else "",
        user_id=user.pk if user is not None and user.is_authenticated else None,
    )
