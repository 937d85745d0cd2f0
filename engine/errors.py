"""Three kinds of error, and whose turn it is after each.

`LearnerMistake` - something a person asked for cannot be done now: ask for something else.
`InvalidJob`     - the job, its functions or its data are wrong: mend the job file or the data.
`EngineBug`      - the engine broke one of its own rules: report it.

Every error carries `code` (stable, for programs), `sentence` (the rule that was broken), `place` (operator, parameter,
file and line where known) and `mend` (what to do).
"""

from __future__ import annotations

USER_ERRORS = (Exception, SystemExit)
"""What code of a user may raise without harm to anything but its subtask: `sys.exit()` is no way out of the engine."""


class StreamLabError(Exception):
    """The root of every error that the engine raises on purpose."""

    def __init__(self, code: str, sentence: str, *, place: str = "", mend: str = "") -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.place = place
        self.mend = mend

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place else ""
        mend = f" {self.mend}" if self.mend else ""
        return f"{self.sentence}{where}{mend}"


class LearnerMistake(StreamLabError):
    """What was asked for is not possible at this step."""


class ImpossibleAction(LearnerMistake):
    """The chosen action or command is not enabled now."""


class WouldBranch(LearnerMistake):
    """The choice differs from the recorded future; the caller has to fork first."""


class InvalidJob(StreamLabError):
    """The job graph, a user function or an input file breaks a rule."""


class EngineBug(StreamLabError):
    """An invariant of the engine does not hold."""
