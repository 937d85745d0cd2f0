"""Every error says what rule was broken, where, and what to do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import engine
from engine import (
    EngineBug,
    ImpossibleAction,
    InvalidJob,
    LearnerMistake,
    StreamLabError,
    WouldBranch,
)

SOURCES = sorted(Path(engine.__file__).parent.rglob("*.py"))
KINDS = {"LearnerMistake", "ImpossibleAction", "WouldBranch", "InvalidJob", "EngineBug"}


def test_there_are_three_kinds():
    for kind in (LearnerMistake, InvalidJob, EngineBug):
        assert kind.__mro__[1] is StreamLabError
    assert issubclass(ImpossibleAction, LearnerMistake)
    assert issubclass(WouldBranch, LearnerMistake)


def test_an_error_reads_as_a_sentence_a_place_and_a_mend():
    error = InvalidJob("code", "Size must be > 0.", place="window[0]", mend="Give a size.")
    assert str(error) == "Size must be > 0. (window[0]) Give a size."
    assert str(EngineBug("code", "Oh.")) == "Oh."


def raised() -> list[tuple[str, ast.Call]]:
    return [
        (f"{path.name}:{node.lineno}", node)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS
    ]


@pytest.mark.parametrize(
    ("where", "call"), raised(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_error_of_the_engine_has_a_code_and_a_mend(where, call):
    code = call.args[0]
    assert isinstance(code, ast.Constant | ast.Name | ast.Attribute), (
        where
    )  # the others are handed on
    if getattr(code, "value", "") != "job_failed":  # whose sentence is the job's own
        assert "mend" in {keyword.arg for keyword in call.keywords}, where
