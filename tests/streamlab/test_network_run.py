"""A run of a process network is a run like any other: driven, branched, shared, refused, rebuilt."""

import json
from typing import Any

import orjson
import pytest
from django.test import Client

from labs.catalog import CONTENT, find_lab
from labs.spec import LabSpec, load_lab
from streamlab.runs import protocol, recordings, selectors, services
from streamlab.runs.models import Run
from streamlab.runs.registry import registry
from streamlab.runs.selectors import Owner
from tests.live import LiveServer
from tests.streamlab.client import Client as Page
from tests.streamlab.client import visit
from tests.streamlab.conftest import Connect, eventually, in_database
from tests.streamlab.test_pages import boot_of

SLUG = "chandy-lamport"


@pytest.fixture
def network(settings: Any, tmp_path: Any) -> LabSpec:
    settings.VAR_DIR = tmp_path
    return load_lab(CONTENT / SLUG)


@pytest.fixture
def network_run(network: LabSpec, transactional_db: None) -> Run:
    return services.run_create(lab=network, owner=Owner("ada"))


def replayed(run_id: str, step: int) -> Any:
    """The view at a step, from what is stored, as a browser gets it."""
    run = Run.objects.get(pk=run_id)
    lab = find_lab(run.lab)
    assert lab is not None
    recording = recordings.open_recording(
        lab=lab,
        parameters=run.parameters,
        policy=run.policy,
        quantum=run.quantum,
        seed=run.seed,
        log=selectors.run_log(run=run),
    )
    recording.seek(step)
    return orjson.loads(protocol.encode_part(recording.view()))


async def test_steps_follow_the_script_and_every_choice_is_stored(
    network_run: Run, connect: Connect
) -> None:
    ada = await connect(network_run)
    assert (await ada.drive("step", count=3))["type"] == "done"
    assert [ada.steps[number]["action"] for number in (1, 2, 3)] == [
        "send:P",
        "snapshot:P/1",
        "send:P",
    ]
    assert (
        ada.steps[2]["say"]
        == "P started snapshot 1: it recorded its 3 tokens and sent marker 1 to Q."
    )
    assert (await ada.drive("choose", action="send:R"))["type"] == "done"
    run = await Run.objects.aget(pk=network_run.pk)
    assert await in_database(selectors.run_log, run=run) == [["policy", 3], ["action", "send:R"]]
    await ada.send("seek", step=0)
    view = await ada.until("view")
    assert view["view"] == await in_database(replayed, run_id=network_run.pk, step=0)
    await ada.send("seek", step=4)
    view = await ada.until("view")
    assert view["view"] == await in_database(replayed, run_id=network_run.pk, step=4)
    assert view["say"] == "R sent 2 tokens to P and has 0 left."


async def test_running_until_a_snapshot_completes_tells_its_verdict(
    network_run: Run, connect: Connect
) -> None:
    ada = await connect(network_run)
    assert (await ada.drive("run_until", until={"kind": "snapshot_completes"}))["type"] == "done"
    assert ada.position == 14
    assert ada.steps[14]["events"][-1]["e"] == "SnapshotCompleted"
    assert "never occurred in this run" in ada.steps[14]["events"][-1]["verdict"]
    assert [14, "never_occurred", "1"] in ada.marks
    assert ada.last("status")["why"] == "snapshot 1 completed"


async def test_acting_in_the_past_starts_a_branch(network_run: Run, connect: Connect) -> None:
    ada = await connect(network_run)
    await ada.drive("step", count=6)
    await ada.send("seek", step=3)
    await ada.until("view")
    await ada.drive("choose", action="snapshot:R/1")
    branch = ada.last("branched")
    assert branch["step"] == 3
    run = await Run.objects.aget(pk=branch["run"])
    assert await in_database(selectors.run_log, run=run) == [
        ["policy", 3],
        ["action", "snapshot:R/1"],
    ]


async def test_what_a_network_cannot_do_is_refused_with_a_sentence(
    network_run: Run, connect: Connect
) -> None:
    ada = await connect(network_run)
    for kind, asked, sentence in [
        ("command", {"command": {"kind": "checkpoint"}}, "takes no commands"),
        ("run_until", {"until": {"kind": "window_fires"}}, "cannot run until that"),
        ("choose", {"action": "deliver:P>Q"}, "link P>Q holds no more"),
        ("explain", {"subtask": "P", "key": "k", "window": [0, 1]}, "it has no windows"),
        ("explain_late", {"subtask": "P", "timestamp": 0, "watermark": 1}, "it has no windows"),
        ("lineage", {"element": "P>Q@1"}, "it has no windows"),
    ]:
        answer = await ada.drive(kind, **asked)
        assert answer["type"] == "error", kind
        assert sentence in answer["sentence"]
        assert answer["mend"]
    assert ada.head == 0


async def test_only_the_owner_drives(network_run: Run, connect: Connect) -> None:
    eve = await connect(network_run, "eve")
    assert (await eve.drive("step"))["code"] == "not_yours"
    assert (await eve.drive("choose", action="send:P"))["code"] == "not_yours"


async def test_a_run_that_has_ended_says_so_and_limits_hold(
    network_run: Run, connect: Connect, settings: Any
) -> None:
    ada = await connect(network_run)
    settings.RUN_STEPS_MAX = 5
    assert (await ada.drive("step", count=9))["type"] == "done"
    assert (await ada.drive("step"))["code"] == "steps_limit"
    settings.RUN_STEPS_MAX = 1000
    await ada.drive("step", count=100)
    assert (await ada.drive("step"))["code"] == "nothing_possible"


async def test_a_run_that_was_dropped_from_memory_is_rebuilt(
    network_run: Run, connect: Connect
) -> None:
    ada = await connect(network_run)
    await ada.drive("step", count=9)
    live = registry().runs[network_run.pk]
    await registry().evict([live])
    assert live.recording is None
    await ada.drive("step")
    assert ada.position == 10
    assert ada.steps[10]["action"] == "deliver:Q>R"


async def test_it_plays(network_run: Run, connect: Connect) -> None:
    ada = await connect(network_run)
    await ada.drive("play", rate=64)
    await ada.until(lambda message: message["type"] == "status" and message["state"] == "paused")
    assert ada.position == 20
    assert ada.last("status")["why"] == "nothing more can happen"
    run = network_run.pk
    await eventually(lambda: in_database(stored_position, run_id=run))


def stored_position(run_id: str) -> bool:
    return Run.objects.get(pk=run_id).position == 20


async def test_a_killed_server_loses_nothing_of_a_network(server: LiveServer) -> None:
    ada = visit(server.url, SLUG, policy="seeded_random", seed=3)
    client = await Page(ada).connect()
    await client.drive("step", count=12)
    shown = dict(client.steps)
    server.kill()
    server.start()
    again = await Page(ada).connect()
    assert (again.position, again.head) == (12, 12)
    await again.send("seek", step=0)
    await again.until("view")
    again.steps.clear()
    await again.drive("step", count=12)
    assert again.steps == shown
    await again.close()


@pytest.mark.django_db(transaction=True)
def test_the_page_says_what_kind_of_lab_it_is(network: LabSpec, client: Client) -> None:
    boot = boot_of(client.get(f"/labs/{SLUG}/"))
    assert boot["lab"]["kind"] == "network"
    assert boot["policy"] == "script"
    assert boot["preview"]["view"]["processes"]["P"]["tokens"] == 4
    assert boot["parameters"][0]["choices"][2] == "marker sent late"
    asked = {"parameters": {"protocol": 1, "tokens": 5}}
    made = client.post(f"/labs/{SLUG}/runs/", json.dumps(asked), content_type="application/json")
    assert made.status_code == 201
    boot = boot_of(client.get(made.json()["url"]))
    assert boot["preview"]["view"]["network"] == {
        "protocol": "no channel state",
        "total": 10,
        "state": "running",
    }
    refused = client.post(
        f"/labs/{SLUG}/runs/",
        json.dumps({"parameters": {"protocol": 5}}),
        content_type="application/json",
    )
    assert refused.json()["error"]["code"] == "bad_parameter"


@pytest.mark.django_db(transaction=True)
def test_a_job_has_no_script(lab: LabSpec, client: Client) -> None:
    body = json.dumps({"policy": "script"})
    refused = client.post("/labs/counting/runs/", body, content_type="application/json")
    assert refused.json()["error"]["code"] == "bad_parameter"


@pytest.mark.django_db(transaction=True)
def test_a_share_link_shows_the_run_at_its_step(network_run: Run, client: Client) -> None:
    services.log_append([services.Growth(network_run.pk, 0, 5, 5, rows=[(0, "policy", None, 5)])])
    network_run.refresh_from_db()
    link = services.share_create(run=network_run, step=4)
    boot = boot_of(client.get(f"/s/{link.pk}/"))
    assert boot["preview"]["view"]["step"] == 4
    assert boot["preview"]["say"] == "Q sent 1 token to R and has 2 left."


async def test_a_space_time_diagram_is_drawn_of_a_job_only(
    network_run: Run, connect: Connect
) -> None:
    ada = await connect(network_run)
    answer = await ada.drive("space_time")
    assert (answer["type"], answer["code"]) == ("error", "not_a_job")


@pytest.mark.django_db(transaction=True)
def test_networks_have_no_schemes_to_compare(network_run: Run, client: Client) -> None:
    page = client.get(f"/labs/{SLUG}/")
    assert b"data-compare" not in page.content
    for url in (f"/labs/{SLUG}/compare/", f"/runs/{network_run.pk}/compare/"):
        refused = client.get(url)
        assert refused.status_code == 400
        assert b"network of processes" in refused.content
    asked = json.dumps({"parameters": {"scheme": "unaligned"}})
    refused = client.post(f"/labs/{SLUG}/runs/", asked, content_type="application/json")
    assert refused.json()["error"]["code"] == "bad_parameter"
    home = client.get("/").content.decode()
    assert home.count('class="line-checkpoint cut"') == 2
