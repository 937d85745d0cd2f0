"""Import rules that import-linter cannot see; the others stand in pyproject.toml."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CONTENT = sorted((ROOT / "labs" / "content").glob("**/*.py"))
PANELS = sorted((ROOT / "static" / "js" / "panels").glob("*.js"))

# Besides the engine, lab content may use what is as deterministic as arithmetic.
FOR_CONTENT = (
    "engine",
    "labs.spec",
    "__future__",
    "collections",
    "csv",
    "datetime",
    "pathlib",
    "typing",
)
# Glyphs and the parts of the stage are drawing, as svg.js is: they know no panel and no transport.
FOR_PANELS = {
    f"../{name}.js"
    for name in ["selectors", "snapshots", "svg", "format", "glyphs", "layout", "tokens_canvas"]
}
DRAWING = "../stage/"

JS_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']""")


def python_imports(source: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


def allowed_for_content(name: str) -> bool:
    return any(name == root or name.startswith(root + ".") for root in FOR_CONTENT)


@pytest.mark.parametrize("path", CONTENT, ids=lambda path: str(path.relative_to(ROOT)))
def test_lab_content_imports_only_the_engine_and_its_spec(path: Path) -> None:
    names = python_imports(path.read_text(encoding="utf-8"))
    assert [name for name in sorted(names) if not allowed_for_content(name)] == []


@pytest.mark.parametrize("path", PANELS, ids=lambda path: path.name)
def test_a_panel_imports_no_transport_and_no_other_panel(path: Path) -> None:
    names = set(JS_IMPORT.findall(path.read_text(encoding="utf-8")))
    assert {name for name in names if not name.startswith(DRAWING)} <= FOR_PANELS


def test_the_readers_of_imports_can_tell() -> None:
    assert python_imports("import os.path\ndef f():\n    from .x import y") == {"os.path", ".x"}
    assert not allowed_for_content("engineering")
    assert allowed_for_content("engine.datastream")
    script = 'import { a } from "../svg.js";\nexport * from "./other.js"; await import("x.js")'
    assert JS_IMPORT.findall(script) == ["../svg.js", "./other.js", "x.js"]
