"""Queries over windows of bids: q5, q11, and tumbling, hopping and session windows as such."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from benchmarks.nexmark.streams import Streams, shown
from engine.datastream import (
    AggregateFunction,
    DataStream,
    EventTimeSessionWindows,
    ProcessWindowFunction,
    SlidingEventTimeWindows,
    Time,
    TumblingEventTimeWindows,
)


class Totals(NamedTuple):
    """How many bids, the sum of their prices, and the highest."""

    bids: int
    total: int
    highest: int


class TotalOfBids(AggregateFunction):
    def create_accumulator(self) -> Totals:
        return Totals(0, 0, 0)

    def add(self, value: Any, accumulator: Totals) -> Totals:
        price = value["price"]
        return self.merge(accumulator, Totals(1, price, price))

    def get_result(self, accumulator: Totals) -> Totals:
        return accumulator

    def merge(self, acc_a: Totals, acc_b: Totals) -> Totals:
        return Totals(
            acc_a.bids + acc_b.bids,
            acc_a.total + acc_b.total,
            max(acc_a.highest, acc_b.highest),
        )


class OfWindow(NamedTuple):
    """The totals of one key in one window, whose bounds are in ms."""

    key: Any
    start: int
    end: int
    totals: Totals


class WithBounds(ProcessWindowFunction):
    """Adds the key and the window to what was aggregated."""

    def process(self, key: Any, context: Any, elements: Iterable[Totals]) -> Iterable[OfWindow]:
        window = context.window()
        return [OfWindow(key, window.start, window.end, totals) for totals in elements]


def bid_totals(bids: DataStream, column: str | None, windows: Any) -> DataStream:
    """Totals of bids by a column, or of all bids together, as OfWindow."""
    keyed = bids.key_by(lambda bid: bid[column] if column else "all")
    return keyed.window(windows).aggregate(TotalOfBids(), WithBounds())


def tumbling() -> TumblingEventTimeWindows:
    return TumblingEventTimeWindows.of(Time.seconds(10))


def hopping() -> SlidingEventTimeWindows:
    return SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(2))


class MostBids(ProcessWindowFunction):
    """Of the counts of one hopping window, the highest; several auctions may share it."""

    def process(self, key: Any, context: Any, elements: Iterable[OfWindow]) -> Iterable[Any]:
        counted = list(elements)
        most = max(one.totals.bids for one in counted)
        return [[one.key, one.totals.bids] for one in counted if one.totals.bids >= most]


def q5(streams: Streams) -> DataStream:
    """Hot items: the auctions with the most bids in each hopping window.

    A count has the last timestamp of its window. Hopping windows end every 2 s, so a tumbling window of 2 s holds the counts
    of exactly one of them.
    """
    counts = bid_totals(streams.bids, "auction", hopping())
    one_hop = TumblingEventTimeWindows.of(Time.seconds(2))
    return counts.key_by(lambda one: one.end).window(one_hop).process(MostBids())


def q11(streams: Streams) -> DataStream:
    """User sessions: how many bids each bidder made until they were silent for 10 s."""
    sessions = EventTimeSessionWindows.with_gap(Time.seconds(10))
    return bid_totals(streams.bids, "bidder", sessions).map(
        lambda one: [one.key, one.totals.bids, shown(one.start), shown(one.end)]
    )


def x_bids_tumble10(streams: Streams) -> DataStream:
    """Count, sum and maximum of the bids on each auction every 10 s."""
    return bid_totals(streams.bids, "auction", tumbling()).map(
        lambda one: [shown(one.start), shown(one.end), one.key, *one.totals]
    )


def x_bids_hop_10_4(streams: Streams) -> DataStream:
    """Count and maximum of all bids in windows of 10 s, every 2 s."""
    return bid_totals(streams.bids, None, hopping()).map(
        lambda one: [shown(one.start), shown(one.end), one.totals.bids, one.totals.highest]
    )


def x_session_tvf_5s(streams: Streams) -> DataStream:
    """How many bids each bidder made until they were silent for 5 s."""
    sessions = EventTimeSessionWindows.with_gap(Time.seconds(5))
    return bid_totals(streams.bids, "bidder", sessions).map(
        lambda one: [one.key, shown(one.start), shown(one.end), one.totals.bids]
    )
