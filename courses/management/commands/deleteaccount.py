"""Delete a person's account and data."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from courses import personal_data
from courses.errors import CourseError
from courses.management.links import account_named


class Command(BaseCommand):
    help = "Delete an account with its runs, answers and scores. Nothing personal is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="sign-in name")
        parser.add_argument("--yes", action="store_true", help="really")
        parser.add_argument(
            "--leave-courses",
            action="store_true",
            help="even if a course loses its last instructor",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = account_named(options["name"])
        if not options["yes"]:
            raise CommandError(f"This deletes {user.username} for good: add --yes.")
        try:
            personal_data.delete(user=user, leaving_courses_alone=options["leave_courses"])
        except CourseError as error:
            raise CommandError(f"{error} Or add --leave-courses.") from None
        self.stdout.write(f"{options['name']} has been deleted.")
