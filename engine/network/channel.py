"""A bounded FIFO link between two subtasks.

`capacity` counts buffers, one per record or watermark; barriers and ends ride along without credit. A sender takes no
input while an output channel is full, yet all that one input produces is put at the tail at once: whatever stands beyond
the capacity is the sender's output queue for this channel, and moves up by itself when the receiver takes from the head.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import chain

from engine.elements import RECORD, WATERMARK, Element
from engine.network.credit import Credit, Readiness
from engine.values import IMMUTABLE, by_value, is_immutable


class Channel:
    """FIFO queue from one subtask to another; `taken` is also the number of the element at the head."""

    __slots__ = (
        "bit",
        "capacity",
        "credit",
        "full",
        "name",
        "queue",
        "readiness",
        "receiver",
        "riders",
        "sender",
        "slot",
        "taken",
    )

    def __init__(
        self,
        name: str,
        sender: str,
        receiver: str,
        capacity: int,
        slot: int,
        readiness: Readiness,
        credit: Credit,
    ) -> None:
        self.name = name
        self.sender = sender
        self.receiver = receiver
        self.capacity = capacity
        self.slot = slot
        self.bit = 1 << slot
        self.queue: deque[Element] = deque()
        self.taken = 0
        self.riders = 0
        self.full = False
        self.readiness = readiness
        self.credit = credit

    def fill(self) -> None:
        """The last free buffer is taken: the sender may take no more input."""
        self.full = True
        credit = self.credit
        credit.full += 1
        if credit.full == 1:
            self.readiness.stalled |= credit.inputs

    def push(self, element: Element) -> None:
        """Put one element of any kind at the tail."""
        self.queue.append(element)
        if element[0] > WATERMARK:
            self.riders += 1
        self.settle()

    def settle(self) -> None:
        """Bring the masks up to date after elements were put at the tail."""
        queue = self.queue
        if queue:
            self.readiness.nonempty |= self.bit
            if len(queue) - self.riders >= self.capacity and not self.full:
                self.fill()

    def release(self) -> None:
        """Bring the masks up to date after elements were taken from the head."""
        queue = self.queue
        if not queue:
            self.readiness.nonempty &= ~self.bit
        if self.full and len(queue) - self.riders < self.capacity:
            self.full = False
            credit = self.credit
            credit.full -= 1
            if not credit.full:
                self.readiness.stalled &= ~credit.inputs

    def free(self) -> int:
        """Free buffers, 0 or more."""
        return max(0, self.capacity - len(self.queue) + self.riders)

    def lose(self) -> int:
        """Drop what is queued, as a failure does; returns how many elements were lost."""
        lost = len(self.queue)
        self.taken += lost
        self.queue.clear()
        self.riders = 0
        self.release()
        return lost

    def keyframe(self) -> tuple[tuple[Element, ...], int, int, bool]:
        return own_all(self.queue), self.taken, self.riders, self.full

    def rewind(self, frame: tuple[tuple[Element, ...], int, int, bool]) -> None:
        self.queue.clear()
        self.queue.extend(own_all(frame[0]))
        self.taken, self.riders, self.full = frame[1:]


def own(element: Element) -> Element:
    """`element` with a value that nobody else can mutate."""
    if element[0] or type(element[1]) in IMMUTABLE or is_immutable(element[1]):
        return element
    return (element[0], by_value(element[1]), *element[2:])


def own_all(elements: Iterable[Element]) -> tuple[Element, ...]:
    """`own` of each. Long queues of scalars and flat tuples, which are the rule, are looked through at the speed of C."""
    held = tuple(elements)
    values = [element[1] for element in held if element[0] == RECORD]
    kinds = set(map(type, values))
    if tuple in kinds:
        kinds.remove(tuple)
        if kinds:
            values = [value for value in values if type(value) is tuple]
        kinds.update(map(type, chain.from_iterable(values)))
    return held if kinds <= IMMUTABLE else tuple(map(own, held))
