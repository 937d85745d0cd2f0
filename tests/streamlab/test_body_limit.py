"""Requests that bring too much are answered before anything is kept of them."""

from typing import Any

import pytest

from streamlab.body_limit import BodyLimit

LIMIT = 100


async def reads_all(scope: Any, receive: Any, send: Any) -> None:
    """As Django does: reads to the end, then answers."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"read"})


async def answer(parts: list[bytes], *headers: tuple[bytes, bytes]) -> tuple[int, int]:
    """(status, parts that were read)."""
    left = list(parts)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": list(headers)}
    await BodyLimit(reads_all, LIMIT)(scope, receive, send)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    return sent[0]["status"], len(parts) - len(left)


@pytest.mark.parametrize(
    ("parts", "length", "expected"),
    [
        ([b"x" * 100], b"100", (200, 1)),
        ([b"x" * 101], b"101", (413, 0)),  # refused by what it says
        ([b"x" * 60] * 5, None, (413, 2)),  # says nothing: counted
        ([b"x" * 60] * 5, b"10", (413, 2)),  # says too little
        ([b"x"], b"nonsense", (200, 1)),
        ([b"x"], b"9" * 30, (200, 1)),
        ([b""], None, (200, 1)),
    ],
)
async def test_what_is_read(
    parts: list[bytes], length: bytes | None, expected: tuple[int, int]
) -> None:
    headers = [] if length is None else [(b"content-length", length)]
    assert await answer(parts, *headers) == expected


async def test_websockets_pass() -> None:
    seen: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    await BodyLimit(application, 0)({"type": "websocket"}, None, None)
    assert seen == ["websocket"]
