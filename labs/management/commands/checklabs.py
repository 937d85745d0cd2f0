"""Check lab folders; name file, line and mend of whatever is wrong."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from labs.catalog import CONTENT, is_lab, whole_lab
from labs.problems import LabInvalid


class Command(BaseCommand):
    help = "Check every lab folder, or those that are named."
    requires_system_checks: list[str] = []  # they would say the same twice

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slugs", nargs="*", metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        known = sorted(path.name for path in CONTENT.iterdir() if is_lab(path))
        slugs = options["slugs"] or known
        broken = 0
        for slug in slugs:
            if slug not in known:
                raise CommandError(f"No lab is called {slug!r}. There are: {', '.join(known)}.")
            try:
                lab = whole_lab(CONTENT / slug)
                self.stdout.write(f"{slug}: good ({lab.title}, version {lab.digest[:12]})")
            except LabInvalid as error:
                broken += 1
                for problem in error.problems:
                    self.stdout.write(str(problem))
        if broken:
            raise CommandError(f"{broken} of {len(slugs)} labs cannot be offered as they are.")
