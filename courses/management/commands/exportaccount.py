"""Hand out all that is kept of a person."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from courses import personal_data
from courses.management.links import account_named


class Command(BaseCommand):
    help = "Write everything that is kept of an account into a zip of JSON files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="sign-in name")
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        content = personal_data.export(user=account_named(options["name"]))
        try:
            descriptor = os.open(options["file"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(
                f"{options['file']} cannot be written ({error.strerror}): name a new file."
            ) from None
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        self.stdout.write(f"{options['file']}: {len(content):,} bytes.")
