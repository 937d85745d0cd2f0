"""What changes the stored runs. Synchronous; the live side calls it in Django's database thread."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from labs.catalog import find_lab
from labs.spec import LabSpec
from streamlab.runs import logs
from streamlab.runs.bundles import bundle_archive, bundle_lab
from streamlab.runs.errors import RunError
from streamlab.runs.leases import holder_is_gone
from streamlab.runs.models import Bundle, Lease, LogEntry, Run, ShareLink
from streamlab.runs.recordings import ENGINE_VERSION, POLICIES
from streamlab.runs.schemes import SCHEME, SCHEMES
from streamlab.runs.selectors import Owner, run_log
from streamlab.runs.versions import version_of

TITLES_MAX = 200


@dataclass(frozen=True)
class Growth:
    """What a live run adds to its stored log. `rows`: (index, kind, payload, n)."""

    run_id: str
    expected_head: int
    head: int
    position: int
    rows: Sequence[tuple[int, str, Any, int]] = ()
    digests: Sequence[Any] | None = None  # None: as before


@dataclass
class Written:
    """The outcome of log_append: runs that somebody else has moved meanwhile are in `conflicts`."""

    conflicts: set[str] = field(default_factory=set)


def lab_get(*, slug: str) -> LabSpec:
    """Raises RunError unknown_lab."""
    lab = find_lab(slug)
    if lab is None:
        raise RunError("unknown_lab", place=slug[:40], slug=slug[:40])
    return lab


def lab_for(*, slug: str, owner: Owner) -> LabSpec:
    """The version of a lab that its owner's new runs have. Raises RunError unknown_lab."""
    digest = version_of(user_id=owner.user_id, lab=slug)
    return lab_get(slug=slug) if digest is None else bundle_lab(digest=digest)


def parameters_choose(*, lab: LabSpec, chosen: dict[str, Any]) -> dict[str, Any]:
    """Every parameter of the lab, and the snapshot scheme where one is chosen. Raises RunError bad_parameter."""
    own = dict(chosen)
    scheme = own.pop(SCHEME, None) if lab.kind == "job" else None
    try:
        values: dict[str, Any] = dict(lab.parameter_values(own))
    except ValueError as error:
        raise RunError("bad_parameter", place="parameters", sentence=str(error)) from None
    return values if scheme is None else {**values, SCHEME: scheme_choose(scheme)}


def scheme_choose(name: Any) -> str:
    """Raises RunError bad_parameter."""
    if not isinstance(name, str) or name not in SCHEMES:
        sentence = f"The snapshot scheme must be one of {', '.join(SCHEMES)}."
        raise RunError("bad_parameter", place=SCHEME, sentence=sentence)
    return name


def run_create(
    *,
    lab: LabSpec,
    owner: Owner,
    seed: int | None = None,
    policy: str | None = None,
    quantum: int = 1,
    parameters: dict[str, Any] | None = None,
) -> Run:
    """A new run at step 0. Raises RunError bad_parameter."""
    policy = policy or lab.scheduler
    known = [name for name in POLICIES if name != "script" or lab.kind == "network"]
    if policy not in known:
        sentence = f"The policy must be one of {', '.join(known)}."
        raise RunError("bad_parameter", place="policy", sentence=sentence)
    values = parameters_choose(lab=lab, chosen=parameters or {})
    return Run.objects.create(
        lab=lab.slug,
        title=lab.title,
        bundle=bundle_archive(lab=lab),
        engine=ENGINE_VERSION,
        parameters=values,
        policy=policy,
        quantum=quantum,
        seed=lab.seed if seed is None else seed,
        visitor=owner.visitor,
        user_id=owner.user_id,
        expires=expiry(owner.user_id),
    )


def run_of_choices(
    *,
    bundle: Bundle,
    lab: LabSpec,
    owner: Owner,
    title: str,
    seed: int,
    parameters: dict[str, Any],
    mutant: str,
    invariants: list[str],
    log: Sequence[logs.Entry],
    position: int,
) -> Run:
    """A run that has been driven already: its log is written with it, and it stands at `position`."""
    log = logs.join(log)
    with transaction.atomic():
        run = Run.objects.create(
            title=title[:TITLES_MAX],
            lab=lab.slug,
            bundle=bundle,
            engine=ENGINE_VERSION,
            parameters=parameters,
            policy=lab.scheduler,
            seed=seed,
            mutant=mutant,
            invariants=invariants,
            visitor=owner.visitor,
            user_id=owner.user_id,
            expires=expiry(owner.user_id),
            head=logs.length(log),
            position=position,
        )
        log_write(run=run, log=log)
    return run


def log_write(*, run: Run, log: Iterable[logs.Entry]) -> None:
    """The first entries of a run that has none yet."""
    LogEntry.objects.bulk_create(
        LogEntry(
            run=run,
            index=index,
            kind=entry[0],
            payload=None if entry[0] == "policy" else entry[1],
            n=logs.steps_of(entry),
        )
        for index, entry in enumerate(log)
    )


def run_branch(*, run_id: str, fork_step: int) -> Run:
    """A run of the same owner that shares the first `fork_step` steps. Copies nothing."""
    parent = Run.objects.get(pk=run_id)
    digests = parent.digests[: fork_step // 1000]
    return _offspring(
        parent,
        Owner(parent.visitor, parent.user_id),
        fork_step,
        title=f"{parent.title.split(', branch at step')[0]}, branch at step {fork_step}",
        digests=digests,
        root_id=parent.root_id or parent.pk,
        parent=parent,
        fork_step=fork_step,
    )


def run_copy(*, link: ShareLink, owner: Owner) -> Run:
    """A run of `owner` at the step of the link.

    The choices are copied, so that it outlives the run that was shared.
    """
    shared = link.run
    with transaction.atomic():
        run = _offspring(
            shared,
            owner,
            link.step,
            title=shared.title,
            digests=shared.digests[: link.step // 1000],
        )
        log_write(run=run, log=run_log(run=shared, steps=link.step))
    return run


def _offspring(origin: Run, owner: Owner, step: int, *, title: str, **fields: Any) -> Run:
    return Run.objects.create(
        title=title[:TITLES_MAX],
        lab=origin.lab,
        bundle_id=origin.bundle_id,
        engine=origin.engine,
        parameters=origin.parameters,
        policy=origin.policy,
        quantum=origin.quantum,
        seed=origin.seed,
        mutant=origin.mutant,
        invariants=origin.invariants,
        visitor=owner.visitor,
        user_id=owner.user_id,
        expires=expiry(owner.user_id),
        head=step,
        position=step,
        **fields,
    )


def run_watch(*, run_id: str, names: Sequence[str]) -> None:
    """Keep which invariants are switched on."""
    Run.objects.filter(pk=run_id).update(invariants=list(names))


def run_adopt(*, visitor: str, user_id: int) -> int:
    """Signing in moves the visitor's runs to the account, where they do not expire."""
    return Run.objects.filter(visitor=visitor, user=None).update(user_id=user_id, expires=None)


def runs_delete(*, user_id: int) -> int:
    """Every run of an account, with its log and links; returns their number."""
    runs = Run.objects.filter(user_id=user_id)
    count = runs.count()
    runs.delete()
    return count


def share_create(*, run: Run, step: int) -> ShareLink:
    """Raises RunError outside."""
    if step > run.head:
        raise RunError("outside", place="step", step=step, head=run.head)
    return ShareLink.objects.get_or_create(run=run, step=step)[0]


def expiry(user_id: int | None) -> datetime | None:
    if user_id is not None:
        return None
    return timezone.now() + timedelta(days=settings.RUN_ANONYMOUS_DAYS)


def runs_expire() -> int:
    """Delete the families of runs whose every member has expired; returns the number of runs.

    A branch needs the log of its ancestors, so a family goes as a whole or not at all.
    """
    now = timezone.now()
    past = Run.objects.filter(root=None, expires__lt=now)
    kept = Run.objects.exclude(root=None).exclude(expires__lt=now).values("root_id")
    gone = past.exclude(pk__in=kept)
    runs = gone.count() + Run.objects.filter(root__in=gone).count()
    gone.delete()
    return runs


# ---- the log -------------------------------------------------------------------------------------

GROW = """
    UPDATE {run} SET head = %s, position = %s, updated = %s,
        expires = CASE WHEN user_id IS NULL THEN %s ELSE NULL END
    WHERE id = %s AND head = %s
"""
MOVE = """
    UPDATE {run} SET position = %s, fingerprint = %s, updated = %s,
        expires = CASE WHEN user_id IS NULL THEN %s ELSE NULL END
    WHERE id = %s AND head >= %s
"""


def log_append(growths: Sequence[Growth]) -> Written:
    """Commit what many runs have grown by, in one transaction where nobody interferes.

    Each growth names the head that it starts from. Where the stored head differs, another process
    has driven the run: nothing of that growth is written, and the run is reported.
    """
    try:
        with transaction.atomic():
            if _grow(growths) == len(growths):
                return Written()
            raise IntegrityError("a head differs")
    except IntegrityError:
        return _append_one_by_one(growths)


def _append_one_by_one(growths: Sequence[Growth]) -> Written:
    written = Written()
    for growth in growths:
        try:
            with transaction.atomic():
                if growth.run_id in written.conflicts or _grow([growth]) != 1:
                    raise IntegrityError("the head differs")
        except IntegrityError:
            written.conflicts.add(growth.run_id)
    return written


def _grow(growths: Sequence[Growth]) -> int:
    """Rows of runs that were changed: fewer than asked for means a conflict."""
    now, later = timezone.now(), expiry(None)
    adapt = connection.ops.adapt_datetimefield_value
    stamps = adapt(now), adapt(later)
    table = connection.ops.quote_name(Run._meta.db_table)
    with connection.cursor() as cursor:
        cursor.executemany(
            GROW.format(run=table),
            [
                (growth.head, growth.position, *stamps, growth.run_id, growth.expected_head)
                for growth in growths
            ],
        )
        changed: int = cursor.rowcount
        digests = [
            (json.dumps(list(growth.digests)), growth.run_id)
            for growth in growths
            if growth.digests is not None
        ]
        if digests:
            cursor.executemany(f"UPDATE {table} SET digests = %s WHERE id = %s", digests)
    LogEntry.objects.bulk_create(
        LogEntry(run_id=growth.run_id, index=index, kind=kind, payload=payload, n=n)
        for growth in growths
        for index, kind, payload, n in growth.rows
    )
    return changed


def positions_save(positions: Sequence[tuple[str, int, list[int]]]) -> None:
    """[(run id, position, fingerprint)]; a position beyond the stored head is left out."""
    adapt = connection.ops.adapt_datetimefield_value
    stamps = adapt(timezone.now()), adapt(expiry(None))
    table = connection.ops.quote_name(Run._meta.db_table)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(
            MOVE.format(run=table),
            [
                (position, json.dumps(fingerprint), *stamps, run_id, position)
                for run_id, position, fingerprint in positions
            ],
        )


# ---- leases --------------------------------------------------------------------------------------


def lease_acquire(*, run_id: str, holder: str, seconds: float) -> bool:
    """True when `holder` drives the run from now on; False while another process does."""
    now = timezone.now()
    until = now + timedelta(seconds=seconds)
    with transaction.atomic():
        lease = Lease.objects.select_for_update().filter(pk=run_id).first()
        if lease is None:
            Lease.objects.create(run_id=run_id, holder=holder, expires=until)
            return True
        if lease.holder != holder and lease.expires > now and not holder_is_gone(lease.holder):
            return False
        lease.holder, lease.expires = holder, until
        lease.save()
        return True


def leases_renew(*, holder: str, seconds: float) -> None:
    until = timezone.now() + timedelta(seconds=seconds)
    Lease.objects.filter(holder=holder).update(expires=until)


def leases_release(*, holder: str, run_ids: Sequence[str] | None = None) -> None:
    """Of these runs, or of all that `holder` has."""
    leases = Lease.objects.filter(holder=holder)
    if run_ids is not None:
        leases = leases.filter(pk__in=run_ids)
    leases.delete()
