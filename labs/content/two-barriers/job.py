"""Two sources whose records are united and counted: the smallest job in which barriers have to be aligned."""

from engine.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
)
from engine.datastream.extensions import describe

BUFFERS = 2
"""In each channel. With fewer there are fewer states to explore; with one, a barrier waits for the record before it."""


class Count(KeyedProcessFunction):
    """(key, records of it so far)."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        yield value, self.seen.value()


def build(env: StreamExecutionEnvironment, parameters: dict, data: str) -> None:
    """Declare the job: `records` of the same key at each of the two sources."""
    env.set_buffers_per_channel(BUFFERS)
    records = ["a"] * parameters["records"]
    left = env.from_collection(records).name("left")
    right = env.from_collection(records).name("right")
    counts = left.union(right).key_by(lambda value: value).process(Count()).name("count")
    describe(counts, detail="records per key", brief=lambda result: result[1])
    counts.print().name("sink")
