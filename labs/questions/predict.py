"""Predict: what will happen? The key is computed from the run itself, so every seed works."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engine.errors import LearnerMistake
from engine.narration import DAY, TimeFormat
from engine.randomness import RandomStream
from labs.questions.facts import (
    CHOICE,
    NUMBER,
    SET,
    TABLE,
    TIME,
    Fact,
    Value,
    matches,
    parse_answer,
    parse_fact,
    unanswerable,
)
from labs.questions.report import Replay, Report, judged, refused
from labs.questions.scenes import STEPS_A_PIECE, Seen, Variant, Work, draw, go_on, opened, standing
from labs.questions.spec import Predict
from labs.spec import LabSpec
from streamlab.runs import recordings

RUNS_TRIED = 30
PLACES_TRIED = 12
LOWEST, HIGHEST = -(2**63), 2**63 - 1


class NotAnAnswer(Exception):
    """What a student sent cannot be read as an answer; the sentence says what is missing."""


def vary(lab: LabSpec, question: Predict, seed: int) -> Work[Variant]:
    """A variant in which every listed wrong answer is wrong. Raises Unanswerable where there is none."""
    random = RandomStream(seed, f"{lab.slug} {question.id} {question.generator}")
    for _ in range(RUNS_TRIED):
        run_seed, parameters = draw(lab, question, random)
        start = Variant(run_seed, parameters)
        places = yield from moments(lab, question, start)
        for _ in range(min(PLACES_TRIED, len(places))):
            step = places.pop(random.below(len(places)))
            variant = yield from at(lab, question, Variant(run_seed, parameters, step))
            if variant is not None:
                return variant
    raise unanswerable(
        f"No run was found in which {question.asks} is worth asking.",
        question.id,
        "Look at more steps (at.between), vary parameters, or list fewer wrong answers.",
    )


def moments(lab: LabSpec, question: Predict, start: Variant) -> Work[list[int]]:
    """Steps of the run after which the moment of the question comes."""
    recording = opened(lab, start)
    first, last = question.at.between
    found = []
    while recording.position < last:
        before = recording.position
        taken = recording.step(1, events=True)
        if not taken:
            break
        if before >= first and any(
            matches(event, question.at.event, question.at.subtask) for event in taken[0].events
        ):
            found.append(before)
        if before % STEPS_A_PIECE == 0:
            yield
    return found


def at(lab: LabSpec, question: Predict, variant: Variant) -> Work[Variant | None]:
    """The variant at this step with what is shown of it, or None where it would be trivial."""
    fact = parse_fact(question.asks)
    recording = yield from standing(lab, variant)
    times = recordings.times_of(lab)
    options = fact.options(recording.view(), times)
    try:
        seen = yield from go_on(lab, recording, question.command, question.until)
    except LearnerMistake:  # the command is not possible here
        return None
    right = fact.right(seen.span)
    wrong = [parse_answer(one.answer).right(seen.span) for one in question.wrong]
    if not seen.complete or not right or any(value in right for found in wrong for value in found):
        return None
    if not answerable(fact, right, options):
        return None
    asked = {"kind": fact.answer, "fact": fact.text, "options": options}
    return Variant(variant.seed, variant.parameters, variant.step, asked=asked)


def answerable(fact: Fact, right: list[Value], options: list[str]) -> bool:
    """Whether a right answer can be given with what is offered, and is not the only one."""
    if fact.answer == CHOICE:
        return len(options) > len(right) and set(right) <= set(options)
    if fact.answer == SET:
        return len(options) > 1 and all(set(value) <= set(options) for value in right)
    if fact.answer == TABLE:
        return bool(options) and all([row for row, _ in value] == options for value in right)
    return True


# ---- an answer --------------------------------------------------------------------------------------


def read(variant: Variant, answer: Mapping[str, Any], times: TimeFormat, near: int = 0) -> Value:
    """The answer in the form of the key. Raises NotAnAnswer. near: the day that a time of day belongs to."""
    kind, options = variant.asked["kind"], variant.asked["options"]
    given = answer.get("value")
    if kind in (NUMBER, TIME):
        text = str(given or "").strip() if not isinstance(given, bool) else ""
        return number_of(text) if kind == NUMBER or not times.clock else moment(text, times, near)
    if kind == CHOICE:
        if given not in options:
            raise NotAnAnswer("Choose one of the answers first.")
        return given
    if kind == SET:
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            raise NotAnAnswer("Choose those that apply, or none of them.")
        if not given and answer.get("none") is not True:
            raise NotAnAnswer("Choose those that apply, or none of them.")
        if not set(given) <= set(options) or (given and answer.get("none") is True):
            raise NotAnAnswer("Choose among what is offered, or none of them.")
        return tuple(sorted(set(given)))
    if not isinstance(given, dict) or not any(str(cell).strip() for cell in given.values()):
        raise NotAnAnswer("Fill in the table first.")
    return tuple(
        (row, number_of(str(given[row]).strip()))
        for row in options
        if str(given.get(row, "")).strip()
    )


def number_of(text: str) -> int:
    ends = {"-inf": LOWEST, "−∞": LOWEST, "+inf": HIGHEST, "∞": HIGHEST}
    if text in ends:
        return ends[text]
    if not re.fullmatch(r"[-−+]?[0-9]{1,18}", text):
        raise NotAnAnswer("Write a whole number, such as 17; −∞ is written -inf.")
    return int(text.replace("−", "-"))


def moment(text: str, times: TimeFormat, near: int) -> int:
    """A time of day as a watermark shows it, on the day nearest to `near`: 08:00 says that all before it is complete."""
    if text in ("-inf", "−∞", "+inf", "∞"):
        return number_of(text)
    found = re.fullmatch(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?", text)
    if not found:
        raise NotAnAnswer("Write a time of day, such as 08:15.")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    of_day = ((hours * 60 + minutes) * 60 + seconds) * 1000 - times.zone_minutes * 60_000
    days = (near - of_day + DAY // 2) // DAY
    return of_day + days * DAY - 1


def judge(
    lab: LabSpec, question: Predict, variant: Variant, answer: Mapping[str, Any]
) -> Work[Report]:
    """Steps the run, and says what happened and why."""
    fact = parse_fact(question.asks)
    recording = yield from standing(lab, variant)
    near = nearest(recording.view())
    seen = yield from go_on(lab, recording, question.command, question.until)
    right = fact.right(seen.span)
    times = seen.span.times
    try:
        given = read(variant, answer, times, near)
    except NotAnAnswer as error:
        return refused(str(error))
    share = share_of(fact, given, right)
    shown = " or ".join(show(fact.answer, value, times) for value in right)
    if share == 1:
        sentence = f"Right: {fact.text} is {shown}."
    else:
        sentence = f"Not so: {fact.text} is {shown}."
        believed = why_wrong(question, seen, given)
        sentence += f" {believed}" if believed else ""
    told = seen.told()
    replay = Replay(seen.log, recording.position, sentence=sentence)
    return judged(
        question.title, share == 1, share, question.points, sentence, steps=told[-8:], replay=replay
    )


def nearest(picture: Mapping[str, Any]) -> int:
    marks = [one["watermark"] for one in picture["subtasks"].values()]
    return max((mark for mark in marks if LOWEST < mark < HIGHEST), default=0)


def share_of(fact: Fact, given: Value, right: list[Value]) -> float:
    if given in right:
        return 1
    if fact.answer == TABLE:
        rows = dict(right[0])
        good = sum(rows.get(row) == value for row, value in given)
        return min(0.9, good / len(rows)) if good * 2 > len(rows) else 0
    return 0


def why_wrong(question: Predict, seen: Seen, given: Value) -> str:
    """What somebody believes who gives this answer, where its author knows."""
    for one in question.wrong:
        if given in parse_answer(one.answer).right(seen.span):
            return one.why
    return ""


def show(kind: str, value: Value, times: TimeFormat) -> str:
    if kind == TIME:
        return times.mark(value)
    if kind == SET:
        return " and ".join(value) if value else "none"
    if kind == TABLE:
        return ", ".join(f"{row}: {number}" for row, number in value)
    return str(value)


def as_answer(kind: str, value: Value, times: TimeFormat) -> dict[str, Any]:
    """A value in the form in which a page sends it."""
    if kind == SET:
        return {"value": list(value), "none": not value}
    if kind == TABLE:
        return {"value": {row: str(number) for row, number in value}}
    if kind == TIME:
        shown = times.mark(value)
        return {"value": str(value) if not times.clock else shown}
    return {"value": value if kind == CHOICE else str(value)}


def examples(lab: LabSpec, question: Predict, variant: Variant) -> Work[tuple[Any, list[Any]]]:
    """(a right answer, the wrong answers of the author), as a page sends them. For proofs, never for a page."""
    fact = parse_fact(question.asks)
    recording = yield from standing(lab, variant)
    seen = yield from go_on(lab, recording, question.command, question.until)
    times = seen.span.times
    kind = fact.answer
    right = as_answer(kind, fact.right(seen.span)[0], times)
    wrong = [
        as_answer(kind, value, times)
        for one in question.wrong
        for value in parse_answer(one.answer).right(seen.span)[:1]
    ]
    return right, wrong
