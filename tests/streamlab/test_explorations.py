"""Explorations: a process that searches, who may see it, how it ends."""

import asyncio
import contextlib
import io
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from channels.testing import WebsocketCommunicator
from django.contrib.sessions.backends.db import SessionStore
from django.db import IntegrityError
from django.test import AsyncClient
from django.utils import timezone

from labs.spec import LabSpec, load_lab
from streamlab.asgi import application
from streamlab.explorations import selectors, services
from streamlab.explorations.child import Child
from streamlab.explorations.models import ACTIVE, Exploration
from streamlab.explorations.pool import Pool, pool
from streamlab.explorations.search import CHILD
from streamlab.runs import recordings
from streamlab.runs import services as runs
from streamlab.runs.errors import RunError
from streamlab.runs.models import Run
from streamlab.runs.selectors import Owner, run_log
from tests.streamlab.conftest import Connect, eventually, in_database

ROOT = Path(__file__).parents[2]
ADA = Owner("ada")
CHECKPOINT = {"command": {"kind": "checkpoint"}, "times": 1}
FAIL = {"command": {"kind": "fail", "subtask": "count[0]"}, "times": 1}
BARE = {"invariants": ["one-owner"]}
"""Few states: no commands."""
BROKEN = {
    "invariants": ["exactly-once"],
    "mutant": "snapshot-after-emit",
    "commands": [CHECKPOINT, FAIL],
    "way": "depth first",
}
LONG = {"invariants": ["fifo-channels"], "commands": [{**CHECKPOINT, "times": 3}, FAIL]}
PATIENCE = 120


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> LabSpec:
    settings.VAR_DIR = tmp_path
    spec = load_lab(ROOT / "labs" / "content" / "two-barriers")
    monkeypatch.setattr(runs, "find_lab", {spec.slug: spec}.get)
    return spec


@pytest.fixture
async def searching(lab: LabSpec, transactional_db: None, settings: Any) -> AsyncIterator[Pool]:
    settings.EXPLORATION_ABANDONED_SECONDS = 600  # on a busy machine a search takes its time
    yield pool()
    await pool().close()


async def start(asked: dict[str, Any], owner: Owner = ADA) -> dict[str, Any]:
    spec = runs.find_lab("two-barriers")
    return await pool().start(services.exploration_of_lab, lab=spec, owner=owner, asked=asked)


async def stored(exploration_id: str, owner: Owner = ADA) -> Exploration:
    return await in_database(selectors.exploration_get, exploration_id=exploration_id, owner=owner)


async def ended(exploration_id: str, owner: Owner = ADA) -> Exploration:
    async def look() -> Exploration | None:
        found = await stored(exploration_id, owner)
        return None if found.state in ACTIVE else found

    return await eventually(look, PATIENCE)


async def running(exploration_id: str) -> Any:
    search = pool().searches[exploration_id]
    await eventually(lambda: search.counts, PATIENCE)
    return search


def job_of(lab: LabSpec) -> dict[str, Any]:
    """What a process is told for a long search."""
    return {
        "folder": str(lab.folder),
        "parameters": {"records": 2},
        "policy": "round_robin",
        "quantum": 1,
        "step": 0,
        "log": [],
        "request": services.checked(LONG, kind="job", seed=1),
        "cpu_seconds": 60,
        "memory": 2**30,
    }


# ---- how it ends ---------------------------------------------------------------------------------


async def test_every_state_is_looked_at(searching: Pool) -> None:
    found = await ended((await start(BARE))["id"])
    assert found.state == "exhausted"
    assert found.outcome["counts"] == found.counts
    assert found.counts["states"] > 100
    assert found.outcome["steps"] == []
    assert searching.searches == {}


async def test_a_wrong_protocol_is_found_out_and_opens_as_a_run(searching: Pool) -> None:
    made = await start(BROKEN)
    found = await ended(made["id"])
    assert found.state == "violated", found.error
    outcome = found.outcome
    assert outcome["invariant"] == "exactly-once"
    assert outcome["sentence"].startswith("count ends with seen")
    assert len(outcome["steps"]) == len(outcome["trace"]) > 5
    assert all(step["say"] for step in outcome["steps"])

    run = await in_database(services.exploration_open, exploration=found)
    assert (run.visitor, run.mutant, run.invariants) == ("ada", BROKEN["mutant"], ["exactly-once"])
    assert run.position == run.head == len(outcome["trace"])
    log = await in_database(run_log, run=run)
    rebuilt = recordings.open_recording(
        lab=runs.find_lab("two-barriers"),
        parameters=run.parameters,
        policy=run.policy,
        quantum=run.quantum,
        seed=run.seed,
        mutant=run.mutant,
        log=log,
    )
    rebuilt.seek(run.head)
    assert rebuilt.runtime.state == "finished"
    again = await in_database(services.exploration_open, exploration=await stored(made["id"]))
    assert again == run


async def test_the_violation_is_told_at_its_step(searching: Pool, connect: Connect) -> None:
    found = await ended((await start(BROKEN))["id"])
    run = await in_database(services.exploration_open, exploration=found)
    ada = await connect(run)
    assert ada.welcome["run"]["mutant"] == BROKEN["mutant"]

    def judged() -> dict[str, Any]:
        told = [message for message in ada.got if message["type"] == "invariants"]
        return dict(told[-1]["on"][0]) if told else {"state": "not told yet"}

    while judged()["state"] != "violated":  # it may have been told before the view
        await ada.receive()
    assert (judged()["step"], judged()["sentence"]) == (run.head, found.outcome["sentence"])


async def test_it_starts_at_a_step_of_a_run(searching: Pool, connect: Connect) -> None:
    spec = runs.find_lab("two-barriers")
    run = await in_database(runs.run_create, lab=spec, owner=ADA)
    ada = await connect(run)
    await ada.drive("command", command={"kind": "checkpoint"})
    await ada.drive("step")
    run = await in_database(Run.objects.get, pk=run.pk)
    asked = {**BROKEN, "commands": [FAIL]}
    made = await pool().start(services.exploration_of_run, run=run, step=2, owner=ADA, asked=asked)
    found = await ended(made["id"])
    assert found.state == "violated", (found.error, found.counts)
    opened = await in_database(services.exploration_open, exploration=found)
    assert opened.head == 2 + len(found.outcome["trace"])
    log = await in_database(run_log, run=opened)
    assert log[:2] == [["command", {"kind": "checkpoint"}], ["policy", 1]]


async def test_a_bound_is_named(searching: Pool) -> None:
    found = await ended((await start({**LONG, "states": 300}))["id"])
    assert (found.state, found.outcome["bound"]) == ("bound reached", "states")


async def test_walks_prove_nothing(searching: Pool) -> None:
    walks = {**BARE, "way": "random walks", "walks": 5, "walk_seed": 3}
    found = await ended((await start(walks))["id"])
    assert (found.state, found.outcome["bound"]) == ("bound reached", "walks")


async def test_it_can_be_stopped(searching: Pool) -> None:
    made = await start(LONG)
    await running(made["id"])
    await searching.stop(made["id"])
    found = await ended(made["id"])
    assert (found.state, found.outcome["bound"]) == ("bound reached", "stopped")
    assert found.counts["states"] > 0


async def test_a_process_that_dies_is_told(searching: Pool) -> None:
    made = await start(LONG)
    search = await running(made["id"])
    os.kill(search.process.pid, signal.SIGKILL)
    found = await ended(made["id"])
    assert found.state == "failed"
    assert found.error["sentence"] == (
        "The process that searched was ended by signal 9, so there is no result."
    )
    assert (await ended((await start(BARE))["id"])).state == "exhausted"


async def test_a_process_that_will_not_stop_is_killed(
    searching: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamlab.explorations.search.STOP_SECONDS", 0.1)
    made = await start(LONG)
    search = await running(made["id"])
    os.kill(search.process.pid, signal.SIGSTOP)
    await searching.stop(made["id"])
    found = await ended(made["id"])
    assert (found.state, found.outcome["bound"]) == ("bound reached", "stopped")


async def test_cpu_time_is_limited(searching: Pool, settings: Any) -> None:
    settings.EXPLORATION_CPU_SECONDS = 2
    settings.EXPLORATION_STATES_MAX = 5_000_000
    found = await ended((await start({**LONG, "states": 5_000_000}))["id"])
    assert (found.state, found.outcome["bound"]) == ("bound reached", "time")


def test_memory_is_limited(lab: LabSpec) -> None:
    """The search ends before an allocation fails, which a function of the job might take for its own failure."""
    out = io.StringIO()
    child = Child(out)
    child.memory = 2**20  # less than any process has
    child.search(job_of(lab))
    outcome = json.loads(out.getvalue().splitlines()[-1])["outcome"]
    assert (outcome["result"], outcome["bound"]) == ("bound reached", "memory")
    assert outcome["counts"]["transitions"] == 256


async def test_a_process_without_memory_is_told(searching: Pool, settings: Any) -> None:
    settings.EXPLORATION_MEMORY_MAX = 2**20
    found = await ended((await start(BARE))["id"])
    told = found.outcome["bound"] if found.outcome else found.error["sentence"]
    assert told == "memory" or told.startswith("The process that searched")


async def test_nobody_looks_any_more(searching: Pool, settings: Any) -> None:
    settings.EXPLORATION_ABANDONED_SECONDS = 0
    found = await ended((await start(LONG))["id"])
    assert (found.state, found.outcome["bound"]) == ("bound reached", "abandoned")


async def test_a_page_of_another_server_process_counts(searching: Pool, settings: Any) -> None:
    made = await start(LONG)
    search = await running(made["id"])
    settings.EXPLORATION_ABANDONED_SECONDS = 30
    search.alone_since -= 60
    await in_database(services.exploration_look, exploration_id=made["id"])
    await searching.round()
    assert search.active
    await in_database(services.exploration_stop, exploration_id=made["id"])  # from there, too
    found = await ended(made["id"])
    assert found.outcome["bound"] == "stopped"


async def test_the_process_ends_with_its_server(lab: LabSpec) -> None:
    """Its input ends when the server does, however that came about."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*CHILD, stdin=pipe, stdout=pipe, cwd=ROOT)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(orjson.dumps(job_of(lab)) + b"\n")
    assert b"counts" in await process.stdout.readline()
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 10) == 0


# ---- how many ------------------------------------------------------------------------------------


async def test_one_at_a_time_for_each_visitor(searching: Pool) -> None:
    made = await start(LONG)
    with pytest.raises(RunError) as refused:
        await start(BARE)
    assert refused.value.code == "still_exploring"
    await searching.stop(made["id"])
    await ended(made["id"])
    assert (await ended((await start(BARE))["id"])).state == "exhausted"


async def test_the_others_wait_and_are_told_their_place(searching: Pool, settings: Any) -> None:
    settings.EXPLORATIONS_AT_ONCE = 1
    settings.EXPLORATIONS_WAITING_MAX = 2
    first = await start(LONG, Owner("a"))
    second = await start(BARE, Owner("b"))
    third = await start(BARE, Owner("c"))
    assert [second["place"], third["place"]] == [1, 2]
    with pytest.raises(RunError) as refused:
        await start(BARE, Owner("d"))
    assert refused.value.code == "explorations_full"
    await searching.stop(second["id"])
    found = await ended(second["id"], Owner("b"))
    assert (found.state, found.outcome["bound"]) == ("bound reached", "stopped")
    assert searching.searches[third["id"]].place == 1
    await searching.stop(first["id"])
    assert (await ended(third["id"], Owner("c"))).state == "exhausted"


def test_two_at_once_are_impossible_in_the_database(lab: LabSpec, transactional_db: None) -> None:
    asked = {"lab": lab, "owner": ADA, "holder": pool_holder(), "asked": BARE}
    made = services.exploration_of_lab(**asked)
    with pytest.raises(RunError) as refused:
        services.exploration_of_lab(**asked)
    assert refused.value.code == "still_exploring"
    with pytest.raises(IntegrityError):
        Exploration.objects.create(
            visitor="ada", lab="x", bundle=made.bundle, policy="x", request={}, holder="x"
        )


def pool_holder() -> str:
    return Pool().holder


def test_what_a_dead_server_left_comes_to_nothing(lab: LabSpec, transactional_db: None) -> None:
    gone = pool_holder().split("/")
    gone[2] = "0" * 16  # this process number, under another start
    made = services.exploration_of_lab(lab=lab, owner=ADA, holder="/".join(gone), asked=BARE)
    assert services.explorations_give_up() == 1
    made.refresh_from_db()
    assert made.state == "failed"
    assert made.error["sentence"].startswith("The server was stopped")


def test_they_expire(lab: LabSpec, transactional_db: None) -> None:
    made = services.exploration_of_lab(lab=lab, owner=ADA, holder=pool_holder(), asked=BARE)
    Exploration.objects.update(expires=timezone.now() - timedelta(days=1))
    assert services.explorations_expire() == 0  # it still searches
    services.exploration_end(exploration_id=made.pk, state="exhausted", counts=None, seconds=1)
    assert services.explorations_expire() == 1


# ---- what may be asked ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({}, "bad_exploration", "invariants"),
        ({"invariants": ["nothing"]}, "bad_exploration", "Choose one of"),
        ({"invariants": ["consistent-cut"]}, "bad_exploration", "Choose one of"),
        ({**BARE, "mutant": "wrong-id"}, "bad_exploration", "Choose one of"),
        (
            {**BARE, "commands": [{"command": {"kind": "rm"}, "times": 1}]},
            "bad_exploration",
            "kinds",
        ),
        ({**BARE, "commands": [{**CHECKPOINT, "times": 1000}]}, "bad_exploration", "from 1 to"),
        ({**BARE, "states": 10**6}, "too_far", "200,000"),
        ({**BARE, "depth": 10**4}, "too_far", "1,000"),
        ({**BARE, "walks": 10**6}, "too_far", "100,000"),
        ({**BARE, "source": 3}, "bad_exploration", "object"),
        ({**BARE, "kind": "network", "x": 1}, "bad_exploration", "no field"),
    ],
)
def test_bad_requests_are_refused(asked: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(RunError) as refused:
        services.checked(asked, kind="job", seed=1)
    assert refused.value.code == code
    assert words in f"{refused.value.sentence} {refused.value.mend}"


async def test_a_command_for_nobody_is_refused(searching: Pool) -> None:
    fail = {"command": {"kind": "fail", "subtask": "nobody[0]"}, "times": 1}
    found = await ended((await start({**BARE, "commands": [fail]}))["id"])
    assert found.state == "failed"
    assert found.error["sentence"] == "This job has no operator nobody."


async def test_a_run_of_another_protocol(searching: Pool) -> None:
    """What a wrong protocol did is no beginning for the right one."""
    wrong = {**BROKEN, "mutant": "no-alignment"}
    found = await ended((await start(wrong))["id"])
    run = await in_database(services.exploration_open, exploration=found)
    made = await pool().start(
        services.exploration_of_run, run=run, step=run.head, owner=ADA, asked=BARE
    )
    found = await ended(made["id"])
    assert found.state == "failed"
    assert re.match(r"Step \d+ of the run is not possible", found.error["sentence"])


async def test_a_step_beyond_the_run(searching: Pool) -> None:
    spec = runs.find_lab("two-barriers")
    run = await in_database(runs.run_create, lab=spec, owner=ADA)
    with pytest.raises(RunError) as refused:
        await pool().start(services.exploration_of_run, run=run, step=1, owner=ADA, asked=BARE)
    assert refused.value.code == "outside"


# ---- over the wire -------------------------------------------------------------------------------


class Wire:
    """A visitor: requests and sockets with the cookie of one session."""

    def __init__(self, cookie: str) -> None:
        self.client = AsyncClient()
        self.client.cookies["streamlab_session"] = cookie
        self.cookie = cookie

    async def post(self, url: str, body: Any = None) -> Any:
        return await self.client.post(url, json.dumps(body or {}), content_type="application/json")

    async def socket(self, exploration_id: str) -> WebsocketCommunicator:
        headers = [
            (b"host", b"127.0.0.1"),
            (b"origin", b"http://127.0.0.1"),
            (b"cookie", f"streamlab_session={self.cookie}".encode()),
        ]
        path = f"/ws/explorations/{exploration_id}/"
        communicator = WebsocketCommunicator(application, path, headers=headers)
        assert (await communicator.connect(timeout=10))[0]
        return communicator


def visitor(name: str) -> Wire:
    session = SessionStore()
    session["visitor"] = name
    session.save()
    assert session.session_key
    return Wire(session.session_key)


@pytest.fixture
def wires(lab: LabSpec, transactional_db: None) -> tuple[Wire, Wire]:
    return visitor("ada"), visitor("bob")


async def receive(socket: WebsocketCommunicator) -> dict[str, Any]:
    return dict(orjson.loads(await socket.receive_from(PATIENCE)))


async def test_progress_is_told_and_the_end(wires: Any, searching: Pool) -> None:
    ada, _ = wires
    body = {"lab": "two-barriers", "request": {**LONG, "states": 3000}}
    answer = await ada.post("/explorations/", body)
    assert answer.status_code == 201
    made = answer.json()
    socket = await ada.socket(made["id"])
    seen = [await receive(socket)]
    while seen[-1]["active"]:
        seen.append(await receive(socket))
    assert seen[-1]["outcome"]["bound"] == "states"
    assert any(one["counts"] for one in seen[:-1])
    assert all(one["type"] == "exploration" for one in seen)
    await socket.disconnect()
    again = await ada.socket(made["id"])  # a reload
    assert (await receive(again))["counts"] == seen[-1]["counts"]
    await again.disconnect()
    answer = await ada.client.get("/explorations/?lab=two-barriers")
    assert answer.json()["latest"]["id"] == made["id"]
    assert {one["name"] for one in answer.json()["offer"]["invariants"]} >= {"exactly-once"}
    assert (await ada.post(f"/explorations/{made['id']}/run/")).json()["error"][
        "code"
    ] == "no_trace"


async def test_it_is_stopped_over_the_socket(wires: Any, searching: Pool) -> None:
    ada, _ = wires
    made = (await ada.post("/explorations/", {"lab": "two-barriers", "request": LONG})).json()
    socket = await ada.socket(made["id"])
    while not (await receive(socket))["counts"]:
        pass
    await socket.send_to(text_data='{"type": "stop", "ref": 4}')
    last: dict[str, Any] = {}
    while last.get("active", True):
        last = await receive(socket)
        if last["type"] != "exploration":
            assert last == {"type": "done", "ref": 4}
            last = {}
    assert (last["state"], last["outcome"]["bound"]) == ("bound reached", "stopped")
    await socket.disconnect()


async def test_nobody_sees_those_of_others(wires: Any, searching: Pool) -> None:
    ada, bob = wires
    made = (await ada.post("/explorations/", {"lab": "two-barriers", "request": BARE})).json()
    socket = await bob.socket(made["id"])
    error = await receive(socket)
    assert error["code"] == "unknown_exploration"
    assert (await socket.receive_output(10))["code"] == 4004
    answer = await bob.post(f"/explorations/{made['id']}/run/")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_exploration")
    assert (await bob.client.get("/explorations/?lab=two-barriers")).json()["latest"] is None


async def test_a_flood_is_refused(wires: Any, searching: Pool) -> None:
    ada, _ = wires
    made = (await ada.post("/explorations/", {"lab": "two-barriers", "request": LONG})).json()
    socket = await ada.socket(made["id"])
    for text in ["{", "[]", '{"type": "step", "ref": 1}', '{"type": "stop"}', "x" * 20_000]:
        await socket.send_to(text_data=text)
    codes: list[str] = []
    while len(codes) < 5:
        message = await receive(socket)
        if message["type"] == "error":
            codes.append(message["code"])
    assert codes == ["malformed", "malformed", "unknown_message", "bad_field", "too_large"]
    with contextlib.suppress(AssertionError, RuntimeError):
        for _ in range(400):
            await socket.send_to(text_data="{")
    seen: set[str] = set()
    while "flood" not in seen:
        message = await receive(socket)
        seen.add(message.get("code", ""))
    assert seen >= {"flood"}
    await socket.disconnect()


async def test_starting_is_limited_too(wires: Any, searching: Pool) -> None:
    ada, _ = wires
    codes = []
    for _ in range(40):
        answer = await ada.post("/explorations/", {"lab": "two-barriers", "request": {}})
        codes.append(answer.json()["error"]["code"])
    assert codes[0] == "bad_exploration"
    assert codes[-1] == "too_fast"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "bad_field"),
        ({"request": BARE}, "bad_field"),
        ({"request": [], "lab": "two-barriers"}, "bad_field"),
        ({"request": BARE, "lab": "none"}, "unknown_lab"),
        ({"request": BARE, "run": "none"}, "unknown_run"),
    ],
)
async def test_bodies_that_are_none(
    wires: Any, searching: Pool, body: dict[str, Any], code: str
) -> None:
    answer = await wires[0].post("/explorations/", body)
    assert answer.json()["error"]["code"] == code
