"""The Django app of the explorations."""

from django.apps import AppConfig


class ExplorationsConfig(AppConfig):
    name = "streamlab.explorations"
    label = "explorations"
