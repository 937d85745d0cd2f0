"""A roster file: who should be in a course. Reads and says what is wrong; changes nothing."""

import csv
import io
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from courses import accounts
from courses.csv_text import delimiter_of, uncelled
from courses.errors import CourseError

BYTES_MAX = 1_000_000
ROWS_MAX = 5_000
COLUMNS = ("login", "name", "email")
ALSO = {
    "username": "login",
    "user": "login",
    "sign-in name": "login",
    "e-mail": "email",
    "mail": "email",
}


@dataclass(frozen=True)
class Entry:
    line: int  # of the file, from 1
    login: str
    name: str
    email: str = ""


@dataclass(frozen=True)
class BadRow:
    line: int
    sentence: str


def read(content: bytes) -> tuple[list[Entry], list[BadRow]]:
    """The rows of a CSV file with the columns login, name and, if wanted, email; others are ignored.

    A byte-order mark, semicolons or tabs, and line breaks within quotes are all right. A row that cannot be
    used is told with the line that it begins on. Raises CourseError bad_roster for a file that is none.
    """
    if len(content) > BYTES_MAX:
        raise bad(f"it has more than {BYTES_MAX // 1_000_000} MB.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise bad("it is not UTF-8 text. In a spreadsheet, save it as “CSV UTF-8”.") from None
    if "\0" in text:
        raise bad("it is not a text file.")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text), strict=True)
    entries: list[Entry] = []
    bad_rows: list[BadRow] = []
    seen: dict[str, int] = {}
    try:
        columns = columns_of(next(reader, []))
        begins = reader.line_num + 1
        for cells in reader:
            line, begins = begins, reader.line_num + 1
            if not any(one.strip() for one in cells):
                continue
            if len(entries) + len(bad_rows) >= ROWS_MAX:
                raise bad(f"it has more than {ROWS_MAX} rows.")
            try:
                entry = entry_of(line, cells, columns)
                if entry.login in seen:
                    raise ValueError(f"{entry.login} stands in line {seen[entry.login]} already.")
            except (CourseError, ValueError) as error:
                sentence = error.sentence if isinstance(error, CourseError) else str(error)
                bad_rows.append(BadRow(line, sentence))
            else:
                seen[entry.login] = line
                entries.append(entry)
    except csv.Error as error:
        raise bad(f"line {reader.line_num} is not CSV ({error}).") from None
    if not entries and not bad_rows:
        raise bad("it has no row below the names of the columns.")
    return entries, bad_rows


def columns_of(cells: list[str]) -> dict[str, int]:
    names = [one.strip().lower() for one in cells]
    columns = {ALSO.get(name, name): index for index, name in reversed(list(enumerate(names)))}
    for name in COLUMNS[:2]:
        if name not in columns:
            raise bad(f"its first line names no column “{name}”. Begin with: login,name,email")
    return columns


def entry_of(line: int, cells: list[str], columns: dict[str, int]) -> Entry:
    """Raises CourseError or ValueError with the reason."""

    def of(name: str) -> str:
        index = columns.get(name)
        return uncelled(cells[index].strip()) if index is not None and index < len(cells) else ""

    if not of("login"):
        raise ValueError("The login is missing.")
    login, name, email = (
        accounts.sign_in_name(of("login")),
        accounts.display_name(of("name")),
        of("email"),
    )
    if email:
        try:
            validate_email(email)
        except ValidationError:
            raise ValueError(f"“{email[:80]}” is no e-mail address.") from None
    return Entry(line, login, name, email)


def bad(sentence: str) -> CourseError:
    return CourseError("bad_roster", place="file", sentence=sentence)
