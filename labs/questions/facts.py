"""What can be asked of a run, in words that an author writes and a student reads: "watermark of window[0]".

A fact looks at a span of a run: the picture where it begins, the picture where it ends, and the events in between. It gives
every answer that is right; of most facts there is one. Conditions compare a fact with a value: "records late at window[0] = 1".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from engine import events as e
from engine.errors import LearnerMistake
from engine.events import Event
from engine.narration import NUMBERS, TimeFormat

NUMBER, TIME, CHOICE, SET, TABLE = ANSWER_KINDS = ("number", "time", "choice", "set", "table")

Value: TypeAlias = Any
"""number, time: an integer; choice: a text; set: a sorted tuple of texts; table: a sorted tuple of (text, integer)."""

Picture: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Span:
    """A piece of a run: the pictures at both ends, and the events of its steps in order.

    look: gives the picture at the end; it is drawn only where somebody looks, while the run still stands there.
    """

    before: Picture
    look: Callable[[], Picture]
    events: Sequence[Event]
    times: TimeFormat = NUMBERS

    @cached_property
    def after(self) -> Picture:
        return self.look()

    def at_start(self) -> Span:
        """The beginning of it, before anything has happened."""
        return Span(self.before, lambda: self.before, (), self.times)

    def happened(self, kind: type[Any], subtask: str = "") -> list[Any]:
        found: list[Any] = [event for event in self.events if type(event) is kind]
        return [event for event in found if not subtask or event.subtask == subtask]


class Unanswerable(LearnerMistake):
    """A fact that this run does not have, such as one of a subtask that there is not."""


def unanswerable(sentence: str, place: str, mend: str) -> Unanswerable:
    return Unanswerable("fact", sentence, place=place, mend=mend)


def subtask_of(picture: Picture, name: str) -> Mapping[str, Any]:
    subtasks = picture["subtasks"]
    if name not in subtasks:
        raise unanswerable(
            f"There is no subtask {name}.", name, f"There are {', '.join(subtasks)}."
        )
    found: Mapping[str, Any] = subtasks[name]
    return found


def inputs_of(picture: Picture, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = subtask_of(picture, name)["inputs"]
    if not found:
        raise unanswerable(
            f"{name} has no inputs.", name, "Ask about a subtask that is not a source."
        )
    return found


def sender(channel: str) -> str:
    return channel.partition(">")[0]


def window_label(key: str, start: int, end: int, times: TimeFormat) -> str:
    return f"{key.strip(chr(39))}, {times.span(start, end)}"


# ---- the facts: (span, what the words in capitals stand for) -> every right answer -----------------


def _watermark(span: Span, subtask: str) -> list[Value]:
    return [subtask_of(span.after, subtask)["watermark"]]


def _among_inputs(
    pick: Callable[[Sequence[int]], int], idle_count: bool
) -> Callable[[Span, str], list[Value]]:
    def fact(span: Span, subtask: str) -> list[Value]:
        inputs = inputs_of(span.after, subtask).values()
        marks = [one["watermark"] for one in inputs if idle_count or not one["idle"]]
        return [pick(marks or [one["watermark"] for one in inputs])]

    return fact


def _latest_input(span: Span, subtask: str) -> list[Value]:
    arrived = span.happened(e.InputWatermark, subtask)
    return [arrived[-1].watermark if arrived else subtask_of(span.after, subtask)["watermark"]]


def _latest_record(span: Span, subtask: str) -> list[Value]:
    inputs = inputs_of(span.after, subtask)
    taken = [
        event.timestamp
        for event in span.happened(e.ElementTaken)
        if event.channel in inputs and event.timestamp is not None
    ]
    return [taken[-1] if taken else subtask_of(span.after, subtask)["watermark"]]


def _holds_back(span: Span, subtask: str) -> list[Value]:
    inputs = inputs_of(span.after, subtask)
    active = {name: one["watermark"] for name, one in inputs.items() if not one["idle"]}
    lowest = min(active.values(), default=None)
    return [sender(name) for name, mark in active.items() if mark == lowest]


def _blocked(span: Span, subtask: str) -> list[Value]:
    inputs = inputs_of(span.after, subtask)
    return [tuple(sorted(sender(name) for name, one in inputs.items() if one["blocked"]))]


def _open_inputs(span: Span, subtask: str) -> list[Value]:
    inputs = inputs_of(span.after, subtask)
    return [tuple(sorted(sender(name) for name, one in inputs.items() if not one["blocked"]))]


def _all_inputs(span: Span, subtask: str) -> list[Value]:
    return [tuple(sorted(map(sender, inputs_of(span.after, subtask))))]


def _windows(picture: Picture, subtask: str) -> list[tuple[str, int, int]]:
    rows = subtask_of(picture, subtask)["state"].values()
    return sorted({(row["key"], *row["window"]) for row in rows if row["window"]})


def _fired(span: Span, subtask: str) -> list[Value]:
    fired = span.happened(e.WindowFired, subtask)
    labels = {window_label(one.key, one.start, one.end, span.times) for one in fired}
    return [tuple(sorted(labels))]


def _open_windows(span: Span, subtask: str) -> list[Value]:
    labels = [window_label(*one, span.times) for one in _windows(span.after, subtask)]
    return [tuple(sorted(labels))]


def _passed(pick: Callable[[Span, str], list[Value]]) -> Callable[[Span, str], list[Value]]:
    """Windows whose end some other time has reached than the watermark of their subtask."""

    def fact(span: Span, subtask: str) -> list[Value]:
        reached = pick(span, subtask)[0]
        found = [one for one in _windows(span.before, subtask) if one[2] - 1 <= reached]
        return [tuple(sorted(window_label(*one, span.times) for one in found))]

    return fact


def _late(span: Span, subtask: str) -> list[Value]:
    return [len(span.happened(e.RecordLate, subtask))]


def _written(span: Span, subtask: str) -> list[Value]:
    return [len(span.happened(e.ResultWritten, subtask))]


def _waiting(blocked_only: bool) -> Callable[[Span, str], list[Value]]:
    def fact(span: Span, subtask: str) -> list[Value]:
        inputs = inputs_of(span.after, subtask)
        counted = 0
        for name, one in inputs.items():
            if one["blocked"] or not blocked_only:
                queue = span.after["channels"][name]["queue"]
                counted += sum(element["kind"] == "record" for element in queue)
        return [counted]

    return fact


def _table(picture: Picture, subtask: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in subtask_of(picture, subtask)["state"].values():
        value = re.fullmatch(r"-?[0-9]+", row["value"])
        if value and not row["window"] and row["entry"] is None:
            found[row["key"].strip("'")] = int(row["value"])
    return found


def _state(span: Span, subtask: str) -> list[Value]:
    return [tuple(sorted(_table(span.after, subtask).items()))]


def _state_with_queues(span: Span, subtask: str) -> list[Value]:
    """As if what stands in the queues of its inputs had been counted as well, one for each record."""
    table = _table(span.after, subtask)
    for name in inputs_of(span.after, subtask):
        for element in span.after["channels"][name]["queue"]:
            if element["kind"] == "record" and element["key"] is not None:
                key = element["key"].strip("'")
                table[key] = table.get(key, 0) + 1
    return [tuple(sorted(table.items()))]


def _owners(picture: Picture) -> dict[str, str]:
    return {
        row["key"].strip("'"): name
        for name, subtask in picture["subtasks"].items()
        for row in subtask["state"].values()
    }


def _keys_moved(span: Span) -> list[Value]:
    before, after = _owners(span.before), _owners(span.after)
    return [tuple(sorted(key for key in before if after.get(key) not in (None, before[key])))]


def _keys_of(span: Span, subtask: str) -> list[Value]:
    subtask_of(span.after, subtask)
    return [tuple(sorted(key for key, owner in _owners(span.after).items() if owner == subtask))]


def _all_keys(span: Span) -> list[Value]:
    return [tuple(sorted(_owners(span.after)))]


def _counted(kind: type[Any]) -> Callable[[Span], list[Value]]:
    return lambda span: [len(span.happened(kind))]


def _job_state(span: Span) -> list[Value]:
    return [span.after["job"]["state"]]


# ---- what a student can choose from -----------------------------------------------------------------


def _input_options(picture: Picture, times: TimeFormat, subtask: str) -> list[str]:
    return sorted(map(sender, inputs_of(picture, subtask)))


def _window_options(picture: Picture, times: TimeFormat, subtask: str) -> list[str]:
    return [window_label(*one, times) for one in _windows(picture, subtask)]


def _table_options(picture: Picture, times: TimeFormat, subtask: str) -> list[str]:
    return sorted(_table(picture, subtask))


def _key_options(picture: Picture, times: TimeFormat, *_: str) -> list[str]:
    return sorted(_owners(picture))


def _job_options(picture: Picture, times: TimeFormat) -> list[str]:
    return ["running", "restarting", "finished", "failed"]


Options = Callable[..., list[str]]


@dataclass(frozen=True)
class Form:
    """A kind of fact: its words, where SUBTASK stands for a name; what is answered; how it is found; what it means."""

    words: str
    answer: str
    find: Callable[..., list[Value]]
    meaning: str
    options: Options | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.words).replace("SUBTASK", r"([a-z_][\w-]*\[\d+\])"))


FORMS = (
    Form("watermark of SUBTASK", TIME, _watermark, "its combined watermark"),
    Form(
        "lowest input watermark of SUBTASK",
        TIME,
        _among_inputs(min, True),
        "of all its inputs, idle ones included",
    ),
    Form(
        "highest input watermark of SUBTASK",
        TIME,
        _among_inputs(max, True),
        "of all its inputs",
    ),
    Form("latest input watermark of SUBTASK", TIME, _latest_input, "the one that came last"),
    Form("latest record of SUBTASK", TIME, _latest_record, "the timestamp of what it took last"),
    Form(
        "input that holds back SUBTASK",
        CHOICE,
        _holds_back,
        "a sender whose watermark is the lowest; where several share it, each is right",
        _input_options,
    ),
    Form(
        "blocked inputs of SUBTASK", SET, _blocked, "senders that alignment blocks", _input_options
    ),
    Form(
        "open inputs of SUBTASK",
        SET,
        _open_inputs,
        "senders that it does not block",
        _input_options,
    ),
    Form("inputs of SUBTASK", SET, _all_inputs, "all its senders", _input_options),
    Form("windows fired at SUBTASK", SET, _fired, "in the span", _window_options),
    Form(
        "windows open at SUBTASK",
        SET,
        _open_windows,
        "windows that hold something",
        _window_options,
    ),
    Form(
        "windows passed by the highest input of SUBTASK",
        SET,
        _passed(_among_inputs(max, True)),
        "that would fire if the highest input watermark counted",
        _window_options,
    ),
    Form(
        "windows passed by the latest record of SUBTASK",
        SET,
        _passed(_latest_record),
        "that would fire if timestamps of records counted",
        _window_options,
    ),
    Form("records late at SUBTASK", NUMBER, _late, "dropped as late in the span"),
    Form("results written by SUBTASK", NUMBER, _written, "in the span"),
    Form(
        "records held back at SUBTASK", NUMBER, _waiting(True), "that stand in its blocked inputs"
    ),
    Form("records queued at SUBTASK", NUMBER, _waiting(False), "that stand in all its inputs"),
    Form(
        "state of SUBTASK", TABLE, _state, "the number that it keeps for each key", _table_options
    ),
    Form(
        "state of SUBTASK with its queues",
        TABLE,
        _state_with_queues,
        "as if each record that waits before it had been counted",
        _table_options,
    ),
    Form("keys of SUBTASK", SET, _keys_of, "keys whose state it holds", _key_options),
    Form(
        "keys that move", SET, _keys_moved, "keys whose state another subtask holds", _key_options
    ),
    Form("all keys", SET, _all_keys, "keys that have state", _key_options),
    Form("checkpoints completed", NUMBER, _counted(e.CheckpointCompleted), "in the span"),
    Form("checkpoints aborted", NUMBER, _counted(e.CheckpointAborted), "in the span"),
    Form("failures", NUMBER, _counted(e.SubtaskFailed), "in the span"),
    Form(
        "state of the job",
        CHOICE,
        _job_state,
        "running, restarting, finished or failed",
        _job_options,
    ),
)


@dataclass(frozen=True)
class Fact:
    """A fact as an author wrote it: its form, the subtask that it is about, and whether it is asked of the beginning."""

    text: str
    form: Form
    names: tuple[str, ...]
    at_start: bool = False

    @property
    def answer(self) -> str:
        return self.form.answer

    def right(self, span: Span) -> list[Value]:
        """Every right answer. Raises Unanswerable."""
        return self.form.find(span.at_start() if self.at_start else span, *self.names)

    def options(self, picture: Picture, times: TimeFormat) -> list[str]:
        """What a student chooses from, or the rows of a table. Raises Unanswerable."""
        if self.form.options is None:
            return []
        return self.form.options(picture, times, *self.names)


def parse_fact(words: str) -> Fact:
    """LearnerMistake for words that say nothing."""
    at_start = words.startswith("before: ")
    asked = words.removeprefix("before: ")
    for form in FORMS:
        found = form.pattern.fullmatch(asked)
        if found:
            return Fact(words, form, found.groups(), at_start)
    known = "; ".join(form.words for form in FORMS)
    raise unanswerable(f"{words!r} is no fact.", words, f"Facts are: {known}.")


@dataclass(frozen=True)
class Literal:
    """An answer that is the same in every run: a number, or nothing."""

    text: str

    def right(self, span: Span) -> list[Value]:
        return [int(self.text)] if self.text != "nothing" else [()]


def parse_answer(words: str) -> Fact | Literal:
    """A wrong answer: a fact, a number, or "nothing" for the empty set."""
    if words == "nothing" or re.fullmatch(r"-?[0-9]{1,18}", words):
        return Literal(words)
    return parse_fact(words)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda have, want: have == want,
    ">=": lambda have, want: have >= want,
    "<=": lambda have, want: have <= want,
}
CONDITION = re.compile(r"(.+?) (=|>=|<=) (-?[0-9]{1,18}|[a-z]+)")


@dataclass(frozen=True)
class Condition:
    """A fact compared with a number, or with a word."""

    text: str
    fact: Fact
    sign: str
    wanted: Value

    def holds(self, span: Span) -> bool:
        return any(COMPARE[self.sign](have, self.wanted) for have in self.fact.right(span))


def parse_condition(words: str) -> Condition:
    """LearnerMistake for words that compare nothing."""
    found = CONDITION.fullmatch(words)
    if not found:
        raise unanswerable(
            f"{words!r} is no condition.", words, "Write a fact, then =, >= or <=, then a value."
        )
    fact = parse_fact(found[1])
    if fact.answer in (NUMBER, TIME) and not found[3].isalpha():
        return Condition(words, fact, found[2], int(found[3]))
    if fact.answer == CHOICE and found[3].isalpha() and found[2] == "=":
        return Condition(words, fact, "=", found[3])
    raise unanswerable(
        f"{fact.text} cannot be compared with {found[3]!r}.", words, "Compare numbers with numbers."
    )


EVENTS: dict[str, type[Any]] = {kind.__name__: kind for kind in e.CATALOGUE}


def matches(event: Event, name: str, subtask: str) -> bool:
    """Whether an event is of this name, at this subtask where one is named. Of a taken element that is the receiver."""
    if type(event).__name__ != name:
        return False
    if not subtask:
        return True
    if isinstance(event, e.ElementTaken):
        return event.channel.partition(">")[2] == subtask
    return getattr(event, "subtask", "") == subtask
