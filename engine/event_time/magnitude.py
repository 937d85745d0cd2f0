"""Timestamps that are probably in another unit than milliseconds, told by their magnitude.

Nothing here is an error: event time may begin anywhere. Timestamps before 1970 are negative, and in order.
"""

from __future__ import annotations

from typing import NamedTuple

SECONDS = range(10**8, 10**11)
"""As seconds, from 1973 on; as milliseconds, the first three years after 1970."""
FAR_FUTURE = 253_402_300_800_000
"""The first millisecond of the year 10000."""
DAY = 86_400_000


class Doubt(NamedTuple):
    """What looks wrong with a timestamp."""

    code: str
    text: str


def doubt(timestamp: int) -> Doubt | None:
    """What looks wrong with a timestamp that is meant to be in ms, or None."""
    if timestamp in SECONDS:
        days = timestamp // DAY
        return Doubt(
            "timestamp_in_seconds",
            f"the timestamp {timestamp} is only {days} days after 1970 in milliseconds; it looks like seconds,"
            " which have to be multiplied by 1000",
        )
    if timestamp >= FAR_FUTURE:
        unit = "microseconds" if timestamp < FAR_FUTURE * 1000 else "nanoseconds"
        return Doubt(
            "timestamp_in_far_future",
            f"the timestamp {timestamp} is after the year 9999 in milliseconds; it looks like {unit}."
            " What comes after it in time only will be late",
        )
    return None
