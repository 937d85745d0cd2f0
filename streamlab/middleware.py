"""Headers that every answer carries."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

# connect-src follows default-src: 'self' covers the websocket of the same origin.
# Images may be data: URLs, because style sheets hold small pictures in that form.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=()"


@sync_and_async_middleware
def content_security_policy(
    get_response: Callable[[HttpRequest], Any],
) -> Callable[[HttpRequest], Any]:
    """No script, style, font or connection from anywhere but this site, and nothing inline."""

    def add_headers(response: HttpResponse) -> HttpResponse:
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        return response

    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            return add_headers(await get_response(request))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        return add_headers(get_response(request))

    return synchronous
