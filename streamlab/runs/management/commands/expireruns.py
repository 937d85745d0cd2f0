"""Delete runs without an account that nobody has used for a while."""

from typing import Any

from django.core.management import BaseCommand

from streamlab.runs.services import runs_expire


class Command(BaseCommand):
    help = "Delete anonymous runs that have expired (RUN_ANONYMOUS_DAYS after their last use)."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Expired runs deleted: {runs_expire()}.")
