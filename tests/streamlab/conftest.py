"""Fixtures of the live runs.

lab       the lab `counting` of this folder, known to the server
connect   opens a socket of a visitor to a run: `await connect(run, "ada")`
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from channels.db import database_sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.urls import path

from engine import Recording
from labs.spec import LabSpec, load_lab
from streamlab.runs import protocol, recordings, selectors, services
from streamlab.runs.consumers import RunConsumer
from streamlab.runs.models import Run
from streamlab.runs.registry import Registry, registry
from streamlab.runs.selectors import Owner

HERE = Path(__file__).parent
ANSWER_SECONDS = 5


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> LabSpec:
    settings.VAR_DIR = tmp_path
    spec = load_lab(HERE / "counting")
    monkeypatch.setattr(services, "find_lab", {spec.slug: spec}.get)
    return spec


@pytest.fixture
def run(lab: LabSpec, transactional_db: None) -> Run:
    """Ada's run, at step 0."""
    return services.run_create(lab=lab, owner=Owner("ada"))


@pytest.fixture
def short_run(lab: LabSpec, transactional_db: None) -> Run:
    """Over after a few steps."""
    return services.run_create(lab=lab, owner=Owner("ada"), parameters={"size": 2})


class Socket:
    """A websocket to a run, as a browser has it. Folds nothing, but keeps what it got."""

    def __init__(self, communicator: WebsocketCommunicator) -> None:
        self.communicator = communicator
        self.ref = 0
        self.head = self.position = 0
        self.got: list[dict[str, Any]] = []
        self.steps: dict[int, dict[str, Any]] = {}
        self.marks: list[Any] = []

    async def send(self, kind: str, **fields: Any) -> int:
        self.ref += 1
        await self.send_text(orjson.dumps({"type": kind, "ref": self.ref, **fields}).decode())
        return self.ref

    async def send_text(self, text: str) -> None:
        await self.communicator.send_to(text_data=text)

    async def drive(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send with what this page believes; returns the answer: done or error."""
        expected = {"head": self.head, "position": self.position}
        ref = await self.send(kind, **{**expected, **fields})
        return await self.answer(ref)

    async def answer(self, ref: int) -> dict[str, Any]:
        return await self.until(
            lambda message: message["type"] in ("done", "error", "pong") and message["ref"] == ref
        )

    async def receive(self, timeout: float = ANSWER_SECONDS) -> dict[str, Any]:
        message = orjson.loads(await self.communicator.receive_from(timeout))
        self.got.append(message)
        if message["type"] == "view":
            self.head, self.position = message["head"], message["step"]
        elif message["type"] == "steps":
            if message["steps"]:
                assert message["from"] == message["steps"][0]["step"] - 1 == self.position
            self.head, self.position = message["head"], message["to"]
            self.steps |= {step["step"]: step for step in message["steps"]}
            self.marks += message["marks"]
        elif message["type"] == "marks":
            self.marks = message["marks"]
        elif message["type"] == "welcome":
            self.head, self.position = message["run"]["head"], message["run"]["position"]
        return message

    async def until(self, wanted: str | Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = asyncio.get_running_loop().time() + 2 * ANSWER_SECONDS
        while True:
            assert asyncio.get_running_loop().time() < deadline, "it did not come"
            message = await self.receive()
            if message["type"] == wanted if isinstance(wanted, str) else wanted(message):
                return message

    async def silence(self, seconds: float = 0.15) -> bool:
        return await self.communicator.receive_nothing(seconds)

    async def close(self) -> None:
        # A communicator whose receive_from timed out has cancelled its application.
        with contextlib.suppress(asyncio.CancelledError):
            await self.communicator.disconnect()

    async def drain(self) -> None:
        """Everything that is under way."""
        while not await self.silence():
            await self.receive()

    def last(self, kind: str) -> dict[str, Any]:
        return next(message for message in reversed(self.got) if message["type"] == kind)


Connect = Callable[..., Awaitable[Socket]]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    sockets: list[Socket] = []

    async def open_socket(
        run: str | Run,
        visitor: str = "ada",
        *,
        hello: bool = True,
        server: Registry | None = None,
        credit: int = 100_000,
        have: int | None = None,
        hello_seconds: float = 10,
        position: int = 0,
    ) -> Socket:
        run_id = run.pk if isinstance(run, Run) else run

        class Consumer(RunConsumer):
            pass

        Consumer.registry = staticmethod(lambda: server or registry())
        Consumer.hello_seconds = hello_seconds
        app = URLRouter([path("ws/runs/<str:run_id>/", Consumer.as_asgi())])

        async def with_session(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "session": {"visitor": visitor}}, receive, send)

        communicator = WebsocketCommunicator(with_session, f"/ws/runs/{run_id}/")
        assert (await communicator.connect(timeout=ANSWER_SECONDS))[0]
        socket = Socket(communicator)
        sockets.append(socket)
        if hello:
            await socket.send("hello", protocol=1, credit=credit, have=have)
            socket.welcome = await socket.until("welcome")
            if have is None:
                if credit > 0:
                    await socket.until("view")
            else:
                socket.position = have
        return socket

    yield open_socket
    for socket in sockets:
        await socket.close()
    await registry().close()


def replay(run: Run) -> Recording:
    """The engine itself, from the stored choices, at the head."""
    recording = recordings.open_recording(
        lab=load_lab(HERE / "counting"),
        parameters=run.parameters,
        policy=run.policy,
        quantum=run.quantum,
        seed=run.seed,
        log=selectors.run_log(run=run),
    )
    recording.seek(recording.head)
    return recording


def view_at(recording: Recording, step: int) -> Any:
    """As a browser gets it."""
    recording.seek(step)
    return orjson.loads(protocol.encode_part(recording.view()))


def traces_of(recording: Recording) -> dict[int, Any]:
    """Every step with its events, as a browser gets it."""
    recording.seek(0)
    return {
        trace.step: orjson.loads(protocol.encode_step(trace.step, trace.action, "", trace.events))
        for trace in recording.step(recording.head, events=True)
    }


def without_say(steps: dict[int, Any]) -> dict[int, Any]:
    return {number: {**step, "say": ""} for number, step in steps.items()}


async def in_database(function: Callable[..., Any], **arguments: Any) -> Any:
    return await database_sync_to_async(function)(**arguments)


async def eventually(condition: Callable[[], Any], seconds: float = ANSWER_SECONDS) -> Any:
    """Wait until the condition holds; it may be a coroutine function."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        value = condition()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return value
        assert asyncio.get_running_loop().time() < deadline, "it did not happen"
        await asyncio.sleep(0.01)
