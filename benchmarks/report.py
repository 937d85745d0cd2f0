"""The printed page: sections of rows, a measured figure beside its target."""

from __future__ import annotations

import sys


def section(title: str, note: str = "") -> None:
    print(f"\n{title}")
    if note:
        print(f"  {note}")
    sys.stdout.flush()


def row(
    name: str,
    measured: float,
    form: str = ".3f",
    unit: str = "",
    *,
    target: float | None = None,
    at_most: bool = False,
    also: str = "",
) -> None:
    """One figure; with a target, whether it was reached (at least, or with `at_most` at most, the target)."""
    text = f"  {name:<44}{measured:>12{form}} {unit:<10}"
    if target is not None:
        reached = measured <= target if at_most else measured >= target
        bound = "at most" if at_most else "at least"
        text += f" {bound} {target:>9{form}}  {'reached' if reached else 'MISSED'}"
    print(f"{text}  {also}".rstrip())
    sys.stdout.flush()
