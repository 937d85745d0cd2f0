"""`python -m benchmarks [--quick] [--all]`: prints every figure beside its target. Timings are printed, never asserted."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import subprocess
import sys
import time

from benchmarks import engine, explore, grading, history, scaling, snapshots
from benchmarks.report import section

RECORDS = 200_000
OPTIONAL = ("benchmarks.load", "benchmarks.page")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one minute: fewer records and repeats"
    )
    parser.add_argument(
        "--all", action="store_true", help="also the server under load and the page"
    )
    options = parser.parse_args()
    started = time.monotonic()
    print(
        f"Python {platform.python_version()}, CPU time, best of interleaved repeats, garbage collector off in all"
    )
    if options.quick:
        engine.run(RECORDS // 4, repeats=2)
        history.run(seeks=100)
        scaling.run((20_000, 200_000), (10, 10_000), records=50_000, repeats=1)
        snapshots.run(100_000, (1_000,), records=50_000, repeats=1)
        explore.run((4,), repeats=1)
        grading.run(submissions=48, repeats=10)
    else:
        engine.run(RECORDS, repeats=4)
        history.run(seeks=300)
        scaling.run((20_000, 200_000, 2_000_000), (10, 1_000, 100_000), RECORDS, repeats=2)
        snapshots.run(100_000, (100, 1_000, 10_000), RECORDS, repeats=3)
        explore.run()
        grading.run()
    if options.all:
        for name in OPTIONAL:
            run_optional(name)
    print(f"\n{time.monotonic() - started:.0f} s")


def run_optional(name: str) -> None:
    """A program of its own: it has a server or a browser to start and to end."""
    section(name)
    if importlib.util.find_spec(name) is None:
        print("  left out: there is no such module")
    elif subprocess.run([sys.executable, "-m", name], check=False).returncode:
        print("  failed, for the reason above")


if __name__ == "__main__":
    main()
