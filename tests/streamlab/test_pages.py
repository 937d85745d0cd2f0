"""Lab and run pages, and the requests that make runs, links and copies."""

import json
import re
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from labs.spec import LabSpec
from streamlab.runs import selectors, services
from streamlab.runs.models import Bundle, LogEntry, Run, ShareLink
from streamlab.runs.selectors import Owner
from streamlab.runs.services import Growth

pytestmark = pytest.mark.django_db(transaction=True)


def boot_of(response: Any) -> dict[str, Any]:
    assert response.status_code == 200
    found = re.search(
        r'<script id="boot" type="application/json">(.*?)</script>', response.content.decode(), re.S
    )
    assert found is not None
    return json.loads(found.group(1))


def post(client: Client, url: str, body: Any = None, **kwargs: Any) -> Any:
    return client.post(url, json.dumps(body or {}), content_type="application/json", **kwargs)


def grown(run: Run, *choices: tuple[str, Any, int]) -> Run:
    """A run with these entries in its log."""
    steps = run.fork_step + sum(n for _, _, n in choices)
    rows = [(index, kind, payload, n) for index, (kind, payload, n) in enumerate(choices)]
    growth = Growth(run.pk, expected_head=run.head, head=steps, position=steps, rows=rows)
    assert services.log_append([growth]).conflicts == set()
    run.refresh_from_db()
    return run


def test_opening_a_lab_writes_nothing_and_shows_step_0(lab: LabSpec, client: Client) -> None:
    boot = boot_of(client.get("/labs/counting/"))
    assert boot["run"] is None
    assert boot["preview"]["step"] == boot["preview"]["head"] == 0
    assert boot["preview"]["view"]["subtasks"]["window[0]"]["watermark"] == "-inf"
    assert boot["preview"]["actions"]["possible"]
    assert (boot["seed"], boot["time_zone_minutes"], boot["time_zone_name"]) == (
        7,
        -300,
        "New York",
    )
    assert boot["parameters"][0]["name"] == "size"
    assert boot["values"] == {"size": 10_000}
    assert boot["urls"]["create"] == "/labs/counting/runs/"
    assert Run.objects.count() == Bundle.objects.count() == Session.objects.count() == 0
    assert client.get("/labs/counting/preview/").json() == boot["preview"]


def test_the_first_run_makes_a_visitor(lab: LabSpec, client: Client) -> None:
    response = post(client, "/labs/counting/runs/", {"seed": 9, "parameters": {"size": 20}})
    assert response.status_code == 201
    run = Run.objects.get(pk=response.json()["run"])
    assert response.json()["url"] == f"/runs/{run.pk}/"
    assert (run.seed, run.parameters, run.policy) == (9, {"size": 20}, "round_robin")
    assert run.visitor == client.session["visitor"] != client.session.session_key
    assert run.expires is not None
    # The lab's page leads back to it, in this browser alone.
    boot = boot_of(client.get("/labs/counting/"))
    assert (boot["run"], boot["seed"], boot["values"]) == (run.pk, 9, {"size": 20})
    assert boot_of(Client().get("/labs/counting/"))["run"] is None
    # Whoever has the address may look at it.
    assert boot_of(Client().get(f"/runs/{run.pk}/"))["run"] == run.pk


def test_making_a_run_is_protected_against_foreign_pages(lab: LabSpec) -> None:
    client = Client(enforce_csrf_checks=True)
    assert post(client, "/labs/counting/runs/").status_code == 403
    token = boot_of(client.get("/labs/counting/"))["csrf"]
    response = post(client, "/labs/counting/runs/", headers={"x-csrftoken": token})
    assert response.status_code == 201


@pytest.mark.parametrize(
    ("body", "place", "sentence"),
    [
        ({"seed": -1}, "new run.seed", "seed of new run must be a whole number from 0"),
        ({"policy": "luck"}, "policy", "The policy must be one of round_robin"),
        ({"quantum": 0}, "new run.quantum", "a whole number from 1 to 1000"),
        ({"parameters": [1]}, "new run.parameters", "an object"),
        ({"parameters": {"size": 0}}, "parameters", "Size must lie between 1 and 100000."),
        ({"parameters": {"size": "x"}}, "parameters", "Size must be a whole number."),
        ({"parameters": {"speed": 1}}, "parameters", "This lab has no parameter named 'speed'."),
    ],
)
def test_a_run_that_cannot_be_made(
    lab: LabSpec, client: Client, body: Any, place: str, sentence: str
) -> None:
    response = post(client, "/labs/counting/runs/", body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["place"] == place
    assert sentence in error["sentence"]
    assert Run.objects.count() == 0


def test_a_body_that_is_no_json_or_too_long(lab: LabSpec, client: Client) -> None:
    for body, code in (("{", "malformed"), ("[]", "malformed"), (" " * 20_000, "too_large")):
        response = client.post("/labs/counting/runs/", body, content_type="application/json")
        assert response.json()["error"]["code"] == code


def test_unknown_addresses_are_answered_in_a_sentence(lab: LabSpec, client: Client) -> None:
    for url, sentence in (
        ("/labs/nothing/", "There is no lab named nothing here."),
        ("/runs/nothing/", "There is no run with this address"),
        ("/s/nothing/", "This share link leads nowhere"),
    ):
        response = client.get(url)
        assert response.status_code == 404
        assert sentence in response.content.decode()
    assert post(client, "/s/nothing/copy/").json()["error"]["code"] == "unknown_link"


def test_a_share_link_opens_a_copy_at_the_same_step(lab: LabSpec, client: Client) -> None:
    made = post(client, "/labs/counting/runs/").json()
    run = grown(
        Run.objects.get(pk=made["run"]),
        ("policy", None, 10),
        ("command", {"kind": "checkpoint"}, 1),
        ("policy", None, 20),
    )
    response = post(client, f"/runs/{run.pk}/share/", {"step": 15})
    url = response.json()["url"]
    assert url.startswith("http://testserver/s/")
    assert post(client, f"/runs/{run.pk}/share/", {"step": 15}).json()["url"] == url

    bob = Client()
    boot = boot_of(bob.get(url))
    assert boot["run"] is None
    assert (boot["preview"]["step"], boot["preview"]["head"]) == (15, 15)
    assert boot["preview"]["view"]["step"] == 15
    assert boot["preview"]["say"]
    assert boot["preview"]["marks"][0][1] == "checkpoint_triggered"
    assert Run.objects.count() == 1  # looking makes nothing
    made = post(bob, boot["urls"]["create"]).json()
    copy = Run.objects.get(pk=made["run"])
    assert copy.visitor == bob.session["visitor"] != run.visitor
    assert (copy.head, copy.position, copy.parent, copy.root) == (15, 15, None, None)
    log = selectors.run_log(run=copy)
    assert log == [["policy", 10], ["command", {"kind": "checkpoint"}], ["policy", 4]]
    run.delete()  # the copy does not need it
    assert selectors.run_log(run=copy) == log
    assert bob.get(url).status_code == 404


def test_only_the_owner_shares_and_only_what_there_is(lab: LabSpec, client: Client) -> None:
    made = post(client, "/labs/counting/runs/").json()
    url = f"/runs/{made['run']}/share/"
    assert post(Client(), url, {"step": 0}).status_code == 403
    error = post(client, url, {"step": 1}).json()["error"]
    assert error["code"] == "outside"
    assert post(client, url, {}).json()["error"]["code"] == "bad_field"
    assert ShareLink.objects.count() == 0


# ---- what is stored ------------------------------------------------------------------------------


def test_a_run_outlives_edits_of_its_lab(
    lab: LabSpec, client: Client, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    from labs.spec import load_lab

    folder = tmp_path / "edited" / "counting"
    shutil.copytree(lab.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    old = load_lab(folder)
    run = services.run_create(lab=old, owner=Owner("ada"))
    (folder / "lab.toml").write_text((folder / "lab.toml").read_text().replace("Counting", "New"))
    (folder / "job.py").write_text("def build(env, parameters, data): raise NotImplementedError")
    new = load_lab(folder)
    assert new.digest != old.digest
    monkeypatch.setattr(services, "find_lab", {"counting": new}.get)
    boot = boot_of(client.get(f"/runs/{run.pk}/"))
    assert boot["lab"]["title"] == "Counting"
    assert boot["preview"]["view"]["subtasks"]["window[0]"]
    assert Bundle.objects.count() == 1
    services.run_create(lab=old, owner=Owner("bob"))
    assert Bundle.objects.count() == 1


def family(lab: LabSpec) -> tuple[Run, Run, Run]:
    root = grown(
        services.run_create(lab=lab, owner=Owner("ada")),
        ("policy", None, 10),
        ("action", "a", 1),
        ("policy", None, 9),
    )
    child = grown(services.run_branch(run_id=root.pk, fork_step=15), ("action", "b", 1))
    grandchild = grown(services.run_branch(run_id=child.pk, fork_step=5), ("action", "c", 1))
    return root, child, grandchild


def test_a_branch_copies_nothing(lab: LabSpec) -> None:
    root, child, grandchild = family(lab)
    assert LogEntry.objects.filter(run=child).count() == 1
    log = [["policy", 10], ["action", "a"], ["policy", 4], ["action", "b"]]
    assert selectors.run_log(run=child) == log
    assert selectors.run_log(run=child, steps=12) == [
        ["policy", 10],
        ["action", "a"],
        ["policy", 1],
    ]
    assert selectors.run_log(run=grandchild) == [["policy", 5], ["action", "c"]]
    assert selectors.run_log(run=root) == [["policy", 10], ["action", "a"], ["policy", 9]]
    assert [member["id"] for member in selectors.run_family(run=grandchild)] == [
        root.pk,
        child.pk,
        grandchild.pk,
    ]
    assert child.title == "Counting, branch at step 15"
    assert grandchild.title == "Counting, branch at step 5"


def test_a_family_expires_as_a_whole_or_not_at_all(lab: LabSpec) -> None:
    from datetime import timedelta

    from django.core.management import call_command
    from django.utils import timezone

    root, child, _ = family(lab)
    alone = services.run_create(lab=lab, owner=Owner("bob"))
    past = timezone.now() - timedelta(days=1)
    Run.objects.filter(pk__in=[root.pk, child.pk, alone.pk]).update(expires=past)
    assert services.runs_expire() == 1
    assert not Run.objects.filter(pk=alone.pk).exists()
    Run.objects.update(expires=past)
    assert services.run_adopt(visitor="nobody", user_id=1) == 0
    call_command("expireruns")
    assert Run.objects.count() == LogEntry.objects.count() == 0


def test_using_a_run_puts_its_end_off(lab: LabSpec) -> None:
    run = services.run_create(lab=lab, owner=Owner("ada"))
    before = run.expires
    grown(run, ("action", "a", 1))
    assert run.expires > before
    services.positions_save([(run.pk, 0, [0, 1])])
    later = Run.objects.get(pk=run.pk)
    assert (later.position, later.head) == (0, 1)
    assert later.expires > run.expires
    services.positions_save([(run.pk, 9, [9, 1])])  # beyond the head: left out
    assert Run.objects.get(pk=run.pk).position == 0


def test_signing_in_moves_runs_to_the_account(lab: LabSpec, django_user_model: Any) -> None:
    run = services.run_create(lab=lab, owner=Owner("ada"))
    user = django_user_model.objects.create_user("ada@example.org")
    assert services.run_adopt(visitor="ada", user_id=user.pk) == 1
    run.refresh_from_db()
    assert run.expires is None
    assert Owner("", user.pk).owns(run)
    assert not Owner("ada").owns(run)
    assert selectors.run_latest(owner=Owner("", user.pk), lab="counting") == run
    grown(run, ("action", "a", 1))
    assert run.expires is None
    assert services.runs_expire() == 0


def test_a_run_keeps_the_scheme_that_it_was_started_under(lab: LabSpec, client: Client) -> None:
    offered = boot_of(client.get("/labs/counting/"))
    assert offered["preview"]["scheme"] == {"name": "aligned", "timeout": 0}
    assert "unaligned_after_timeout" in [scheme["name"] for scheme in offered["schemes"]]
    chosen = {"size": 20_000, "@scheme": "unaligned_after_timeout"}
    made = post(client, "/labs/counting/runs/", {"parameters": chosen})
    assert made.status_code == 201
    boot = boot_of(client.get(made.json()["url"]))
    assert boot["values"] == chosen
    assert boot["preview"]["scheme"] == {"name": "unaligned_after_timeout", "timeout": 1}
    assert boot["preview"]["view"]["job"]["scheme"] == "unaligned"


@pytest.mark.parametrize("name", ["hasty", "", 3])
def test_there_is_no_other_scheme(lab: LabSpec, client: Client, name: Any) -> None:
    answer = post(client, "/labs/counting/runs/", {"parameters": {"@scheme": name}})
    assert answer.status_code == 400
    assert "snapshot scheme must be one of aligned, " in answer.json()["error"]["sentence"]
