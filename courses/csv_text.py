"""CSV as spreadsheets write and read it. Pure text, no database."""

import csv
import io
from collections.abc import Iterable, Sequence

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def written(rows: Iterable[Sequence[object]]) -> bytes:
    """UTF-8 with a byte-order mark, which spreadsheets need to read names rightly."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_MINIMAL)
    writer.writerows([[cell(value) for value in row] for row in rows])
    return b"\xef\xbb\xbf" + text.getvalue().encode("utf-8", "replace")


def cell(value: object) -> str:
    """Text that a spreadsheet would calculate gets an apostrophe before it; numbers are left alone."""
    if isinstance(value, int | float):
        return str(value)
    text = "" if value is None else str(value).replace("\0", "")
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text


def uncelled(text: str) -> str:
    """What `cell` was given."""
    return text[1:] if text.startswith("'") and text[1:].lstrip(" ").startswith(FORMULA) else text


def delimiter_of(text: str) -> str:
    """What stands most often in the first line: a comma, a semicolon or a tab."""
    first = text.split("\n", 1)[0]
    return max(",;\t", key=first.count)
