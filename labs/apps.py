"""The Django app of the teaching side."""

from django.apps import AppConfig


class LabsConfig(AppConfig):
    name = "labs"

    def ready(self) -> None:
        from labs import system_checks  # noqa: F401 (registers itself)
