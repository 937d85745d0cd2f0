"""Queries over two streams: q3, q7, q8 and an interval join."""

from collections.abc import Iterable
from typing import Any

from benchmarks.nexmark.streams import Streams, milliseconds, shown
from benchmarks.nexmark.windows import OfWindow, bid_totals, tumbling
from engine.datastream import (
    CoGroupFunction,
    DataStream,
    KeyedCoProcessFunction,
    ListStateDescriptor,
    RuntimeContext,
    Time,
    TimerService,
    ValueStateDescriptor,
)
from engine.datastream.extensions import co_group, interval_join

STATES = ("OR", "ID", "CA")


class SellerOfAuction(KeyedCoProcessFunction):
    """Pairs each person with their auctions, whichever comes first. State is kept for ever: there is no window."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.person = runtime_context.get_state(ValueStateDescriptor("person"))
        self.auctions = runtime_context.get_list_state(ListStateDescriptor("auctions"))

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.person.update(value)
        for auction in self.auctions.get():
            yield self.row(value, auction)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.auctions.add(value["id"])
        person = self.person.value()
        if person is not None:
            yield self.row(person, value["id"])

    @staticmethod
    def row(person: Any, auction: int) -> list[Any]:
        return [person["name"], person["city"], person["state"], auction]


def q3(streams: Streams) -> DataStream:
    """Local item suggestion: who sells things of category 10 in three states."""
    persons = streams.persons.filter(lambda person: person["state"] in STATES)
    auctions = streams.auctions.filter(lambda auction: auction["category"] == 10)
    by_seller = persons.connect(auctions).key_by(
        lambda person: person["id"], lambda auction: auction["seller"]
    )
    return by_seller.process(SellerOfAuction())


class BidsAtMaximum(KeyedCoProcessFunction):
    """For one price: the bids of that price within the windows whose maximum it was.

    As in the SQL, the end of a window belongs to it, and a bid is kept for ever.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.bids = runtime_context.get_list_state(ListStateDescriptor("bids"))
        self.windows = runtime_context.get_list_state(ListStateDescriptor("windows"))

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.bids.add(value)
        for window in self.windows.get():
            yield from self.rows(value, window)

    def process_element2(self, value: OfWindow, ctx: Any) -> Iterable[Any]:
        window = (value.start, value.end)
        self.windows.add(window)
        for bid in self.bids.get():
            yield from self.rows(bid, window)

    @staticmethod
    def rows(bid: Any, window: tuple[int, int]) -> Iterable[Any]:
        start, end = window
        if start <= milliseconds(bid["dateTime"]) <= end:
            yield [
                bid["auction"],
                bid["price"],
                bid["bidder"],
                shown(bid["dateTime"]),
                bid["extra"],
            ]


def q7(streams: Streams) -> DataStream:
    """Highest bid: the bids with the highest price of each 10 s."""
    highest = bid_totals(streams.bids, None, tumbling())
    by_price = streams.bids.connect(highest).key_by(
        lambda bid: bid["price"], lambda window: window.totals.highest
    )
    return by_price.process(BidsAtMaximum())


class NewSeller(CoGroupFunction):
    """One row for each person of a window who has put up an auction in it."""

    def co_group(self, first: list[Any], second: list[Any]) -> Iterable[Any]:
        if second:
            for number, name in {(person["id"], person["name"]) for person in first}:
                came = milliseconds(first[0]["dateTime"])
                yield [number, name, shown(came - came % 10_000)]


def q8(streams: Streams) -> DataStream:
    """Monitor new users: who put up an auction within the 10 s in which they came."""
    joined = co_group(streams.persons, streams.auctions)
    joined = joined.where(lambda person: person["id"]).equal_to(lambda auction: auction["seller"])
    return joined.window(tumbling()).apply(NewSeller())


def early_bid(auction: Any, bid: Any) -> list[Any]:
    return [
        auction["id"],
        auction["seller"],
        bid["price"],
        shown(auction["dateTime"]),
        shown(bid["dateTime"]),
    ]


class EarlyBids(KeyedCoProcessFunction):
    """The interval join of Flink SQL, which gives late rows a chance: each row is joined with what the other side holds.

    It is kept while a row that is not late could still join it.
    """

    length = 20_000
    """ms from an auction to its last bid."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.auctions = runtime_context.get_list_state(ListStateDescriptor("auctions"))
        self.bids = runtime_context.get_list_state(ListStateDescriptor("bids"))

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        at = ctx.timestamp()
        for bid_at, bid in self.bids.get():
            if at <= bid_at <= at + self.length:
                yield early_bid(value, bid)
        self.keep(self.auctions, value, at, at + self.length, ctx.timer_service())

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        at = ctx.timestamp()
        for auction_at, auction in self.auctions.get():
            if auction_at <= at <= auction_at + self.length:
                yield early_bid(auction, value)
        self.keep(self.bids, value, at, at, ctx.timer_service())

    def keep(self, state: Any, row: Any, at: int, until: int, timers: TimerService) -> None:
        if timers.current_watermark() < until:
            state.add((at, row))
            timers.register_event_time_timer(until + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        watermark = ctx.timer_service().current_watermark()
        for state, lasts in ((self.auctions, self.length), (self.bids, 0)):
            state.update([(at, row) for at, row in state.get() if at + lasts >= watermark])


def x_interval_join_20s(streams: Streams) -> DataStream:
    """The bids within the first 20 s of each auction."""
    by_auction = streams.auctions.connect(streams.bids).key_by(
        lambda auction: auction["id"], lambda bid: bid["auction"]
    )
    return by_auction.process(EarlyBids())


def interval_join_20s(streams: Streams) -> DataStream:
    """The same by DataStream's interval join, which drops rows behind the watermark: equal where nothing is late."""
    auctions = streams.auctions.key_by(lambda auction: auction["id"])
    bids = streams.bids.key_by(lambda bid: bid["auction"])
    joined = interval_join(auctions, bids).between(Time.seconds(0), Time.seconds(20))
    return joined.process(lambda auction, bid, ctx: [early_bid(auction, bid)])
