"""Go back to a backup."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, call_command

from courses import backups
from courses.errors import CourseError


class Command(BaseCommand):
    help = "Replace the database by what FILE holds. Stop the server first; the present database is kept beside it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--yes", action="store_true", help="really")

    def handle(self, *args: Any, **options: Any) -> None:
        file = options["file"]
        try:
            backups.check(file)
            if not options["yes"]:
                raise CommandError(
                    f"{file} is a whole backup. Restoring replaces all that is here now: stop the server and add --yes."
                )
            kept = backups.restore(file)
        except CourseError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{file} cannot be read ({error.strerror}).") from None
        call_command("migrate", interactive=False, verbosity=0)
        self.stdout.write(f"Restored from {file}. What was here before is in {kept}.")
