"""The types of questions by their names in lab.toml."""

from collections.abc import Mapping
from typing import Any

from engine.explore.invariants import Rule
from labs.questions import counterexample, drive, predict
from labs.questions.report import Report
from labs.questions.scenes import Variant, Work
from labs.questions.spec import AnyQuestion, Counterexample, Drive, Predict
from labs.spec import LabSpec


def vary(lab: LabSpec, question: AnyQuestion, seed: int) -> Work[Variant]:
    """A variant of the question from a seed; the same seed gives the same variant. Raises an engine error."""
    match question:
        case Predict():
            return predict.vary(lab, question, seed)
        case Drive():
            return drive.vary(lab, question, seed)
        case Counterexample():
            return counterexample.vary(lab, question, seed)


def judge(
    lab: LabSpec,
    question: AnyQuestion,
    variant: Variant,
    answer: Mapping[str, Any],
    rule: Rule | None = None,
) -> Work[Report]:
    """The report of an answer. rule: of a counterexample question, where somebody has made it already."""
    match question:
        case Predict():
            return predict.judge(lab, question, variant, answer)
        case Drive():
            return drive.judge(lab, question, variant, answer)
        case Counterexample():
            return counterexample.judge(lab, question, variant, answer, rule)


def examples(lab: LabSpec, question: AnyQuestion, variant: Variant) -> Work[tuple[Any, list[Any]]]:
    """(a right answer, wrong ones). For proofs, never for a page."""
    match question:
        case Predict():
            return predict.examples(lab, question, variant)
        case Drive():
            return drive.examples(lab, question, variant)
        case Counterexample():
            return counterexample.examples(lab, question, variant)
