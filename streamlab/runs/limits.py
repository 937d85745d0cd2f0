"""Rates of messages. Counted per visitor and per run, never per address: a class shares one."""

import time
from collections import OrderedDict
from collections.abc import Callable

from django.conf import settings

BUCKETS_MAX = 10_000


def message_rate() -> "Rate":
    """What one visitor may send, and what one run takes. A held key repeats 30 times a second."""
    return Rate(
        settings.RUN_MESSAGES_PER_SECOND,
        settings.RUN_MESSAGES_BURST,
    )


def creation_rate() -> "Rate":
    """New runs and links of one visitor."""
    return Rate(1, 30)


class Rate:
    """Token buckets: `per_second` on average, `burst` at once, for each key."""

    def __init__(
        self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.per_second = per_second
        self.burst = burst
        self.clock = clock
        self.buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key: (left, when)

    def allows(self, key: str) -> bool:
        now = self.clock()
        left, when = self.buckets.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - when) * self.per_second)
        allowed = left >= 1
        self.buckets[key] = (left - 1 if allowed else left, now)
        if len(self.buckets) > BUCKETS_MAX:  # the least recently used is full again long since
            self.buckets.popitem(last=False)
        return allowed
