"""Make an instructor. There is no default password: the link that is printed sets one."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from courses import accounts, services
from courses.errors import CourseError
from courses.management.links import add_site, told


class Command(BaseCommand):
    help = "Make an account that may make courses, or let an account do so, and print a one-time link for its password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="sign-in name")
        parser.add_argument("--shown-as", default="", help="as students read it")
        add_site(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = accounts.instructor_make(name=options["name"], shown_as=options["shown_as"])
        except CourseError as error:
            raise CommandError(str(error)) from None
        course = services.course_default()
        services.default_course_teach(course=course, user=user)
        self.stdout.write(told(user, options["site"]))
