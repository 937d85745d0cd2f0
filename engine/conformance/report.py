"""What running a file gave."""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """One case. difference: empty where it passed. unsupported: the reason why it was not run, or empty."""

    case: str
    difference: str = ""
    unsupported: str = ""


class Report(NamedTuple):
    """One file."""

    file: str
    outcomes: list[Outcome]

    def failed(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.difference]

    def unsupported(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.unsupported]

    def text(self) -> str:
        """One line of counts, the first difference, and the reasons for what is not supported."""
        failed, unsupported = self.failed(), self.unsupported()
        passed = len(self.outcomes) - len(failed) - len(unsupported)
        lines = [
            f"{self.file}: {passed} passed, {len(failed)} failed, {len(unsupported)} unsupported"
        ]
        if failed:
            lines.append(f"  first difference, {failed[0].case}: {failed[0].difference}")
        lines += [
            f"  unsupported: {reason}"
            for reason in sorted({outcome.unsupported for outcome in unsupported})
        ]
        return "\n".join(lines)
