"""A broken lab is a warning: it is hidden from students, and never stops the start."""

from typing import Any

from django.core.checks import CheckMessage, Warning, register

from labs.catalog import catalog


@register()
def labs_are_whole(**_kwargs: Any) -> list[CheckMessage]:
    return [
        Warning(
            f"{problem.place}: {problem.sentence}", hint=problem.mend, id=f"labs.{problem.code}"
        )
        for problem in catalog().problems
    ]
