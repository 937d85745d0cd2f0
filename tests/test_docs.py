"""Documentation that has rotted fails here."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SETTINGS_PAGE = (ROOT / "docs" / "howto" / "settings.md").read_text(encoding="utf-8")

WORDS = [
    "action",
    "attempt",
    "barrier",
    "branch",
    "channel",
    "checkpoint",
    "command",
    "course",
    "enrolment",
    "event",
    "extension",
    "keyframe",
    "lab",
    "marker",
    "operator",
    "override",
    "part",
    "question",
    "record",
    "release",
    "run",
    "step",
    "submission",
    "subtask",
]


def read(*parts: str) -> str:
    return ROOT.joinpath(*parts).read_text(encoding="utf-8")


def settings_read() -> set[str]:
    """The names that settings.py takes from the environment."""
    return set(re.findall(r'env\.\w+\(\s*"(\w+)"', read("streamlab", "settings.py")))


def settings_offered() -> set[str]:
    return set(re.findall(r"^#?([A-Z_]+)=", read(".env.example"), re.M))


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def test_every_setting_is_offered_in_the_example() -> None:
    assert settings_offered() == settings_read()


def test_every_setting_is_explained() -> None:
    explained = set(re.findall(r"^\| `([A-Z_]+)` \|", SETTINGS_PAGE, re.M))
    for_tests = {"STREAMLAB_CHROMIUM", "STREAMLAB_REQUIRE_BROWSER"}
    assert explained == settings_read() | for_tests


def test_the_defaults_that_are_told_are_the_defaults() -> None:
    told = dict(
        re.findall(r"^\| `((?:RUN|EXPLORATION)S?_[A-Z_]+)` \| (\d+) \|", SETTINGS_PAGE, re.M)
    )
    offered = dict(
        re.findall(r"^#((?:RUN|EXPLORATION)S?_[A-Z_]+)=(\d+)$", read(".env.example"), re.M)
    )
    source = read("streamlab", "settings.py")
    found = re.findall(r'env\.int\("((?:RUN|EXPLORATION)S?_[A-Z_]+)", default=([\d_ *]+)\)', source)
    actual = {}
    for name, expression in found:
        product = 1
        for factor in expression.split("*"):
            product *= int(factor)
        actual[name] = str(product)
    assert told == offered == actual


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), target


def test_the_glossary_defines_every_word() -> None:
    assert set(WORDS) <= anchors(read("docs", "glossary.md"))


def test_the_glossary_is_in_the_order_of_the_alphabet() -> None:
    words = re.findall(r"^## (.+)$", read("docs", "glossary.md"), re.M)
    assert words == sorted(words, key=str.lower)


@pytest.mark.parametrize("document", ["README.md", "CHANGELOG.md", "docs/howto/settings.md"])
def test_every_make_command_that_is_told_exists(document: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.M))
    told = set(re.findall(r"\bmake ([a-z]+)\b(?=[`\s]*(?:$|[#`,.]))", read(document), re.M))
    assert told, f"{document} tells no make command any more: take it out of this test"
    assert told <= targets


def test_every_folder_of_the_architecture_page_exists() -> None:
    page = read("docs", "architecture.md")
    names = re.findall(
        r"`((?:engine|streamlab|labs|templates|static|scripts|tests)/[\w./]*)`", page
    )
    assert {"engine/", "streamlab/", "labs/", "templates/", "static/"} <= set(names)
    for name in names:
        assert (ROOT / name).exists(), name


def test_every_decision_is_listed() -> None:
    listed = set(re.findall(r"\((\d{4}-[\w-]+\.md)\)", read("docs", "decisions", "README.md")))
    assert listed == {path.name for path in (ROOT / "docs" / "decisions").glob("0*.md")}


@pytest.mark.parametrize("name", ["jobs", "exploring"])
def test_the_code_of_a_how_to_prints_what_the_how_to_says(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "howto" / f"{name}.md").read_text(encoding="utf-8")
    job = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    printed = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert job is not None
    assert printed is not None
    exec(compile(job.group(1), f"{name}.md", "exec"), {"__name__": name})
    assert capsys.readouterr().out == printed.group(1)
