"""Rosters that come out of spreadsheets, and CSV that goes into them."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from courses import roster
from courses.csv_text import cell, uncelled, written
from courses.errors import CourseError
from courses.roster import Entry


def read(text: str) -> tuple[list[Entry], list[tuple[int, str]]]:
    entries, bad = roster.read(text.encode())
    return entries, [(row.line, row.sentence) for row in bad]


@pytest.mark.parametrize(
    "text",
    [
        "login,name,email\nada,Ada Lovelace,ada@example.edu\n",
        "\ufefflogin;name;email\r\nada;Ada Lovelace;ada@example.edu\r\n",
        "Name\tE-Mail\tUsername\tGroup\nAda Lovelace\tada@example.edu\tADA\t7\n\n",
        'login,name,email\n"ada","Ada\n Lovelace",ada@example.edu',
    ],
)
def test_rosters_as_spreadsheets_write_them(text: str) -> None:
    entries, bad = read(text)
    assert bad == []
    assert [(one.login, one.name, one.email) for one in entries] == [
        ("ada", "Ada Lovelace", "ada@example.edu")
    ]


def test_bad_rows_are_named_by_the_line_they_begin_on() -> None:
    entries, bad = read(
        "login,name,email\n"
        'ada,"Ada\nLovelace",\n'  # lines 2 and 3
        ",Nobody,\n"  # 4
        "\n"
        "a b,Grace,\n"  # 6
        "ADA,Another,\n"  # 7
        "bob,Bob,not-an-address\n"  # 8
        "eve,\u202eevE,\n"  # 9
        "tom\n"  # 10
    )
    assert [one.login for one in entries] == ["ada"]
    assert [line for line, _ in bad] == [4, 6, 7, 8, 9, 10]
    sentences = [sentence for _, sentence in bad]
    assert sentences[0] == "The login is missing."
    assert "2 to 64" in sentences[1]
    assert sentences[2] == "ada stands in line 2 already."
    assert "no e-mail address" in sentences[3]
    assert "control characters" in sentences[4]
    assert "1 to 100 characters" in sentences[5]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "names no column"),
        (b"name,email\nx,y\n", "names no column “login”"),
        (b"login,name\n", "no row below"),
        (b"login,name\nada,\xe4\n", "not UTF-8"),
        (b"login,name\nada,A\0\n", "not a text file"),
        (b'login,name\nada,"Ada\n', "line 2 is not CSV"),
        (b"x" * (roster.BYTES_MAX + 1), "more than 1 MB"),
        (b"login,name\n" + b"".join(b"u%d,U\n" % n for n in range(5001)), "more than 5000 rows"),
    ],
)
def test_files_that_are_no_roster(content: bytes, sentence: str) -> None:
    with pytest.raises(CourseError, match=sentence):
        roster.read(content)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "＝1", "\r=1"])
def test_a_formula_is_written_as_text(text: str) -> None:
    assert cell(text) == f"'{text}"
    assert uncelled(cell(text)) == text


def test_what_is_no_formula_is_left_alone() -> None:
    assert [cell(one) for one in ("Ada", "o'Neill", "'tis", "", None, 3)] == [
        "Ada", "o'Neill", "'tis", "", "", "3"
    ]  # fmt: skip


@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")), min_size=1
        )
    )
)
def test_csv_can_be_read_back(rows: list[list[str]]) -> None:
    content = written(rows)
    assert content.startswith(b"\xef\xbb\xbf")
    text = io.StringIO(content.decode("utf-8-sig"), newline="")
    back = [[uncelled(one) for one in row] for row in csv.reader(text)]
    kept = [[uncelled(one) if one.startswith("'") else one for one in row] for row in rows]
    assert back == kept
    for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")):
        assert not any(one.lstrip(" ").startswith(("=", "+", "-", "@")) for one in row)
