"""A SECRET_KEY that is made once per installation and kept in a file that only its owner reads."""

import os
import secrets
import tempfile
from pathlib import Path


def kept_secret_key(path: Path) -> str:
    """Return the key in `path`, writing one with mode 0600 first where there is none.

    Two processes that start at once agree: the file appears complete or not at all, and only once.
    """
    if not path.exists():
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".secret_key")  # mode 0600
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(50))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(draft)
    return path.read_text().strip()
