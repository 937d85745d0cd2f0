"""The site's way in with one more websocket, which says back what it hears."""

from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import ProtocolTypeRouter

from streamlab.asgi import application as site


class Echo(AsyncWebsocketConsumer):
    async def receive(self, text_data: str | None = None, bytes_data: Any = None) -> None:
        await self.send(text_data)


application = ProtocolTypeRouter({"http": site, "websocket": Echo.as_asgi()})
