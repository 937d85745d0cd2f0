"""A lab folder is checked as a whole, and every mistake is told with its file, line and mend."""

from pathlib import Path
from typing import get_args

import pytest
from django.core.management import CommandError, call_command

from labs import catalog as catalog_module
from labs.catalog import catalog, find_lab
from labs.problems import LabInvalid, Problem
from labs.spec import Scheme, load_lab
from streamlab.runs.schemes import SCHEMES

TOML = """\
id = "small"
title = "A small lab"
summary = "Small."
order = 1
minutes = 5
seed = 7

[[parameters]]
name = "bound"
label = "Bound"
unit = "minutes"
default = 60
minimum = 0
maximum = 120

[keys]
AA = "American Airlines"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "lab.toml").write_text(TOML)
    (folder / "page.md").write_text("# Small\n\nText with <script>alert(1)</script>.\n")
    (folder / "job.py").write_text("def build(env, parameters):\n    pass\n")
    return folder


def problems_of(folder: Path) -> list[Problem]:
    with pytest.raises(LabInvalid) as caught:
        load_lab(folder)
    return list(caught.value.problems)


def write(folder: Path, old: str, new: str) -> None:
    text = (folder / "lab.toml").read_text()
    assert old in text
    (folder / "lab.toml").write_text(text.replace(old, new))


def test_a_whole_folder_becomes_a_spec(folder: Path) -> None:
    lab = load_lab(folder)
    assert (lab.slug, lab.title, lab.minutes, lab.seed) == ("small", "A small lab", 5, 7)
    assert lab.scheduler == "round_robin"
    assert "unaligned" in lab.schemes
    assert lab.parameters[0].default == 60
    assert lab.key_names == (("AA", "American Airlines"),)
    assert lab.time_zone_minutes == 0
    assert lab.job_path == folder / "job.py"


def test_the_page_is_clean_html(folder: Path) -> None:
    html = load_lab(folder).page_html
    assert '<h1 id="small">Small</h1>' in html
    assert "<script" not in html


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("minutes = 5", "minutes = 0", 5, "minutes = 0 will not do"),
        ("minutes = 5", 'minutes = "5"', 5, "minutes = '5' will not do"),
        ("minutes = 5", "minutes = true", 5, "minutes = True will not do"),
        ("seed = 7", "sed = 7", 6, "sed is not a key"),
        ("seed = 7", "", None, "seed is missing"),
        ("seed = 7", "seed = ", 6, "Invalid value"),
        ('id = "small"', 'id = "Small!"', 1, "has other signs"),
        ('id = "small"', 'id = "tiny"', 1, "the folder is called 'small'"),
        ("default = 60", "default = 600", 8, "600 does not lie between 0 and 120"),
        ("default = 60", "default = 6.5", 12, "parameters.default = 6.5 will not do"),
        ('name = "bound"', 'name = "a bound"', 9, "has other signs"),
        ("seed = 7", 'seed = 7\nscheduler = "chance"', 7, "scheduler = 'chance' will not do"),
        ("seed = 7", 'seed = 7\nschemes = ["hasty"]', 7, "schemes = 'hasty' will not do"),
        ("seed = 7", 'seed = 7\njob = "other.py"', None, "This file is missing"),
        ("maximum = 120", "", 8, "parameters.maximum is missing"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    folder: Path, old: str, new: str, line: int | None, says: str
) -> None:
    write(folder, old, new)
    [problem] = problems_of(folder) if "sed" not in new else problems_of(folder)[-1:]
    assert says in problem.sentence
    assert problem.line == line
    assert problem.mend.endswith(".")


def test_every_mistake_is_told_at_once(folder: Path) -> None:
    write(folder, "minutes = 5", "minutes = 0")
    write(folder, "order = 1", "order = -1")
    (folder / "page.md").unlink()
    assert {(problem.file.name, problem.line) for problem in problems_of(folder)} == {
        ("lab.toml", 4),
        ("lab.toml", 5),
        ("page.md", None),
    }


def test_a_job_that_is_not_python_is_named_by_line(folder: Path) -> None:
    (folder / "job.py").write_text("def build(env, parameters):\n    return (\n")
    [problem] = problems_of(folder)
    assert (problem.file.name, problem.line, problem.code) == ("job.py", 2, "lab-job-syntax")


def test_text_in_another_encoding_is_named_by_line(folder: Path) -> None:
    (folder / "page.md").write_bytes("# Small\n\nNaïve\n".encode("latin-1"))
    [problem] = problems_of(folder)
    assert (problem.code, problem.line) == ("lab-not-utf8", 3)


def test_the_version_follows_every_file_and_nothing_else(folder: Path) -> None:
    first = load_lab(folder).digest
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "job.cpython-311.pyc").write_bytes(b"x")
    (folder / ".hidden").write_text("x")
    assert load_lab(folder).digest == first
    (folder / "data").mkdir()
    (folder / "data" / "rows.csv").write_text("a\n")
    assert load_lab(folder).digest != first


def test_parameters_take_only_what_the_lab_allows(folder: Path) -> None:
    lab = load_lab(folder)
    assert lab.parameter_values({}) == {"bound": 60}
    assert lab.parameter_values({"bound": 0}) == {"bound": 0}
    for chosen, says in [
        ({"bound": 121}, "Bound must lie between 0 and 120."),
        ({"bound": "5"}, "Bound must be a whole number."),
        ({"bound": True}, "Bound must be a whole number."),
        ({"bund": 5}, "This lab has no parameter named 'bund'."),
    ]:
        with pytest.raises(ValueError, match=says):
            lab.parameter_values(chosen)


def test_a_broken_lab_is_hidden_and_takes_nothing_down(folder: Path) -> None:
    broken = folder.parent / "broken"
    broken.mkdir()
    found = catalog(folder.parent)
    assert [lab.slug for lab in found.labs] == ["small"]
    assert {problem.file for problem in found.problems} == {
        broken / "lab.toml",
        broken / "page.md",
    }
    assert find_lab("broken", folder.parent) is None


def test_an_edit_shows_at_once(folder: Path) -> None:
    assert find_lab("small", folder.parent).title == "A small lab"
    write(folder, "A small lab", "A renamed lab")
    assert find_lab("small", folder.parent).title == "A renamed lab"


def test_checklabs_names_file_line_and_mend(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from labs.management.commands import checklabs

    monkeypatch.setattr(checklabs, "CONTENT", folder.parent)
    call_command("checklabs")
    assert "small: good" in capsys.readouterr().out
    write(folder, "minutes = 5", "minutes = 0")
    with pytest.raises(CommandError, match="1 of 1 labs"):
        call_command("checklabs", "small")
    told = capsys.readouterr().out
    assert "lab.toml:5: minutes = 0 will not do. Input should be greater than" in told
    with pytest.raises(CommandError, match="No lab is called 'other'. There are: small."):
        call_command("checklabs", "other")


def test_the_labs_of_this_checkout_are_whole() -> None:
    assert catalog_module.catalog().problems == ()


def test_a_lab_may_offer_the_schemes_that_the_site_knows_and_no_others() -> None:
    assert set(get_args(Scheme)) == set(SCHEMES)
