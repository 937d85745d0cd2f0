"""What can be asked of the stored runs."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from engine.explore.registry import MUTANTS
from streamlab.runs import logs
from streamlab.runs.errors import RunError
from streamlab.runs.models import Run, ShareLink


@dataclass(frozen=True)
class Owner:
    """Who asks: the visitor name in the session ("" for a session without one), and the account."""

    visitor: str = ""
    user_id: int | None = None

    def owns(self, run: Run) -> bool:
        if run.user_id is not None:
            return run.user_id == self.user_id
        return bool(self.visitor) and run.visitor == self.visitor


def run_get(*, run_id: str) -> Run:
    """Raises RunError unknown_run."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        raise RunError("unknown_run", place=run_id[:40], days=settings.RUN_ANONYMOUS_DAYS)
    return run


def run_is_of(*, owner: Owner, run: Run) -> bool:
    """As stored now: signing in may have given a live run to an account."""
    return owner.owns(Run.objects.only("visitor", "user_id").filter(pk=run.pk).first() or run)


def run_latest(*, owner: Owner, lab: str) -> Run | None:
    """The run of this lab that its owner used last."""
    runs = Run.objects.filter(lab=lab)
    if owner.user_id is not None:
        runs = runs.filter(user_id=owner.user_id)
    elif owner.visitor:
        runs = runs.filter(visitor=owner.visitor, user=None)
    else:
        return None
    return runs.order_by("-updated").first()


def run_log(*, run: Run, steps: int | None = None) -> list[logs.Entry]:
    """The log of a run, its ancestors' part included, up to `steps` (all of it when None)."""
    wanted = run.head if steps is None else steps
    pieces: list[list[logs.Entry]] = []
    member: Run | None = run
    while member is not None and wanted > 0:
        own = own_log(run=member)
        pieces.append(logs.cut(own, wanted - member.fork_step))
        wanted = min(wanted, member.fork_step)
        member = member.parent
    return logs.join(*reversed(pieces))


def own_log(*, run: Run) -> list[logs.Entry]:
    """The entries of the run itself, from its fork step to its head."""
    rows = run.entries.order_by("index").values_list("kind", "payload", "n")
    entries = [["policy", n] if kind == "policy" else [kind, payload] for kind, payload, n in rows]
    return logs.join(entries, [["policy", run.head - run.fork_step - logs.length(entries)]])


def run_tail(*, run: Run) -> logs.Tail:
    """Where the stored log ends."""
    counts = list(run.entries.values_list("n", flat=True))
    return logs.Tail(rows=len(counts), covered=run.fork_step + sum(counts))


def run_family(*, run: Run) -> list[dict[str, Any]]:
    """The run, its ancestors and all their branches, oldest first."""
    root = run.root_id or run.pk
    members = Run.objects.filter(pk=root) | Run.objects.filter(root_id=root)
    return [
        {
            "id": member.pk,
            "parent": member.parent_id,
            "fork_step": member.fork_step,
            "head": member.head,
            "title": member.title,
        }
        for member in members.order_by("created", "pk")[:200]
    ]


def mutant_shown(*, name: str) -> dict[str, str] | None:
    """{name, title, explanation} of a wrong protocol; None for the right one."""
    if not name:
        return None
    mutant = MUTANTS.get(name)
    if mutant is None:
        return {"name": name, "title": name, "explanation": ""}
    return {"name": name, "title": mutant.title, "explanation": mutant.explanation}


def share_get(*, token: str) -> ShareLink:
    """Raises RunError unknown_link."""
    link = ShareLink.objects.select_related("run").filter(pk=token).first()
    if link is None:
        raise RunError("unknown_link", place=token[:40])
    return link


def run_places(*, run_ids: list[str]) -> dict[str, tuple[int, int]]:
    """(head, position) of each run, as stored."""
    rows = Run.objects.filter(pk__in=run_ids).values_list("pk", "head", "position")
    return {pk: (head, position) for pk, head, position in rows}


def runs_of(*, user_id: int) -> list[dict[str, Any]]:
    """Everything that is stored of an account's runs, choices included; for its owner."""
    kept = Run.objects.filter(user_id=user_id).order_by("created", "pk")
    links = ShareLink.objects.filter(run__user_id=user_id)
    return [
        {
            "id": run.pk,
            "title": run.title,
            "lab": run.lab,
            "lab_version": run.bundle_id,
            "engine": run.engine,
            "parameters": run.parameters,
            "policy": run.policy,
            "quantum": run.quantum,
            "seed": run.seed,
            "parent": run.parent_id,
            "fork_step": run.fork_step,
            "head": run.head,
            "position": run.position,
            "created": run.created,
            "updated": run.updated,
            "log": own_log(run=run),
            "share_links": [link.step for link in links if link.run_id == run.pk],
        }
        for run in kept
    ]
