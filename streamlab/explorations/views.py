"""Requests about explorations, all in JSON: the page that shows them is the viewer of runs."""

from channels.db import database_sync_to_async
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from streamlab.explorations import selectors, services
from streamlab.explorations.messages import NEW_EXPLORATION
from streamlab.explorations.offer import offer
from streamlab.explorations.pool import pool
from streamlab.runs import protocol
from streamlab.runs.bundles import bundle_lab
from streamlab.runs.errors import RunError
from streamlab.runs.selectors import run_get
from streamlab.runs.services import lab_get
from streamlab.runs.views import data, new_owner, owner_of


@require_http_methods(["GET", "POST"])
@data
async def explorations(request: HttpRequest) -> HttpResponse:
    return await (start(request) if request.method == "POST" else latest(request))


async def latest(request: HttpRequest) -> HttpResponse:
    """What can be asked, and the visitor's last exploration of this lab; a run keeps the lab as it was."""
    owner = await owner_of(request)
    slug, run_id = request.GET.get("lab", ""), request.GET.get("run")
    if run_id is None:
        lab = lab_get(slug=slug)
    else:
        run = await database_sync_to_async(run_get)(run_id=run_id)
        lab = await database_sync_to_async(bundle_lab)(digest=run.bundle_id)
    found = await database_sync_to_async(selectors.exploration_latest)(owner=owner, lab=slug)
    last = selectors.shown(found) if found else None
    return JsonResponse({"offer": offer(lab), "latest": last})


async def start(request: HttpRequest) -> HttpResponse:
    asked = protocol.parse_body(request.body, NEW_EXPLORATION, name="exploration")
    owner = await new_owner(request)
    wanted = asked["request"]
    if asked["run"] is not None:
        run = await database_sync_to_async(run_get)(run_id=asked["run"])
        made = await pool().start(
            services.exploration_of_run, run=run, step=asked["step"], owner=owner, asked=wanted
        )
    elif asked["lab"] is not None:
        lab = lab_get(slug=asked["lab"])
        made = await pool().start(services.exploration_of_lab, lab=lab, owner=owner, asked=wanted)
    else:
        raise RunError(
            "bad_field",
            place="exploration.run",
            name="run",
            message="exploration",
            rule="the id of a run, or lab the name of a lab",
        )
    return JsonResponse(made, status=201)


@require_POST
@data
async def exploration_open(request: HttpRequest, exploration_id: str) -> HttpResponse:
    """The violation as a run."""
    owner = await new_owner(request)
    found = await database_sync_to_async(selectors.exploration_get)(
        exploration_id=exploration_id, owner=owner
    )
    run = await database_sync_to_async(services.exploration_open)(exploration=found)
    url = reverse("run", kwargs={"run_id": run.pk})
    return JsonResponse({"run": run.pk, "url": url}, status=201)
