"""Write the table of refusals in docs/howto/courses.md from the catalogue."""

import re
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError

from courses.errors import CATALOGUE

PATH = settings.BASE_DIR / "docs" / "howto" / "courses.md"
TABLE = re.compile(r"(?s)\| code \| sentence \| mend \|\n.*?(?=\n\n|\Z)")


def table() -> str:
    rows = [
        f"| `{code}` | {refusal.sentence} | {refusal.mend} |" for code, refusal in CATALOGUE.items()
    ]
    return "\n".join(["| code | sentence | mend |", "|---|---|---|", *rows])


class Command(BaseCommand):
    help = "Write the refusals of accounts and courses into docs/howto/courses.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only say whether it is right")

    def handle(self, *args: Any, **options: Any) -> None:
        before = PATH.read_text(encoding="utf-8")
        after = TABLE.sub(lambda _: table(), before).rstrip() + "\n"
        if options["check"]:
            if before != after:
                raise CommandError("docs/howto/courses.md is old: run manage.py coursedocs.")
        else:
            PATH.write_text(after, encoding="utf-8")
