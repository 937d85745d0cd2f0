"""Websocket addresses."""

from django.urls import path

from streamlab.explorations.consumers import ExplorationConsumer

websocket_urlpatterns = [
    path("ws/explorations/<str:exploration_id>/", ExplorationConsumer.as_asgi()),
]
