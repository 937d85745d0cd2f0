"""The modules of the page keep to the architecture: who may load whom, and nothing is fetched late."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JS = ROOT / "static" / "js"
LOADS = re.compile(r'^(?:import|export)\b[^;]*?from\s+"([^"]+)"', re.MULTILINE)
CLASSIC = {"theme.js"}  # runs before the first paint, hence no module
PURE = {
    "apply_event.js",
    "layout.js",
    "selectors.js",
    "snapshots.js",
    "format.js",
    "protocol.js",
    "messages.js",
    "store.js",
}


def modules() -> dict[str, set[str]]:
    """{module: modules that it loads}, by path under static/js."""
    found = {}
    for path in sorted(JS.rglob("*.js")):
        loads = {(path.parent / name).resolve() for name in LOADS.findall(path.read_text())}
        found[path.relative_to(JS).as_posix()] = {name.relative_to(JS).as_posix() for name in loads}
    return found


def test_every_module_that_is_loaded_exists() -> None:
    known = modules()
    assert {name for loads in known.values() for name in loads} <= set(known)


def test_a_panel_knows_neither_the_wire_nor_another_panel() -> None:
    for name, loads in modules().items():
        if name.startswith("panels/"):
            assert not {load for load in loads if load.startswith("panels/")}, name
            assert not loads & {
                "transport.js",
                "protocol.js",
                "driver.js",
                "messages.js",
                "main.js",
            }, name


def test_the_transport_knows_no_page() -> None:
    assert modules()["transport.js"] == {"protocol.js"}
    assert "document" not in (JS / "transport.js").read_text()


def test_pure_modules_touch_no_document() -> None:
    for name in PURE:
        text = re.sub(r"//.*", "", (JS / name).read_text())
        assert not re.search(r"\b(document|window|localStorage)\.", text), name


PAGES = {
    "modules.html": "main.js",
    "compare_modules.html": "compare/main.js",
    "submission_modules.html": "submission.js",
}


def reached_from(start: str) -> set[str]:
    known, found, waiting = modules(), set(), [start]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += known[name]
    return found


@pytest.mark.parametrize(("template", "start"), PAGES.items())
def test_a_page_preloads_every_module_that_it_reaches(template: str, start: str) -> None:
    """One level of the tree of imports would otherwise cost one round trip each."""
    text = (ROOT / "templates" / "runs" / template).read_text()
    assert sorted(re.findall(r"static 'js/([^']+)'", text)) == sorted(reached_from(start))


def test_every_module_belongs_to_a_page() -> None:
    assert set(modules()) - CLASSIC == set().union(*map(reached_from, PAGES.values()))


def test_no_markup_carries_styles_or_handlers() -> None:
    """The content security policy forbids them; in markup made by scripts they would be dropped silently."""
    for path in [*JS.rglob("*.js"), *(ROOT / "templates").rglob("*.html")]:
        assert not re.search(r"""<[^>]*\s(style|on[a-z]+)=["']""", path.read_text()), path
