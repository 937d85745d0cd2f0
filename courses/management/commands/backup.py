"""Back up everything into one file, while the server runs."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from courses import backups
from courses.errors import CourseError


class Command(BaseCommand):
    help = (
        "Write the whole database, lab versions included, into FILE. The server may run meanwhile."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        file = options["file"]
        try:
            size = backups.backup(file)
        except CourseError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(
                f"{file} cannot be written ({error.strerror}): name a new file."
            ) from None
        self.stdout.write(
            f"{file}: {size:,} bytes. It holds personal data: keep it as safe as the server."
        )
