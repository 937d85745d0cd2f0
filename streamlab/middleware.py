"""Headers that every answer carries, and static files without a detour."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware
from whitenoise.middleware import WhiteNoiseMiddleware

# connect-src follows default-src: 'self' covers the websocket of the same origin.
# Images may be data: URLs, because style sheets hold small pictures in that form.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=()"


@sync_and_async_middleware
def security_headers(
    get_response: Callable[[HttpRequest], Any],
) -> Callable[[HttpRequest], Any]:
    """No script, style, font or connection from anywhere but this site, and nothing inline."""

    def add_headers(response: HttpResponse) -> HttpResponse:
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        return response

    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            return add_headers(await get_response(request))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        return add_headers(get_response(request))

    return synchronous


@sync_and_async_middleware
def user_at_hand(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Asynchronous views render templates that say who is signed in; a template cannot wait for the database.

    A browser without a session costs no query.
    """
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            request.user = await request.auser()
            return await get_response(request)

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        str(request.user)  # looks, now
        return get_response(request)

    return synchronous


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """WhiteNoise on the event loop.

    WhiteNoise's own middleware is synchronous: under ASGI every file would queue for the one thread
    that all database calls share, and be streamed back through it in pieces.
    """

    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if iscoroutinefunction(self):
            return self.answer(request)
        response = self.static_file(request)
        return self.get_response(request) if response is None else response

    async def answer(self, request: HttpRequest) -> HttpResponse:
        response = self.static_file(request)
        return await self.get_response(request) if response is None else response

    def static_file(self, request: HttpRequest) -> HttpResponse | None:
        found = (
            self.find_file(request.path_info)
            if self.autorefresh
            else self.files.get(request.path_info)
        )
        if found is None:
            return None
        answer = found.get_response(request.method, request.META)
        content = b""
        if answer.file is not None:
            with answer.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(answer.status))
        del response.headers["Content-Type"]  # the right one is among these:
        for name, value in answer.headers:
            response.headers[name] = value
        return response
