"""Questions without the web: facts, forms, proofs; and the guide for lecturers, tried as it is written."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from engine.errors import LearnerMistake
from labs import catalog as catalog_module
from labs.catalog import CONTENT, whole_lab
from labs.problems import LabInvalid
from labs.questions import kinds, proof
from labs.questions.facts import FORMS, parse_answer, parse_condition, parse_fact
from labs.questions.predict import NotAnAnswer, moment, number_of
from labs.questions.scenes import finish, fits
from labs.spec import LabSpec

GUIDE = (CONTENT.parents[1] / "docs" / "howto" / "labs.md").read_text(encoding="utf-8")
WITH_QUESTIONS = ("watermarks-and-lateness", "aligned-barriers")


@pytest.fixture
def content(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder of labs, which newlab and checklabs take for the real one."""
    from labs.management.commands import checklabs, newlab

    for module in (checklabs, newlab):
        monkeypatch.setattr(module, "CONTENT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("slug", WITH_QUESTIONS)
def test_every_question_keeps_its_promises(slug: str) -> None:
    lab = whole_lab(CONTENT / slug)
    assert {question.type for question in lab.questions} == {"predict", "drive", "counterexample"}
    assert proof.stale(lab) == []
    assert proof.prove(lab, variants=6) == []


@pytest.mark.parametrize("slug", WITH_QUESTIONS)
def test_the_same_seed_gives_the_same_variant_and_report(slug: str) -> None:
    lab = whole_lab(CONTENT / slug)
    for question in lab.questions[:2]:
        first, again = (finish(kinds.vary(lab, question, 5)) for _ in range(2))
        assert first == again
        _, wrong = finish(kinds.examples(lab, question, first))
        reports = [finish(kinds.judge(lab, question, first, wrong[0])).data() for _ in range(2)]
        assert reports[0] == reports[1]
        assert first != finish(kinds.vary(lab, question, 6))


def test_a_new_lab_works_at_once(content: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("newlab", "my-lab")
    call_command("checklabs", "my-lab", "--variants", "12")
    assert "my-lab: good" in capsys.readouterr().out
    with pytest.raises(CommandError, match="is there already"):
        call_command("newlab", "my-lab")
    with pytest.raises(CommandError, match="cannot be the name"):
        call_command("newlab", "../etc")


def test_the_examples_of_the_guide_work(content: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("newlab", "my-lab")
    examples = [
        one for one in re.findall(r"```toml\n(.*?)```", GUIDE, re.S) if "[[questions]]" in one
    ]
    assert [re.findall(r'type = "(.*)"', one) for one in examples] == [
        ["predict"], ["drive"], ["counterexample"],
    ]  # fmt: skip
    toml, page = content / "my-lab" / "lab.toml", content / "my-lab" / "page.md"
    shell = toml.read_text().partition("[[questions]]")[0]
    toml.write_text(shell + "\n".join(examples))
    names = re.findall(r'^id = "(.*)"', "\n".join(examples), re.M)
    page.write_text(
        "# My lab\n\n" + "".join(f":::{{question}} {name}\nAsks.\n:::\n\n" for name in names)
    )
    hints = re.search(r"```text\n(## next.*?)```", GUIDE, re.S)
    assert hints is not None
    (content / "my-lab" / "hints.md").write_text(hints[1])
    call_command("checklabs", "my-lab", "--explore", "--variants", "5")
    assert "my-lab: good" in capsys.readouterr().out


def test_the_guide_lists_every_fact() -> None:
    for form in FORMS:
        assert f"| `{form.words}` | {form.answer} | {form.meaning} |" in GUIDE


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("asks = \"watermark of", "asks = \"wattermark of", "asks", "is no fact"),
        ("event = \"InputWatermark\"", "event = \"Nothing\"", "at", "There is no event 'Nothing'"),
        ("vary.bound = [0,", "vary.bound = [99,", "vary.bound", "must lie between"),
        ("vary.bound", "vary.bond", "vary.bond", "which is no parameter"),
        ("points = 2", "points = 0", "points", "will not do"),
        ('type = "predict"', 'type = "guess"', "[[questions]]", "missing or unknown"),
        ('type = "predict"', 'typo = "predict"', "[[questions]]", "missing or unknown"),
        ("attempts = 3", "atempts = 3", "atempts", "is not a key"),
        ('answer = "highest', 'answer = "hihest', "answer = \"hihest", "is no fact"),
        ('id = "next-watermark"', 'id = "other"', 'id = "other"', "stands nowhere on the page"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_question_is_told_with_its_line(
    content: Path, old: str, new: str, line: str, says: str
) -> None:
    call_command("newlab", "my-lab")
    path = content / "my-lab" / "lab.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(LabInvalid) as caught:
        whole_lab(content / "my-lab")
    problem = next(one for one in caught.value.problems if says in one.sentence)
    assert problem.line is not None
    assert line in path.read_text().splitlines()[problem.line - 1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (":::{question} nowhere\n:::", "There is no question nowhere"),
        (":::{question} next-watermark\n:::", "stands here again"),
        (":::{qestion} x\n:::", "There is no directive 'qestion'"),
        (':::{viewer} until="noon"\n:::', "does not say how far"),
        (":::{part} last\n:::", "There is no part last"),
    ],
)
def test_a_mistake_on_the_page_is_told_with_its_line(content: Path, text: str, says: str) -> None:
    call_command("newlab", "my-lab")
    path = content / "my-lab" / "page.md"
    path.write_text(path.read_text() + "\n" + text + "\n")
    with pytest.raises(LabInvalid) as caught:
        whole_lab(content / "my-lab")
    problem = next(one for one in caught.value.problems if says in one.sentence)
    assert problem.line == len(path.read_text().splitlines()) - 1


def test_a_broken_lab_hides_alone_and_shows_when_it_is_mended(content: Path) -> None:
    for slug in ("one", "two"):
        call_command("newlab", slug)
    path = content / "one" / "lab.toml"
    good = path.read_text()
    path.write_text(good.replace("asks", "ask", 1))
    found = catalog_module.catalog(content)
    assert [lab.slug for lab in found.labs] == ["two"]
    assert str(path) in str(found.problems[0])
    path.write_text(good)
    assert [lab.slug for lab in catalog_module.catalog(content).labs] == ["one", "two"]


def test_a_question_that_can_be_guessed_is_found(content: Path) -> None:
    call_command("newlab", "my-lab")
    path = content / "my-lab" / "lab.toml"
    path.write_text(
        path.read_text()
        .replace('asks = "watermark of window[0]"', 'asks = "state of the job"')
        .replace('answer = "before: watermark of window[0]"', 'answer = "checkpoints completed"')
    )
    problems = proof.prove(whole_lab(content / "my-lab"), variants=proof.ENOUGH)
    assert any("can be guessed" in str(problem) for problem in problems)


def test_markup_of_an_author_is_cleaned(content: Path) -> None:
    call_command("newlab", "my-lab")
    path = content / "my-lab" / "page.md"
    path.write_text(
        path.read_text().replace("The run goes on", "<script>alert(1)</script> The run")
    )
    lab = whole_lab(content / "my-lab")
    assert all("<script" not in piece.html for piece in lab.pieces)


@pytest.mark.parametrize(
    "words", ["watermark", "watermark of window", "state of window[0] now", "", "watermark of [0]"]
)
def test_words_that_say_nothing_are_refused(words: str) -> None:
    with pytest.raises(LearnerMistake):
        parse_fact(words)
    for read in (parse_answer, parse_condition):
        with pytest.raises(LearnerMistake):
            read(words)


@pytest.mark.parametrize("words", ["failures > 1", "state of the job = 3", "failures = many"])
def test_conditions_that_compare_nothing_are_refused(words: str) -> None:
    with pytest.raises(LearnerMistake):
        parse_condition(words)


@pytest.mark.parametrize("text", ["", "1.5", "1e3", "0x1", "1" * 19, "--1", "NaN", "١"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(NotAnAnswer):
        number_of(text)


def test_numbers_and_times_are_read_as_they_are_shown() -> None:
    from engine.narration import TimeFormat

    assert number_of("-17") == number_of("−17") == -17
    times = TimeFormat(zone_minutes=-300, clock=True)
    watermark = 1360242900000 - 1
    assert moment(times.mark(watermark), times, near=watermark - 3_600_000) == watermark


def test_only_the_star_is_special_in_a_pattern() -> None:
    assert fits("take:a[0]>*", "take:a[0]>b[1]")
    assert not fits("take:a[0]>*", "take:a0>b")
    assert not fits("", "anything")
    assert not fits("read:*", "xread:a")


def spec(content: Path) -> LabSpec:
    call_command("newlab", "my-lab")
    return whole_lab(content / "my-lab")


@pytest.mark.parametrize(
    "answer", [{}, {"value": None}, {"value": True}, {"value": []}, {"value": {"a": 1}}, {"value": "x" * 500}, {"log": 3}]
)  # fmt: skip
def test_an_answer_of_any_form_gets_a_sentence(content: Path, answer: Any) -> None:
    lab = spec(content)
    variant = finish(kinds.vary(lab, lab.questions[0], 1))
    report = finish(kinds.judge(lab, lab.questions[0], variant, answer))
    assert (report.verdict, report.points) == ("refused", 0)
    assert report.sentence
