"""Numbers that a job sets, refused at the line of the job file that set them."""

from __future__ import annotations

from typing import Any

from engine.datastream.transformation import caller
from engine.errors import InvalidJob
from engine.values import text

MOST_MAX_PARALLELISM = 32_768
"""Flink: KeyGroupRangeAssignment.UPPER_BOUND_MAX_PARALLELISM."""


def check_integer(
    code: str,
    what: str,
    value: Any,
    least: int,
    most: int | None = None,
    *,
    unit: str = "",
    place: str = "",
) -> int:
    """`value` if it is an integer of at least `least` and at most `most`, else InvalidJob; a bool is no integer here."""
    if type(value) is int and value >= least and (most is None or value <= most):
        return value
    wanted = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
    raise InvalidJob(
        code,
        f"{what} must be an integer {wanted}{unit}, not {text(value)}.",
        place=place or caller(),
        mend=f"Use {least:,} or more." if most is None else f"Use {least:,} to {most:,}.",
    )


def check_parallelism(value: Any) -> int:
    """`value` if it is possible as a parallelism."""
    return check_integer("parallelism", "Parallelism", value, 1)


def check_max_parallelism(value: Any) -> int:
    """`value` if it is possible as a number of key groups."""
    if type(value) is not int or not 1 <= value <= MOST_MAX_PARALLELISM:
        raise InvalidJob(
            "max_parallelism",
            f"Max parallelism must be an integer from 1 to {MOST_MAX_PARALLELISM}, not {text(value)}.",
            place=caller(),
            mend="Flink's default is 128.",
        )
    return value
