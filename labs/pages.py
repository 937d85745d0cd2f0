"""page.md: Markdown with directives, cut into pieces of HTML that is safe to put into a page, and questions between them.

    :::{question} next-watermark      its text; the place where it is answered
    :::{viewer} until="a window fires"     a button that runs the job of the page so far
    :::{hint} Where to look           a hint that costs nothing, folded
    :::{note} fidelity                a remark beside the text
    :::{part} lowest                  where a part begins; its title is in lab.toml

Each ends with a line of three colons.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin

from labs.markdown import render
from labs.problems import Problem

DIRECTIVE = re.compile(r"\{([\w-]*)\}\s*(.*)")
UNTIL = re.compile(r'until="([^"]*)"')
WAYS = {
    "a window fires": "window_fires",
    "a checkpoint completes": "checkpoint_completes",
    "a record is late": "late_record",
    "the end": "end",
}
STEP = re.compile(r"step ([0-9]{1,6})")
KNOWN = ("question", "viewer", "hint", "note", "part")


@dataclass(frozen=True)
class Piece:
    """A piece of a page. kind: "text" or the name of a directive; argument: what stands behind it; html: its text, clean."""

    kind: str
    html: str = ""
    argument: str = ""
    line: int = 1

    @property
    def until(self) -> dict[str, object]:
        """Of a viewer: the breakpoint in its wire form."""
        words = UNTIL.search(self.argument)
        step = STEP.fullmatch(words[1]) if words else None
        if step:
            return {"kind": "step", "step": int(step[1])}
        return {"kind": WAYS[words[1]]} if words else {}

    @property
    def until_json(self) -> str:
        return json.dumps({"type": "run_until", "until": self.until})

    @property
    def words(self) -> str:
        words = UNTIL.search(self.argument)
        return words[1] if words else ""


def read_page(path: Path, text: str) -> tuple[tuple[Piece, ...], list[Problem]]:
    """The pieces of a page in order, and what is wrong with its directives."""
    pieces: list[Piece] = []
    problems: list[Problem] = []
    for piece in cut(text):
        if piece.kind != "text" and piece.kind not in KNOWN:
            sentence = f"There is no directive {piece.kind!r}."
            mend = f"Use one of {', '.join(KNOWN)}, or write it without braces."
            problems.append(Problem("lab-directive", sentence, path, piece.line, mend))
        elif piece.kind == "viewer" and not is_way(piece):
            mend = f'Write until="…" with one of: {", ".join(WAYS)}, step 40.'
            sentence = "This viewer does not say how far to run."
            problems.append(Problem("lab-directive", sentence, path, piece.line, mend))
        elif piece.kind in ("question", "part") and not piece.argument:
            sentence = f"This {piece.kind} has no name."
            problems.append(
                Problem("lab-directive", sentence, path, piece.line, "Write its id behind it.")
            )
        pieces.append(piece)
    return tuple(pieces), problems


def is_way(piece: Piece) -> bool:
    return piece.words in WAYS or bool(STEP.fullmatch(piece.words))


def cut(text: str) -> Iterator[Piece]:
    parser = MarkdownIt("commonmark", {"html": False}).use(colon_fence_plugin)
    lines = text.splitlines(keepends=True)
    done = 0
    for token in parser.parse(text):
        if token.type != "colon_fence" or token.level or token.map is None:
            continue
        first, last = token.map
        if "".join(lines[done:first]).strip():
            yield Piece("text", render("".join(lines[done:first])), line=done + 1)
        found = DIRECTIVE.fullmatch(token.info.strip())
        kind, argument = (found[1], found[2].strip()) if found else (token.info.strip(), "")
        yield Piece(kind, render(token.content), argument, first + 1)
        done = last
    if "".join(lines[done:]).strip():
        yield Piece("text", render("".join(lines[done:])), line=done + 1)
