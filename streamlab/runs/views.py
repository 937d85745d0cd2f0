"""Pages of labs and runs, and the few requests that make something. Everything live is on the socket."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from channels.db import database_sync_to_async
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST, require_safe

from engine.errors import StreamLabError
from labs.pages import Piece
from labs.spec import LabSpec
from streamlab.runs import protocol, selectors, services
from streamlab.runs.bundles import bundle_lab
from streamlab.runs.errors import RunError
from streamlab.runs.invariants import offered
from streamlab.runs.messages import NEW_LINK, NEW_RUN
from streamlab.runs.models import Run, random_name
from streamlab.runs.previews import preview
from streamlab.runs.registry import registry
from streamlab.runs.schemes import SCHEMES
from streamlab.runs.selectors import Owner

View = Callable[..., Awaitable[HttpResponse]]


def page(view: View) -> View:
    """Refusals become a page with the sentence."""

    @functools.wraps(view)
    async def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return await view(request, *args, **kwargs)
        except (RunError, StreamLabError) as error:
            return render(request, "runs/refused.html", {"error": error}, status=status_of(error))

    return answer


def data(view: View) -> View:
    """Refusals become {"error": {code, sentence, place, mend}}."""

    @functools.wraps(view)
    async def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return await view(request, *args, **kwargs)
        except (RunError, StreamLabError) as error:
            content = {"error": protocol.error_form(error)}
            return JsonResponse(content, status=status_of(error))

    return answer


def status_of(error: RunError | StreamLabError) -> int:
    return error.status if isinstance(error, RunError) else 500


# ---- pages, which write nothing ------------------------------------------------------------------


@require_safe
@page
async def lab_page(request: HttpRequest, slug: str) -> HttpResponse:
    """The visitor's latest run of this lab, or what it would look like."""
    owner = await owner_of(request)
    lab = await database_sync_to_async(services.lab_for)(slug=slug, owner=owner)
    run = await database_sync_to_async(selectors.run_latest)(owner=owner, lab=slug)
    if run is not None:
        lab = await database_sync_to_async(bundle_lab)(digest=run.bundle_id)
    return await viewer(request, lab, run)


@require_safe
@page
async def run_page(request: HttpRequest, run_id: str) -> HttpResponse:
    run = await database_sync_to_async(selectors.run_get)(run_id=run_id)
    lab = await database_sync_to_async(bundle_lab)(digest=run.bundle_id)
    return await viewer(request, lab, run)


@require_safe
@page
async def shared_page(request: HttpRequest, token: str) -> HttpResponse:
    """The shared run at its step. The visitor's copy is made at the first driving action."""
    link = await database_sync_to_async(selectors.share_get)(token=token)
    run = link.run
    lab = await database_sync_to_async(bundle_lab)(digest=run.bundle_id)
    log = await database_sync_to_async(selectors.run_log)(run=run, steps=link.step)
    picture = await preview(
        turns=registry().turns,
        lab=lab,
        parameters=run.parameters,
        policy=run.policy,
        quantum=run.quantum,
        seed=run.seed,
        mutant=run.mutant,
        log=log,
    )
    create = reverse("shared-copy", kwargs={"token": token})
    return await viewer(request, lab, None, picture=picture, create=create, like=run)


@require_GET
@data
async def lab_preview(request: HttpRequest, slug: str) -> HttpResponse:
    owner = await owner_of(request)
    lab = await database_sync_to_async(services.lab_for)(slug=slug, owner=owner)
    return JsonResponse(await first_picture(lab))


async def viewer(
    request: HttpRequest,
    lab: LabSpec,
    run: Run | None,
    *,
    picture: dict[str, Any] | None = None,
    create: str | None = None,
    like: Run | None = None,
    about: dict[str, Any] | None = None,
) -> HttpResponse:
    """The page with everything that it needs before its socket is open, in `boot`.

    about: the question that the page is about, where it is about one: {id, title, forbidden}.
    """
    shown = run or like
    if picture is None:
        picture = await first_picture(lab, run)
    boot = {
        "protocol": protocol.VERSION,
        "lab": {"slug": lab.slug, "title": lab.title, "minutes": lab.minutes, "kind": lab.kind},
        "run": run.pk if run else None,
        "seed": shown.seed if shown else lab.seed,
        "policy": shown.policy if shown else lab.scheduler,
        "mutant": selectors.mutant_shown(name=shown.mutant if shown else ""),
        "rules": offered(lab.kind),
        "values": shown.parameters if shown else lab.parameter_values({}),
        "preview": picture,
        "parameters": [] if about else [parameter.model_dump() for parameter in lab.parameters],
        "schemes": [
            {"name": name, "label": scheme.label, "sentence": scheme.sentence}
            for name, scheme in SCHEMES.items()
            if name in lab.schemes and lab.kind == "job" and not about
        ],
        "question": about,
        "time_zone_minutes": lab.time_zone_minutes,
        "time_zone_name": lab.time_zone_name,
        "time_format": lab.time_format,
        "keys": dict(lab.key_names),
        "csrf": get_token(request),
        "urls": {
            "lab": reverse("lab", kwargs={"slug": lab.slug}),
            "create": create or reverse("run-new", kwargs={"slug": lab.slug}),
            "new": reverse("run-new", kwargs={"slug": lab.slug}),
            "run": "/runs/{run}/",
            "share": "/runs/{run}/share/",
            "compare": "/runs/{run}/compare/",
            "socket": "/ws/runs/{run}/",
            "progress": reverse("progress", kwargs={"slug": lab.slug}),
            "explorations": "/explorations/",
            "exploration_run": "/explorations/{exploration}/run/",
            "exploration_socket": "/ws/explorations/{exploration}/",
        },
    }
    content = {
        "boot": boot,
        "lab": lab,
        "run": run,
        "about": about,
        "pieces": pieces_of(lab, about),
        "compare": compare_address(lab, picture),
    }
    return render(request, "runs/viewer.html", content)


def pieces_of(lab: LabSpec, about: dict[str, Any] | None) -> list[Piece]:
    """What the page says: all of it, or the question that it is about."""
    if about is None:
        return list(lab.pieces)
    return [one for one in lab.pieces if one.kind == "question" and one.argument == about["id"]]


def compare_address(lab: LabSpec, picture: dict[str, Any]) -> str:
    """Two schemes beside each other, with a checkpoint at a third of the input: without one they do the same."""
    subtasks = picture["view"].get("subtasks", {}).values()
    entries = sum(split["length"] for subtask in subtasks for split in subtask["splits"].values())
    return f"{reverse('compare', kwargs={'slug': lab.slug})}?do=checkpoint@{-(-entries // 3)}"


async def first_picture(lab: LabSpec, run: Run | None = None) -> dict[str, Any]:
    """Step 0 of a run, or of a run with all defaults."""
    return await preview(
        turns=registry().turns,
        lab=lab,
        parameters=run.parameters if run else lab.parameter_values({}),
        policy=run.policy if run else lab.scheduler,
        quantum=run.quantum if run else 1,
        seed=run.seed if run else lab.seed,
        mutant=run.mutant if run else "",
    )


# ---- requests that make something ----------------------------------------------------------------


@require_POST
@data
async def run_new(request: HttpRequest, slug: str) -> HttpResponse:
    owner = await owner_of(request)
    lab = await database_sync_to_async(services.lab_for)(slug=slug, owner=owner)
    asked = protocol.parse_body(request.body, NEW_RUN, name="new run")
    owner = await new_owner(request)
    run = await database_sync_to_async(services.run_create)(lab=lab, owner=owner, **asked)
    return told(run)


@require_POST
@data
async def shared_copy(request: HttpRequest, token: str) -> HttpResponse:
    link = await database_sync_to_async(selectors.share_get)(token=token)
    owner = await new_owner(request)
    return told(await database_sync_to_async(services.run_copy)(link=link, owner=owner))


@require_POST
@data
async def run_share(request: HttpRequest, run_id: str) -> HttpResponse:
    run = await database_sync_to_async(selectors.run_get)(run_id=run_id)
    if not (await owner_of(request)).owns(run):
        raise RunError("not_yours", place=run_id)
    check_rate(run.visitor or str(run.user_id))
    asked = protocol.parse_body(request.body, NEW_LINK, name="share")
    link = await database_sync_to_async(services.share_create)(run=run, **asked)
    path = reverse("shared", kwargs={"token": link.pk})
    return JsonResponse({"url": request.build_absolute_uri(path)})


def told(run: Run, url: str = "") -> HttpResponse:
    """url: where the page of it is, if not at its own address."""
    url = url or reverse("run", kwargs={"run_id": run.pk})
    return JsonResponse({"run": run.pk, "url": url}, status=201)


async def owner_of(request: HttpRequest) -> Owner:
    """Who asks; a visitor without a session stays without one."""
    user = await request.auser()
    return Owner(
        visitor=await request.session.aget("visitor", ""),
        user_id=user.pk if user.is_authenticated else None,
    )


async def new_owner(request: HttpRequest) -> Owner:
    """Who asks; a new visitor gets a random name, kept in the session.

    Never the session key: signing in changes it.
    """
    owner = await owner_of(request)
    if not owner.visitor:
        owner = Owner(visitor=random_name(), user_id=owner.user_id)
        await request.session.aset("visitor", owner.visitor)
    check_rate(owner.visitor)
    return owner


def check_rate(visitor: str) -> None:
    rate = registry().creation_rate
    if not rate.allows(visitor):
        raise RunError("too_fast", rate=rate.per_second, whom="you")
