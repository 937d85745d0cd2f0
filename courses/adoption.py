"""What a visitor did before signing in moves into the account. Each app that keeps things of visitors registers how."""

from collections.abc import Callable

Adopt = Callable[..., object]  # called with visitor: str, user_id: int

_adopters: list[Adopt] = []


def register(adopt: Adopt) -> Adopt:
    """`adopt(visitor=..., user_id=...)` gives the account whatever is the visitor's and nobody's account's."""
    if adopt not in _adopters:
        _adopters.append(adopt)
    return adopt


def adopt_all(*, visitor: str, user_id: int) -> None:
    if visitor:
        for adopt in _adopters:
            adopt(visitor=visitor, user_id=user_id)
