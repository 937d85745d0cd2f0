"""Make .venv from requirements.lock, and remake it only when the lock changes.

    python3 scripts/bootstrap.py            what the site and its tests need
    python3 scripts/bootstrap.py --bench    also what `make bench` compares with

Uses uv where it is installed, else venv and pip. Needs nothing but the standard library, and must
stay readable to an old Python, so that it can say in one sentence that it is old.
"""

import hashlib
import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
LOCK = os.path.join(ROOT, "requirements.lock")
BENCH_LOCK = os.path.join(ROOT, "requirements-bench.lock")


class CannotBootstrap(Exception):
    """Something that only the person at the keyboard can mend; the message is one sentence."""


def ensure(bench=False):
    """Return the path of an interpreter that has everything the lock names."""
    python = sys.executable if sys.version_info >= OLDEST else find_newer_python()
    with only_one_at_a_time():
        ensure_installed(python, LOCK, "lock", install_afresh)
        if bench:
            ensure_installed(python, BENCH_LOCK, "bench", install_on_top)
    return VENV_PYTHON


def find_newer_python():
    """An old Python was asked: another one of this machine will do."""
    for minor in range(19, OLDEST[1] - 1, -1):
        found = shutil.which("python3.%d" % minor)
        if found:
            return found
    raise CannotBootstrap(
        "StreamLab needs Python %d.%d or newer, and this is Python %d.%d: install a newer one, or "
        "name it, as in `make run PYTHON=/path/to/python3.11`." % (OLDEST + sys.version_info[:2])
    )


def ensure_installed(python, lock, name, install):
    """Install `lock` unless the stamp in .venv says that exactly this lock is installed."""
    stamp = os.path.join(VENV, "installed-" + name)
    with open(lock, "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    if os.path.exists(VENV_PYTHON) and read(stamp) == wanted:
        return
    install(python, lock)
    with open(stamp, "w") as file:
        file.write(wanted)


def install_afresh(python, lock):
    print("Making .venv from requirements.lock, once; this takes a minute.", flush=True)
    uv = shutil.which("uv")
    if uv:
        run([uv, "venv", "--quiet", "--clear", "--no-python-downloads", "-p", python, VENV])
    else:
        if subprocess.call([python, "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL):
            raise CannotBootstrap(
                "This Python cannot make virtual environments, because its ensurepip is missing: "
                "on Debian and Ubuntu `apt install python3-venv` brings it."
            )
        run([python, "-m", "venv", "--clear", VENV])
    install_on_top(python, lock)


def install_on_top(_python, lock):
    """Wheels only, and only those whose hashes the lock names."""
    uv = shutil.which("uv")
    if uv:
        installer = [uv, "pip", "install", "--quiet", "--python", VENV_PYTHON, "--no-build"]
    else:
        installer = [VENV_PYTHON, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        installer += ["--disable-pip-version-check"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            installer += ["--root-user-action", "ignore"]
    run([*installer, "--require-hashes", "-r", lock])


def run(command):
    if subprocess.call(command):
        raise CannotBootstrap(
            "`%s` failed, for the reason above; once that is mended, the same command goes on."
            % " ".join(
                os.path.relpath(word, ROOT) if word.startswith(ROOT) else word for word in command
            )
        )


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return None


class only_one_at_a_time:
    """Two `make` at once must not build the same folder; the second waits for the first."""

    def __enter__(self):
        import fcntl

        path = os.path.join(ROOT, "var", "bootstrap.lock")
        try:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            self.file = open(path, "w")
        except OSError as error:
            raise CannotBootstrap(
                "StreamLab writes into its own folder, and %s cannot be written (%s): use a checkout "
                "of your own." % (path, error.strerror)
            ) from error
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def main(arguments):
    try:
        ensure(bench="--bench" in arguments)
    except CannotBootstrap as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
