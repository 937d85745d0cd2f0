"""The Django app of the live runs."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "streamlab.runs"
    label = "runs"
