"""Start StreamLab: prepare the database, the pages and the labs, then serve until stopped."""

import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command
from django.db import connections

from courses.services import course_default
from labs.catalog import catalog
from streamlab.addresses import is_loopback, lan_address, listen


class Command(BaseCommand):
    help = "Prepare everything and serve StreamLab; HOST and PORT say where (see .env.example)."
    requires_system_checks: list[str] = []  # a broken lab is told below, and stops nothing

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--prepare", action="store_true", help="prepare only: another server will serve"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.prepare()
        if not options["prepare"]:
            self.serve()

    def prepare(self) -> None:
        self.say("Database: up to date.", call_command, "migrate", interactive=False, verbosity=0)
        self.say("Pages: ready.", call_command, "collectstatic", interactive=False, verbosity=0)
        course_default()
        found = catalog()
        for problem in found.problems:
            self.stderr.write(self.style.WARNING(f"Hidden, because it is broken: {problem}"))
        titles = ", ".join(lab.title for lab in found.labs) or "none"
        self.stdout.write(f"Labs: {titles}.")

    def say(self, done: str, action: Any, *args: Any, **kwargs: Any) -> None:
        action(*args, **kwargs)
        self.stdout.write(done)
        self.stdout.flush()

    def serve(self) -> None:
        try:
            listener = listen(settings.HOST, settings.PORT)
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {settings.HOST}, port {settings.PORT or '8000 and up'} "
                f"({error.strerror}): name a free one, as in `PORT=9000 make run`."
            ) from error
        addresses = self.addresses(listener)
        settings.CSRF_TRUSTED_ORIGINS += addresses
        connections.close_all()
        serve_with_daphne(listener, lambda: self.tell(addresses))

    def addresses(self, listener: socket.socket) -> list[str]:
        """What to type into a browser; the most useful one last."""
        port = listener.getsockname()[1]
        here = f"http://127.0.0.1:{port}"
        if is_loopback(settings.HOST):
            return [here]
        if settings.HOST == "0.0.0.0":
            return list(dict.fromkeys([here, f"http://{lan_address()}:{port}"]))
        return [f"http://{settings.HOST}:{port}"]

    def tell(self, addresses: list[str]) -> None:
        self.stdout.write("Stop with Ctrl+C. Open in a browser:")
        for address in addresses:
            self.stdout.write(f"  {address}/")
        self.stdout.flush()


def serve_with_daphne(listener: socket.socket, when_ready: Any) -> None:
    """Returns when SIGTERM or SIGINT has come."""
    from daphne.server import Server

    from streamlab.asgi import application

    Server(
        application,
        endpoints=[f"fd:fileno={listener.fileno()}"],
        ready_callable=when_ready,
        server_name="StreamLab",
        verbosity=0,
    ).run()
