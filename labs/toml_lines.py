"""In which line of a TOML file a value stands.

tomllib does not keep positions. This finds them again for the plain style that lab.toml is written
in: `key = value` at the start of a line, under `[table]` and `[[array of tables]]` headers, and tables inside the last entry of
an array (`[[questions.wrong]]`).
"""

import re

HEADER = re.compile(r"\s*(\[\[?)\s*([\w.-]+)\s*\]\]?\s*(#.*)?$")
KEY = re.compile(r"\s*([\w-]+(?:\.[\w-]+)*)\s*=")

Location = tuple[str | int, ...]


def line_of(text: str, location: Location) -> int | None:
    """The 1-based line of the value at `location`, such as ("parameters", 0, "default").

    Falls back to the nearest enclosing header, and to None where there is none.
    """
    positions = positions_in(text)
    while location:
        if location in positions:
            return positions[location]
        location = location[:-1]
    return None


def positions_in(text: str) -> dict[Location, int]:
    found: dict[Location, int] = {}
    counts: dict[Location, int] = {}
    here: Location = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            here = ()
            *outer, name = header[2].split(".")
            for part in outer:
                here = (*here, part)
                if here in counts:  # an array: its last entry so far
                    here = (*here, counts[here] - 1)
            here = (*here, name)
            if header[1] == "[[":
                counts[here] = counts.get(here, 0) + 1
                here = (*here, counts[here] - 1)
            found.setdefault(here, number)
        elif key := KEY.match(line):
            names = tuple(key[1].split("."))
            for many in range(1, len(names) + 1):
                found.setdefault((*here, *names[:many]), number)
    return found
