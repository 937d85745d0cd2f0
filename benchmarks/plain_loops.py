"""The same work as plain Python loops with a dict: the yardstick of every ratio."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.workloads import CHECKPOINT_EVERY, OUT_OF_ORDER, WINDOW, Reading, Word


def word_count(data: Sequence[Word]) -> list[Word]:
    counts: dict[str, int] = {}
    out = []
    for word, one in data:
        count = counts.get(word, 0) + one
        counts[word] = count
        out.append((word, count))
    return out


def word_count_with_checkpoints(data: Sequence[Word]) -> tuple[list[Word], list[dict[str, int]]]:
    """Every checkpoint is a copy of the dict."""
    counts: dict[str, int] = {}
    out = []
    checkpoints = []
    for number, (word, one) in enumerate(data):
        if number % CHECKPOINT_EVERY == 0:
            checkpoints.append(dict(counts))
        count = counts.get(word, 0) + one
        counts[word] = count
        out.append((word, count))
    return out, checkpoints


def windowed_count(data: Sequence[Reading]) -> list[int]:
    """Windows fire when the watermark reaches their last timestamp; late records are dropped."""
    windows: dict[int, dict[str, int]] = {}
    out: list[int] = []
    highest = watermark = -(2**63)
    for key, time in data:
        start = time - time % WINDOW
        if start + WINDOW - 1 > watermark:
            counts = windows.get(start)
            if counts is None:
                counts = windows[start] = {}
            counts[key] = counts.get(key, 0) + 1
        if time > highest:
            highest = time
            watermark = time - OUT_OF_ORDER - 1
            for due in [begin for begin in windows if begin + WINDOW - 1 <= watermark]:
                out.extend(windows.pop(due).values())
    for begin in sorted(windows):
        out.extend(windows[begin].values())
    return out
