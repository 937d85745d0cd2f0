"""What changes the stored explorations. Synchronous, like those of the runs."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from engine.errors import LearnerMistake
from engine.explore.request import Request
from labs.networks import protocols_of, values_under
from labs.spec import LabSpec
from streamlab.explorations.models import ACTIVE, FAILED, Exploration
from streamlab.explorations.offer import WALKS_MAX, protocol_called
from streamlab.runs import logs
from streamlab.runs.bundles import bundle_archive, bundle_folder, bundle_lab
from streamlab.runs.errors import CATALOGUE, RunError
from streamlab.runs.leases import holder_is_gone
from streamlab.runs.models import Bundle, Run
from streamlab.runs.recordings import ENGINE_VERSION
from streamlab.runs.selectors import Owner, run_log
from streamlab.runs.services import TITLES_MAX, expiry, log_write

SILENT_SECONDS = 30
"""A server process that has not told for so long how far a search is has ended."""


@dataclass(frozen=True)
class Progress:
    """How far a search is. counts: None before the first are known."""

    exploration_id: str
    state: str
    counts: dict[str, Any] | None
    seconds: float


def exploration_adopt(*, visitor: str, user_id: int) -> int:
    """Signing in moves the visitor's explorations to the account, where they do not expire."""
    mine = Exploration.objects.filter(visitor=visitor, user=None)
    return mine.update(user_id=user_id, expires=None)


def exploration_of_run(
    *, run: Run, step: int, owner: Owner, holder: str, asked: dict[str, Any]
) -> Exploration:
    """From a step of a run on, which may be anybody's: it is read, not driven. Raises RunError."""
    if step > run.head:
        raise RunError("outside", place="step", step=step, head=run.head)
    lab = bundle_lab(digest=run.bundle_id)
    request = checked(asked, kind=lab.kind, seed=run.seed)
    return _create(
        owner,
        lab=run.lab,
        bundle=run.bundle,
        parameters=under(lab, run.parameters, request["mutant"]),
        policy=run.policy,
        quantum=run.quantum,
        run=run,
        step=step,
        log=run_log(run=run, steps=step),
        request=request,
        holder=holder,
    )


def exploration_of_lab(
    *, lab: LabSpec, owner: Owner, holder: str, asked: dict[str, Any]
) -> Exploration:
    """From the start of a run with the defaults of the lab. Raises RunError."""
    request = checked(asked, kind=lab.kind, seed=lab.seed)
    return _create(
        owner,
        lab=lab.slug,
        bundle=bundle_archive(lab=lab),
        parameters=under(lab, lab.parameter_values({}), request["mutant"]),
        policy=lab.scheduler,
        request=request,
        holder=holder,
    )


def checked(asked: dict[str, Any], *, kind: str, seed: int) -> dict[str, Any]:
    """The request in its full form. Raises RunError bad_exploration or too_far."""
    try:
        request = Request.from_data({**asked, "kind": kind, "seed": seed})
    except LearnerMistake as error:
        place, mend = f"request.{error.place}", error.mend or ""
        raise RunError("bad_exploration", place=place, sentence=error.sentence, mend=mend) from None
    limits = {
        "states": (request.states, settings.EXPLORATION_STATES_MAX),
        "depth": (request.depth or 0, settings.EXPLORATION_DEPTH_MAX),
        "walks": (request.walks, WALKS_MAX),
    }
    for name, (wanted, limit) in limits.items():
        if wanted > limit:
            raise RunError("too_far", place=f"request.{name}", name=name, limit=f"{limit:,}")
    return request.to_data()


def under(lab: LabSpec, parameters: dict[str, Any], mutant: str) -> dict[str, Any]:
    """The parameters of a run that follows this protocol, which a network has among them. Raises RunError bad_exploration."""
    if lab.kind == "job":
        return parameters
    protocol = protocol_called(mutant)
    if protocol not in protocols_of(lab):
        raise RunError(
            "bad_exploration",
            place="request.mutant",
            sentence=f"This lab does not let its processes do {protocol!r}.",
            mend=f"Choose one of {', '.join(protocols_of(lab))}.",
        )
    return values_under(lab, parameters, protocol)


def _create(owner: Owner, bundle: Bundle, **fields: Any) -> Exploration:
    """Raises RunError still_exploring: one at a time, also over several windows and server processes."""
    explorations_expire()
    explorations_give_up()
    try:
        with transaction.atomic():
            return Exploration.objects.create(
                visitor=owner.visitor,
                user_id=owner.user_id,
                expires=expiry(owner.user_id),
                bundle=bundle,
                **fields,
            )
    except IntegrityError:
        raise RunError("still_exploring") from None


def exploration_job(*, exploration: Exploration) -> dict[str, Any]:
    """What the process that searches is told."""
    return {
        "folder": str(bundle_folder(digest=exploration.bundle_id)),
        "parameters": exploration.parameters,
        "policy": exploration.policy,
        "quantum": exploration.quantum,
        "step": exploration.step,
        "log": exploration.log,
        "request": exploration.request,
        "cpu_seconds": settings.EXPLORATION_CPU_SECONDS,
        "memory": settings.EXPLORATION_MEMORY_MAX,
    }


def explorations_progress(news: Iterable[Progress]) -> set[str]:
    """Keep how far they are; returns the ids of those that somebody wants stopped."""
    ids = []
    for progress in news:
        ids.append(progress.exploration_id)
        Exploration.objects.filter(pk=progress.exploration_id, state__in=ACTIVE).update(
            state=progress.state,
            counts=progress.counts,
            seconds=progress.seconds,
            updated=timezone.now(),
        )
    wanted = Exploration.objects.filter(pk__in=ids, stop_wanted=True)
    return set(wanted.values_list("pk", flat=True))


def exploration_stop(*, exploration_id: str) -> None:
    """The server process that searches looks for it once a second."""
    Exploration.objects.filter(pk=exploration_id, state__in=ACTIVE).update(stop_wanted=True)


def exploration_look(*, exploration_id: str) -> None:
    """Somebody looks, by way of another server process than the one that searches."""
    Exploration.objects.filter(pk=exploration_id).update(looked_at=timezone.now())


def exploration_end(
    *,
    exploration_id: str,
    state: str,
    counts: dict[str, Any] | None,
    seconds: float,
    outcome: dict[str, Any] | None = None,
    error: dict[str, str] | None = None,
) -> None:
    """What came out, once and for all."""
    Exploration.objects.filter(pk=exploration_id, state__in=ACTIVE).update(
        state=state,
        counts=counts,
        seconds=seconds,
        outcome=outcome,
        error=error,
        updated=timezone.now(),
    )


def explorations_give_up() -> int:
    """Those whose server process has ended come to nothing; returns how many."""
    silent = timezone.now() - timedelta(seconds=SILENT_SECONDS)
    lost = [
        found.pk
        for found in Exploration.objects.filter(state__in=ACTIVE).only("holder", "updated")
        if found.updated < silent or holder_is_gone(found.holder)
    ]
    refusal = CATALOGUE["exploration_lost"]
    error = {"sentence": refusal.sentence, "mend": refusal.mend}
    found = Exploration.objects.filter(pk__in=lost, state__in=ACTIVE)
    return found.update(state=FAILED, error=error)


def exploration_open(*, exploration: Exploration) -> Run:
    """The violation as a run of its owner, at the violating step. Raises RunError no_trace."""
    if exploration.opened is not None:
        return exploration.opened
    outcome = exploration.outcome or {}
    if not outcome.get("trace"):
        raise RunError("no_trace", place=exploration.pk)
    request = exploration.request
    log = logs.join(exploration.log, outcome["trace"])
    head = logs.length(log)
    title = f"{outcome['title']}: violated"
    with transaction.atomic():
        run = Run.objects.create(
            title=title[:1].upper() + title[1:TITLES_MAX],
            lab=exploration.lab,
            bundle_id=exploration.bundle_id,
            engine=ENGINE_VERSION,
            parameters=exploration.parameters,
            policy=exploration.policy,
            quantum=exploration.quantum,
            seed=request["seed"],
            mutant=request["mutant"] if request["kind"] == "job" else "",
            invariants=[outcome["invariant"]],
            visitor=exploration.visitor,
            user_id=exploration.user_id,
            expires=expiry(exploration.user_id),
            head=head,
            position=head,
        )
        log_write(run=run, log=log)
        Exploration.objects.filter(pk=exploration.pk).update(opened=run)
    return run


def explorations_expire() -> int:
    """Delete those that have expired; returns how many."""
    past = Exploration.objects.filter(expires__lt=timezone.now()).exclude(state__in=ACTIVE)
    return past.delete()[0]
