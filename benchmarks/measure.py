"""How time is taken: CPU time, the best of a few repeats, the garbage collector off and frozen for everybody alike.

What is compared runs interleaved, A B C A B C, so that a noisy moment of the machine hits all of them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import process_time

Run = Callable[[], object]


def cpu_seconds(run: Run) -> float:
    """CPU seconds of one call."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        start = process_time()
        run()
        return process_time() - start
    finally:
        gc.enable()
        gc.unfreeze()


def best_of(repeats: int, prepare: dict[str, Callable[[], Run]]) -> dict[str, float]:
    """The least CPU seconds of each; `prepare[name]()` is called untimed and returns what is timed."""
    best = dict.fromkeys(prepare, float("inf"))
    for _ in range(repeats):
        for name, make in prepare.items():
            best[name] = min(best[name], cpu_seconds(make()))
    return best
