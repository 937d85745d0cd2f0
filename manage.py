#!/usr/bin/env python3
"""Django's command line, which makes its own virtual environment when it has none.

Must stay readable to an old Python: scripts/bootstrap.py says in one sentence that it is old.
"""

import os
import sys


def main():
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "streamlab.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        restart_in_own_environment()
    execute_from_command_line(sys.argv)


def restart_in_own_environment():
    """Started as `python3 manage.py up` on a fresh machine: do what `make run` does."""
    from scripts import bootstrap

    try:
        python = bootstrap.ensure()
    except bootstrap.CannotBootstrap as error:
        sys.exit(str(error))
    if os.path.abspath(sys.executable) == python:
        sys.exit(
            "Django cannot be imported though .venv is up to date: delete .venv and try again."
        )
    os.execv(python, [python] + sys.argv)  # noqa: RUF005 (readable to an old Python)


if __name__ == "__main__":
    main()
