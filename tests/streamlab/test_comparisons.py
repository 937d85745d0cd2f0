"""Two schemes side by side: what is compared, at which moments commands are given, and the addresses that show it."""

import asyncio
import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from engine.commands import FailSubtask, StopWithSavepoint, TriggerCheckpoint
from engine.testing import written
from labs.spec import LabSpec
from streamlab.runs import comparisons, services
from streamlab.runs.comparisons import Comparison, Comparisons, Wanted, compare
from streamlab.runs.errors import RunError
from streamlab.runs.models import Run
from streamlab.runs.plans import Planned, parse_plan
from streamlab.runs.registry import Registry
from streamlab.runs.schemes import SCHEME, SCHEMES, scheme_of
from streamlab.runs.selectors import Owner
from streamlab.runs.slices import Turns

from .test_pages import boot_of, grown, post

FAIL = "fail,subtask=window[0]@30+5"
PAGE = "/labs/counting/compare/"


def wanted(lab: LabSpec, *plan: str, size: int = 60, **changes: Any) -> Wanted:
    fields: dict[str, Any] = {
        "lab": lab,
        "parameters": (("size", size),),
        "policy": "round_robin",
        "quantum": 1,
        "seed": 7,
        "schemes": ("aligned", "at_least_once"),
        "plan": parse_plan(plan),
    }
    return Wanted(**{**fields, **changes})


async def made(lab: LabSpec, *plan: str, **changes: Any) -> Comparison:
    return await compare(wanted(lab, *plan, **changes), Turns())


# ---- plans ---------------------------------------------------------------------------------------


def test_a_command_and_its_moment_survive_their_text() -> None:
    plan = (
        Planned(TriggerCheckpoint(), 40),
        Planned(FailSubtask("window[1]"), 200, 3),
        Planned(FailSubtask("odd, name@2+1=%[0]"), 201),
        Planned(StopWithSavepoint(True), 202),
    )
    assert [str(one) for one in plan[:2]] == ["checkpoint@40", "fail,subtask=window[1]@200+3"]
    assert parse_plan(str(one) for one in reversed(plan)) == plan


@pytest.mark.parametrize(
    "text", ["checkpoint", "explode@4", "fail@4", "fail,subtask=@4", "checkpoint,x=1@4", "@", "checkpoint@-1"]
)  # fmt: skip
def test_what_is_no_command_is_told(text: str) -> None:
    with pytest.raises(RunError) as caught:
        parse_plan([text])
    assert caught.value.code == "bad_parameter"
    assert repr(text) in caught.value.sentence


# ---- schemes -------------------------------------------------------------------------------------


def test_a_run_takes_another_scheme_than_its_lab(lab: LabSpec, db: None) -> None:
    from streamlab.runs import recordings

    own = recordings.graph_factory(lab, {"size": 5})()
    for name in SCHEMES:
        run = services.run_create(lab=lab, owner=Owner("ada"), parameters={SCHEME: name, "size": 5})
        assert run.parameters == {SCHEME: name, "size": 5}
        assert scheme_of(recordings.graph_factory(lab, run.parameters)()) == name
    assert scheme_of(own) == "aligned"  # untouched: graphs are shared
    with pytest.raises(RunError, match="must be one of aligned"):
        services.run_create(lab=lab, owner=Owner("ada"), parameters={SCHEME: "sideways"})


# ---- what is compared ----------------------------------------------------------------------------


async def test_without_commands_both_runs_are_the_same(lab: LabSpec) -> None:
    comparison = await made(lab)
    a, b = comparison.sides
    assert a.rows == b.rows
    assert a.rows[-1].position == 60
    assert a.recording.head == len(a.rows) - 1 > 60
    assert a.rows[-1].repeated is None


async def test_a_command_is_given_at_the_same_input_to_both(lab: LabSpec) -> None:
    comparison = await made(lab, "checkpoint@20", FAIL)
    for side in comparison.sides:
        steps = [side.given[planned] for planned in comparison.wanted.plan]
        # The 20th entry is read in step reached[20]; the command is the step after it.
        assert steps == [side.reached[20] + 1, side.reached[30] + 6]
        assert not side.pending
        assert side.rows[steps[1]].failures == 1
        assert side.rows[-1].position == 60


async def test_after_a_failure_results_are_compared_with_the_undisturbed_run(lab: LabSpec) -> None:
    plan = ("checkpoint@20", "fail,subtask=sink[0]@59")
    comparison = await made(lab, *plan)
    quiet = await made(lab, plan[0])
    for side, undisturbed in zip(comparison.sides, quiet.sides, strict=True):
        assert written(undisturbed.recording) != {}
        end = side.measures(side.last)
        assert end["repeated"] > 0  # what was written since the checkpoint is written again
        assert end["foreign"] == end["missing"] == 0
        assert end["written"] == undisturbed.rows[-1].written + end["repeated"]
        assert end["read"] > 60


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_every_scheme_can_be_compared(lab: LabSpec, scheme: str) -> None:
    comparison = await made(
        lab, "checkpoint@30", "fail,subtask=window[0]@50", schemes=("aligned", scheme)
    )
    aligned, other = comparison.sides
    assert other.recording.view()["job"]["state"] == "finished"
    assert other.rows[-1].position == aligned.rows[-1].position == 60
    end = other.measures(other.last)
    assert end["missing"] == 0
    if scheme == "none":
        assert (end["completed"], end["saved"]) == (0, 0)
        assert comparison.summary()["plan"][0]["why"][1].startswith("This is not possible now:")
    else:
        assert end["completed"] == 1
    assert (end["paused"] > 0) == (scheme == "stop_the_world")
    assert (end["held"] > 0) <= (scheme in ("aligned", "unaligned_after_timeout"))
    assert (end["in_flight"] > 0) <= scheme.startswith("unaligned")


async def test_a_command_that_is_never_possible_says_why(lab: LabSpec) -> None:
    comparison = await made(lab, "fail,subtask=window[9]@10", "checkpoint@5000")
    first, second = comparison.summary()["plan"]
    assert first["given"] == second["given"] == [None, None]
    assert "window[9]" in first["why"][0]
    assert second["why"] == ["The run ended before."] * 2


async def test_the_cursor_by_input_stands_where_both_have_read_the_same(lab: LabSpec) -> None:
    comparison = await made(lab, "checkpoint@20", FAIL)
    assert comparison.length("input") == 61
    for cursor in (0, 1, 33, 60):
        shown = comparison.at("input", cursor)["sides"]
        assert [side["position"] for side in shown] == [cursor, cursor]
        assert all(side["since"] == 0 for side in shown)
    ends = comparison.at("input", 61)["sides"]
    assert [side["last"]["step"] for side in ends] == [side.last for side in comparison.sides]
    by_steps = comparison.at("steps", 17)["sides"]
    assert [side["last"]["step"] for side in by_steps] == [17, 17]
    longer = comparison.length("steps")
    assert longer == max(side.last for side in comparison.sides)
    for cursor in (-1, 62):
        with pytest.raises(RunError, match="lies outside this comparison, which ends at 61"):
            comparison.at("input", cursor)


async def test_pictures_are_those_of_the_engine(lab: LabSpec) -> None:
    from engine import fold
    from streamlab.runs import protocol

    comparison = await made(lab, "checkpoint@20")
    side = comparison.sides[0]
    for cursor in (60, 3, 40):  # back and forth
        shown = comparison.at("input", cursor)["sides"][0]
        step = shown["last"]["step"]
        side.recording.seek(step - 1)
        picture = side.recording.view()
        assert shown["view"] == protocol.clean(picture)
        (trace,) = side.recording.step(1, events=True)
        assert shown["last"]["events"] == [protocol.event_form(event) for event in trace.events]
        fold(picture, trace)
        assert picture["step"] == step
        assert shown["measures"]["step"] == step


async def test_charts_hold_the_measures_of_both(lab: LabSpec) -> None:
    comparison = await made(lab, "checkpoint@20", "fail,subtask=window[0]@300", size=400)
    summary = json.loads(json.dumps(comparison.summary()))
    for by in ("input", "steps"):
        chart = summary["by"][by]
        assert len(chart["cursors"]) <= comparisons.SAMPLES + 1
        assert (chart["cursors"][0], chart["cursors"][-1]) == (0, chart["length"])
        for number, side in enumerate(comparison.sides):
            steps = [side.step_at(by, cursor) for cursor in chart["cursors"]]
            assert chart["values"]["written"][number] == [side.rows[s].written for s in steps]
    assert [side["steps"] for side in summary["sides"]] == [side.last for side in comparison.sides]
    kinds = {mark[2] for mark in summary["sides"][0]["marks"]}
    assert kinds >= {"checkpoint_triggered", "checkpoint_completed", "failed"}


async def test_a_comparison_ends_at_its_limit_and_says_so(
    lab: LabSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "STEPS_MAX", 50)
    sides = (await made(lab, size=10_000)).summary()["sides"]
    assert [side["steps"] for side in sides] == [50, 50]
    assert sides[0]["limit"] == "It is shown up to step 50, where comparisons end."


# ---- limits --------------------------------------------------------------------------------------


async def test_one_comparison_is_made_once_and_the_oldest_goes(
    lab: LabSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "KEPT_MAX", 2)
    kept = Comparisons(Turns())
    first = wanted(lab)
    both = await asyncio.gather(kept.get(first), kept.get(wanted(lab)))
    assert both[0] is both[1] is await kept.get(first)
    await kept.get(wanted(lab, seed=8))
    assert kept.runs_in_memory == 4
    await kept.get(wanted(lab, seed=9))
    assert kept.runs_in_memory == 4
    assert first not in kept


async def test_a_page_that_goes_away_takes_no_comparison_from_others(lab: LabSpec) -> None:
    kept = Comparisons(Turns())
    gone = asyncio.create_task(kept.get(wanted(lab, size=2000)))
    await asyncio.sleep(0)
    stays = asyncio.create_task(kept.get(wanted(lab, size=2000)))
    await asyncio.sleep(0)
    gone.cancel()
    assert (await stays).sides[0].rows[-1].position == 2000


async def test_comparisons_count_as_runs(lab: LabSpec, settings: Any) -> None:
    settings.RUNS_LIVE_MAX = 1
    server = Registry()
    with pytest.raises(RunError, match="1 runs are live"):
        await server.compare(wanted(lab))
    settings.RUNS_LIVE_MAX = 3
    await server.compare(wanted(lab))
    assert server.in_memory() == 2
    await server.compare(wanted(lab, seed=8))  # the first makes room
    assert server.in_memory() == 2


async def test_too_many_at_once_are_refused(lab: LabSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "MADE_AT_ONCE_MAX", 1)
    kept = Comparisons(Turns())
    first = asyncio.create_task(kept.get(wanted(lab)))
    await asyncio.sleep(0)
    with pytest.raises(RunError) as caught:
        await kept.get(wanted(lab, seed=8))
    assert (caught.value.code, caught.value.status) == ("comparisons_full", 503)
    await first
    await kept.get(wanted(lab, seed=8))


# ---- pages ---------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_opening_a_comparison_writes_nothing(lab: LabSpec, client: Client) -> None:
    response = client.get(
        PAGE, {"size": 60, "b": "at_least_once", "do": ["checkpoint@20", FAIL], "at": 12}
    )
    boot = boot_of(response)
    assert [side["name"] for side in boot["sides"]] == ["aligned", "at_least_once"]
    assert (boot["by"], boot["at"]) == ("input", 12)
    asked = parse_qs(boot["query"])
    assert asked["do"] == ["checkpoint@20", FAIL]
    assert asked["size"] == ["60"]
    summary = client.get(f"{boot['urls']['summary']}?{boot['query']}").json()
    assert [side["scheme"] for side in summary["sides"]] == ["aligned", "at_least_once"]
    at = client.get(f"{boot['urls']['at']}?{boot['query']}&by=input&at=12").json()
    assert [side["position"] for side in at["sides"]] == [12, 12]
    assert Run.objects.count() == Session.objects.count() == 0
    assert "streamlab_session" not in response.cookies


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("a=sideways", "The snapshot scheme must be one of aligned, unaligned"),
        ("seed=-1", "seed must be a whole number from 0 to"),
        ("seed=many", "seed must be a whole number, and &#x27;many&#x27; is none."),
        ("size=0", "Size must lie between 1 and 100000."),
        ("do=explode@3", "&#x27;explode@3&#x27;: There is no such command."),
        ("by=luck", "The cursor counts by one of input, steps."),
        ("policy=luck", "The policy must be one of"),
        ("version=abc", "This version of the lab is not kept here."),
    ],
)
def test_a_wrong_address_is_answered_with_a_sentence(
    lab: LabSpec, client: Client, query: str, sentence: str
) -> None:
    response = client.get(f"{PAGE}?{query}")
    assert response.status_code == 400
    assert sentence in response.content.decode()
    if not query.startswith("by"):
        refused = client.get(f"{PAGE}summary/?{query}")
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == "bad_parameter"


@pytest.mark.django_db(transaction=True)
def test_a_cursor_outside_is_refused(lab: LabSpec, client: Client) -> None:
    refused = client.get(f"{PAGE}at/?size=60&at=62")
    assert refused.status_code == 400
    assert refused.json()["error"]["mend"] == "Choose one from 0 to 61."
    assert client.get("/labs/nothing/compare/").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_run_is_compared_with_its_commands_at_their_moments(lab: LabSpec, client: Client) -> None:
    created = post(client, "/labs/counting/runs/", {"seed": 9, "parameters": {"size": 60}})
    run = Run.objects.get(pk=created.json()["run"])
    fail = {"kind": "fail", "subtask": "window[1]"}
    grown(
        run, ("policy", None, 41), ("command", {"kind": "checkpoint"}, 1),
        ("policy", None, 20), ("command", fail, 1), ("policy", None, 7),
    )  # fmt: skip
    response = client.get(f"/runs/{run.pk}/compare/")
    assert response.status_code == 302
    asked = parse_qs(urlsplit(response["Location"]).query)
    assert (asked["seed"], asked["size"], asked["a"]) == (["9"], ["60"], ["aligned"])
    assert "left_out" not in asked
    boot = boot_of(client.get(response["Location"]))
    summary = client.get(f"{boot['urls']['summary']}?{boot['query']}").json()
    # Under the run's own scheme the comparison is the run itself.
    assert [planned["given"][0] for planned in summary["plan"]] == [42, 63]
    assert re.fullmatch(r"fail,subtask=window\[1\]@\d+(\+\d+)?", asked["do"][1])
    assert client.get("/runs/nothing/compare/").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_what_was_chosen_by_hand_is_said_to_be_left_out(lab: LabSpec, client: Client) -> None:
    created = post(client, "/labs/counting/runs/", {"parameters": {"size": 60}})
    run = Run.objects.get(pk=created.json()["run"])
    preview = boot_of(client.get("/labs/counting/"))["preview"]
    grown(run, ("action", preview["actions"]["possible"][0]["id"], 1))
    address = client.get(f"/runs/{run.pk}/compare/")["Location"]
    assert parse_qs(urlsplit(address).query)["left_out"] == ["1"]
    assert "Actions that you chose by hand are not repeated" in client.get(address).content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_run_that_does_not_replay_cannot_be_compared(lab: LabSpec, client: Client) -> None:
    created = post(client, "/labs/counting/runs/", {"parameters": {"size": 60}})
    run = Run.objects.get(pk=created.json()["run"])
    grown(run, ("action", "read:nothing", 1))
    refused = client.get(f"/runs/{run.pk}/compare/")
    assert refused.status_code == 400
    assert "This run cannot be rebuilt" in refused.content.decode()
