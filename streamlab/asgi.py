"""The way in, for any ASGI server: `daphne streamlab.asgi:application`, or uvicorn."""

import atexit
import gc
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamlab.settings")
pages = get_asgi_application()  # before anything that imports models

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import WebsocketDenier  # noqa: E402
from django.urls import re_path  # noqa: E402

from streamlab.body_limit import BodyLimit  # noqa: E402
from streamlab.explorations import routing as explorations  # noqa: E402
from streamlab.runs import routing as runs  # noqa: E402
from streamlab.websocket_hosts import AllowedHostValidator, SameOriginValidator  # noqa: E402

elsewhere = re_path(r"", WebsocketDenier.as_asgi())

application = ProtocolTypeRouter(
    {
        "http": BodyLimit(pages),
        "websocket": AllowedHostValidator(
            SameOriginValidator(
                AuthMiddlewareStack(
                    URLRouter(
                        [
                            *runs.websocket_urlpatterns,
                            *explorations.websocket_urlpatterns,
                            elsewhere,
                        ]
                    )
                )
            )
        ),
    }
)

# Under Python 3.11 daphne ends in a segmentation fault when it is stopped with a websocket open:
# the collector walks objects that are half torn down. Frozen objects it leaves alone.
atexit.register(gc.freeze)
