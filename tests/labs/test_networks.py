"""Labs about networks: their text, their protocols, and what is said of each mistake."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from labs.catalog import CONTENT, catalog, whole_lab
from labs.networks import protocol_of, read_lab_network, system_of
from labs.problems import LabInvalid, Problem

TOML = """\
id = "ring"
title = "A ring"
summary = "Two processes."
kind = "network"
order = 1
minutes = 5
seed = 7
scheduler = "script"

[[parameters]]
name = "protocol"
label = "They do"
default = 1
minimum = 1
maximum = 2
choices = ["as Chandy and Lamport say", "marker sent late"]

[[parameters]]
name = "tokens"
label = "Tokens"
default = 3
minimum = 1
maximum = 9
"""
TEXT = """\
process P $tokens
process Q 0
link P <-> Q
send P -> Q 1
snapshot P
deliver P -> Q
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ring"
    folder.mkdir()
    (folder / "lab.toml").write_text(TOML)
    (folder / "page.md").write_text("# Ring\n")
    (folder / "network.txt").write_text(TEXT)
    return folder


def problem_of(folder: Path) -> Problem:
    with pytest.raises(LabInvalid) as caught:
        whole_lab(folder)
    [problem] = caught.value.problems
    return problem


def test_a_lab_of_a_network_needs_no_job(folder: Path) -> None:
    lab = whole_lab(folder)
    assert lab.kind == "network"
    values = lab.parameter_values({"tokens": 5, "protocol": 2})
    assert read_lab_network(lab, values).tokens == {"P": 5, "Q": 0}
    assert protocol_of(lab, values) == "marker sent late"
    assert type(system_of(lab, values)()).__name__ == "LateMarkers"


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("link P <-> Q", "link P <-> R", 3, "There is no process 'R'."),
        ("send P -> Q 1", "send P Q 1", 4, "This is not how a send is written."),
        ("$tokens", "$token", 1, "There is no parameter 'token'."),
        ("deliver P -> Q", "deliver Q -> P", 6, "link Q>P holds no more"),
        ("send P -> Q 1", "send P -> Q 2", 4, "P has 1 tokens and has to send 2"),
        ("link P <-> Q", "link Q -> P", 4, "There is no link from P to Q."),
    ],
)
def test_a_mistake_in_the_text_is_told_with_its_line(
    folder: Path, old: str, new: str, line: int, says: str
) -> None:
    (folder / "network.txt").write_text(TEXT.replace(old, new))
    problem = problem_of(folder)
    assert (problem.file.name, problem.line) == ("network.txt", line)
    assert says in problem.sentence
    assert problem.mend.endswith(".")


def test_a_lab_without_its_text_or_with_an_unknown_protocol_is_told(folder: Path) -> None:
    toml = folder / "lab.toml"
    toml.write_text(TOML.replace('"marker sent late"', '"marker sent never"'))
    problem = problem_of(folder)
    assert problem.sentence == "There is no protocol 'marker sent never'."
    assert (problem.file.name, problem.line) == ("lab.toml", 16)
    toml.write_text(TOML.replace(', "marker sent late"]', "]"))
    assert "choices must name the values from 1 to 2" in problem_of(folder).sentence
    toml.write_text(TOML.replace('kind = "network"', 'kind = "job"'))
    assert 'scheduler = "script" is for networks' in problem_of(folder).sentence
    toml.write_text(TOML)
    (folder / "network.txt").unlink()
    assert problem_of(folder).code == "lab-file-missing"


def test_a_broken_network_is_hidden_and_checklabs_names_its_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from labs.management.commands import checklabs

    (folder / "network.txt").write_text(TEXT + "markers R\n")
    found = catalog(folder.parent)
    assert found.labs == ()
    assert [(problem.file.name, problem.line) for problem in found.problems] == [("network.txt", 7)]
    monkeypatch.setattr(checklabs, "CONTENT", folder.parent)
    with pytest.raises(CommandError, match="1 of 1 labs"):
        call_command("checklabs", "ring")
    assert "network.txt:7: There is no process 'R'." in capsys.readouterr().out


@pytest.mark.parametrize("slug", ["chandy-lamport", "token-ring"])
def test_every_protocol_of_a_lab_is_known(slug: str) -> None:
    lab = whole_lab(CONTENT / slug)
    for number in range(5):
        values = lab.parameter_values({"protocol": number})
        assert system_of(lab, values)().enabled()
