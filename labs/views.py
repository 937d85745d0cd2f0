"""Questions on a page: cards that are fetched one by one, and what their buttons ask for.

A card is a piece of HTML for one owner. Nothing of a key, a wrong answer or a reference is ever in its context.
"""

from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST, require_safe

from engine.explore.registry import INVARIANTS, MUTANTS
from labs import selectors, services
from labs.models import STORED, Submission, Variant
from labs.questions.spec import AnyQuestion, Counterexample, Drive, Predict
from labs.selectors import Owner
from labs.spec import LabSpec
from streamlab.runs import protocol
from streamlab.runs.errors import RunError
from streamlab.runs.messages import Field, Rule, text
from streamlab.runs.previews import preview
from streamlab.runs.registry import registry
from streamlab.runs.services import lab_get
from streamlab.runs.views import data, new_owner, owner_of, page, told, viewer

ANSWER = (
    Field("key", text(64), "a name that the page makes up, another one for each answer"),
    Field(
        "answer",
        Rule("an object", lambda value: isinstance(value, dict) and len(value) <= 10),
        "the answer",
    ),
)


# ---- pages and cards, which write nothing -----------------------------------------------------------


@require_safe
@page
async def question_page(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """The viewer at the step that the question is about, or on the run that it is answered with."""
    lab = lab_get(slug=slug)
    question = selectors.question_get(lab=lab, name=name)
    owner = await owner_of(request)
    variant = await database_sync_to_async(selectors.variant_now)(
        owner=owner, lab=slug, question=name
    )
    if variant is None:
        raise RunError("no_variant", place=name)
    lab, question = await database_sync_to_async(services.asked_of)(variant)
    found = None
    if not isinstance(question, Predict):
        found = await database_sync_to_async(selectors.run_of_variant)(owner=owner, variant=variant)
    picture = None if found else await picture_of(lab, variant)
    create = reverse("question-run", kwargs={"slug": slug, "name": name})
    about = {"id": question.id, "title": question.title, "forbidden": forbidden(question)}
    like = None if found else services.run_like(lab=lab, variant=variant)
    return await viewer(request, lab, found, picture=picture, create=create, like=like, about=about)


def forbidden(question: AnyQuestion) -> list[dict[str, str]]:
    """What may not be chosen, and why: shown beside the actions, and judged on the server."""
    if isinstance(question, Drive):
        return [rule.model_dump() for rule in question.forbidden]
    if isinstance(question, Counterexample):
        allowed = {budget.command.get("kind") for budget in question.commands}
        kinds = ("checkpoint", "savepoint", "stop", "refuse_upload", "fail", "rescale")
        why = "The schedules of this question do without it."
        return [
            {"action": "", "command": kind, "why": why} for kind in kinds if kind not in allowed
        ]
    return []


async def picture_of(lab: LabSpec, variant: Variant) -> dict[str, Any]:
    return await preview(
        turns=registry().turns,
        lab=lab,
        parameters=variant.parameters,
        policy=lab.scheduler,
        quantum=1,
        seed=variant.run_seed,
        mutant=variant.mutant,
        log=[["policy", variant.step]] if variant.step else [],
    )


@require_GET
@data
async def card(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    lab = lab_get(slug=slug)
    selectors.question_get(lab=lab, name=name)
    return await show_card(request, lab, name, await owner_of(request))


@require_GET
@data
async def progress(request: HttpRequest, slug: str) -> HttpResponse:
    owner, lab = await owner_of(request), lab_get(slug=slug)
    parts = await database_sync_to_async(selectors.progress)(owner=owner, lab=lab)
    return JsonResponse({"parts": parts})


@require_safe
@page
async def submission(request: HttpRequest, submission_id: str) -> HttpResponse:
    """The report of a submission, for its owner."""
    owner = await owner_of(request)
    found = await database_sync_to_async(selectors.submission_get)(
        owner=owner, submission_id=submission_id
    )
    lab, question = await database_sync_to_async(services.asked_of)(found.variant)
    content = {
        "lab": lab,
        "question": question,
        "submission": found,
        "given": given_of(lab, question, found),
    }
    return render(request, "labs/submission.html", content)


# ---- what a card is made of --------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """How an answer is given. options: [(value, checked)]; kind as in facts.py, "run" or "counterexample"."""

    kind: str
    options: list[str]
    hint: str = ""


async def show_card(request: HttpRequest, lab: LabSpec, name: str, owner: Owner) -> HttpResponse:
    content = await database_sync_to_async(card_content)(lab, name, owner)
    return JsonResponse({"html": render_to_string("labs/card.html", content, request)})


def card_content(lab: LabSpec, name: str, owner: Owner) -> dict[str, Any]:
    """The lab is the one of the variant where one is open: edits are seen with the next one."""
    standing = selectors.standing_of(owner=owner, lab=lab.slug, question=name)
    if standing.variant is not None:
        lab, question = services.asked_of(standing.variant)
    else:
        question = selectors.question_get(lab=lab, name=name)
    hints = lab.hints_to(name)
    latest = standing.latest
    return {
        "lab": lab,
        "question": question,
        "prompt": next(
            one.html for one in lab.pieces if (one.kind, one.argument) == ("question", name)
        ),
        "standing": standing,
        "variant": standing.variant,
        "practice": standing.attempts >= question.attempts,
        "left": max(0, question.attempts - standing.attempts),
        "worth": services.worth_of(question, standing.attempts + 1),
        "input": input_of(lab, standing.variant),
        "may_answer": standing.variant is not None
        and (latest is None or latest.state != STORED)
        and not (isinstance(question, Predict) and standing.answered),
        "may_draw": standing.variant is not None and selectors.may_draw(question, standing),
        "latest": latest,
        "given": given_of(lab, question, latest) if latest else "",
        "hints": hints[: standing.hints],
        "next_hint": hints[standing.hints] if standing.hints < len(hints) else None,
        "goal": question.goal if isinstance(question, Drive) else (),
        "case": case_of(standing.variant),
        "most": most_of(question),
        "commands": commands_of(question),
    }


def input_of(lab: LabSpec, variant: Variant | None) -> Input | None:
    if variant is None:
        return None
    kind = variant.asked["kind"]
    clock = kind == "time" and lab.time_format != "milliseconds"
    hint = "hh:mm" if clock else "ms" if kind == "time" else ""
    return Input(kind, variant.asked.get("options", []), hint)


def case_of(variant: Variant | None) -> dict[str, str] | None:
    if variant is None or not variant.invariant:
        return None
    mutant, rule = MUTANTS.get(variant.mutant), INVARIANTS[variant.invariant]
    return {
        "protocol": mutant.title if mutant else "The right protocol",
        "does": mutant.explanation if mutant else "",
        "rule": rule.title,
        "means": rule.explanation,
    }


def most_of(question: AnyQuestion) -> int:
    if isinstance(question, Drive):
        return question.steps.most
    return question.most if isinstance(question, Counterexample) else 0


def commands_of(question: AnyQuestion) -> list[str]:
    """What may be given in a schedule, and how often, in words."""
    if not isinstance(question, Counterexample):
        return []
    return [
        f"{' '.join(map(str, budget.command.values()))} ({budget.times}×)"
        for budget in question.commands
    ]


def given_of(lab: LabSpec, question: AnyQuestion, found: Submission) -> str:
    """What was answered, in words."""
    answer = found.answer
    if not isinstance(question, Predict):
        return "There is none" if answer.get("none") else f"A run of {answer.get('step', 0)} steps"
    value = answer.get("value")
    if isinstance(value, list):
        return " and ".join(map(str, value)) if value else "none"
    if isinstance(value, dict):
        return ", ".join(f"{row}: {cell}" for row, cell in value.items())
    return str(value)


# ---- requests that make something --------------------------------------------------------------------


@require_POST
@data
async def begin(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Draw a variant: the first one, or another where that is allowed."""
    lab = lab_get(slug=slug)
    question = selectors.question_get(lab=lab, name=name)
    owner = await new_owner(request)
    await services.variant_draw(owner=owner, lab=lab, question=question, turns=registry().turns)
    return await show_card(request, lab, name, owner)


@require_POST
@data
async def answer(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Stored first, then judged; the card shows the report."""
    lab = lab_get(slug=slug)
    question = selectors.question_get(lab=lab, name=name)
    owner = await new_owner(request)
    asked = protocol.parse_body(request.body, ANSWER, name="answer")
    found = await database_sync_to_async(services.submit)(
        owner=owner, lab=lab, question=question, **asked
    )
    await services.grade(submission=found, turns=registry().turns, making=registry().making)
    return await show_card(request, lab, name, owner)


@require_POST
@data
async def judge(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Judge an answer that is stored and was left so, as where the server was stopped in between."""
    lab, owner = lab_get(slug=slug), await new_owner(request)
    standing = await database_sync_to_async(selectors.standing_of)(
        owner=owner, lab=slug, question=name
    )
    if standing.latest is not None:
        await services.grade(
            submission=standing.latest, turns=registry().turns, making=registry().making
        )
    return await show_card(request, lab, name, owner)


@require_POST
@data
async def hint(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    lab = lab_get(slug=slug)
    question = selectors.question_get(lab=lab, name=name)
    owner = await new_owner(request)
    await database_sync_to_async(services.hint_take)(owner=owner, lab=lab, question=question)
    return await show_card(request, lab, name, owner)


@require_POST
@data
async def run(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """The run that the question is answered with; a prediction is answered without one."""
    owner = await new_owner(request)
    variant = await database_sync_to_async(selectors.variant_now)(
        owner=owner, lab=slug, question=name
    )
    if variant is None:
        raise RunError("no_variant", place=name)
    made = await database_sync_to_async(services.question_run)(owner=owner, variant=variant)
    return told(made, url=reverse("question", kwargs={"slug": slug, "name": name}))


@require_POST
@data
async def submission_run(request: HttpRequest, submission_id: str) -> HttpResponse:
    owner = await new_owner(request)
    found = await database_sync_to_async(selectors.submission_get)(
        owner=owner, submission_id=submission_id
    )
    return told(await database_sync_to_async(services.submission_run)(submission=found))
