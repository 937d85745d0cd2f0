"""Which version of a lab somebody gets, where not the one in its folder. Who decides registers here."""

from collections.abc import Callable

Chooser = Callable[
    ..., str | None
]  # called with user_id: int, lab: str; a bundle's digest, or None

_chooser: Chooser | None = None


def decide_by(chooser: Chooser | None) -> Chooser | None:
    """Returns the one that decided before."""
    global _chooser
    before, _chooser = _chooser, chooser
    return before


def version_of(*, user_id: int | None, lab: str) -> str | None:
    """None: the lab as its folder is now."""
    if user_id is None or _chooser is None:
        return None
    return _chooser(user_id=user_id, lab=lab)
