"""What can be said of the questions of a lab without running anything: do the names exist that they use?"""

from collections.abc import Callable, Iterator
from typing import Any

from engine.commands import parse_command
from engine.errors import LearnerMistake
from engine.explore.registry import INVARIANTS, MUTANTS
from labs.problems import LabInvalid, Problem
from labs.questions.facts import EVENTS, parse_answer, parse_condition, parse_fact
from labs.questions.spec import AnyQuestion, Counterexample, Drive, Plan, Predict
from labs.spec import LabSpec
from labs.toml_lines import Location, line_of


def check_questions(lab: LabSpec) -> None:
    """Raises LabInvalid with every mistake, each with its line."""
    if not lab.questions:
        return
    path = lab.folder / "lab.toml"
    text = path.read_text(encoding="utf-8")
    problems = [
        Problem("lab-question", sentence, path, line_of(text, ("questions", number, *place)), mend)
        for number, question in enumerate(lab.questions)
        for place, sentence, mend in mistakes(lab, question)
    ]
    if lab.kind != "job":
        problems = [
            Problem(
                "lab-question",
                "Questions of these types ask about jobs, and kind is not job.",
                path,
                line_of(text, ("questions", 0)),
                "Take them out.",
            )
        ]
    if problems:
        raise LabInvalid(problems)


Mistake = tuple[Location, str, str]


def mistakes(lab: LabSpec, question: AnyQuestion) -> Iterator[Mistake]:
    names = {parameter.name: parameter for parameter in lab.parameters}
    for name, values in question.vary.items():
        if name not in names:
            yield (
                ("vary", name),
                f"vary names {name}, which is no parameter.",
                "Declare it, or correct it.",
            )
            continue
        for value in values:
            yield from tried(("vary", name), names[name].accept, value)
    match question:
        case Predict():
            yield from of_prediction(lab, question)
        case Drive():
            for text in question.goal:
                yield from tried(("goal",), parse_condition, text)
            yield from of_plan(("reference",), question.reference)
            for number, plan in enumerate(question.wrong):
                yield from of_plan(("wrong", number), plan)
        case Counterexample():
            for number, case in enumerate(question.cases):
                place = ("cases", number)
                if case.mutant and case.mutant not in job_names(MUTANTS):
                    known = ", ".join(job_names(MUTANTS))
                    yield place, f"There is no mutant {case.mutant!r}.", f"Choose one of {known}."
                if case.invariant not in job_names(INVARIANTS):
                    known = ", ".join(job_names(INVARIANTS))
                    yield (
                        place,
                        f"There is no invariant {case.invariant!r}.",
                        f"Choose one of {known}.",
                    )
            for number, budget in enumerate(question.commands):
                yield from tried(("commands", number), parse_command, budget.command)
            for number, plan in enumerate(question.wrong):
                yield from of_plan(("wrong", number), plan)


def of_prediction(lab: LabSpec, question: Predict) -> Iterator[Mistake]:
    yield from tried(("asks",), parse_fact, question.asks)
    for number, wrong in enumerate(question.wrong):
        yield from tried(("wrong", number, "answer"), parse_answer, wrong.answer)
    for place, moment in (("at", question.at), ("until", question.until)):
        if moment is not None and moment.event not in EVENTS:
            mend = f"Choose one of {', '.join(EVENTS)}."
            yield (place,), f"There is no event {moment.event!r}.", mend
    if question.command is not None:
        yield from tried(("command",), parse_command, question.command)
    if lab.scheduler == "manual":
        mend = "Choose round_robin or seeded_random."
        yield ("at",), "A prediction needs a policy that goes on, and scheduler is manual.", mend


def of_plan(place: Location, plan: Plan) -> Iterator[Mistake]:
    for phase in plan.phases:
        if phase.until:
            yield from tried(place, parse_condition, phase.until)
        if phase.command is not None:
            yield from tried(place, parse_command, phase.command)


def tried(place: Location, read: Callable[[Any], Any], value: Any) -> Iterator[Mistake]:
    try:
        read(value)
    except LearnerMistake as error:
        yield place, error.sentence, error.mend or "Correct it."
    except ValueError as error:
        yield place, str(error), "Correct it."


def job_names(known: dict[str, Any]) -> list[str]:
    return [name for name, entry in known.items() if entry.kind == "job"]
