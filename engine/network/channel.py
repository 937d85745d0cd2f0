"""A bounded FIFO link between two subtasks.

`capacity` counts buffers, one per record or watermark; barriers and ends ride along without credit. A sender takes no
input while an output channel is full, yet all that one input produces is put at the tail at once: whatever stands beyond
the capacity is the sender's output queue for this channel, and moves up by itself when the receiver takes from the head.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import chain, islice
from typing import NamedTuple

from engine.elements import BARRIER, RECORD, WATERMARK, Element
from engine.network.credit import Credit, Readiness
from engine.state.codec import writable
from engine.values import IMMUTABLE, by_value, is_immutable


@writable
class Link(NamedTuple):
    """Where a channel stands in the graph: the edge it belongs to, and the indexes of its subtasks."""

    edge: int
    sender: int
    receiver: int


class PriorityBarrier(NamedTuple):
    """An unaligned barrier in front of the queue, and how many of the queue's elements it has overtaken."""

    checkpoint: int
    overtaken: int


class Channel:
    """FIFO queue from one subtask to another; `taken` is also the number of the element at the head.

    Barriers that overtake stand in `priority`, before the queue, and have no number; while one does, nothing is taken
    from the queue. `priority_bit` is the slot from which they are taken, or 0 where barriers of this channel stay in line.
    `feedback`: it leads back to the head of a loop; no watermark and no status travels on it.
    """

    __slots__ = (
        "aligning",
        "bit",
        "capacity",
        "credit",
        "feedback",
        "full",
        "link",
        "name",
        "priority",
        "priority_bit",
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
        link: Link,
        feedback: bool = False,
    ) -> None:
        self.name = name
        self.link = link
        self.feedback = feedback
        self.sender = sender
        self.receiver = receiver
        self.capacity = capacity
        self.slot = slot
        self.bit = 1 << slot
        self.queue: deque[Element] = deque()
        self.taken = 0
        self.riders = 0
        self.full = False
        self.aligning = False
        """Whether its receiver has got a barrier on it and waits for those of its other inputs."""
        self.priority: tuple[PriorityBarrier, ...] = ()
        self.priority_bit = 0
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

    def block(self, aligning: bool) -> None:
        """Note whether alignment holds this input back, and bring the mask up to date."""
        self.aligning = aligning
        if aligning or self.priority:
            self.readiness.blocked |= self.bit
        else:
            self.readiness.blocked &= ~self.bit

    # Barriers that overtake

    def beyond_buffers(self) -> int:
        """How many elements at the tail found no buffer and still wait at the sender."""
        queue, room = self.queue, self.capacity
        if len(queue) - self.riders <= room:
            return 0
        for place, element in enumerate(queue):
            room -= element[0] <= WATERMARK
            if room < 0:
                return len(queue) - place
        return 0

    def overtake(self, checkpoint: int, overtaken: int) -> None:
        """Put a barrier before the queue, having overtaken the first `overtaken` elements of those that it finds there."""
        self.priority = (*self.priority, PriorityBarrier(checkpoint, overtaken))
        self.readiness.nonempty |= self.priority_bit
        self.block(self.aligning)

    def take_priority(self) -> tuple[PriorityBarrier, list[Element]]:
        """The first barrier before the queue, and what it has overtaken, which stays where it is."""
        barrier, *rest = self.priority
        self.priority = tuple(rest)
        if not rest:
            self.readiness.nonempty &= ~self.priority_bit
        self.block(self.aligning)
        return barrier, list(islice(self.queue, barrier.overtaken))

    def place_of_barrier(self, checkpoint: int) -> int | None:
        """How many elements stand before an aligned barrier in the queue, or None where it is not there."""
        for place, element in enumerate(self.queue):
            if element[0] == BARRIER and element[1] == checkpoint:
                return place
        return None

    def refill(self, elements: Iterable[Element]) -> None:
        """Put elements that a checkpoint had found in flight at the tail."""
        for element in elements:
            self.push(own(element))

    def lose(self) -> int:
        """Drop what is queued, as a failure does; returns how many elements were lost."""
        lost = len(self.queue)
        self.taken += lost
        self.queue.clear()
        self.riders = 0
        self.aligning, self.priority = False, ()
        self.release()
        return lost

    def keyframe(self) -> Frame:
        return (
            own_all(self.queue),
            self.taken,
            self.riders,
            self.full,
            self.aligning,
            self.priority,
        )

    def rewind(self, frame: Frame) -> None:
        self.queue.clear()
        self.queue.extend(own_all(frame[0]))
        self.taken, self.riders, self.full, self.aligning, self.priority = frame[1:]


Frame = tuple[tuple[Element, ...], int, int, bool, bool, tuple[PriorityBarrier, ...]]


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
