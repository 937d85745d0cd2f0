"""A browser without a picture: opens pages, makes runs, drives them over a real connection.

Used by the tests that start the server as a process, and by benchmarks/load.py.
"""

import asyncio
import http.cookiejar
import json
import re
import urllib.request
from dataclasses import dataclass, field
from typing import Any, Self

import websockets

ANSWER_SECONDS = 20


@dataclass(frozen=True)
class Visit:
    """A visitor with a run of a lab."""

    server: str  # http://127.0.0.1:8000
    cookie: str
    csrf: str
    run: str


def visit(server: str, lab: str, **asked: Any) -> Visit:
    """Open the lab's page as somebody new and make a run, as the page does at the first step."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with browser.open(f"{server}/labs/{lab}/", timeout=ANSWER_SECONDS) as response:
        page = response.read().decode()
    found = re.search(r'<script id="boot"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found is not None
    boot = json.loads(found.group(1))
    request = urllib.request.Request(
        server + boot["urls"]["create"],
        data=json.dumps(asked).encode(),
        headers={"X-CSRFToken": boot["csrf"], "Content-Type": "application/json"},
    )
    with browser.open(request, timeout=ANSWER_SECONDS) as response:
        made = json.load(response)
    cookie = "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)
    return Visit(server, cookie, boot["csrf"], made["run"])


@dataclass
class Client:
    """One socket. `steps` has every step that came, by number; `seen` the messages but for those."""

    visit: Visit
    credit: int = 4000
    position: int = 0
    head: int = 0
    steps: dict[int, dict[str, Any]] = field(default_factory=dict)
    seen: list[dict[str, Any]] = field(default_factory=list)
    ref: int = 0
    used: int = 0
    socket: Any = None

    async def connect(self, have: int | None = None) -> Self:
        visit = self.visit
        self.socket = await websockets.connect(
            visit.server.replace("http", "ws") + f"/ws/runs/{visit.run}/",
            additional_headers={"Cookie": visit.cookie},
            origin=visit.server,  # type: ignore[arg-type]
            max_size=None,
            open_timeout=60,
        )
        self.used = 0
        await self.send("hello", protocol=1, credit=self.credit, have=have)
        self.position = have or 0
        await self.until("welcome")
        await self.until("status")  # the view, or what was missing, has come
        return self

    async def send(self, kind: str, **fields: Any) -> int:
        self.ref += 1
        await self.socket.send(json.dumps({"type": kind, "ref": self.ref, **fields}))
        return self.ref

    async def drive(self, kind: str, **fields: Any) -> dict[str, Any]:
        expected = {"head": self.head, "position": self.position}
        ref = await self.send(kind, **{**expected, **fields})
        while True:
            message = await self.receive()
            if message["type"] in ("done", "error", "pong") and message["ref"] == ref:
                return message

    async def receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(
            await asyncio.wait_for(self.socket.recv(), ANSWER_SECONDS)
        )
        kind = message["type"]
        if kind == "steps":
            if message["steps"]:
                assert message["from"] == self.position, "a step was lost"
            self.position, self.head = message["to"], message["head"]
            self.steps |= {step["step"]: step for step in message["steps"]}
            await self.grant(sum(len(step["events"]) for step in message["steps"]))
        else:
            self.seen.append(message)
        if kind == "view":
            self.position, self.head = message["step"], message["head"]
            await self.grant(1)
        return message

    async def grant(self, events: int) -> None:
        self.used += events
        if self.used > self.credit // 4:
            used, self.used = self.used, 0
            await self.send("credit", n=used)

    async def until(self, kind: str, *, position: int = 0) -> dict[str, Any]:
        while True:
            message = await self.receive()
            if message["type"] == kind and self.position >= position:
                return message

    async def close(self) -> None:
        await self.socket.close()
