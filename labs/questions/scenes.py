"""The run that a variant of a question is about, and what happens in a piece of it.

Functions that may take long are generators: they yield between short pieces of work and return what they found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from engine import Recording, StepTrace
from engine.errors import LearnerMistake
from engine.log import LogEntry
from engine.narration import narrate_step
from engine.randomness import RandomStream
from labs.questions.facts import Span, matches, parse_condition
from labs.questions.report import Told
from labs.questions.spec import AnyQuestion, Plan, Until
from labs.spec import LabSpec
from streamlab.runs import recordings

T = TypeVar("T")
Work: TypeAlias = Generator[None, None, T]
"""Work in pieces; its value is what it returns."""

SPAN_STEPS = 2000
"""A prediction looks no further ahead."""
STEPS_A_PIECE = 8
SEEDS = 2**31


@dataclass(frozen=True)
class Variant:
    """What makes a question one of its own: the run's seed and parameters, and what was drawn for it.

    step: where the run stands when a prediction is asked; 0 for the other types. asked: what a student is shown besides, such as
    the answers to choose from; it holds nothing of the key.
    """

    seed: int
    parameters: Mapping[str, int]
    step: int = 0
    mutant: str = ""
    invariant: str = ""
    asked: Mapping[str, Any] = field(default_factory=dict)


def finish(work: Work[T]) -> T:
    """Run it through at once."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            value: T = done.value
            return value


def draw(lab: LabSpec, question: AnyQuestion, random: RandomStream) -> tuple[int, dict[str, int]]:
    """(seed of a run, values of all parameters)."""
    values = dict(lab.parameter_values({}))
    for name, choices in question.vary.items():
        values[name] = choices[random.below(len(choices))]
    return random.below(SEEDS), values


def opened(lab: LabSpec, variant: Variant, log: Iterable[LogEntry] = ()) -> Recording:
    """Its run at step 0. Raises an engine error."""
    recording = recordings.open_recording(
        lab=lab,
        parameters=dict(variant.parameters),
        policy=lab.scheduler,
        quantum=1,
        seed=variant.seed,
        mutant=variant.mutant,
        log=log,
    )
    return recordings.of_job(recording)


def standing(lab: LabSpec, variant: Variant) -> Work[Recording]:
    """Its run where the question is asked."""
    recording = opened(lab, variant, [["policy", variant.step]] if variant.step else [])
    while not recording.replay_slice(64):
        yield
    return recording


@dataclass(frozen=True)
class Seen:
    """A piece of a run, and how it is told."""

    span: Span
    traces: tuple[StepTrace, ...]
    log: tuple[LogEntry, ...]
    complete: bool  # whether what it went on for has happened

    def told(self) -> tuple[Told, ...]:
        return tuple(
            Told(trace.step, narrate_step(trace, self.span.times)) for trace in self.traces
        )


def go_on(
    lab: LabSpec, recording: Recording, command: dict[str, Any] | None, until: Until | None
) -> Work[Seen]:
    """From where the recording stands: the command, then steps until `until`, or one step. Moves the recording."""
    before = recording.view()
    traces: list[StepTrace] = []
    if command is not None:
        traces.append(recording.apply(command))
    complete = False
    for number in range(SPAN_STEPS if until else 1):
        taken = recording.step(1, events=True)
        if not taken:
            break
        traces += taken
        complete = until is None or any(
            matches(event, until.event, until.subtask) for event in taken[0].events
        )
        if complete:
            break
        if number % STEPS_A_PIECE == STEPS_A_PIECE - 1:
            yield
    events = [event for trace in traces for event in trace.events]
    after = recording.view()
    span = Span(before, lambda: after, events, recordings.times_of(lab))
    return Seen(span, tuple(traces), recording.log, complete)


# ---- schedules ------------------------------------------------------------------------------------


def condition_of(texts: Iterable[str]) -> Callable[[Span], bool]:
    conditions = [parse_condition(text) for text in texts]
    return lambda span: all(condition.holds(span) for condition in conditions)


def follow(lab: LabSpec, variant: Variant, plan: Plan, most: int) -> Work[tuple[LogEntry, ...]]:
    """The choices of a plan, at most so many steps. Raises LearnerMistake where a command is impossible."""
    recording = opened(lab, variant)
    start, times = recording.view(), recordings.times_of(lab)
    events: list[Any] = []
    for phase in plan.phases:
        reached = condition_of([phase.until] if phase.until else [])
        if phase.command is not None and recording.position < most:
            events += recording.apply(phase.command).events
        while recording.position < most:
            if phase.until and reached(Span(start, recording.view, events, times)):
                break
            trace = preferred(recording, phase.prefer)
            if trace is None:
                break
            events += trace.events
            yield
    return recording.log


def preferred(recording: Recording, patterns: Iterable[str]) -> StepTrace | None:
    possible = [action["id"] for action in recording.possible()]
    for pattern in patterns:
        for action in possible:
            if fits(pattern, action):
                return recording.act(action)
    try:
        taken = recording.step(1, events=True)
    except LearnerMistake:  # nobody but a person decides under this policy
        return recording.act(possible[0]) if possible else None
    return taken[0] if taken else None


def fits(pattern: str, action: str) -> bool:
    """Whether the id of an action fits; `*` stands for anything, and nothing else is special."""
    return bool(pattern) and bool(
        re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), action)
    )


def logged_steps(log: Iterable[Any]) -> int:
    return sum(entry[1] if entry[0] == "policy" else 1 for entry in log)
