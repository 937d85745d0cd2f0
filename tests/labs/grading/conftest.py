"""Every attack meets every backend that this machine has, as the user who runs the tests and as one without rights."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from labs.grading.sandbox import bubblewrap, layers

ROOT = Path(__file__).resolve().parents[3]
NOBODY = 65534

Grade = Callable[..., dict[str, Any]]
"""(source, how many tests, settings of the limits) -> the report, as its JSON says it"""


def _readable_python() -> str | None:
    """An interpreter of this version that anybody may start, and read the checkout with."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (os.path.realpath(sys.executable), f"/usr/bin/{version}"):
        if shutil.which(candidate) and _as_nobody([candidate, "-c", f"open({str(__file__)!r})"]):
            return candidate
    return None


def _as_nobody(command: list[str]) -> bool:
    try:
        done = subprocess.run(
            command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=False
        )
    except PermissionError:
        return False
    return done.returncode == 0


BACKENDS = ["inner", "outer"]
USERS = ["nobody inner", "nobody outer"] if os.geteuid() == 0 else []


@pytest.fixture(scope="session", params=[*BACKENDS, *USERS])
def grade(request: pytest.FixtureRequest) -> Iterator[Grade]:
    """Grades submissions to the counting question, with one backend, as one user."""
    yield from _grade(request)


@pytest.fixture(scope="session", params=BACKENDS)
def grade_here(request: pytest.FixtureRequest) -> Iterator[Grade]:
    """As `grade`, as the present user alone: for what does not depend on rights."""
    yield from _grade(request)


def _grade(request: pytest.FixtureRequest) -> Iterator[Grade]:
    if not all(layer.active for layer in layers()[1:]):
        pytest.skip(next(layer.sentence for layer in layers() if not layer.active))
    outer = request.param.endswith("outer")
    if outer and bubblewrap():
        pytest.skip(bubblewrap())
    python, user = sys.executable, {}
    if request.param.startswith("nobody"):
        readable = _readable_python()
        if readable is None:
            pytest.skip("no Python here that a user without rights may start")
        python, user = readable, {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    libraries = [path for path in sys.path if path.endswith("-packages")]
    process = subprocess.Popen(
        [python, "-B", "-m", "tests.labs.grading.grade", json.dumps(outer)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={"PYTHONPATH": os.pathsep.join(libraries), "PATH": os.environ["PATH"]},
        **user,
    )
    assert process.stdin
    assert process.stdout

    def graded(source: str | bytes, tests: int = 3, **limits: Any) -> dict[str, Any]:
        assert process.stdin
        assert process.stdout
        data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        process.stdin.write(json.dumps([data.hex(), tests, limits]).encode() + b"\n")
        process.stdin.flush()
        report: dict[str, Any] = json.loads(process.stdout.readline())
        return report

    yield graded
    process.stdin.close()
    process.stdout.close()
    assert process.wait(20) == 0
