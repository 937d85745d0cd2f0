"""`python -m engine.explore JOB.py`: what is printed, and the exit status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.explore.__main__ import main

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "exploring.md"
COMMANDS = ("--command", "checkpoint", "--command", "fail=count[0]")


@pytest.fixture
def explored(tmp_path, capsys):
    """Runs the job of the how-to, or another text."""
    told = re.search(r"```python\n(.*?)\ncommands = ", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert told is not None

    def explore(*options: str, text: str = told.group(1), function: str = ":counting"):
        path = tmp_path / "counting.py"
        path.write_text(text, encoding="utf-8")
        status = main([f"{path}{function}", *options])
        shown = capsys.readouterr()
        return status, shown.out.splitlines(), shown.err

    return explore


def test_the_right_protocol_is_exhausted(explored):
    status, lines, _ = explored(*COMMANDS, "--reduced")
    assert status == 0
    assert len(lines) == 1
    assert lines[0].startswith("No schedule violates it: ")


def test_a_wrong_one_is_told_step_by_step(explored):
    status, lines, _ = explored(*COMMANDS, "--mutant", "no-alignment", "--reduced")
    assert status == 1
    (sentence,) = re.findall(r"```console\n(.*)\n```", PAGE.read_text(encoding="utf-8"))
    assert lines[0].endswith(f"steps: {sentence}")
    steps = [line for line in lines if re.match(r" +\d+  ", line)]
    assert f"after {len(steps)} steps" in lines[0]
    assert any("checkpoint 1 is complete" in step for step in steps)
    assert any("count[0] failed" in step for step in steps)


def test_a_bound_is_told(explored):
    status, lines, _ = explored(*COMMANDS, "--states", "20")
    assert status == 3
    assert lines[0].startswith("Undecided, the bound on states was reached")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"function": ""}, "There is no function job that builds a job."),
        ({"text": "def job():\n    return 3\n", "function": ""}, "returned no job graph but int"),
        ({"text": "x = 1\n1 / 0\n"}, "counting.py, line 2"),
        ({"text": "def (\n"}, "counting.py, line 1"),
    ],
)
def test_a_file_that_builds_no_job_is_refused_with_its_line(explored, given, told):
    status, lines, error = explored(**given)
    assert (status, lines) == (2, [])
    assert told in error


@pytest.mark.parametrize(
    "command", ["fail", "fail=", "rescale=count", "rescale=:2", "rescale=count:x", "explode"]
)
def test_a_command_that_is_none_is_refused(explored, command):
    status, _, error = explored("--command", command)
    assert status == 2
    assert f"There is no command '{command}'" in error or "This job has no operator ''" in error


def test_a_file_that_is_not_there_is_a_mistake(capsys):
    assert main(["nowhere.py"]) == 2
    assert "nowhere.py" in capsys.readouterr().err
