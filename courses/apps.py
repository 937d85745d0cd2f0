"""The Django app of people and courses."""

from django.apps import AppConfig


class CoursesConfig(AppConfig):
    name = "courses"

    def ready(self) -> None:
        from courses import answers_of_people, runs_of_people  # noqa: F401 (register themselves)
