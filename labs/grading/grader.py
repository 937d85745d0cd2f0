"""From a submission and its tests to a report.

Each test has a process of its own for the submission. The engine runs here, asks it, and judges here; expected values
come from the reference, which runs here too. Nothing of a hidden test that the submission has touched - its values, its
exceptions, what it printed - gets into the report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from engine.errors import InvalidJob, LearnerMistake
from engine.explore.canonical import frozen
from engine.explore.invariants import Invariant, Rule, first_broken
from engine.explore.minimize import minimize
from engine.values import text
from labs.grading.calls import BadSource, Calls, Raised, Recorded, Recording
from labs.grading.pieces import Names, Piece, Plugged
from labs.grading.report import (
    FAILED,
    GRADED,
    NOT_PYTHON,
    PASSED,
    STOPPED,
    UNAVAILABLE,
    UNDETERMINED,
    Replay,
    Report,
    Result,
)
from labs.grading.sandbox import Limits, Sandbox, SandboxUnavailable, Stopped
from labs.grading.trials import FINISHES, MANUAL, CaseTest, JobTest, Play, told

LONGEST_SOURCE = 100_000
MOST_TRIES = 500
"""How many runs the search for a shorter counterexample may take."""

LONGEST_TO_SHORTEN = 2_000
"""Choices beyond which a counterexample is shown as it is."""

Look = Callable[[], str]
"""What the submission has printed since the last look."""

Alone = Callable[[], AbstractContextManager[Any]]


class Verdict(NamedTuple):
    """Of one test. kind: why the sandbox was stopped, or empty."""

    outcome: str
    sentence: str = ""
    replay: Replay | None = None
    kind: str = ""
    printed: str = ""


class _Enough(Exception):
    """The search for a shorter counterexample has used up its runs."""


class Grader:
    """Grades submissions of one question.

    reference: what the reference solution defines. alone: entered while a test that was stopped by the clock runs for the
    second time; it keeps other work away.
    outer: whether to use bubblewrap; None where it works.
    """

    def __init__(
        self,
        piece: Piece,
        tests: Sequence[JobTest | CaseTest],
        reference: Names | None = None,
        limits: Limits | None = None,
        alone: Alone = nullcontext,
        outer: bool | None = None,
    ) -> None:
        self.piece = piece
        self.tests = tuple(tests)
        self.reference = reference or {}
        self.limits = limits or Limits()
        self.alone = alone
        self.outer = outer
        self._expected: dict[tuple[str, int], Play] = {}

    def grade(self, source: str | bytes) -> Report:
        """The report; every fault of the submission is part of it."""
        try:
            readable = _readable(source)
            self._compile(readable)
            results = tuple(self._result(test, readable) for test in self.tests)
        except BadSource as error:
            return Report(NOT_PYTHON, error.sentence, error.line, ())
        except SandboxUnavailable as error:
            return Report(UNAVAILABLE, str(error), 0, ())
        return Report(GRADED, "", 0, results)

    def _compile(self, source: str) -> None:
        with Sandbox(self.limits, self.outer) as sandbox:
            try:
                Calls(sandbox, source)
            except Stopped as stopped:
                raise BadSource(f"Python cannot read this. {stopped.sentence}", 0) from None

    def _result(self, test: JobTest | CaseTest, source: str) -> Result:
        verdict = self._tried(test, source)
        if verdict.kind == "time":
            with self.alone():
                verdict = self._tried(test, source)
            if verdict.kind == "time":
                verdict = verdict._replace(outcome=UNDETERMINED)
        points = test.points if verdict.outcome == PASSED else 0
        if test.visible:
            shown = verdict.sentence, verdict.printed, verdict.replay
        else:
            shown = ("" if verdict.outcome == PASSED else test.message), "", None
        return Result(test.name, test.visible, verdict.outcome, points, test.points, *shown)

    def _tried(self, test: JobTest | CaseTest, source: str) -> Verdict:
        with Sandbox(self.limits, self.outer) as sandbox:
            try:
                calls = Calls(sandbox, source, self.piece.knows)
                if isinstance(test, CaseTest):
                    verdict = self._cases(test, calls)
                else:
                    verdict = self._runs(test, calls, sandbox.take_printed)
            except Stopped as stopped:
                outcome = FAILED if stopped.kind == "misfit" else STOPPED
                return Verdict(outcome, stopped.sentence, kind=stopped.kind)
            return verdict._replace(printed=verdict.printed or sandbox.take_printed())

    # Functions

    def _cases(self, test: CaseTest, calls: Calls) -> Verdict:
        try:
            calls.begin()
            for arguments in test.cases:
                wanted = test.expected(*arguments)
                found = calls.function(self.piece.entry, *arguments)
                if frozen(found) != frozen(wanted):
                    shown = ", ".join(map(text, arguments))
                    return Verdict(
                        FAILED,
                        f"{self.piece.entry}({shown}) is {text(wanted)}, and this returns {text(found)}.",
                    )
        except Raised as error:
            return Verdict(FAILED, _told_by_line(error))
        return Verdict(PASSED)

    # Jobs

    def _runs(self, test: JobTest, calls: Calls, look: Look) -> Verdict:
        for seed in test.seeds:
            verdict = self._run(test, calls, seed, look)
            if verdict.outcome != PASSED:
                return verdict
        return Verdict(PASSED)

    def plug(self, calls: Calls) -> Plugged:
        """The piece of the submission, for a new run."""
        assert self.piece.ask is not None
        calls.begin()
        return self.piece.ask(calls)

    def _run(self, test: JobTest, calls: Calls, seed: int, look: Look) -> Verdict:
        rules: list[Rule] = [_raises_nothing(calls), *test.rules, FINISHES]
        rules += self._checks(test, seed)
        try:
            play = Play(test, lambda: self.plug(calls), seed)
            broken = play.follow_policy(rules)
        except Raised as error:  # before the first step: at the top of the submission, or in open()
            return Verdict(FAILED, _told_by_line(error))
        except Exception as error:  # what the piece told the engine to do is impossible
            return Verdict(FAILED, told(error))
        if broken is None:
            return Verdict(PASSED)
        printed = look()
        name, sentence = broken
        if not test.visible:
            return Verdict(FAILED, sentence)
        choices, recording = tuple(play.choices), tuple(calls.recording)
        rule = next(rule for rule in rules if rule.name == name)
        shorter = self._minimised(play, choices, rule, calls)
        replay = Replay(seed, *(shorter or (choices, len(choices), name, sentence, recording)))
        return Verdict(FAILED, f"{sentence} ({name})", replay, printed=printed)

    def _minimised(
        self, play: Play, choices: tuple[str, ...], rule: Rule, calls: Calls
    ) -> tuple[tuple[str, ...], int, str, str, Recording] | None:
        """The counterexample without what it does not need, or None where none was found again."""
        if len(choices) > LONGEST_TO_SHORTEN:
            return None
        play.policy = MANUAL
        play.tries = 0
        best = choices

        def noted(system: Play) -> str:
            nonlocal best
            if system.tries > MOST_TRIES:
                raise _Enough
            sentence = rule.broken(system) if isinstance(rule, Invariant) else ""
            if sentence and len(system.choices) < len(best):
                best = tuple(system.choices)
            return sentence

        try:
            if isinstance(rule, Invariant):
                watched = Invariant(rule.name, noted, rule.at_end)
                _leave_out_blocks(play, choices, watched)
                play.start()
                best = minimize(play, best, watched)
            else:
                play.start()
                best = minimize(play, choices, rule)
        except (Exception, Stopped):
            pass  # the shortest one so far is good enough
        try:
            return self._shown(play, best, rule, calls)
        except (Exception, Stopped):
            return None

    def _shown(
        self, play: Play, choices: tuple[str, ...], rule: Rule, calls: Calls
    ) -> tuple[tuple[str, ...], int, str, str, Recording]:
        """Run the choices once more, for the recording that belongs to them."""
        play.start()
        sentence = ""
        if isinstance(rule, Invariant):
            for action in choices:
                play.apply(action)
            sentence = rule.broken(play)
        else:
            memory = rule.start(play)
            for action in choices:
                play.apply(action)
                memory, sentence = rule.observe(memory, play, action)
        return (
            choices,
            len(choices),
            rule.name,
            sentence,
            tuple(calls.recording),
        )

    # What is expected

    def _checks(self, test: JobTest, seed: int) -> list[Rule]:
        if not test.checks:
            return []
        reference = self._reference(test, seed)
        return [
            Invariant(check.name, _compare(check.unlike, reference), at_end=True)
            for check in test.checks
        ]

    def _reference(self, test: JobTest, seed: int) -> Play:
        """The run of the reference under the same schedule; kept, since it is the same for every submission."""
        known = self._expected.get((test.name, seed))
        if known is None:
            assert self.piece.trust is not None
            plugged = self.piece.trust(self.reference)
            known = Play(test, lambda: plugged, seed)
            broken = known.follow_policy([*test.rules, FINISHES])
            if broken is not None:
                raise LearnerMistake(
                    "reference",
                    f"The reference fails its own test {test.name!r} at seed {seed}: {broken[1]}",
                    mend="Mend the reference or the test.",
                )
            self._expected[test.name, seed] = known
        return known


def _leave_out_blocks(play: Play, choices: tuple[str, ...], rule: Rule) -> None:
    """Try without blocks of choices, from large to small; what is not possible without them goes too."""
    play.skips_impossible = True
    try:
        size = len(choices) // 2
        while size:
            at = len(choices) - size
            while at >= 0:
                play.start()
                if first_broken(play, choices[:at] + choices[at + size :], [rule]) is not None:
                    choices = tuple(play.choices)
                at = min(at, len(choices)) - size
            size //= 2
    finally:
        play.skips_impossible = False


def replayed(piece: Piece, test: JobTest, replay: Replay) -> Play:
    """The run of a replay without the student's code: its recorded answers stand for it. Stopped where they do not fit."""
    recorded = Recorded(replay.recording)
    calls = Calls(recorded, None, piece.knows)
    assert piece.ask is not None
    ask = piece.ask

    def plug() -> Plugged:
        calls.begin()
        return ask(calls)

    play = Play(test, plug, replay.seed)
    play.policy = MANUAL
    for action in replay.choices:
        play.apply(action)
    recorded.must_be_used_up()
    return play


def _compare(unlike: Callable[[Play, Play], str], reference: Play) -> Callable[[Play], str]:
    return lambda play: unlike(play, reference)


def _readable(source: str | bytes) -> str:
    """The source as text; BadSource where it is none."""
    try:
        readable = source.decode("utf-8") if isinstance(source, bytes) else source
        size = len(readable.encode("utf-8"))
    except UnicodeError:
        raise BadSource("The submission is not text in UTF-8.", 0) from None
    if size > LONGEST_SOURCE:
        raise BadSource(f"The submission is longer than {LONGEST_SOURCE:,} bytes.", 0)
    if not readable.strip():
        raise BadSource("The submission is empty.", 0)
    if "\0" in readable:
        line = readable[: readable.index("\0")].count("\n") + 1
        raise BadSource("The submission contains a null byte.", line)
    return readable


def _told_by_line(error: InvalidJob) -> str:
    return f"{error.sentence} ({error.place})."


def _raises_nothing(calls: Calls) -> Invariant:
    """A job survives what a function raises, by starting again; a submission does not."""
    return Invariant(
        "the submission raises nothing",
        lambda play: "" if calls.wrong is None else _told_by_line(calls.wrong),
    )
