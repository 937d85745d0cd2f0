"""The three streams of an auction site, out of one file of events."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from engine.datastream import (
    DataStream,
    Duration,
    FileSource,
    StreamExecutionEnvironment,
    StreamFormat,
    TimestampAssigner,
    WatermarkStrategy,
)

PERSON, AUCTION, BID = 0, 1, 2
EPOCH = datetime.fromtimestamp(0, UTC).replace(tzinfo=None)


class Streams(NamedTuple):
    """Records are dicts with the columns of Nexmark; their timestamp is that of `dateTime`."""

    persons: DataStream
    auctions: DataStream
    bids: DataStream


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value["ts"])


def read_streams(env: StreamExecutionEnvironment, path: str, delay_ms: int) -> Streams:
    """Events of a file of JSON lines, with watermarks `delay_ms` behind the latest.

    Flink SQL's watermark is `dateTime - delay`; the bounded strategy takes off 1 ms more.
    """
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(delay_ms - 1))
    events = (
        env.from_source(lines, WatermarkStrategy.no_watermarks(), "file")
        .map(json.loads)
        .name("parse")
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(EventTime()))
    )

    def only(kind: int, name: str) -> DataStream:
        chosen = events.filter(lambda event: event["event_type"] == kind).name(f"{name}s only")
        stream: DataStream = chosen.map(lambda event: event[name]).name(f"{name}s")
        return stream

    return Streams(only(PERSON, "person"), only(AUCTION, "auction"), only(BID, "bid"))


def shown(moment: str | int) -> str:
    """A time as Flink SQL's rows show it: from a record's text, or from ms since 1970."""
    if isinstance(moment, str):
        return str(datetime.fromisoformat(moment))
    return str(EPOCH + timedelta(milliseconds=moment))


def milliseconds(moment: str) -> int:
    """A record's time in ms since 1970."""
    return (datetime.fromisoformat(moment) - EPOCH) // timedelta(milliseconds=1)
