"""Explorations of networks of processes: the protocol of the lab is the one that is searched and that opens as a run."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labs.catalog import CONTENT
from labs.networks import protocol_of
from labs.spec import LabSpec, load_lab
from streamlab.explorations import services
from streamlab.explorations.offer import offer
from streamlab.explorations.pool import Pool, pool
from streamlab.runs import recordings
from streamlab.runs import services as runs
from streamlab.runs.errors import RunError
from streamlab.runs.models import Run
from streamlab.runs.selectors import run_log
from tests.streamlab.conftest import Connect, in_database
from tests.streamlab.test_explorations import ADA, CHECKPOINT, ended

ONE_TOKEN = load_lab(CONTENT / "token-ring")
LOSES = {"invariants": ["snapshot-conserves"], "mutant": "no-channel-state"}


@pytest.fixture
async def searching(transactional_db: None, settings: Any, tmp_path: Path) -> AsyncIterator[Pool]:
    settings.VAR_DIR = tmp_path
    settings.EXPLORATION_ABANDONED_SECONDS = 600
    yield pool()
    await pool().close()


async def start(asked: dict[str, Any], lab: LabSpec = ONE_TOKEN) -> dict[str, Any]:
    return await pool().start(services.exploration_of_lab, lab=lab, owner=ADA, asked=asked)


async def test_the_right_protocol_is_searched_to_its_end(searching: Pool) -> None:
    found = await ended((await start({"invariants": ["snapshot-conserves", "fifo-links"]}))["id"])
    assert found.state == "exhausted", (found.error, found.counts)
    assert found.counts["states"] > 100


async def test_a_violation_of_a_wrong_protocol_opens_as_a_run_that_follows_it(
    searching: Pool, connect: Connect
) -> None:
    found = await ended((await start(LOSES))["id"])
    assert found.state == "violated", found.error
    says = [step["say"] for step in found.outcome["steps"]]
    assert len(says) == len(found.outcome["trace"]) > 5
    assert any("started snapshot" in say for say in says)

    run = await in_database(services.exploration_open, exploration=found)
    assert (run.mutant, run.invariants) == ("", ["snapshot-conserves"])
    assert protocol_of(ONE_TOKEN, run.parameters) == "no channel state"
    rebuilt = recordings.open_recording(
        lab=ONE_TOKEN,
        parameters=run.parameters,
        policy=run.policy,
        quantum=run.quantum,
        seed=run.seed,
        log=await in_database(run_log, run=run),
    )
    rebuilt.seek(run.head)
    assert any(mark[1] == "inconsistent" and mark[0] == run.head for mark in rebuilt.marks)
    ada = await connect(run)
    while not (
        judged := [
            one["on"][0]
            for one in ada.got
            if one["type"] == "invariants" and one["on"][0]["state"] == "violated"
        ]
    ):
        await ada.receive()
    assert (judged[0]["step"], judged[0]["sentence"]) == (run.head, found.outcome["sentence"])


async def test_it_starts_at_a_step_of_a_run_with_its_parameters(
    searching: Pool, connect: Connect
) -> None:
    lab = load_lab(CONTENT / "chandy-lamport")
    parameters = {"protocol": 1, "tokens": 5}
    run = await in_database(runs.run_create, lab=lab, owner=ADA, parameters=parameters)
    ada = await connect(run)
    await ada.drive("step", count=3)
    run = await in_database(Run.objects.get, pk=run.pk)
    made = await pool().start(services.exploration_of_run, run=run, step=3, owner=ADA, asked=LOSES)
    found = await ended(made["id"])
    assert found.state == "violated", found.error
    opened = await in_database(services.exploration_open, exploration=found)
    assert opened.parameters == parameters
    assert opened.head == 3 + len(found.outcome["trace"])
    assert (await in_database(run_log, run=opened))[0] == ["policy", 3]


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ({**LOSES, "commands": [CHECKPOINT]}, "request.commands"),
        ({**LOSES, "mutant": "no-alignment"}, "request.mutant"),
        ({"invariants": ["exactly-once"]}, "request.invariants"),
    ],
)
def test_what_only_jobs_have_is_refused(asked: dict[str, Any], place: str, db: None) -> None:
    with pytest.raises(RunError) as refused:
        services.exploration_of_lab(lab=ONE_TOKEN, owner=ADA, holder="h", asked=asked)
    assert (refused.value.code, refused.value.place) == ("bad_exploration", place)


def test_a_lab_with_one_protocol_offers_no_other(db: None) -> None:
    one = replace(ONE_TOKEN, parameters=())
    assert offer(one)["mutants"] == []
    assert [mutant["name"] for mutant in offer(ONE_TOKEN)["mutants"]] == [
        "no-channel-state", "late-markers", "not-fifo", "wrong-id",
    ]  # fmt: skip
    with pytest.raises(RunError) as refused:
        services.exploration_of_lab(lab=one, owner=ADA, holder="h", asked=LOSES)
    assert refused.value.place == "request.mutant"


def test_a_lab_without_the_right_protocol_does_not_offer_it(db: None) -> None:
    (protocol,) = ONE_TOKEN.parameters
    wrong = protocol.model_copy(update={"choices": ("wrong id",), "maximum": 0})
    lab = replace(ONE_TOKEN, parameters=(wrong,))
    assert not offer(lab)["right"]
    assert offer(ONE_TOKEN)["right"]
    with pytest.raises(RunError, match="does not let its processes"):
        services.exploration_of_lab(
            lab=lab, owner=ADA, holder="h", asked={"invariants": ["fifo-links"]}
        )
