"""How a subtask's output is spread over its channels.

A partitioner is a description on an edge of the job graph; `route` turns it into one closure per sending subtask, which
takes a list of records and watermarks and puts them into the channels. Watermarks go to every channel.

Sources: Flink's `ForwardPartitioner`, `RebalancePartitioner`, `RescalePartitioner`, `ShufflePartitioner`,
`BroadcastPartitioner`, `KeyGroupStreamPartitioner`, `CustomPartitionerWrapper`, and `EdgeManagerBuildUtil` for who is
connected to whom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.elements import RECORD, Element
from engine.errors import InvalidJob
from engine.network.channel import Channel, own_all
from engine.randomness import RandomStream
from engine.state.key_groups import (
    assign_to_key_group,
    canonical,
    operator_index_for_key_group,
    original,
)

Emit = Callable[[list[Element]], None]
KEY_CACHE_LIMIT = 1_000_000


def pointwise(senders: int, receivers: int) -> list[list[int]]:
    """For each sender the receivers it is connected to, as Flink distributes forward and rescale edges."""
    connected: list[list[int]] = [[] for _ in range(senders)]
    if senders >= receivers:
        for receiver in range(receivers):
            for sender in range(
                receiver * senders // receivers, (receiver + 1) * senders // receivers
            ):
                connected[sender].append(receiver)
    else:
        for sender in range(senders):
            start = (sender * receivers + senders - 1) // senders
            end = ((sender + 1) * receivers + senders - 1) // senders
            connected[sender].extend(range(start, end))
    return connected


class Route:
    """One subtask's way to the channels of one edge. Subclasses choose the channel of a record."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.channels = channels

    def emit(self, out: list[Element]) -> None:
        raise NotImplementedError

    def receiver(self, element: Element) -> int:
        """The index of the channel that a record, sent once already, would go to now."""
        return 0

    def keyframe(self) -> Any:
        return None

    def rewind(self, frame: Any) -> None:
        pass


class OneChannel(Route):
    """Everything to the only channel there is."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        super().__init__(channels)
        (channel,) = channels
        queue, readiness, settle = channel.queue, channel.readiness, channel.settle
        capacity, bit = channel.capacity, channel.bit
        extend = queue.extend

        def emit(out: list[Element]) -> None:
            extend(out)
            readiness.nonempty |= bit
            if len(queue) >= capacity and not channel.full:
                settle()

        self.emit = emit  # type: ignore[method-assign]


class Everywhere(Route):
    """A copy of everything to every channel."""

    def emit(self, out: list[Element]) -> None:
        first = True
        for channel in self.channels:
            channel.queue.extend(out if first else own_all(out))
            channel.settle()
            first = False


class RecordsOnly(Route):
    """A feedback edge: event time does not go back, so watermarks stay out of it."""

    def __init__(self, route: Route) -> None:
        super().__init__(route.channels)
        self.route = route
        self.receiver = route.receiver  # type: ignore[method-assign]
        self.keyframe = route.keyframe  # type: ignore[method-assign]
        self.rewind = route.rewind  # type: ignore[method-assign]

    def emit(self, out: list[Element]) -> None:
        records = [element for element in out if element[0] == RECORD]
        if records:
            self.route.emit(records)


class Chosen(Route):
    """Each record to one channel, whose index `choose(value)` gives."""

    def choose(self, value: Any) -> int:
        raise NotImplementedError

    def emit(self, out: list[Element]) -> None:
        channels = self.channels
        choose = self.choose
        for element in out:
            if element[0] == RECORD:
                channels[choose(element[1])].queue.append(element)
            else:
                for channel in channels:
                    channel.queue.append(element)
        for channel in channels:
            channel.settle()


class RoundRobin(Chosen):
    """Flink moves on before it sends, so `last` is the channel that got the last record."""

    def __init__(self, channels: Sequence[Channel], last: int) -> None:
        super().__init__(channels)
        self.last = last

    def choose(self, value: Any) -> int:
        self.last = (self.last + 1) % len(self.channels)
        return self.last

    def keyframe(self) -> int:
        return self.last

    def rewind(self, frame: int) -> None:
        self.last = frame


class Shuffled(Chosen):
    """A seeded random channel for each record."""

    def __init__(self, channels: Sequence[Channel], stream: RandomStream) -> None:
        super().__init__(channels)
        self.stream = stream

    def choose(self, value: Any) -> int:
        return self.stream.below(len(self.channels))

    def keyframe(self) -> Any:
        return self.stream.keyframe()

    def rewind(self, frame: Any) -> None:
        self.stream.rewind(frame)


class ByFunction(Chosen):
    """The channel that a user's partitioner names."""

    def __init__(
        self,
        channels: Sequence[Channel],
        partition: Callable[[Any, int], int],
        selector: Callable[[Any], Any],
    ) -> None:
        super().__init__(channels)
        self.partition = partition
        self.selector = selector

    def choose(self, value: Any) -> int:
        index = self.partition(self.selector(value), len(self.channels))
        if type(index) is not int or not 0 <= index < len(self.channels):
            raise InvalidJob(
                "partition_out_of_range",
                f"The partitioner returned {index!r} for {len(self.channels)} channels.",
                mend=f"Return an integer from 0 to {len(self.channels) - 1}.",
            )
        return index

    def receiver(self, element: Element) -> int:
        return self.choose(element[1])


class ByKey(Route):
    """Each record to the subtask that owns its key group; the record carries its canonical key from here on."""

    def __init__(
        self,
        channels: Sequence[Channel],
        selector: Callable[[Any], Any],
        key_type: str | None,
        max_parallelism: int,
    ) -> None:
        super().__init__(channels)
        self.selector = selector
        self.key_type = key_type
        self.max_parallelism = max_parallelism
        self._known: dict[type, dict[Any, tuple[int, Any]]] = {str: {}, int: {}}
        self.emit = self._closure()  # type: ignore[assignment,method-assign]

    def owner(self, key: Any) -> tuple[int, Any]:
        """The receiving subtask's index and the canonical key."""
        group = assign_to_key_group(key, self.max_parallelism, self.key_type)
        found = (
            operator_index_for_key_group(self.max_parallelism, len(self.channels), group),
            canonical(key),
        )
        known = self._known.get(type(key))
        if known is not None:
            if len(known) >= KEY_CACHE_LIMIT:
                known.clear()
            known[key] = found
        return found

    def receiver(self, element: Element) -> int:
        return self.owner(original(element[3]))[0]

    def _closure(self) -> Emit:
        selector, owner, channels = self.selector, self.owner, self.channels
        strings, integers = self._known[str].get, self._known[int].get
        appends = [channel.queue.append for channel in channels]
        settles = [channel.settle for channel in channels]

        def emit(out: list[Element]) -> None:
            index = -1
            for element in out:
                if element[0]:
                    for append in appends:
                        append(element)
                    index = -1
                    continue
                _, value, timestamp, _ = element
                key = selector(value)
                kind = type(key)
                hit = strings(key) if kind is str else integers(key) if kind is int else None
                index, held = hit or owner(key)
                appends[index]((0, value, timestamp, held))
            if index >= 0 and len(out) == 1:
                settles[index]()
            else:
                for settle in settles:
                    settle()

        def emit_to_one(out: list[Element]) -> None:
            """The same, where there is no other receiver: the key group of a string, which always has one, is not asked for."""
            for element in out:
                if element[0]:
                    append(element)
                    continue
                _, value, timestamp, _ = element
                key = selector(value)
                kind = type(key)
                if kind is str:
                    append((0, value, timestamp, key))
                else:
                    hit = integers(key) if kind is int else None
                    append((0, value, timestamp, (hit or owner(key))[1]))
            readiness.nonempty |= bit
            if len(queue) >= capacity and not channel.full:
                settle()

        if len(channels) > 1:
            return emit
        (channel,) = channels
        queue, readiness, settle = channel.queue, channel.readiness, channel.settle
        append, bit, capacity = queue.append, channel.bit, channel.capacity
        return emit_to_one


class Partitioner:
    """The description of an edge: a name, whether it connects all with all, and how to route."""

    name = "forward"
    all_to_all = False

    def __init__(self, detail: str = "") -> None:
        self.detail = detail

    def route(
        self, channels: Sequence[Channel], index: int, stream: RandomStream, max_parallelism: int
    ) -> Route:
        """A route over `channels` for the sending subtask `index`; `max_parallelism` is the receiver's."""
        return OneChannel(channels) if len(channels) == 1 else RoundRobin(channels, -1)


class Forward(Partitioner):
    """Subtask i to subtask i: parallelism must be equal."""


class Rescale(Partitioner):
    """Round robin over the few receivers that this sender is connected to."""

    name = "rescale"


class Rebalance(Partitioner):
    """Round robin over all receivers, starting at a seeded random one."""

    name = "rebalance"
    all_to_all = True

    def route(
        self, channels: Sequence[Channel], index: int, stream: RandomStream, max_parallelism: int
    ) -> Route:
        return (
            OneChannel(channels)
            if len(channels) == 1
            else RoundRobin(channels, stream.below(len(channels)))
        )


class Shuffle(Partitioner):
    """A seeded random receiver for each record."""

    name = "shuffle"
    all_to_all = True

    def route(
        self, channels: Sequence[Channel], index: int, stream: RandomStream, max_parallelism: int
    ) -> Route:
        return OneChannel(channels) if len(channels) == 1 else Shuffled(channels, stream)


class Broadcast(Partitioner):
    """Every record to every receiver."""

    name = "broadcast"
    all_to_all = True

    def route(
        self, channels: Sequence[Channel], index: int, stream: RandomStream, max_parallelism: int
    ) -> Route:
        return OneChannel(channels) if len(channels) == 1 else Everywhere(channels)


class Global(Partitioner):
    """Every record to the first receiver."""

    name = "global"
    all_to_all = True

    def route(
        self, channels: Sequence[Channel], index: int, stream: RandomStream, max_parallelism: int
    ) -> Route:
        return ByFunction(channels, lambda key, count: 0, lambda value: None)


class Custom(Partitioner):
    """The receiver that a user's function names: `partition(key, number of receivers)`."""

    name = "custom"
    all_to_all = True

    def __init__(
        self, partition: Callable[[Any, int], int], selector: Callable[[Any], Any]
    ) -> None:
        super().__init__()
        self.partition = partition
        self.selector = selector

    def route(
        self, channels: Sequence[Channel], index: int, stream: RandomStream, max_parallelism: int
    ) -> Route:
        return ByFunction(channels, self.partition, self.selector)


class Hash(Partitioner):
    """By key group, as Flink does."""

    name = "hash"
    all_to_all = True

    def __init__(
        self, selector: Callable[[Any], Any], key_type: str | None = None, detail: str = ""
    ) -> None:
        super().__init__(detail)
        self.selector = selector
        self.key_type = key_type

    def route(
        self, channels: Sequence[Channel], index: int, stream: RandomStream, max_parallelism: int
    ) -> Route:
        return ByKey(channels, self.selector, self.key_type, max_parallelism)


class Automatic(Partitioner):
    """What Flink does where the job says nothing: forward where parallelism is equal, else rebalance."""

    def resolve(self, senders: int, receivers: int) -> Partitioner:
        return Forward(self.detail) if senders == receivers else Rebalance(self.detail)
