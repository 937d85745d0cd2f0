"""The page that compares two schemes. Its address says all of it: nothing is stored, and the address can be shared.

    /labs/<lab>/compare/?a=aligned&b=at_least_once&seed=7&size=20&do=checkpoint@40&by=input&at=60

a, b: schemes; seed, policy, and the lab's parameters by name, all optional; do: a command, any number of them;
version: the lab as a run has it; by, at: the cursor.
"""

from typing import Any
from urllib.parse import urlencode

from channels.db import database_sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.request import QueryDict
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from engine.errors import StreamLabError
from labs.spec import LabSpec
from streamlab.runs import logs, rebuild, recordings, services
from streamlab.runs.bundles import bundle_lab
from streamlab.runs.comparisons import STEPS_MAX, Wanted, plan_of
from streamlab.runs.errors import RunError
from streamlab.runs.messages import SAFE
from streamlab.runs.models import Bundle
from streamlab.runs.plans import PLANNED_MAX, parse_plan
from streamlab.runs.previews import preview
from streamlab.runs.registry import registry
from streamlab.runs.schemes import SCHEME, SCHEMES, other_scheme, scheme_of
from streamlab.runs.views import data, page

CURSORS = ("input", "steps")


@require_safe
@page
async def compare_page(request: HttpRequest, slug: str) -> HttpResponse:
    wanted = await wanted_of(request.GET, slug)
    lab = wanted.lab
    picture = await preview(
        turns=registry().turns,
        lab=lab,
        parameters={**dict(wanted.parameters), SCHEME: wanted.schemes[0]},
        policy=wanted.policy,
        quantum=wanted.quantum,
        seed=wanted.seed,
    )
    query = query_of(wanted, request.GET)
    boot = {
        "query": urlencode(query),
        "by": by_of(request.GET),
        "at": whole_of(request.GET, "at", 0),
        "sides": [
            {"name": name, "label": SCHEMES[name].label, "sentence": SCHEMES[name].sentence}
            for name in wanted.schemes
        ],
        "view": picture["view"],
        "targets": {command["kind"]: command for command in picture["actions"]["commands"]},
        "start": {
            "seed": wanted.seed,
            "policy": wanted.policy,
            "quantum": wanted.quantum,
            "parameters": dict(wanted.parameters),
            "scheme": SCHEME,
        },
        "time_zone_minutes": lab.time_zone_minutes,
        "time_format": lab.time_format,
        "keys": dict(lab.key_names),
        "csrf": get_token(request),
        "urls": {
            "page": reverse("compare", kwargs={"slug": slug}),
            "summary": reverse("compare-summary", kwargs={"slug": slug}),
            "at": reverse("compare-at", kwargs={"slug": slug}),
            "new": reverse("run-new", kwargs={"slug": slug}),
        },
    }
    shown = {
        "lab": lab,
        "boot": boot,
        "schemes": SCHEMES,
        "a": wanted.schemes[0],
        "b": wanted.schemes[1],
        "seed": wanted.seed,
        "parameters": [
            (parameter, dict(wanted.parameters)[parameter.name]) for parameter in lab.parameters
        ],
        "kept": [(name, value) for name, value in query if name in ("do", "version", "policy")],
        "left_out": request.GET.get("left_out", ""),
    }
    return render(request, "runs/compare.html", shown)


@require_safe
@data
async def compare_summary(request: HttpRequest, slug: str) -> HttpResponse:
    """Both runs as a whole; made here where nobody has asked for them lately."""
    comparison = await registry().compare(await wanted_of(request.GET, slug))
    async with registry().turns.turn():
        return JsonResponse(comparison.summary())


@require_safe
@data
async def compare_at(request: HttpRequest, slug: str) -> HttpResponse:
    """Both pictures and all measures where the cursor stands."""
    comparison = await registry().compare(await wanted_of(request.GET, slug))
    cursor = whole_of(request.GET, "at", 0)
    async with registry().turns.turn():
        return JsonResponse(comparison.at(by_of(request.GET), cursor))


@require_safe
@page
async def compare_run(request: HttpRequest, run_id: str) -> HttpResponse:
    """The run of a visitor, compared: the same seed and parameters, and its commands at the same moments."""
    stored = await database_sync_to_async(rebuild.load)(run_id)
    run = stored.run
    log = logs.cut(stored.log, STEPS_MAX)
    recording = recordings.of_job(
        recordings.open_recording(
            lab=stored.lab,
            parameters=run.parameters,
            policy=run.policy,
            quantum=run.quantum,
            seed=run.seed,
            mutant=run.mutant,
            log=log,
        )
    )
    try:
        plan, position = await plan_of(recording, registry().turns, min(run.position, STEPS_MAX))
    except StreamLabError as error:
        raise RunError("run_unreadable", sentence=error.sentence, place=error.place) from error
    own = scheme_of(recordings.graph_factory(stored.lab, run.parameters)())
    wanted = Wanted(
        lab=stored.lab,
        parameters=tuple((name, value) for name, value in run.parameters.items() if name != SCHEME),
        policy=run.policy,
        quantum=run.quantum,
        seed=run.seed,
        schemes=(own, other_scheme(own)),
        plan=plan[:PLANNED_MAX],
    )
    version = QueryDict(f"version={run.bundle_id}")
    query = [*query_of(wanted, version), ("at", str(position))]
    if len(plan) > PLANNED_MAX or any(entry[0] == "action" for entry in log):
        query.append(("left_out", "1"))
    address = reverse("compare", kwargs={"slug": run.lab})
    return HttpResponseRedirect(f"{address}?{urlencode(query)}")


# ---- the address ---------------------------------------------------------------------------------


async def wanted_of(asked: QueryDict, slug: str) -> Wanted:
    """Raises RunError unknown_lab or bad_parameter, or an engine error."""
    lab = await lab_of(asked, slug)
    recordings.check_job(lab)
    chosen = {
        parameter.name: whole_of(asked, parameter.name, parameter.default)
        for parameter in lab.parameters
    }
    parameters = services.parameters_choose(lab=lab, chosen=chosen)
    policy = asked.get("policy") or lab.scheduler
    if policy not in recordings.POLICIES:
        sentence = f"The policy must be one of {', '.join(recordings.POLICIES)}."
        raise RunError("bad_parameter", place="policy", sentence=sentence)
    own = scheme_of(recordings.graph_factory(lab, parameters)())
    a = services.scheme_choose(asked.get("a") or own)
    b = services.scheme_choose(asked.get("b") or other_scheme(a))
    return Wanted(
        lab=lab,
        parameters=tuple(parameters.items()),
        # Nobody is there to choose by hand in two runs at once.
        policy="round_robin" if policy == "manual" else policy,
        quantum=within("quantum", whole_of(asked, "quantum", 1), 1, 1000),
        seed=within("seed", whole_of(asked, "seed", lab.seed), 0, SAFE - 1),
        schemes=(a, b),
        plan=parse_plan(asked.getlist("do")),
    )


async def lab_of(asked: QueryDict, slug: str) -> LabSpec:
    lab = services.lab_get(slug=slug)
    version = asked.get("version")
    if not version or version == lab.digest:
        return lab
    try:
        kept = await database_sync_to_async(bundle_lab)(digest=version)
    except Bundle.DoesNotExist:
        kept = None
    if kept is None or kept.slug != slug:
        sentence = "This version of the lab is not kept here."
        raise RunError("bad_parameter", place="version", sentence=sentence)
    return kept


def query_of(wanted: Wanted, asked: QueryDict) -> list[tuple[str, str]]:
    """What an address says of a comparison, without its cursor."""
    query: list[tuple[str, Any]] = [("a", wanted.schemes[0]), ("b", wanted.schemes[1])]
    query += [("seed", wanted.seed), *wanted.parameters]
    if wanted.policy != wanted.lab.scheduler:
        query.append(("policy", wanted.policy))
    if wanted.quantum != 1:
        query.append(("quantum", wanted.quantum))
    if asked.get("version"):
        query.append(("version", asked["version"]))
    return [(name, str(value)) for name, value in query] + [
        ("do", str(planned)) for planned in wanted.plan
    ]


def by_of(asked: QueryDict) -> str:
    by = asked.get("by") or "input"
    if by not in CURSORS:
        sentence = f"The cursor counts by one of {', '.join(CURSORS)}."
        raise RunError("bad_parameter", place="by", sentence=sentence)
    return by


def whole_of(asked: QueryDict, name: str, default: int) -> int:
    text = asked.get(name)
    if text is None or text == "":
        return default
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 16:
        sentence = f"{name} must be a whole number, and {text[:40]!r} is none."
        raise RunError("bad_parameter", place=name, sentence=sentence)
    return int(text)


def within(name: str, value: int, lowest: int, highest: int) -> int:
    if not lowest <= value <= highest:
        sentence = f"{name} must be a whole number from {lowest} to {highest}."
        raise RunError("bad_parameter", place=name, sentence=sentence)
    return value
