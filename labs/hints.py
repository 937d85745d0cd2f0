"""hints.md: a heading for each hint, with the question that it belongs to and what it costs.

    ## next-watermark: 1 point
    The text of the first hint.

Hints of a question are given one after another, in the order in which they stand.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from labs.markdown import render
from labs.problems import Problem

HEADING = re.compile(r"^## (.*)$", re.M)
FORM = re.compile(r"([a-z0-9-]+): (?:(\d+) points?|free)")


@dataclass(frozen=True)
class Hint:
    """question: its id. cost: points that are taken off once it has been read."""

    question: str
    cost: int
    html: str
    line: int


def read_hints(path: Path, text: str) -> tuple[tuple[Hint, ...], list[Problem]]:
    hints: list[Hint] = []
    problems: list[Problem] = []
    found = list(HEADING.finditer(text))
    ends = [one.start() for one in found[1:]] + [len(text)]
    for heading, end in zip(found, ends, strict=True):
        line = text[: heading.start()].count("\n") + 1
        form = FORM.fullmatch(heading[1].strip())
        if form is None:
            sentence = f"The heading {heading[1].strip()!r} does not name a question and a cost."
            mend = "Write it as ## next-watermark: 1 point, or ## next-watermark: free."
            problems.append(Problem("lab-hint", sentence, path, line, mend))
            continue
        body = render(text[heading.end() : end])
        hints.append(Hint(form[1], int(form[2] or 0), body, line))
    return tuple(hints), problems
