"""What can be wrong with a lab folder, said so that its author can mend it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    """One thing to mend.

    code      stable name, for tests and documentation
    sentence  what rule is broken
    file      where
    line      1-based; None where the whole file is meant
    mend      what to do
    """

    code: str
    sentence: str
    file: Path
    line: int | None
    mend: str

    @property
    def place(self) -> str:
        here = Path.cwd()
        file = self.file.relative_to(here) if self.file.is_relative_to(here) else self.file
        return f"{file}:{self.line}" if self.line else str(file)

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence} {self.mend}"


class LabInvalid(Exception):
    """A lab folder that cannot be offered; `problems` has at least one entry."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)
