"""Delete answers of visitors without an account that nobody has come back to."""

from typing import Any

from django.core.management import BaseCommand

from labs.services import answers_expire


class Command(BaseCommand):
    help = "Delete answers of visitors without an account after their time; run it once a day, with expireruns."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{answers_expire()} variants and their answers were deleted.")
