"""Asking code of a student, one call at a time; and asking a recording of its answers instead.

The engine runs here, and asks. What comes back is the return value of one call, or that it raised; a call may ask back
for the state and the timers of the one subtask that it is made for, while it runs, and for nothing else. So there is
nothing in the sandbox that could be forged: no trace, no result, no test, no verdict.

Every question and its answer are recorded. A recording in place of a sandbox gives the same run again, without the
student's code; where it does not fit the questions it says so.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from engine.errors import InvalidJob, StreamLabError
from labs.grading.jail import codec
from labs.grading.sandbox import Stopped

MISFIT = "The recording does not fit the run."

MOST_BYTES = 4 << 20
"""How much may come back in one run: what comes back is kept in this process."""

Serve = Callable[[Any, str, list[Any]], Any]
"""(target, operation, arguments) -> what the engine answers a call that asks back."""


class Exchange(NamedTuple):
    """digest: of the question. answer: the line that came back."""

    digest: str
    answer: bytes


Recording = tuple[Exchange, ...]


class Answering(Protocol):
    """A sandbox, or a recording of one."""

    def exchange(self, question: bytes) -> bytes: ...


class Recorded:
    """Gives the answers of a recording, as long as the questions are the same."""

    def __init__(self, recording: Iterable[Exchange]) -> None:
        self._left = list(reversed(list(recording)))

    def exchange(self, question: bytes) -> bytes:
        if not self._left or self._left[-1].digest != _digest(question):
            raise Stopped("misfit", MISFIT)
        return self._left.pop().answer

    def must_be_used_up(self) -> None:
        if self._left:
            raise Stopped("misfit", MISFIT)


def _digest(question: bytes) -> str:
    return hashlib.blake2b(question, digest_size=12).hexdigest()


class BadSource(Exception):
    """The submission cannot be compiled. line: from 1, 0 where it is not known."""

    def __init__(self, sentence: str, line: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.line = line


class Raised(InvalidJob):
    """The student's code raised. For the engine it is an error of a user function, as anywhere else."""

    def __init__(self, kind: str, message: str, line: int) -> None:
        place = f"line {line} of the submission" if line else "the submission"
        super().__init__("raised", f"{kind}: {message}" if message else kind, place=place)
        self.kind = kind
        self.line = line


def _refuse(target: Any, operation: str, arguments: list[Any]) -> Any:
    raise Stopped("misfit", "The code asked for something that it was not given.")


class Calls:
    """The conversation with one submission.

    known: types beyond Python's own that may come back. most: how many questions one run may have.
    """

    def __init__(
        self,
        answering: Answering,
        source: str | None,
        known: Iterable[type] = (),
        most: int = 200_000,
    ) -> None:
        """BadSource where the source is not Python. No source: a recording answers, which begins with a run."""
        self._answering = answering
        self._known = tuple(known)
        self._most = most
        self._numbers = itertools.count(1)
        self.recording: list[Exchange] = []
        self._received = 0
        self.wrong: InvalidJob | None = None
        """What the code raised, or returned that is of the wrong kind, first in this run."""
        self._codec = codec.Codec(self._known, learns=True)
        if source is None:
            return
        try:
            self._request("load", source, _refuse)
        except Raised as error:
            raise BadSource(error.sentence, error.line) from None

    def begin(self) -> None:
        """Start a run: the submission is executed anew, with nothing left of the run before. Raised where it raises."""
        self.wrong = None
        self.recording.clear()
        self._received = 0
        self._codec = codec.Codec(self._known, learns=True)
        self._instances = itertools.count()
        self._numbers = itertools.count(1)
        self._request("begin", _refuse)

    def make(self, name: str, *arguments: Any) -> Instance:
        """An instance of the class `name` of the submission."""
        number = next(self._instances)
        self._call("make", number, name, False, arguments, _refuse)
        return Instance(self, number)

    def function(self, name: str, *arguments: Any) -> Any:
        """What the function `name` of the submission returns."""
        return self._call("call", None, name, False, arguments, _refuse)

    def _call(
        self,
        kind: str,
        target: int | None,
        method: str,
        many: bool,
        arguments: tuple[Any, ...],
        serve: Serve,
    ) -> Any:
        plain = self._codec.plain(list(arguments))
        return self._request(kind, target, method, many, plain, serve)

    def _request(self, kind: str, *rest: Any) -> Any:
        *content, serve = rest
        number = next(self._numbers)
        if number > self._most:
            raise Stopped(
                "calls", f"The code was called more than {self._most:,} times in one run."
            )
        try:
            answer = self._exchange([kind, number, *content])
            while answer[0] == "do":
                _, same, target, operation, arguments = answer
                if same != number:
                    raise codec.NotAValue("The number is that of another call.")
                asked = self._codec.value(arguments)
                answer = self._exchange(self._served(serve, target, operation, asked))
            return self._result(number, answer)
        except (codec.NotAValue, ValueError, TypeError, LookupError) as error:
            raise Stopped("misfit", f"What came out of the sandbox is no answer. {error}") from None

    def _served(self, serve: Serve, target: Any, operation: Any, arguments: list[Any]) -> list[Any]:
        try:
            return ["value", self._codec.plain(serve(target, operation, arguments))]
        except StreamLabError as error:
            return ["refused", f"{error.sentence} {error.mend}".strip()]
        except (TypeError, ValueError, LookupError) as error:
            return ["refused", str(error)[:500].encode("utf-8", "replace").decode()]

    def _exchange(self, question: list[Any]) -> list[Any]:
        sent = codec.line(question)
        answer = self._answering.exchange(sent)
        self.recording.append(Exchange(_digest(sent), answer))
        self._received += len(answer)
        if len(self.recording) > self._most:
            raise Stopped("calls", f"One run took more than {self._most:,} questions.")
        if self._received > MOST_BYTES:
            raise Stopped("output", f"One run returned more than {MOST_BYTES:,} bytes.")
        found = codec.message(answer)
        if not found:
            raise codec.NotAValue("It is empty.")
        return found

    def _result(self, number: int, answer: list[Any]) -> Any:
        kind, same, *rest = answer
        if same != number or type(same) is not int:
            raise codec.NotAValue("The number is that of another call.")
        if kind == "value":
            (plain,) = rest
            return self._codec.value(plain)
        if kind != "raised":
            raise codec.NotAValue("It is neither a value nor an exception.")
        name, message, line = rest
        if type(name) is not str or type(message) is not str or type(line) is not int:
            raise codec.NotAValue("It is neither a value nor an exception.")
        for text in (name, message):
            self._codec.value(text)
        error = Raised(name[:100], message[:500], line if 0 < line < 1_000_000 else 0)
        self.wrong = self.wrong or error
        raise error

    def refuse(self, sentence: str) -> InvalidJob:
        """The error of an answer that is of the wrong kind."""
        error = InvalidJob("wrong_answer", sentence, place="the submission")
        self.wrong = self.wrong or error
        return error

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError(
            "A conversation cannot be copied: a run with it steps back by starting anew."
        )


class Instance:
    """One object in the sandbox."""

    def __init__(self, calls: Calls, number: int) -> None:
        self._calls = calls
        self.refuse = calls.refuse
        self._number = number

    def call(self, method: str, *arguments: Any, many: bool = False, serve: Serve = _refuse) -> Any:
        """What a method returns; with `many`, the list of what it yields, or None."""
        return self._calls._call("call", self._number, method, many, arguments, serve)
