"""Websockets under a foreign Host header or of a foreign page are refused, as POSTs are."""

from collections.abc import Awaitable, Callable
from typing import Any

from channels.security.websocket import OriginValidator, WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

Application = Callable[[dict[str, Any], Callable, Callable], Awaitable[None]]


class AllowedHostValidator:
    """Checks the Host header.

    A page that reaches this server under a name of its own (DNS rebinding) sends an Origin that
    matches its Host header: both must be right.
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


class SameOriginValidator:
    """Checks the Origin header: the site under the Host header, or one of CSRF_TRUSTED_ORIGINS.

    Channels' AllowedHostsOriginValidator takes any port. Cookies know no ports either: a page on
    another port of this machine could drive the runs of whoever opens it.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Callable, send: Callable) -> None:
        host = dict(scope["headers"])[b"host"].decode("latin-1")
        trusted = [origin.replace("://*.", "://.") for origin in settings.CSRF_TRUSTED_ORIGINS]
        origins = [f"http://{host}", f"https://{host}", *trusted]
        await Origins(self.application, origins)(scope, receive, send)


class Origins(OriginValidator):
    def valid_origin(self, parsed_origin: Any) -> bool:
        try:
            return bool(super().valid_origin(parsed_origin))
        except ValueError:  # a port that is no number
            return False
