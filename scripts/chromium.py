"""Where Chromium is on this machine; with --install, bring it when it is nowhere.

The browser tests ask `find()`. The answer may be None: then they are skipped, loudly, or fail when
STREAMLAB_REQUIRE_BROWSER=1.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """The path of a browser that starts: $STREAMLAB_CHROMIUM, the system's, or Playwright's own."""
    named = os.environ.get("STREAMLAB_CHROMIUM")
    candidates = [named] if named else [*map(shutil.which, NAMES), playwrights_own()]
    for path in candidates:
        if path and os.access(path, os.X_OK) and starts(path):
            return path
    return None


def starts(path: str) -> bool:
    """Ubuntu's `chromium-browser` may be a stub that only asks for a snap: try it."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def playwrights_own() -> str | None:
    """In a process of its own: Playwright's loop must not stay behind in the caller's."""
    code = (
        "from playwright.sync_api import sync_playwright as p\n"
        "with p() as q: print(q.chromium.executable_path)"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def install() -> None:
    """Try what this machine allows; whether it worked, find() says."""
    print("No Chromium on this machine: installing one for the browser tests.", flush=True)
    attempts = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        attempts.insert(0, ["apt-get", "install", "-y", "-qq", "chromium"])
        attempts.insert(0, ["apt-get", "update", "-qq"])
    for command in attempts:
        print("  " + " ".join(command[-4:]), flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        if find():
            return


def main(arguments: list[str]) -> None:
    if find() is None and "--install" in arguments:
        install()
    path = find()
    if path is None:
        print(
            "NO BROWSER: Chromium is not here and could not be installed. The browser tests will "
            "be skipped.\nInstall Chromium, or set STREAMLAB_CHROMIUM to its path, to run them."
        )
    else:
        print("Chromium: " + path)


if __name__ == "__main__":
    main(sys.argv[1:])
