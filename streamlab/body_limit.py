"""No request may bring more than a page of this site would send."""

from collections.abc import Awaitable, Callable
from typing import Any

BYTES_MAX = 4_000_000  # a roster has at most 1 MB

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

SENTENCE = (
    f"This request is larger than {BYTES_MAX // 1_000_000} MB, which nothing here takes. "
    "Send less, or split the file.\n"
)


class TooLarge(Exception):
    """More came than the request said, or it did not say how much comes."""


class BodyLimit:
    """Before Django, which writes the whole body to a file first and looks at it then."""

    def __init__(self, application: Any, limit: int = BYTES_MAX) -> None:
        self.application = application
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        if announced(scope) > self.limit:
            await refuse(send)
            return
        came = 0
        begun = False

        async def counted() -> dict[str, Any]:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self.limit:
                raise TooLarge
            return message

        async def noted(message: dict[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.application(scope, counted, noted)
        except TooLarge:
            if not begun:
                await refuse(send)


def announced(scope: Scope) -> int:
    """0 where the request does not say, or says nonsense: then what comes is counted."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and len(value) < 20:
            return int(value)
    return 0


async def refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": SENTENCE.encode()})
