"""Whether windows take records and never fire, so that their state only grows."""

from __future__ import annotations

from engine.operators.base import Operator

FIRST_WARNING = 10_000
"""Records without a firing after which a person is warned; then at twice as many, and so on."""


class Silence:
    """Counts the records that a window operator has taken since a window last fired."""

    __slots__ = ("fired", "limit", "removed", "taken")

    def __init__(self) -> None:
        self.taken = 0
        self.limit = FIRST_WARNING
        self.fired = False
        """Whether any window ever fired."""
        self.removed = False
        """Whether any window was removed at its end."""

    def broken(self) -> None:
        """A window fired."""
        self.fired = True
        self.taken = 0

    def warn(self, operator: Operator, why: str, position: int = 1) -> None:
        """Warn for the reason `why`, or for none where it is empty; the next warning is as far away again."""
        if why:
            operator.warn(
                "windows_never_fire",
                f"{self.limit:,} records have come and no window has fired: {why}."
                " Its state grows for as long as that lasts",
                position,
            )
        self.limit *= 2

    def keyframe(self) -> tuple[int, int, bool, bool]:
        return self.taken, self.limit, self.fired, self.removed

    def rewind(self, frame: tuple[int, int, bool, bool]) -> None:
        self.taken, self.limit, self.fired, self.removed = frame
