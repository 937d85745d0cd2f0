"""The site's settings, with everything that a test writes in a folder that goes away.

Servers that tests start as processes inherit VAR_DIR, and so never touch the developer's data.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

if "STREAMLAB_TEST_DIR" not in os.environ:
    os.environ["STREAMLAB_TEST_DIR"] = tempfile.mkdtemp(prefix="streamlab-tests-")
    atexit.register(shutil.rmtree, os.environ["STREAMLAB_TEST_DIR"], ignore_errors=True)
SCRATCH = Path(os.environ["STREAMLAB_TEST_DIR"])
os.environ.update(VAR_DIR=str(SCRATCH), HOST="127.0.0.1", PORT="0", DEBUG="0")
os.environ.setdefault("DATABASE_URL", f"sqlite:///{SCRATCH / 'db.sqlite3'}")

from streamlab.settings import *  # noqa: E402, F403
from streamlab.settings import BASE_DIR, DATABASES  # noqa: E402

STATIC_BUILD_DIR = BASE_DIR / "var" / "static-build"  # fonts are built once, not once per test run
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick, and that is all

# A file: another process can open it, which an in-memory database would not allow.
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["TEST"] = {"NAME": str(SCRATCH / "test.sqlite3")}
