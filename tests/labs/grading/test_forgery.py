"""Submissions that do not solve the question, and try to look as if they did. None of them earns what it has not done."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Grade
from .questions import COUNT, SECRET

WRONG = """
from engine.datastream import KeyedProcessFunction, ValueStateDescriptor

class Process(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value, 0
"""

FORGERIES = {
    "prints lines of the protocol": WRONG
    + """
for number in range(40):
    print('["value", %d, ["l", ["t", "a", 1]]]' % number)
""",
    "writes answers before it is asked": WRONG
    + """
import os
for number in range(1, 40):
    os.write(1, b'["value", %d, ["l", ["t", "a", 1]]]\\n' % number)
""",
    "writes the answer to the present question itself": """
import os
from engine.datastream import KeyedProcessFunction

class Process(KeyedProcessFunction):
    def process_element(self, value, ctx):
        for number in range(1, 40):
            os.write(1, b'["value", %d, ["l", ["t", "a", 1]]]\\n' % number)
        yield value, 0
""",
    "says that it has passed": WRONG
    + """
import os
os.write(1, b'["passed", 10]\\n')
os.write(1, b'{"points": 10, "of": 10, "outcome": "passed"}\\n')
""",
    "replaces the writer of answers": WRONG
    + """
import sys
sys.modules["jail.codec"].line = lambda message: b'["value", 1, null]\\n' * 100
""",
    "replaces how values are written": WRONG
    + """
import sys
codec = sys.modules["jail.codec"].Codec
codec.plain = lambda self, value, depth=0: ["o", "Report", ["d", ["points", 10]]]
""",
    "answers instead of the process that asks it": WRONG
    + """
import sys
jail = sys.modules["jail.child"].Jail
jail._answer = lambda self, kind, *rest: None
""",
    "asks the engine for what it was not given": """
from engine.datastream import KeyedProcessFunction, ValueStateDescriptor

class Process(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value, ctx):
        self.seen._do(0, "__class__")
        yield value, 0
""",
    "asks for a handle of somebody else": """
from engine.datastream import KeyedProcessFunction

class Process(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx._do(7, "value")
        yield value, 0
""",
    "asks the timers for their operator": """
from engine.datastream import KeyedProcessFunction

class Process(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx._do("timers", "_keyed")
        yield value, 0
""",
    "returns values that are equal to everything": """
from engine.datastream import KeyedProcessFunction

class Yes(tuple):
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __repr__(self): return "('a', 1)"

class Process(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield Yes((value, 0))
""",
    "calls its own type by the name of a known one": """
from engine.datastream import KeyedProcessFunction
from typing import NamedTuple

class TimeWindow(NamedTuple):
    start: int
    end: int

class Process(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield TimeWindow(1, 2)
""",
    "writes a known type with other fields": WRONG
    + """
import sys
sys.modules["jail.codec"].Codec.plain = (
    lambda self, value, depth=0: ["n", "OutputTag", ["__class__"], "x"] if value is not None else None
)
""",
    "changes the built-in functions": WRONG
    + """
import builtins
builtins.isinstance = lambda *_: True
builtins.sorted = lambda *_, **__: []
builtins.len = lambda *_: 0
""",
    "changes json": WRONG
    + """
import json
json.dumps = lambda *_, **__: '["value", 1, null]'
json.loads = lambda *_: ["value", 1, None]
""",
    "replaces the classes of the engine": WRONG
    + """
import engine.datastream
engine.datastream.KeyedProcessFunction = int
engine.datastream.OutputTag = str
""",
    "ends with success": WRONG.replace("yield value, 0", "import os; os._exit(0)"),
    "raises SystemExit": WRONG.replace("yield value, 0", "raise SystemExit(0)"),
    "has an atexit hook": WRONG
    + """
import atexit, os
atexit.register(lambda: os.write(1, b'["value", 1, null]\\n'))
""",
    "closes the pipes": WRONG
    + """
import os
for descriptor in range(10):
    try: os.close(descriptor)
    except OSError: pass
""",
    "replaces sys.stdout": WRONG
    + """
import sys
class Loud:
    def write(self, text): raise SystemExit(0)
    flush = write
sys.stdout = sys.stderr = Loud()
""",
    "returns NaN": WRONG.replace("yield value, 0", "yield value, float('nan')"),
    "returns a number of 5,000 digits": WRONG.replace("yield value, 0", "yield 10 ** 5000"),
    "returns what contains itself": WRONG.replace(
        "yield value, 0", "held = []; held.append(held); yield held"
    ),
    "returns half a character": WRONG.replace("yield value, 0", "yield '\\ud800'"),
    "raises what lies about itself": """
from engine.datastream import KeyedProcessFunction

class Liar(BaseException):
    def __str__(self): raise Liar()
    def __getattribute__(self, name): raise Liar()

class Process(KeyedProcessFunction):
    def process_element(self, value, ctx):
        raise Liar()
""",
    "yields without end": WRONG.replace("yield value, 0", "\n        while True: yield value, 0"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_earns_nothing(grade: Grade, name: str) -> None:
    report = grade(FORGERIES[name], cpu=3, wall=8.0)
    assert report["verdict"] == "graded"
    assert report["points"] == 0
    assert [result["outcome"] in ("failed", "stopped") for result in report["results"]] == [
        True
    ] * 3
    visible = report["results"][0]
    assert visible["sentence"]


def test_the_honest_solution_earns_everything(grade: Grade) -> None:
    report = grade(COUNT)
    assert (report["points"], report["of"]) == (10, 10)
    assert report["costs_attempt"]


GUESSES = """
from engine.datastream import KeyedProcessFunction

class Process(KeyedProcessFunction):
    def open(self, runtime_context):
        self.answers = iter([("a", 1), ("b", 1), ("a", 2)])

    def process_element(self, value, ctx):
        yield next(self.answers)
"""


def test_who_knows_the_visible_answers_passes_the_visible_test_alone(grade: Grade) -> None:
    report = grade(GUESSES)
    assert [result["outcome"] for result in report["results"]] == ["passed", "failed", "failed"]
    assert report["points"] == 2


TELLS = COUNT.replace(
    "yield", "print(value); print(repr(value) * 3)\n        raise ValueError(value)\n        yield"
)


def test_what_a_hidden_test_is_about_does_not_get_out(grade: Grade) -> None:
    report = grade(TELLS)
    assert SECRET not in str(report)
    shown, *hidden = report["results"]
    assert "ValueError: a" in shown["sentence"]
    assert "a" in shown["printed"]
    for result in hidden:
        assert (result["printed"], result["replay"]) == ("", None)
        assert result["sentence"].endswith("wrong.")


REMEMBERS = """
import engine.datastream, json, math
print("seen", getattr(math, "seen", []))
math.seen = getattr(math, "seen", [])
""" + COUNT.replace("yield", "import math; math.seen.append(value)\n        yield")


def test_nothing_is_left_of_one_test_in_the_next(grade: Grade) -> None:
    first, second = grade(REMEMBERS), grade(REMEMBERS)
    assert first == second
    assert first["points"] == 10
    assert SECRET not in str(first)


def test_forged_answers_are_called_what_they_are(grade: Grade) -> None:
    report: dict[str, Any] = grade(FORGERIES["writes answers before it is asked"])
    assert "answered before it was asked" in report["results"][0]["sentence"] or (
        "no answer" in report["results"][0]["sentence"]
    )
