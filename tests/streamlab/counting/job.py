"""Sums of numbers per remainder and second: small, and every mechanism is in it."""

from engine.datastream import (
    AggregateFunction,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    TumblingEventTimeWindows,
    Types,
    WatermarkStrategy,
)


class TenPerSecond(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * 100


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def build(env: StreamExecutionEnvironment, parameters: dict, data: str) -> None:
    numbers = env.from_collection(list(range(parameters["size"])))
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    (
        numbers.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(TenPerSecond()))
        .key_by(lambda number: number % 3, Types.INT())
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .aggregate(Sum())
        .name("window")
        .set_parallelism(2)
        .print()
        .name("sink")
    )
