"""The same work in Streamz and in SimPy, which `make bench` installs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import simpy
from streamz import Stream

from benchmarks.workloads import OUT_OF_ORDER, WINDOW, Reading, Word

NEVER = -(2**63)


class WindowState:
    """Windows as a peer's user would write them: both libraries have no event time of their own."""

    def __init__(self) -> None:
        self.windows: dict[int, dict[str, int]] = {}
        self.highest = self.watermark = NEVER

    def add(self, reading: Reading) -> list[int]:
        """What fires with this record."""
        key, time = reading
        start = time - time % WINDOW
        if start + WINDOW - 1 > self.watermark:
            counts = self.windows.setdefault(start, {})
            counts[key] = counts.get(key, 0) + 1
        fired: list[int] = []
        if time > self.highest:
            self.highest = time
            self.watermark = time - OUT_OF_ORDER - 1
            due = [begin for begin in self.windows if begin + WINDOW - 1 <= self.watermark]
            for begin in due:
                fired.extend(self.windows.pop(begin).values())
        return fired

    def rest(self) -> list[int]:
        return [count for begin in sorted(self.windows) for count in self.windows[begin].values()]


def count_word(counts: dict[str, int], record: Word) -> tuple[dict[str, int], Word]:
    word, one = record
    counts[word] = count = counts.get(word, 0) + one
    return counts, (word, count)


def streamz_word_count(data: Sequence[Word]) -> list[Word]:
    out: list[Word] = []
    source = Stream()
    source.accumulate(count_word, start={}, returns_state=True).sink(out.append)
    for record in data:
        source.emit(record)
    return out


def streamz_windowed_count(data: Sequence[Reading]) -> list[int]:
    out: list[int] = []
    state = WindowState()
    source = Stream()
    source.map(state.add).flatten().sink(out.append)
    for record in data:
        source.emit(record)
    out.extend(state.rest())
    return out


def _simpy(data: Sequence[Any], work: Any, capacity: int = 16) -> list[Any]:
    """Three processes - source, operator, sink - with a bounded store between each two."""
    env = simpy.Environment()
    to_operator, to_sink = simpy.Store(env, capacity), simpy.Store(env, capacity)
    out: list[Any] = []

    def source() -> Generator[Any, Any, None]:
        for record in data:
            yield to_operator.put(record)

    def operator() -> Generator[Any, Any, None]:
        while True:
            record = yield to_operator.get()
            for result in work(record):
                yield to_sink.put(result)

    def sink() -> Generator[Any, Any, None]:
        while True:
            out.append((yield to_sink.get()))

    for process in (source(), operator(), sink()):
        env.process(process)
    env.run()
    return out


def simpy_word_count(data: Sequence[Word]) -> list[Word]:
    counts: dict[str, int] = {}
    return _simpy(data, lambda record: (count_word(counts, record)[1],))


def simpy_windowed_count(data: Sequence[Reading]) -> list[int]:
    state = WindowState()
    return _simpy(data, state.add) + state.rest()
