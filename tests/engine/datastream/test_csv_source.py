"""Files: rows by line, broken ones skipped or refused by name."""

from __future__ import annotations

import pytest

from engine import InvalidJob
from engine.datastream import (
    FileSource,
    StreamExecutionEnvironment,
    StreamFormat,
    WatermarkStrategy,
)
from engine.datastream.extensions import CsvSource, SkipRow
from engine.operators.split import Broken, Skip
from engine.testing import run_job

from ..small import job, results, state_of


def parse(row):
    if row["delay"] == "NA":
        raise SkipRow("cancelled")
    return (row["carrier"], int(row["delay"]))


@pytest.fixture
def entries(tmp_path):
    def read(content, broken="skip", encoding="utf-8"):
        (tmp_path / "day.csv").write_bytes(content.encode(encoding))
        (split,) = CsvSource([tmp_path / "day.csv"], parse, broken=broken).splits()
        assert split.name == "day"
        return split.entries

    return read


def test_rows_become_values_and_some_are_skipped_with_a_reason(entries):
    assert entries("carrier,delay\nAA,3\nUA,NA\n") == [("AA", 3), Skip(3, "cancelled")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("AA,many", "broken row: invalid literal for int() with base 10: 'many'"),
        ("AA", "broken row: 1 fields where the header has 2"),
        ("AA,1,2", "broken row: 3 fields where the header has 2"),
        ("x" * 140_000 + ",1", "broken row: field larger than field limit (131072)"),
    ],
    ids=["not a number", "too few", "too many", "too long"],
)
def test_a_broken_row_is_named_by_its_line(entries, row, reason):
    content = f"carrier,delay\nAA,1\n\n{row}\nUA,2\n"
    assert entries(content) == [("AA", 1), Skip(4, reason), ("UA", 2)]
    assert entries(content, "refuse") == [("AA", 1), Broken(4, reason, "day.csv"), ("UA", 2)]


def test_a_missing_column_is_named(entries):
    (skipped,) = entries("carrier,lag\nAA,1\n")
    assert skipped == Skip(2, "broken row: no column 'delay'")


def test_a_quoted_field_may_span_lines_and_rows_keep_their_lines(entries):
    content = 'carrier,delay\n"A\nA",1\nUA,x\n'
    assert entries(content) == [
        ("A\nA", 1),
        Skip(4, "broken row: invalid literal for int() with base 10: 'x'"),
    ]


@pytest.mark.parametrize("separator", ["\u2028", "\x0c", "\x85", "\x1c"])
def test_only_line_ends_end_a_line(entries, separator):
    assert entries(f"carrier,delay\nA{separator}A,1\n") == [(f"A{separator}A", 1)]


def test_windows_line_ends_and_a_byte_order_mark(entries):
    assert entries("carrier,delay\r\nAA,1\r\n", encoding="utf-8-sig") == [("AA", 1)]


def test_an_empty_file_has_no_header(entries):
    with pytest.raises(InvalidJob) as refused:
        entries("")
    assert (refused.value.code, refused.value.place) == ("no_header", "day.csv, line 1")


def test_a_file_that_is_not_there_or_cannot_be_read(tmp_path, entries):
    with pytest.raises(InvalidJob, match=r"There is no file gone\.csv"):
        CsvSource([tmp_path / "gone.csv"], parse).splits()
    with pytest.raises(InvalidJob, match="cannot be read"):
        entries("carrier,delay\né,1\n", encoding="latin-1")


def running(tmp_path, broken):
    (tmp_path / "day.csv").write_text("carrier,delay\nAA,1\nAA,x\nUA,2\n")

    def build(env):
        source = CsvSource([tmp_path / "day.csv"], parse, broken=broken)
        env.from_source(source, WatermarkStrategy.no_watermarks(), "days").print("out")

    return run_job(job(build))


def test_a_run_skips_and_counts_a_broken_row(tmp_path):
    recording = running(tmp_path, "skip")
    assert results(recording) == [("AA", 1), ("UA", 2)]
    source = recording.view()["subtasks"]["days[0]"]
    assert (source["read"], source["skipped"]) == (2, 1)


def test_a_run_refuses_a_broken_row_by_file_and_line(tmp_path):
    recording = running(tmp_path, "refuse")
    assert state_of(recording) == "failed"
    assert "day.csv, line 3" in recording.view()["job"]["reason"]
    assert results(recording) == [("AA", 1)] * 4


def test_skip_or_refuse():
    with pytest.raises(InvalidJob, match="'skip' or 'refuse'"):
        CsvSource([], parse, broken="ignore")


def test_a_text_file_is_read_line_by_line(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo")

    def build(env: StreamExecutionEnvironment) -> None:
        source = FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), str(tmp_path / "a.txt")
        ).build()
        env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").print("out")

    assert results(run_job(job(build))) == ["one", "", "two"]
