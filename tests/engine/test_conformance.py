"""The engine against what Apache Flink and Apache Beam did with the same input, and the runner that compares them."""

from __future__ import annotations

import json

import pytest

from engine.conformance.__main__ import main, run

from .oracles import ORACLES

FILES = sorted(path for path in ORACLES.iterdir() if path.suffix in (".csv", ".json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_oracle_file_passes(path):
    report = run(str(path))
    assert report.outcomes
    assert not report.failed(), report.text()
    assert not report.unsupported(), report.text()


def transcript(**changes):
    case = {
        "name": "two of a kind",
        "window_fn": "FixedWindows(10)",
        "trigger_fn": "Repeatedly(AfterCount(2))",
        "transcript": [{"input": [1, 2]}, {"expect": [{"window": [0, 9], "values": [2, 1]}]}],
    }
    return case | changes


@pytest.fixture
def written(tmp_path):
    def write(content, name="transcripts.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


def test_what_passes_is_counted_and_the_status_is_0(written, capsys):
    assert main([written([transcript(), transcript()])]) == 0
    assert capsys.readouterr().out == "transcripts.json: 2 passed, 0 failed, 0 unsupported\n"


def test_the_first_difference_is_shown_and_the_status_is_1(written, capsys):
    wrong = [{"input": [1, 2]}, {"expect": [{"values": [1, 3]}]}]
    cases = [transcript(), transcript(name="bad", transcript=wrong), transcript(transcript=wrong)]
    assert main([written(cases)]) == 1
    counts, difference = capsys.readouterr().out.splitlines()
    assert counts == "transcripts.json: 1 passed, 2 failed, 0 unsupported"
    assert difference.startswith(
        "  first difference, bad: step 1: {'values': [1, 3]} is missing, left were [{'window': [0, 9], 'values': [1, 2]"
    )


@pytest.mark.parametrize("after", [[], [{"watermark": 3}], [{"input": [5]}]])
def test_a_pane_that_is_not_expected_is_a_failure(written, capsys, after):
    assert main([written([transcript(transcript=[{"input": [1, 2]}, *after])])]) == 1
    assert "came and was not expected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"trigger_fn": "AfterProcessingTime(5)"}, "AfterProcessingTime, which is none of"),
        ({"window_fn": "CalendarWindows"}, "CalendarWindows, which is none of"),
        ({"timestamp_combiner": "OUTPUT_AT_NOON"}, "the timestamp combiner OUTPUT_AT_NOON"),
        ({"transcript": [{"clock": 5}]}, "steps of kind 'clock'"),
    ],
)
def test_what_cannot_be_run_is_unsupported_with_its_reason(written, capsys, changes, reason):
    assert main([written([transcript(**changes)])]) == 0
    shown = capsys.readouterr().out
    assert "0 passed, 0 failed, 1 unsupported" in shown
    assert f"  unsupported: {reason}" in shown


@pytest.mark.parametrize(("content", "name"), [({"x": 1}, "x.json"), ("a,b\n1,2\n", "x.csv")])
def test_a_file_in_no_known_format_is_unsupported(written, capsys, content, name):
    assert main([written(content, name)]) == 0
    assert "this is no format that the runner knows" in capsys.readouterr().out


BARRIERS = {
    "name": "two", "mode": "aligned", "channels": 2, "latest_checkpoint": 7,
    "steps": [
        {"arrive": {"ch": 0, "barrier": 7}, "emits": [{"block": 0}]},
        {"arrive": {"ch": 1, "barrier": 7},
         "emits": [{"block": 1}, {"trigger": 7, "unaligned": False}, {"resume": 0}, {"resume": 1}]},
    ],
}  # fmt: skip
RESCALE = {"mapper": "FIRST", "old": 2, "new": 1, "new_to_old": [[0, 1]], "ambiguous": False}


@pytest.mark.parametrize("case", [BARRIERS, RESCALE])
def test_a_case_of_checkpoints_passes(written, capsys, case):
    assert main([written([case], "cases.json")]) == 0
    assert "1 passed, 0 failed, 0 unsupported" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("case", "reason"),
    [(BARRIERS | {"mode": "odd"}, "the mode odd"), (RESCALE | {"mapper": "UNSUPPORTED"}, "the mapper UNSUPPORTED")],
)  # fmt: skip
def test_a_case_of_checkpoints_that_cannot_be_run_says_why(written, capsys, case, reason):
    assert main([written([case], "cases.json")]) == 0
    assert f"  unsupported: {reason}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [
        [BARRIERS | {"channels": 0}],
        [BARRIERS | {"channels": "two"}],
        [BARRIERS | {"steps": "none"}],
        [BARRIERS | {"steps": [{"arrive": {"ch": -1, "barrier": 1}, "emits": []}]}],
        [BARRIERS | {"steps": [{"arrive": {"ch": 0, "barrier": "1"}, "emits": []}]}],
        [BARRIERS | {"steps": [{"arrive": {"ch": 0, "zig": 1}, "emits": []}]}],
        [RESCALE | {"new": "x"}],
        [{"mode": "UNION", "old": 1, "new": 0, "old_counts": "x", "new_items": []}],
        {"sequences": [7], "channels": 3},
        {"cases": [{"topology": {}}]},
        {"cases": [{}]},
        {"cases": [7]},
    ],
)
def test_a_file_of_another_shape_than_its_format_fails_with_a_sentence(written, capsys, content):
    assert main([written(content, "cases.json")]) == 1
    shown = capsys.readouterr().out
    assert "cases.json: 0 passed, 1 failed, 0 unsupported" in shown
    assert "of another kind than its format says" in shown


@pytest.mark.parametrize("content", [[7], [[[]]], []])
def test_a_file_without_cases_is_no_format(written, capsys, content):
    assert main([written(content, "cases.json")]) == 0
    assert "this is no format that the runner knows" in capsys.readouterr().out


def test_a_file_that_cannot_be_read_is_a_failure(written, capsys):
    assert main(["/no/such/file.json", written("{", "broken.json")]) == 1
    assert capsys.readouterr().out.count("cannot be read") == 2


def test_without_files_the_usage_is_shown(capsys):
    assert main([]) == 2
    assert capsys.readouterr().out.startswith("Usage:")
