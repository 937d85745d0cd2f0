"""Make the folder of a new lab, with a job, a page and one question, that works at once."""

import re
from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from labs.catalog import CONTENT, catalog
from labs.spec import SLUG

TOML = """\
id = "{slug}"
title = "{title}"
summary = "Say in one sentence what a student finds out here."
order = {order}
minutes = 20
seed = 1
scheduler = "seeded_random"

[times]
format = "milliseconds"

[[parameters]]
name = "bound"
label = "Out of order by at most"
unit = "ms"
default = 2
minimum = 0
maximum = 20

[[questions]]
id = "next-watermark"
title = "The next watermark"
type = "predict"
points = 2
attempts = 3
worth = [100, 50]
asks = "watermark of window[0]"
at = {{ event = "InputWatermark", subtask = "window[0]", between = [5, 60] }}
until = {{ event = "WatermarkAdvanced", subtask = "window[0]" }}
vary.bound = [0, 1, 2, 3, 4, 5]

[[questions.wrong]]
answer = "before: watermark of window[0]"
why = "That is what it is now. The question is about where it moves to."

[[questions.wrong]]
answer = "highest input watermark of window[0]"
why = "The lowest input counts, not the one that is furthest ahead."
"""

PAGE = """\
# {title}

Say here what the job does and what there is to see.

:::{{viewer}} until="a window fires"
:::

:::{{question}} next-watermark
The run goes on until the watermark of window[0] moves. Where does it move to?
:::

:::{{note}} fidelity
Say here what Flink does in another way.
:::
"""

HINTS = """\
# Hints

## next-watermark: 1 point

Write down the watermark of each input of window[0]. Which is the lowest?
"""

JOB = '''\
"""Numbers of two lists, counted in windows of ten milliseconds. Each number is its own event time."""

from engine.datastream import (
    AggregateFunction,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    TumblingEventTimeWindows,
    Types,
)
from engine.datastream.extensions import ScriptedSource, punctuated

FIRST = [1, 4, 3, 9, 12, 10, 17, 21, 19, 26, 31, 30]
SECOND = [2, 3, 8, 7, 11, 15, 18, 20, 24, 23, 29, 33]


class ItsOwn(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def build(env: StreamExecutionEnvironment, parameters: dict, data: str) -> None:
    bound = parameters["bound"]
    lists = ScriptedSource({"first": FIRST, "second": SECOND})
    strategy = punctuated(lambda value, timestamp: timestamp - bound - 1)
    numbers = env.from_source(lists, strategy.with_timestamp_assigner(ItsOwn()), "source")
    (
        numbers.set_parallelism(2)
        .key_by(lambda value: "all", Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        .aggregate(Count())
        .name("window")
        .set_parallelism(1)
        .print()
        .name("sink")
        .set_parallelism(1)
    )
'''


class Command(BaseCommand):
    help = "Make the folder of a new lab that works at once."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="small letters, digits and hyphens")

    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["slug"]
        if not re.fullmatch(SLUG, slug):
            raise CommandError(
                f"{slug!r} cannot be the name of a lab. Use small letters, digits and hyphens."
            )
        folder = CONTENT / slug
        if folder.exists():
            raise CommandError(f"{folder} is there already. Choose another name.")
        order = 10 + max((lab.order for lab in catalog(CONTENT).labs), default=0)
        title = slug.replace("-", " ").capitalize()
        folder.mkdir(parents=True)
        content = {"lab.toml": TOML, "page.md": PAGE, "hints.md": HINTS}
        for name, text in content.items():
            filled = text.format(slug=slug, title=title, order=order)
            (folder / name).write_text(filled, encoding="utf-8")
        (folder / "job.py").write_text(JOB, encoding="utf-8")
        self.stdout.write(
            f"{folder} is there. Edit its files; manage.py checklabs {slug} tells what is wrong."
        )
