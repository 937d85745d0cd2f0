"""Queries that look at one record at a time: q0, q1, q2."""

from decimal import Decimal

from benchmarks.nexmark.streams import Streams, shown
from engine.datastream import DataStream

EURO = Decimal("0.908")


def q0(streams: Streams) -> DataStream:
    """Pass-through: what reading and writing costs."""
    return streams.bids.map(
        lambda bid: [
            bid["auction"],
            bid["bidder"],
            bid["price"],
            shown(bid["dateTime"]),
            bid["extra"],
        ]
    )


def q1(streams: Streams) -> DataStream:
    """Currency conversion: every price in euros."""
    return streams.bids.map(
        lambda bid: [
            bid["auction"],
            bid["bidder"],
            str(EURO * bid["price"]),
            shown(bid["dateTime"]),
            bid["extra"],
        ]
    )


def q2(streams: Streams) -> DataStream:
    """Selection: bids on some of the auctions."""
    chosen = streams.bids.filter(lambda bid: bid["auction"] % 123 == 0)
    return chosen.map(lambda bid: [bid["auction"], bid["price"]])
