"""In which line of a TOML file a value stands.

tomllib does not keep positions. This finds them again for the plain style that lab.toml is written
in: `key = value` at the start of a line, under `[table]` and `[[array of tables]]` headers.
"""

import re

HEADER = re.compile(r"\s*(\[\[?)\s*([\w.-]+)\s*\]\]?\s*(#.*)?$")
KEY = re.compile(r"\s*([\w-]+)\s*=")

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
    counts: dict[str, int] = {}
    here: Location = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            name = header[2]
            if header[1] == "[[":
                here = (name, counts.get(name, 0))
                counts[name] = counts.get(name, 0) + 1
            else:
                here = tuple(name.split("."))
            found[here] = number
        elif key := KEY.match(line):
            found.setdefault((*here, key[1]), number)
    return found
