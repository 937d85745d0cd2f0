"""Websockets under a foreign Host header are refused, as pages are."""

from collections.abc import Awaitable, Callable
from typing import Any

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

Application = Callable[[dict[str, Any], Callable, Callable], Awaitable[None]]


class AllowedHostValidator:
    """Checks the Host header; Channels' AllowedHostsOriginValidator checks only Origin.

    A page that reaches this server under a name of its own (DNS rebinding) sends an Origin that
    matches nothing either, but a client may leave Origin out or forge it: both must be right.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Callable, send: Callable) -> None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        domain = split_domain_port(hosts[0].decode("latin-1"))[0] if len(hosts) == 1 else ""
        if domain and validate_host(domain, settings.ALLOWED_HOSTS):
            await self.application(scope, receive, send)
        else:
            await WebsocketDenier()(scope, receive, send)
