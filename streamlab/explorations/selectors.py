"""What can be asked of the stored explorations. Nobody sees those of others."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from streamlab.explorations.models import ACTIVE, Exploration
from streamlab.runs.errors import RunError
from streamlab.runs.selectors import Owner


def exploration_get(*, exploration_id: str, owner: Owner) -> Exploration:
    """Raises RunError unknown_exploration, also for one of somebody else: whose it is is nobody's business."""
    found = Exploration.objects.filter(pk=exploration_id).first()
    if found is None or not owns(owner, found):
        raise RunError(
            "unknown_exploration", place=exploration_id[:40], days=settings.RUN_ANONYMOUS_DAYS
        )
    return found


def owns(owner: Owner, exploration: Exploration) -> bool:
    if exploration.user_id is not None:
        return exploration.user_id == owner.user_id
    return bool(owner.visitor) and exploration.visitor == owner.visitor


def exploration_latest(*, owner: Owner, lab: str) -> Exploration | None:
    """The one of this lab that its owner started last."""
    found = Exploration.objects.filter(lab=lab)
    if owner.user_id is not None:
        found = found.filter(user_id=owner.user_id)
    elif owner.visitor:
        found = found.filter(visitor=owner.visitor, user=None)
    else:
        return None
    return found.order_by("-created").first()


def explorations_of(*, user_id: int) -> list[dict[str, Any]]:
    """Everything that is stored of an account's explorations; for its owner."""
    found = Exploration.objects.filter(user_id=user_id).order_by("created", "pk")
    names = (
        "id", "lab", "bundle_id", "parameters", "policy", "quantum", "run_id", "step", "log", "request",
        "state", "counts", "seconds", "outcome", "error", "opened_id", "created", "updated",
    )  # fmt: skip
    return list(found.values(*names))


def exploration_is_watched(*, exploration_id: str) -> bool:
    """By way of another server process."""
    since = timezone.now() - timedelta(seconds=settings.EXPLORATION_ABANDONED_SECONDS)
    return Exploration.objects.filter(pk=exploration_id, looked_at__gt=since).exists()


def shown(exploration: Exploration) -> dict[str, Any]:
    """As a page gets it."""
    counts = exploration.counts
    seconds = exploration.seconds
    return {
        "id": exploration.pk,
        "lab": exploration.lab,
        "run": exploration.run_id,
        "step": exploration.step,
        "state": exploration.state,
        "request": exploration.request,
        "place": None,
        "counts": counts,
        "seconds": round(seconds, 1),
        "states_per_second": round(counts["states"] / seconds) if counts and seconds else None,
        "outcome": exploration.outcome,
        "error": exploration.error,
        "opened": exploration.opened_id,
        "active": exploration.state in ACTIVE,
    }
