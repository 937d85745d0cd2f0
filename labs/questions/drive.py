"""Drive: reach a goal by choosing what happens. What is judged is the choices of the student's run, replayed on a fresh engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.errors import StreamLabError
from engine.randomness import RandomStream
from labs.questions.facts import Span, parse_condition, unanswerable
from labs.questions.report import Replay, Report, Told, judged, refused
from labs.questions.scenes import (
    Variant,
    Work,
    condition_of,
    draw,
    fits,
    follow,
    logged_steps,
    opened,
)
from labs.questions.spec import Drive, Forbidden
from labs.spec import LabSpec
from streamlab.runs import recordings

VARIANTS_TRIED = 30


def vary(lab: LabSpec, question: Drive, seed: int) -> Work[Variant]:
    """A variant that the reference can solve and that no listed wrong plan solves. Raises Unanswerable."""
    random = RandomStream(seed, f"{lab.slug} {question.id} {question.generator}")
    for _ in range(VARIANTS_TRIED):
        run_seed, parameters = draw(lab, question, random)
        variant = Variant(run_seed, parameters, asked={"kind": "run"})
        right, wrong = yield from examples(lab, question, variant)
        if (yield from judge(lab, question, variant, right)).points < question.points:
            continue
        for answer in wrong:
            if (yield from judge(lab, question, variant, answer)).points == question.points:
                break
        else:
            return variant
    raise unanswerable(
        "No run was found that the reference solves and the wrong answers do not.",
        question.id,
        "Correct the reference, allow more steps, or vary parameters.",
    )


def judge(
    lab: LabSpec, question: Drive, variant: Variant, answer: Mapping[str, Any]
) -> Work[Report]:
    """answer: {"log": choices from step 0}; only the first `steps.most` steps are looked at."""
    log = answer.get("log")
    if not log or not logged_steps(log):
        return refused("Take a step first: your run is the answer.")
    reached, limit = condition_of(question.goal), question.steps.most
    length = logged_steps(log)
    commands = [entry[1] for entry in log if entry[0] == "command"]
    commands.reverse()
    recording = opened(lab, variant, log)
    start, times = recording.view(), recordings.times_of(lab)
    events: list[Any] = []
    told: list[Told] = []
    name, of = question.title, question.points

    def replay(sentence: str) -> Replay:
        return Replay(tuple(log), recording.position, rule=name, sentence=sentence)

    try:
        while recording.position < min(length, limit):
            trace = recording.step(1, events=True)[0]
            command = commands.pop()["kind"] if trace.action == "command" else ""
            events += trace.events
            told.append(Told(trace.step, recording.narrate(trace, times)))
            broken = forbidden(question.forbidden, trace.action, command)
            if broken is not None:
                sentence = f"Step {trace.step} is not allowed here: {broken.why}"
                return judged(
                    name, False, 0, of, sentence, steps=tuple(told[-4:]), replay=replay(sentence)
                )
            if reached(Span(start, recording.view, events, times)):
                share = worth(question, trace.step)
                sentence = f"Reached in {trace.step} steps."
                if share < 1:
                    sentence += f" Full points need at most {question.steps.full}."
                return judged(
                    name, True, share, of, sentence, steps=tuple(told[-4:]), replay=replay(sentence)
                )
            yield
    except StreamLabError as error:
        return refused(f"This run cannot be replayed: {error.sentence}")
    sentence = f"Not reached in {recording.position} steps: {missing(question, Span(start, recording.view, events, times))}."
    if length > limit:
        sentence += f" Later steps than {limit} do not count."
    return judged(name, False, 0, of, sentence, steps=tuple(told[-4:]), replay=replay(sentence))


def missing(question: Drive, span: Span) -> str:
    """The first condition that does not hold, with what holds instead."""
    for text in question.goal:
        condition = parse_condition(text)
        if not condition.holds(span):
            have = " or ".join(map(str, condition.fact.right(span)))
            return f"“{text}” is part of the goal, and it is {have}"
    return "the goal is to be reached earlier"


def forbidden(rules: tuple[Forbidden, ...], action: str, command: str) -> Forbidden | None:
    for rule in rules:
        if fits(rule.action, action) or (command and rule.command == command):
            return rule
    return None


def worth(question: Drive, steps: int) -> float:
    full, most = question.steps.full, question.steps.most
    return 1.0 if steps <= full else 1 - 0.5 * (steps - full) / (most - full)


def examples(lab: LabSpec, question: Drive, variant: Variant) -> Work[tuple[Any, list[Any]]]:
    """(the answer of the reference, those of the wrong plans). For proofs, never for a page."""
    most = question.steps.most
    right = yield from follow(lab, variant, question.reference, most)
    wrong = []
    for plan in question.wrong:
        log = yield from follow(lab, variant, plan, most)
        wrong.append({"log": list(log)})
    return {"log": list(right)}, wrong
