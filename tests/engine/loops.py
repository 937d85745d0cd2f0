"""Jobs with a loop: the one of field case F40, and generated ones. Records go round until their number has come down to 0."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from engine.datastream import KeyedProcessFunction, ValueStateDescriptor, WatermarkStrategy
from engine.datastream.extensions import iterate
from engine.operators.split import SplitData

from .jobs import EXACTLY_ONCE, Commutative, checkpointings, set_checkpointing
from .small import in_order, job

IN, HEAD, BACK = "source[0]>head[0]", "head[0]>body[0]", "again[0]>head[0]"
BODY, DONE = "body[0]>again[0]", "body[0]>done[0]"


def countdown(*values: int, buffers: int = 8, parallelism: int = 1, **checkpointing: Any):
    """F40: the body takes 1 away, what is above 0 goes back, and the rest is written."""

    def build(env):
        env.set_buffers_per_channel(buffers)
        set_checkpointing(env, checkpointing)
        env.set_parallelism(parallelism)
        head = iterate(env.from_collection(list(values))).name("head")
        body = head.map(lambda value: value - 1).name("body")
        head.close_with(body.filter(lambda value: value > 0).name("again"))
        body.filter(lambda value: value <= 0).name("done").print("out").set_parallelism(1)

    return job(build)


class Down(KeyedProcessFunction):
    """Takes 1 away, and counts by key how many it has seen."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        yield (value[0], value[1], value[2] - 1)


PARTITIONINGS = st.sampled_from(["", "rebalance", "shuffle", "rescale", "key", "custom"])


def partitioned(stream, kind):
    if kind == "key":
        return stream.key_by(lambda value: value[0])
    if kind == "custom":
        return stream.partition_custom(lambda key, count: key % count, lambda value: value[2])
    return getattr(stream, kind)() if kind else stream


def make_loop(spec: dict[str, Any]):
    """A factory of the job that `spec` describes."""

    def build(env):
        env.set_buffers_per_channel(spec["buffers"])
        set_checkpointing(env, spec["checkpointing"])
        splits = [SplitData(f"p{number}", entries) for number, entries in enumerate(spec["splits"])]
        strategy = WatermarkStrategy.no_watermarks()
        if spec["bound"] is not None:
            strategy = in_order(spec["bound"])
        stream = env.from_splits(splits, strategy, "source").set_parallelism(spec["sources"])
        head = iterate(partitioned(stream, spec["into"])).name("head")
        head.set_parallelism(spec["heads"])
        if spec["keyed_body"]:
            body = head.key_by(lambda value: value[0]).process(Down())
        else:
            body = partitioned(head, spec["body"]).map(
                lambda value: (value[0], value[1], value[2] - 1)
            )
        body.name("body").set_parallelism(spec["bodies"])
        back = body.filter(lambda value: value[2] > 0).name("again").set_parallelism(spec["agains"])
        head.close_with(partitioned(back, spec["back"]))
        counted = body.key_by(lambda value: value[0]).process(Commutative()).name("keyed")
        counted.set_parallelism(spec["keyed_parallelism"]).print("out")

    return job(build)


KEYS = st.sampled_from(["a", "b", "c", 1, 2.5, ("x", 1)])


@st.composite
def loop_specs(draw: st.DrawFn, schemes=(*EXACTLY_ONCE, "at_least_once")) -> dict[str, Any]:
    """Few enough records for the buffers of the way back, so that none deadlocks, though other channels do fill."""
    record = st.tuples(KEYS, st.integers(0, 100), st.integers(0, 4))
    splits = draw(st.lists(st.lists(record, max_size=8), min_size=1, max_size=2))
    total = sum(map(len, splits))
    checkpointing = draw(checkpointings(schemes))
    small = st.integers(1, 3)
    return {
        "splits": splits,
        "sources": draw(st.integers(1, 2)),
        "bound": draw(st.none() | st.integers(0, 20)),
        "into": draw(PARTITIONINGS),
        "heads": draw(small),
        "keyed_body": draw(st.booleans()),
        "body": draw(PARTITIONINGS),
        "bodies": draw(small),
        "agains": draw(small),
        "back": draw(PARTITIONINGS),
        "keyed_parallelism": draw(small),
        "buffers": total + 1 if checkpointing["scheme"] != "at_least_once" else 4 * total + 1,
        "checkpointing": checkpointing,
    }


@st.composite
def loop_commands(draw: st.DrawFn, stops: bool = True) -> dict[str, Any]:
    kinds = ["checkpoint"] * 4 + ["fail", "rescale", "rescale_from_checkpoint", "savepoint"]
    kind = draw(st.sampled_from([*kinds, "refuse_upload", *(["stop"] * stops)]))
    operator = draw(st.sampled_from(["source", "head", "body", "again", "keyed"]))
    if kind in ("fail", "refuse_upload"):
        return {"kind": kind, "subtask": f"{operator}[{draw(st.integers(0, 2))}]"}
    if kind in ("rescale", "rescale_from_checkpoint"):
        return {"kind": kind, "operator": operator, "parallelism": draw(st.integers(1, 4))}
    if kind == "stop":
        return {"kind": kind, "drain": draw(st.booleans())}
    return {"kind": kind}
