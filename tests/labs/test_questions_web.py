"""Questions over HTTP: begun, answered, judged, and nobody else's."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from labs import selectors, services
from labs.catalog import Catalog, find_lab
from labs.models import Submission, Variant
from labs.problems import Problem
from labs.questions import kinds
from labs.questions.scenes import finish
from labs.services import scene_of
from streamlab.pages import views as pages
from streamlab.runs import logs
from streamlab.runs.models import LogEntry, Run
from streamlab.runs.selectors import Owner

pytestmark = pytest.mark.django_db(transaction=True)

AT = "/labs/watermarks-and-lateness/questions"
AB = "/labs/aligned-barriers/questions"


@pytest.fixture(autouse=True)
def var(settings: Any, tmp_path: Any) -> None:
    settings.VAR_DIR = tmp_path


def post(client: Client, url: str, body: Any = None, **kwargs: Any) -> Any:
    return client.post(url, json.dumps(body or {}), content_type="application/json", **kwargs)


def answers(variant: Variant) -> tuple[Any, list[Any]]:
    lab = find_lab(variant.lab)
    assert lab is not None
    question = lab.question(variant.question)
    assert question is not None
    return finish(kinds.examples(lab, question, scene_of(variant)))


def begun(client: Client, name: str, at: str = AT) -> Variant:
    assert post(client, f"{at}/{name}/begin/").status_code == 200
    return Variant.objects.latest("created")


def answered(client: Client, name: str, answer: Any, key: str = "k", at: str = AT) -> Any:
    return post(client, f"{at}/{name}/answer/", {"key": key, "answer": answer})


def test_looking_at_a_question_writes_nothing(client: Client) -> None:
    html = client.get(f"{AT}/next-watermark/card/").json()["html"]
    assert "Begin" in html
    assert client.get(f"{AT}/next-watermark/").status_code == 400  # not begun
    assert Variant.objects.count() == 0
    assert "sessionid" not in client.cookies


def test_a_right_prediction_earns_its_points_once(client: Client) -> None:
    variant = begun(client, "next-watermark")
    assert client.get(f"{AT}/next-watermark/").status_code == 200
    right, _ = answers(variant)
    first = answered(client, "next-watermark", right)
    again = answered(client, "next-watermark", right)  # the same key: a double click
    assert first.json() == again.json()
    assert "4 of 4 points" in first.json()["html"]
    found = Submission.objects.get()
    assert (found.state, found.points, found.attempt) == ("graded", 4, 1)
    other = answered(client, "next-watermark", right, key="other")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "answered")
    parts = client.get("/labs/watermarks-and-lateness/progress/").json()["parts"]
    assert (parts[0]["part"], parts[0]["points"], parts[0]["answered"]) == ("lowest", 4, 1)


def test_a_wrong_prediction_is_told_why_and_shown(client: Client) -> None:
    variant = begun(client, "next-watermark")
    _, wrong = answers(variant)
    html = answered(client, "next-watermark", wrong[0]).json()["html"]
    assert "Another one may still send" in html
    found = Submission.objects.get()
    assert (found.points, found.attempt) == (0, 1)
    made = post(client, f"/submissions/{found.pk}/run/")
    assert made.status_code == 201
    run = Run.objects.get(pk=made.json()["run"])
    assert (run.seed, run.position) == (variant.run_seed, run.head)
    assert run.head > variant.step
    # The next attempt is on another variant, and worth less.
    second = begun(client, "next-watermark")
    assert second.number == 1
    right, _ = answers(second)
    answered(client, "next-watermark", right, key="second")
    assert Submission.objects.latest("created").points == 2  # 60 % of 4


def test_no_answer_costs_no_attempt(client: Client) -> None:
    begun(client, "which-fire")
    for number, blank in enumerate([{}, {"value": []}, {"value": None}, {"value": ["nowhere"]}]):
        assert answered(client, "which-fire", blank, key=str(number)).status_code == 200
    assert {one.attempt for one in Submission.objects.all()} == {0}


def test_an_open_prediction_cannot_be_stepped_or_exchanged(client: Client) -> None:
    begun(client, "holder")
    assert post(client, f"{AT}/holder/run/").json()["error"]["code"] == "answer_first"
    assert post(client, f"{AT}/holder/begin/").json()["error"]["code"] == "answer_first"


def test_a_variant_is_stable(client: Client) -> None:
    variant = begun(client, "holder")
    pages = {client.get(f"{AT}/holder/card/").content for _ in range(2)}
    assert len(pages) == 1
    assert Variant.objects.get().pk == variant.pk


def test_nobody_sees_what_is_somebody_elses(client: Client) -> None:
    variant = begun(client, "next-watermark")
    answered(client, "next-watermark", answers(variant)[0])
    found = Submission.objects.get()
    assert client.get(f"/submissions/{found.pk}/").status_code == 200
    for stranger in (Client(), other_visitor()):
        assert stranger.get(f"/submissions/{found.pk}/").status_code == 404
        assert post(stranger, f"/submissions/{found.pk}/run/").status_code == 404
        assert "Begin" in stranger.get(f"{AT}/next-watermark/card/").json()["html"]


def other_visitor() -> Client:
    client = Client()
    begun(client, "holder")
    return client


def test_answers_are_protected_against_foreign_pages() -> None:
    client = Client(enforce_csrf_checks=True)
    for what in ("begin", "answer", "hint", "run"):
        assert post(client, f"{AT}/holder/{what}/").status_code == 403


def test_a_hint_costs_points(client: Client) -> None:
    html = client.get(f"{AT}/which-fire/card/").json()["html"]
    variant = begun(client, "which-fire")
    html = post(client, f"{AT}/which-fire/hint/").json()["html"]
    assert "First find the new watermark" in html
    assert post(client, f"{AT}/which-fire/hint/").json()["error"]["code"] == "no_hint"
    answered(client, "which-fire", answers(variant)[0])
    assert Submission.objects.get().points == 3


@pytest.mark.parametrize("answer", ["x", [1], 7, None])
def test_what_is_no_answer_is_refused(client: Client, answer: Any) -> None:
    begun(client, "holder")
    assert answered(client, "holder", answer).status_code == 400
    assert Submission.objects.count() == 0


def test_a_driven_run_is_judged_by_its_choices(client: Client) -> None:
    variant = begun(client, "nothing-late")
    made = post(client, f"{AT}/nothing-late/run/").json()
    assert made["url"] == f"{AT}/nothing-late/"
    run = Run.objects.get(pk=made["run"])
    assert answered(client, "nothing-late", {"run": run.pk, "step": 0}).status_code == 200
    assert Submission.objects.get().attempt == 0  # nothing was driven
    foreign = post(client, "/labs/watermarks-and-lateness/runs/").json()["run"]
    refusal = answered(client, "nothing-late", {"run": foreign, "step": 0}, key="2").json()
    assert refusal["error"]["code"] == "wrong_run"
    right, wrong = answers(variant)
    for key, choices, points in (("3", wrong[0]["log"], 0), ("4", right["log"], 5)):
        drive(run, choices)
        answered(client, "nothing-late", {"run": run.pk, "step": 999}, key=key)
        assert Submission.objects.latest("created").points == points


def drive(run: Run, choices: Any) -> None:
    run.entries.all().delete()
    for index, entry in enumerate(logs.join(choices)):
        payload = None if entry[0] == "policy" else entry[1]
        n = logs.steps_of(entry)
        LogEntry.objects.create(run=run, index=index, kind=entry[0], payload=payload, n=n)
    Run.objects.filter(pk=run.pk).update(head=logs.length(choices), position=logs.length(choices))


def test_a_counterexample_is_judged_by_replay(client: Client) -> None:
    variant = begun(client, "another-rule")
    right, wrong = answers(variant)
    run = Run.objects.get(pk=post(client, f"{AT}/another-rule/run/").json()["run"])
    assert (run.mutant, run.invariants) == (variant.mutant, [variant.invariant])
    for key, answer in (("1", wrong[-1]), ("2", right)):
        if "log" in answer:
            drive(run, answer["log"])
            answer = {"run": run.pk, "step": 999}
        answered(client, "another-rule", answer, key=key)
    points = [one.points for one in Submission.objects.order_by("created")]
    assert points == [0, 4]  # the second attempt is worth 70 % of 5


def test_no_response_and_no_file_holds_what_is_hidden(client: Client) -> None:
    lab = find_lab("watermarks-and-lateness")
    assert lab is not None
    said = []
    for question in lab.questions:
        begun(client, question.id)
        for url in (f"{AT}/{question.id}/", f"{AT}/{question.id}/card/", f"/labs/{lab.slug}/"):
            said.append(client.get(url).content.decode())
    page = "".join(said)
    for question in lab.questions:
        for wrong in question.wrong:
            assert wrong.why not in page
            answer = getattr(wrong, "answer", "nothing")
            assert answer == "nothing" or answer not in page
    for path in ("lab.toml", "questions.py", "explored.json", "hints.md", "job.py"):
        assert client.get(f"/static/{lab.slug}/{path}").status_code == 404
        assert client.get(f"/labs/{lab.slug}/{path}").status_code == 404
    for hint in lab.hints:
        assert hint.html[3:40] not in page


def test_an_answer_that_was_left_unjudged_is_judged_when_asked(client: Client) -> None:
    variant = begun(client, "next-watermark")
    lab = find_lab(variant.lab)
    assert lab is not None
    question = lab.questions[0]
    owner = Owner(variant.visitor)
    right = answers(variant)[0]
    services.submit(owner=owner, lab=lab, question=question, answer=right, key="k")
    card = client.get(f"{AT}/next-watermark/card/").json()["html"]
    assert "Show what came out" in card
    refusal = answered(client, "next-watermark", right, key="other").json()["error"]
    assert refusal["code"] == "answered"
    for _ in range(2):
        assert "4 of 4 points" in post(client, f"{AT}/next-watermark/judge/").json()["html"]
    assert [one.attempt for one in Submission.objects.all()] == [1]


def test_signing_in_takes_answers_along(client: Client, django_user_model: Any) -> None:
    variant = begun(client, "next-watermark")
    answered(client, "next-watermark", answers(variant)[0])
    ada = django_user_model.objects.create_user("ada")
    services.answers_adopt(visitor=variant.visitor, user_id=ada.pk)
    standing = selectors.standing_of(
        owner=Owner("", ada.pk), lab=variant.lab, question="next-watermark"
    )
    assert (standing.points, standing.attempts) == (4, 1)
    assert [one["points"] for one in selectors.answers_of(user_id=ada.pk)] == [4]
    assert (
        selectors.standing_of(
            owner=Owner(variant.visitor), lab=variant.lab, question="next-watermark"
        ).attempts
        == 0
    )


def test_what_visitors_leave_behind_expires(client: Client) -> None:
    variant = begun(client, "next-watermark")
    answered(client, "next-watermark", answers(variant)[0])
    begun(client, "holder")
    Variant.objects.filter(pk=variant.pk).update(expires=timezone.now() - timedelta(days=1))
    call_command("expireanswers")
    assert [one.question for one in Variant.objects.all()] == ["holder"]
    assert Submission.objects.count() == 0


def test_a_counterexample_says_what_may_be_used(client: Client) -> None:
    begun(client, "without-waiting", AB)
    html = client.get(f"{AB}/without-waiting/card/").json()["html"]
    assert "checkpoint (1×), fail count[0] (1×)" in html
    assert "at most 60 steps" in html


def test_only_staff_is_told_what_is_broken(
    client: Client, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(
        "lab-question", "It is broken.", Path("labs/content/x/lab.toml"), 7, "Mend it."
    )
    monkeypatch.setattr(pages, "catalog", lambda: Catalog((), (problem,)))
    assert "lab.toml:7" in admin_client.get("/").content.decode()
    assert "lab.toml" not in client.get("/").content.decode()


def test_markup_in_an_answer_stays_text(client: Client) -> None:
    begun(client, "what-is-saved", AB)
    html = answered(
        client, "what-is-saved", {"value": {"<b>": "<script>1</script>", "blue": "1"}}, at=AB
    )
    assert "<script>" not in html.json()["html"]
    assert Submission.objects.get().report["verdict"] == "graded"


def test_the_later_one_of_two_tabs_gets_the_same_variant() -> None:
    lab = find_lab("watermarks-and-lateness")
    assert lab is not None
    question = lab.questions[0]
    drawn = finish(kinds.vary(lab, question, 3))
    fields: dict[str, Any] = {"owner": Owner("ada"), "lab": lab, "question": question, "number": 0}
    first = services.variant_keep(**fields, seed=3, drawn=drawn)
    assert services.variant_keep(**fields, seed=4, drawn=drawn) == first
