"""`python -m engine.explore`: what is printed, and the exit status."""

from __future__ import annotations

import pytest

from engine.explore.__main__ import main

from ..checkpointing.networks import PAIR


@pytest.fixture
def explored(tmp_path, capsys):
    def explore(*options: str, text: str = PAIR):
        path = tmp_path / "pair.txt"
        path.write_text(text, encoding="utf-8")
        status = main([str(path), *options])
        shown = capsys.readouterr()
        return status, shown.out.splitlines(), shown.err

    return explore


@pytest.mark.parametrize("way", [[], ["--reduced"]])
def test_the_right_protocol_is_exhausted(explored, way):
    status, lines, _ = explored(*way)
    assert status == 0
    assert lines[0].startswith("No schedule violates it: 64 states, ")


def test_a_violation_is_shown_as_a_schedule(explored):
    status, lines, _ = explored("--protocol", "non-FIFO channel")
    assert status == 1
    assert lines[0].startswith("a complete snapshot holds every token once is violated after 4")
    assert len(lines) == 6
    assert lines[1] == "    1  send:P"
    assert lines[5].endswith("this state cannot occur.")


def test_a_long_counterexample_is_shortened(explored):
    status, lines, _ = explored("--protocol", "no channel state", "--walks", "50", "--seed", "2")
    assert status == 1
    assert lines[1] == "5 of these steps are enough:"


def test_a_belief_is_refuted(explored):
    status, lines, _ = explored("--rules", "occurred")
    assert status == 1
    assert "This recorded state never occurred in this run. It might have" in lines[-1]


@pytest.mark.parametrize("bound", [["--states", "9"], ["--depth", "3"], ["--walks", "3"]])
def test_a_bound_is_no_proof(explored, bound):
    status, lines, _ = explored(*bound)
    assert status == 3
    assert lines[0].startswith("Undecided, ")


def test_progress_goes_to_the_error_output(explored, monkeypatch):
    monkeypatch.setattr("engine.explore.__main__.PROGRESS", 1)
    status, lines, progress = explored("--rules", "fifo", text=f"{PAIR}\nsnapshot Q")
    assert (status, len(lines)) == (0, 1)
    assert "transitions" in progress


def test_an_interrupted_search_is_undecided(explored, monkeypatch):
    def interrupted(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.explore.__main__.search", interrupted)
    assert explored()[:2] == (3, ["Undecided, the search was interrupted."])


def test_a_mistake_in_the_text_is_told_with_its_line(explored):
    status, lines, error = explored(text="process P 1\nlink P -> Q")
    assert (status, lines) == (2, [])
    assert "(pair.txt, line 2)" in error


def test_a_file_that_is_not_there_is_told(tmp_path, capsys):
    assert main([str(tmp_path / "none.txt")]) == 2
    assert "none.txt" in capsys.readouterr().err
