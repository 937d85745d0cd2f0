"""What every question promises, tried out on many variants: a right answer gets all points, no answer none, each wrong answer of the
author fewer; and no prediction can be guessed."""

from collections import Counter
from collections.abc import Iterator

from engine.errors import StreamLabError
from labs.problems import Problem
from labs.questions import explored, kinds
from labs.questions.scenes import finish
from labs.questions.spec import AnyQuestion, Counterexample, Predict
from labs.spec import LabSpec
from labs.toml_lines import line_of

VARIANTS = 50
ENOUGH = 20
"""Variants from which on it can be told whether an answer can be guessed."""
BLANKS: tuple[dict[str, object], ...] = (
    {},
    {"value": None},
    {"value": ""},
    {"value": []},
    {"log": []},
)


def prove(lab: LabSpec, variants: int = VARIANTS) -> list[Problem]:
    """What does not hold, each said once, with the line of its question."""
    path = lab.folder / "lab.toml"
    text = path.read_text(encoding="utf-8")
    problems = []
    for number, question in enumerate(lab.questions):
        line = line_of(text, ("questions", number, "id"))
        try:
            found = dict.fromkeys(broken_promises(lab, question, variants))
        except StreamLabError as error:
            found = {(error.sentence, error.mend or "Correct the question."): None}
        problems += [
            Problem("lab-question-proof", f"{question.id}: {sentence}", path, line, mend)
            for sentence, mend in found
        ]
    return problems


def broken_promises(
    lab: LabSpec, question: AnyQuestion, variants: int
) -> Iterator[tuple[str, str]]:
    answers: Counter[str] = Counter()
    for seed in range(variants):
        variant = finish(kinds.vary(lab, question, seed))
        right, wrong = finish(kinds.examples(lab, question, variant))
        answers[repr(right)] += 1
        report = finish(kinds.judge(lab, question, variant, right))
        if report.points < question.points:
            yield (
                f"the reference does not get full marks: {report.sentence}",
                "Correct the reference, or allow more steps.",
            )
        for blank in BLANKS:
            if finish(kinds.judge(lab, question, variant, blank)).points:
                yield "no answer at all gets points.", "Ask for something that has to be said."
        for number, answer in enumerate(wrong, 1):
            if finish(kinds.judge(lab, question, variant, answer)).points >= question.points:
                yield f"wrong answer {number} gets full marks.", "Correct it, or take it out."
    answer, times = answers.most_common(1)[0]
    if isinstance(question, Predict) and variants >= ENOUGH and times * 2 > variants:
        yield (
            f"{answer} is right in {times} of {variants} variants, so it can be guessed.",
            "Vary parameters, look at more steps, or ask for more.",
        )


def stale(lab: LabSpec) -> list[Problem]:
    """Counterexample questions that the explorer has not looked at as they are now."""
    path = lab.folder / "lab.toml"
    text = path.read_text(encoding="utf-8")
    known = explored.load(lab)
    problems = []
    for number, question in enumerate(lab.questions):
        if isinstance(question, Counterexample) and any(
            explored.name_of(lab, question, *combination) not in known
            for combination in explored.combinations(lab, question)
        ):
            line = line_of(text, ("questions", number, "id"))
            sentence = f"{question.id} has been edited since it was explored, or never was."
            mend = f"Run manage.py checklabs --explore {lab.slug}."
            problems.append(Problem("lab-question-unexplored", sentence, path, line, mend))
    return problems
