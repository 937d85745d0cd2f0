"""A rolling digest of what a run shows, cheap enough to take at full speed.

It covers, per subtask, the watermark, the number of rows of state, the offsets of splits and what a sink wrote last, and
per channel how much went through, how much is queued, and the last element. It depends on nothing that differs between
two processes. Two runs that differ in more than a value still hidden in state differ here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

from engine.operators.sink import SinkOperator
from engine.operators.source import SourceOperator
from engine.values import TEXT_LIMIT, text

if TYPE_CHECKING:
    from engine.runtime import Runtime

EVERY = 1000
"""Steps between two digests."""


PLAIN = frozenset({int, str, bool, type(None)})


def shown(value: Any) -> str:
    """`text(value)`, quicker where `value` is a short tuple of plain values and of tuples of such, as elements are."""
    if type(value) is tuple and len(value) < 20:
        for item in value:
            if type(item) not in PLAIN and not (
                type(item) is tuple and len(item) < 20 and PLAIN.issuperset(map(type, item))
            ):
                return text(value)
        found = repr(value)
        if len(found) <= TEXT_LIMIT:
            return found
    return text(value)


def parts(runtime: Runtime) -> list[tuple[str, int]]:
    """(subtask, digest) for every subtask, in canonical order."""
    found: list[tuple[str, int]] = []
    for name, subtask in runtime.deployment.subtasks.items():
        operator = subtask.operator
        seen = [name, str(operator.watermark), str(operator.entries())]
        if isinstance(operator, SourceOperator):
            seen += [str(split.offset) for split in operator.splits]
        elif isinstance(operator, SinkOperator):
            cursor = operator.log.cursor
            seen += [str(cursor), shown(operator.log.results[cursor - 1]) if cursor else ""]
        for channel in subtask.output.channels:
            queue = channel.queue
            seen += [str(channel.taken), str(len(queue)), shown(queue[-1]) if queue else ""]
        found.append((name, crc32("|".join(seen).encode("utf-8", "backslashreplace"))))
    return found


def combine(previous: int, found: list[tuple[str, int]]) -> int:
    """The rolling digest after one more sample."""
    for _, value in found:
        previous = crc32(value.to_bytes(4, "big"), previous)
    return previous
