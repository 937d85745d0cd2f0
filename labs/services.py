"""What changes variants, submissions and hints. Synchronous, but for what judges: that takes turns on the event loop."""

import asyncio
import logging
import secrets
from typing import Any, TypeVar

from channels.db import database_sync_to_async
from django.db import IntegrityError, transaction
from django.utils import timezone

from engine import ENGINE_VERSION
from engine.errors import StreamLabError
from labs import selectors
from labs.models import FAILED, GRADED, STORED, HintTaken, Submission, Variant
from labs.questions import kinds, scenes
from labs.questions.spec import AnyQuestion, Counterexample, Drive, Predict
from labs.selectors import Owner, may_draw, standing_of
from labs.spec import LabSpec
from streamlab.runs import invariants, logs
from streamlab.runs.bundles import bundle_archive, bundle_lab
from streamlab.runs.errors import RunError
from streamlab.runs.models import Run
from streamlab.runs.selectors import run_get, run_log
from streamlab.runs.services import expiry, run_of_choices
from streamlab.runs.slices import Turns

logger = logging.getLogger(__name__)

T = TypeVar("T")
SEEDS = 2**53


async def in_turns(work: scenes.Work[T], turns: Turns) -> T:
    """Run work through in pieces that take turns with all other work of this process."""
    while True:
        async with turns.turn():
            try:
                next(work)
            except StopIteration as done:
                value: T = done.value
                return value


# ---- variants ---------------------------------------------------------------------------------------


async def variant_draw(
    *, owner: Owner, lab: LabSpec, question: AnyQuestion, turns: Turns
) -> Variant:
    """The next variant of an owner. Raises RunError answer_first or question_broken."""
    standing = await database_sync_to_async(standing_of)(
        owner=owner, lab=lab.slug, question=question.id
    )
    if not may_draw(question, standing):
        raise RunError("answer_first", place=question.id)
    seed = secrets.randbelow(SEEDS)
    try:
        drawn = await in_turns(kinds.vary(lab, question, seed), turns)
    except StreamLabError as error:
        logger.warning("question %s of %s cannot be asked: %s", question.id, lab.slug, error)
        raise RunError("question_broken", place=question.id) from error
    number = standing.variant.number + 1 if standing.variant else 0
    return await database_sync_to_async(variant_keep)(
        owner=owner, lab=lab, question=question, seed=seed, drawn=drawn, number=number
    )


def variant_keep(
    *,
    owner: Owner,
    lab: LabSpec,
    question: AnyQuestion,
    seed: int,
    drawn: scenes.Variant,
    number: int,
) -> Variant:
    """Of two tabs that draw at once, both get the one that came first."""
    try:
        with transaction.atomic():
            return Variant.objects.create(
                visitor=owner.visitor,
                user_id=owner.user_id,
                lab=lab.slug,
                bundle=bundle_archive(lab=lab),
                question=question.id,
                number=number,
                seed=seed,
                generator=question.generator,
                engine=ENGINE_VERSION,
                run_seed=drawn.seed,
                parameters=dict(drawn.parameters),
                step=drawn.step,
                mutant=drawn.mutant,
                invariant=drawn.invariant,
                asked=dict(drawn.asked),
                expires=expiry(owner.user_id),
            )
    except IntegrityError:
        found = selectors.variant_now(owner=owner, lab=lab.slug, question=question.id)
        if found is None:
            raise
        return found


def scene_of(variant: Variant) -> scenes.Variant:
    return scenes.Variant(
        seed=variant.run_seed,
        parameters=variant.parameters,
        step=variant.step,
        mutant=variant.mutant,
        invariant=variant.invariant,
        asked=variant.asked,
    )


def asked_of(variant: Variant) -> tuple[LabSpec, AnyQuestion]:
    """The lab and the question as they were when the variant was drawn."""
    lab = bundle_lab(digest=variant.bundle_id)
    return lab, selectors.question_get(lab=lab, name=variant.question)


# ---- runs of questions ------------------------------------------------------------------------------


def question_run(*, owner: Owner, variant: Variant) -> Run:
    """A run of what a variant is about, for its owner to drive. Raises RunError answer_first for an open prediction."""
    lab, question = asked_of(variant)
    if isinstance(question, Predict):
        raise RunError("answer_first", place=question.id)
    found = selectors.run_of_variant(owner=owner, variant=variant)
    return found or _run(owner, lab, question, variant, [], 0)


def submission_run(*, submission: Submission) -> Run:
    """The run that a report is about, at the step that it shows; made once. Raises RunError no_replay."""
    if submission.run is not None:
        return submission.run
    owner = Owner(submission.visitor, submission.user_id)
    lab, question = asked_of(submission.variant)
    for result in (submission.report or {}).get("results", []):
        if result["replay"]:
            log, step = result["replay"]["log"], result["replay"]["step"]
            run = _run(owner, lab, question, submission.variant, log, step)
            Submission.objects.filter(pk=submission.pk).update(run=run)
            return run
    raise RunError("no_replay", place=submission.pk)


def _run(
    owner: Owner,
    lab: LabSpec,
    question: AnyQuestion,
    variant: Variant,
    log: list[logs.Entry],
    position: int,
) -> Run:
    return run_of_choices(
        bundle=variant.bundle,
        lab=lab,
        owner=owner,
        title=f"{lab.title}: {question.title}",
        seed=variant.run_seed,
        parameters=variant.parameters,
        mutant=variant.mutant,
        invariants=[variant.invariant] if variant.invariant else [],
        log=log,
        position=position,
    )


def run_like(*, lab: LabSpec, variant: Variant) -> Run:
    """A run that is not stored: what a page shows of a variant before there is one."""
    return Run(
        title=lab.title,
        lab=lab.slug,
        bundle=variant.bundle,
        engine=variant.engine,
        parameters=variant.parameters,
        policy=lab.scheduler,
        seed=variant.run_seed,
        mutant=variant.mutant,
    )


# ---- submissions ------------------------------------------------------------------------------------


def submit(
    *, owner: Owner, lab: LabSpec, question: AnyQuestion, answer: dict[str, Any], key: str
) -> Submission:
    """Store an answer to the owner's present variant; the same key again gives the same submission.

    It is judged by `grade`. Raises RunError no_variant, answered or wrong_run.
    """
    with transaction.atomic():
        found = selectors.variant_now(owner=owner, lab=lab.slug, question=question.id)
        if found is None:
            raise RunError("no_variant", place=question.id)
        variant = Variant.objects.select_for_update().get(pk=found.pk)
        earlier = Submission.objects.filter(variant__lab=lab.slug, variant__question=question.id)
        known = selectors.of_owner(earlier, owner).filter(key=key).first()
        if known is not None:
            return known
        standing = standing_of(owner=owner, lab=lab.slug, question=question.id)
        if isinstance(question, Predict) and standing.answered:
            raise RunError("answered", place=question.id)
        if standing.latest is not None and standing.latest.state == STORED:
            raise RunError("still_judged", place=question.id)
        return Submission.objects.create(
            variant=variant,
            visitor=owner.visitor,
            user_id=owner.user_id,
            lab=lab.slug,
            question=question.id,
            key=key,
            answer=answer_of(owner, asked_of(variant)[1], variant, answer),
            of=question.points,
        )


def answer_of(
    owner: Owner, question: AnyQuestion, variant: Variant, answer: dict[str, Any]
) -> dict[str, Any]:
    """What is stored of an answer: of a run its choices, so that it may go on meanwhile. Raises RunError wrong_run."""
    if isinstance(question, Predict) or answer.get("none") is True:
        return {name: answer[name] for name in ("value", "none") if name in answer}
    if not isinstance(answer.get("run"), str) or not isinstance(answer.get("step"), int):
        return {}
    run = run_get(run_id=answer["run"])
    if not owner.owns(run):
        raise RunError("not_yours", place="answer.run")
    same = (run.bundle_id, run.seed, run.mutant, run.parameters)
    if same != (variant.bundle_id, variant.run_seed, variant.mutant, variant.parameters):
        raise RunError("wrong_run", place="answer.run")
    most = question.steps.most if isinstance(question, Drive) else question.most
    step = max(0, min(answer["step"], run.head, most + 1))
    return {"log": run_log(run=run, steps=step), "run": run.pk, "step": step}


async def grade(*, submission: Submission, turns: Turns, making: asyncio.Lock) -> Submission:
    """Judge it, in pieces; where that fails it costs nothing, and can be asked for again. Idempotent."""
    if submission.state == GRADED:
        return submission
    lab, question = await database_sync_to_async(asked_of)(submission.variant)
    scene = scene_of(submission.variant)
    try:
        rule = None
        if isinstance(question, Counterexample) and not submission.answer.get("none"):
            rule = await invariants.made(scene.invariant, lab, dict(scene.parameters), making)
        work = kinds.judge(lab, question, scene, submission.answer, rule)
        report = (await in_turns(work, turns)).data()
        state = GRADED
    except Exception:
        logger.exception("submission %s could not be judged", submission.pk)
        report, state = None, FAILED
    return await database_sync_to_async(report_keep)(
        submission=submission, question=question, report=report, state=state
    )


def report_keep(
    *, submission: Submission, question: AnyQuestion, report: dict[str, Any] | None, state: str
) -> Submission:
    """With its points: later attempts are worth less, and hints take theirs off."""
    owner = Owner(submission.visitor, submission.user_id)
    with transaction.atomic():
        Variant.objects.select_for_update().get(pk=submission.variant_id)
        fresh = Submission.objects.get(pk=submission.pk)
        if fresh.state == GRADED:
            return fresh
        fresh.state, fresh.report = state, report
        if report is not None and report["costs_attempt"]:
            standing = standing_of(owner=owner, lab=fresh.lab, question=fresh.question)
            number = standing.attempts + 1
            fresh.practice = number > question.attempts
            fresh.attempt = 0 if fresh.practice else number
            lab = bundle_lab(digest=fresh.variant.bundle_id)
            fresh.points = earned(lab, question, report["points"], number, standing.hints)
        fresh.save()
        return fresh


def worth_of(question: AnyQuestion, attempt: int) -> int:
    """Percent of the points that an attempt can earn; attempts count from 1."""
    return question.worth[min(attempt, len(question.worth)) - 1]


def earned(lab: LabSpec, question: AnyQuestion, points: int, attempt: int, hints: int) -> int:
    worth = worth_of(question, attempt)
    cost = sum(hint.cost for hint in lab.hints_to(question.id)[:hints])
    return max(0, (points * worth + 50) // 100 - (cost if points else 0))


def hint_take(*, owner: Owner, lab: LabSpec, question: AnyQuestion) -> None:
    """The next hint to a question. Raises RunError no_hint."""
    hints = lab.hints_to(question.id)
    with transaction.atomic():
        taken = selectors.hints_taken(owner=owner, lab=lab.slug, question=question.id)
        if taken >= len(hints):
            raise RunError("no_hint", place=question.id)
        HintTaken.objects.create(
            visitor=owner.visitor,
            user_id=owner.user_id,
            lab=lab.slug,
            question=question.id,
            number=taken,
        )


# ---- people -----------------------------------------------------------------------------------------


def answers_adopt(*, visitor: str, user_id: int) -> None:
    """Signing in moves a visitor's answers to the account; of a question that the account has begun, its own stay first."""
    with transaction.atomic():
        for variant in Variant.objects.filter(visitor=visitor, user=None).order_by("number"):
            own = selectors.variant_now(
                owner=Owner("", user_id), lab=variant.lab, question=variant.question
            )
            variant.number = own.number + 1 if own else variant.number
            variant.user_id, variant.expires = user_id, None
            variant.save()
        for model in (Submission, HintTaken):
            model.objects.filter(visitor=visitor, user=None).update(user_id=user_id)  # type: ignore[attr-defined]


def answers_expire() -> int:
    """Delete what visitors without an account have left behind; returns the number of variants."""
    past = Variant.objects.filter(expires__lt=timezone.now())
    gone = past.count()
    past.delete()
    return gone


def answers_delete(*, user_id: int) -> None:
    """Delete the variants of an account, with its answers and the hints that it took."""
    for model in (Submission, Variant, HintTaken):
        model.objects.filter(user_id=user_id).delete()  # type: ignore[attr-defined]
