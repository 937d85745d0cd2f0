"""Windows as slowly and as obviously as can be: at every entry, every open window of every key is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

NEVER, END_OF_TIME = -(2**63), 2**63 - 1


class Outcome(NamedTuple):
    fired: list[tuple[Any, int, int, tuple[int, ...]]]
    """(key, start, end, values in order of size) of each firing."""
    late: list[tuple[Any, int, int]]
    last: Counter[tuple[Any, int, int, tuple[int, ...]]]
    """The last firing of each window that was not merged into another."""


def model(
    script: Iterable[Any],
    assign: Callable[[int, int], list[tuple[int, int]]],
    lateness: int = 0,
    merges: Callable[..., bool] | None = None,
) -> Outcome:
    """script: records (key, timestamp, value) and watermarks; merges(start, end, start, end): whether two windows merge."""
    watermark, windows, last = NEVER, {}, {}
    fired: list[Any] = []
    late: list[Any] = []

    def fire(window: Any) -> None:
        last[window] = (*window, tuple(sorted(windows[window])))
        fired.append(last[window])

    for entry in [*script, END_OF_TIME]:
        if isinstance(entry, int):
            before, watermark = watermark, max(watermark, entry)
            for window in list(windows):
                if before < window[2] - 1 <= watermark:
                    fire(window)
                if window[2] - 1 + lateness <= watermark:
                    del windows[window]
            continue
        key, timestamp, value = entry
        kept = False
        for start, end in assign(timestamp, value):
            values = [value]
            for window in list(windows):
                if merges and window[0] == key and merges(start, end, *window[1:]):
                    start, end = min(start, window[1]), max(end, window[2])
                    values += windows.pop(window)
                    last.pop(window, None)
            if end - 1 + lateness <= watermark:
                continue
            kept = True
            windows[key, start, end] = windows.get((key, start, end), []) + values
            if end - 1 <= watermark:
                fire((key, start, end))
        if not kept and timestamp + lateness <= watermark:
            late.append(entry)
    return Outcome(fired, late, Counter(last.values()))
