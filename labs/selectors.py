"""What can be asked of variants, submissions and hints. Everything is asked on behalf of an owner."""

from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from labs.models import GRADED, STORED, HintTaken, Submission, Variant
from labs.questions.spec import AnyQuestion, Predict
from labs.spec import LabSpec
from streamlab.runs.errors import RunError
from streamlab.runs.models import Run
from streamlab.runs.selectors import Owner

M = TypeVar("M", bound=Model)


def of_owner(rows: QuerySet[M], owner: Owner) -> QuerySet[M]:
    if owner.user_id is not None:
        return rows.filter(user_id=owner.user_id)
    if owner.visitor:
        return rows.filter(visitor=owner.visitor, user=None)
    return rows.none()


def question_get(*, lab: LabSpec, name: str) -> AnyQuestion:
    """Raises RunError unknown_question."""
    question = lab.question(name)
    if question is None:
        raise RunError("unknown_question", place=name[:60], name=name[:60], lab=lab.slug)
    return question


def variant_now(*, owner: Owner, lab: str, question: str) -> Variant | None:
    """The latest variant of its owner."""
    rows = of_owner(Variant.objects.filter(lab=lab, question=question), owner)
    return rows.order_by("-number").first()


def submissions_of(*, owner: Owner, lab: str, question: str = "") -> QuerySet[Submission]:
    rows = of_owner(Submission.objects.filter(lab=lab), owner)
    return (rows.filter(question=question) if question else rows).order_by("created", "pk")


def submission_get(*, owner: Owner, submission_id: str) -> Submission:
    """Raises RunError unknown_submission, also for one of somebody else."""
    rows = of_owner(Submission.objects.select_related("variant"), owner)
    found = rows.filter(pk=submission_id).first()
    if found is None:
        raise RunError("unknown_submission", place=submission_id[:40])
    return found


def hints_taken(*, owner: Owner, lab: str, question: str) -> int:
    numbers = of_owner(HintTaken.objects.filter(lab=lab, question=question), owner)
    return len(set(numbers.values_list("number", flat=True)))


def run_of_variant(*, owner: Owner, variant: Variant) -> Run | None:
    """The owner's latest run of what a variant is about."""
    rows = of_owner(Run.objects.filter(bundle_id=variant.bundle_id, lab=variant.lab), owner)
    rows = rows.filter(seed=variant.run_seed, mutant=variant.mutant)
    found = rows.order_by("-updated")[:20]
    return next((run for run in found if run.parameters == variant.parameters), None)


@dataclass(frozen=True)
class Standing:
    """How far somebody has come with a question. attempts: those that counted; points: of the best of them."""

    variant: Variant | None
    latest: Submission | None  # to this variant
    attempts: int
    points: int
    hints: int

    @property
    def answered(self) -> bool:
        """A judged answer to this variant is there, or one is being judged."""
        return self.latest is not None and (
            self.latest.state == STORED or bool((self.latest.report or {}).get("costs_attempt"))
        )


def standing_of(*, owner: Owner, lab: str, question: str) -> Standing:
    variant = variant_now(owner=owner, lab=lab, question=question)
    counted = submissions_of(owner=owner, lab=lab, question=question)
    attempts = [one for one in counted if one.attempt]
    mine = [one for one in counted if variant is not None and one.variant_id == variant.pk]
    return Standing(
        variant=variant,
        latest=mine[-1] if mine else None,
        attempts=len(attempts),
        points=max((one.points for one in attempts), default=0),
        hints=hints_taken(owner=owner, lab=lab, question=question),
    )


def may_draw(question: AnyQuestion, standing: Standing) -> bool:
    """Whether a new variant may be asked for: while attempts count, a prediction has to be answered first."""
    if standing.variant is None or standing.attempts >= question.attempts:
        return True
    return standing.answered or not isinstance(question, Predict)


def progress(*, owner: Owner, lab: LabSpec) -> list[dict[str, Any]]:
    """[{part, title, points, of, answered, questions}] for each part, and for the questions outside of them."""
    best: dict[str, int] = {}
    answered: set[str] = set()
    for one in submissions_of(owner=owner, lab=lab.slug):
        if one.attempt and one.state == GRADED:
            best[one.question] = max(best.get(one.question, 0), one.points)
            answered.add(one.question)
    groups: list[tuple[str, str, list[AnyQuestion]]] = [
        (part.id, part.title, [one for one in lab.questions if one.part == part.id])
        for part in lab.parts
    ]
    groups.append(("", "Other questions", [one for one in lab.questions if not one.part]))
    return [
        {
            "part": name,
            "title": title,
            "points": sum(best.get(one.id, 0) for one in questions),
            "of": sum(one.points for one in questions),
            "answered": sum(one.id in answered for one in questions),
            "questions": len(questions),
        }
        for name, title, questions in groups
        if questions
    ]


def answers_of(*, user_id: int) -> list[dict[str, Any]]:
    """All answers of an account, in a form for JSON."""
    return [
        {
            "lab": one.lab,
            "question": one.question,
            "answer": one.answer,
            "attempt": one.attempt,
            "points": one.points,
            "of": one.of,
            "report": one.report,
            "created": one.created.isoformat(),
        }
        for one in Submission.objects.filter(user_id=user_id).order_by("created", "pk")
    ]
