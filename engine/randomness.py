"""Named, seeded streams of random numbers; the only module that imports `random`.

Each user of randomness has a stream of its own, derived from the seed of the run and the stream's name, so that a
partitioner that draws more numbers does not change what the scheduler draws.
"""

from __future__ import annotations

import random
from typing import Any


class RandomStream:
    """A stream with a state that can be saved and restored."""

    __slots__ = ("_random", "uniform")

    def __init__(self, seed: int, name: str) -> None:
        # Seeding with a string uses SHA-512 of its bytes, which is the same under every PYTHONHASHSEED.
        self._random = random.Random(f"{seed}/{name}")
        self.uniform = self._random.random

    def below(self, bound: int) -> int:
        """An integer from 0 to bound - 1."""
        return int(self.uniform() * bound)

    def keyframe(self) -> Any:
        return self._random.getstate()

    def rewind(self, frame: Any) -> None:
        self._random.setstate(frame)
