"""Let somebody back in who has forgotten the password."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand

from courses.management.links import account_named, add_site, told


class Command(BaseCommand):
    help = "Print a one-time link with which the owner of an account chooses a new password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="sign-in name")
        add_site(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(told(account_named(options["name"]), options["site"]))
