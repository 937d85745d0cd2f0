"""What the lab's text says of a runner on the way back happens in its job, with its seed."""

from typing import Any

import pytest

from engine import Recording
from engine.explore.request import Request, explore
from labs.catalog import CONTENT
from labs.spec import load_lab
from streamlab.runs import recordings

LAB = load_lab(CONTENT / "laps")
ON_THE_WAY_BACK = 17
BACK = "again[0]>line[0]"


def at(step: int, **chosen: int) -> Recording:
    recording = recordings.open_recording(
        lab=LAB,
        parameters=LAB.parameter_values(chosen),
        policy=LAB.scheduler,
        quantum=1,
        seed=LAB.seed,
    )
    recording.step(step)
    return recordings.of_job(recording)


def home(recording: Recording) -> list[str]:
    recording.run_until({"kind": "end"}, 10_000)
    return [text for _, text in recording.view()["subtasks"]["board[0]"]["results"]]


def line_in_checkpoint(recording: Recording) -> dict[str, Any]:
    recording.apply({"kind": "checkpoint"})
    assert recording.run_until({"kind": "checkpoint_completes"}, 1000)
    return dict(recording.view()["checkpoints"]["1"]["subtasks"]["line[0]"])


def test_a_runner_on_the_way_back_is_written_down_and_comes_home_once() -> None:
    recording = at(ON_THE_WAY_BACK)
    assert [one["brief"] for one in recording.view()["channels"][BACK]["queue"]] == ["B2"]
    line = line_in_checkpoint(recording)
    assert line["saved"] > 0
    assert line["snapshot"] < line["complete"] <= line["acknowledged"]
    recording.apply({"kind": "fail", "subtask": "lap[0]"})
    assert sorted(home(recording)) == ["A: 0 left", "B: 0 left", "C: 0 left"]


def test_the_log_grows_with_the_runners_and_not_with_the_laps() -> None:
    def saved(**chosen: int) -> int:
        return int(line_in_checkpoint(at(ON_THE_WAY_BACK, **chosen))["saved"])

    assert saved(laps=9) == saved(laps=4)
    assert saved(runners=8, laps=4) > saved(runners=2, laps=4)


@pytest.mark.parametrize("runners", [1, 8])
@pytest.mark.parametrize("laps", [1, 9])
def test_everybody_comes_home(runners: int, laps: int) -> None:
    assert len(home(at(0, runners=runners, laps=laps))) == runners


def test_a_head_that_waits_for_the_way_back_is_found_out() -> None:
    request = Request.from_data(
        {
            "kind": "job",
            "invariants": ["job-ends"],
            "mutant": "waits-for-back-edge",
            "commands": [{"command": {"kind": "checkpoint"}, "times": 1}],
        }
    )
    values = LAB.parameter_values({"runners": 1, "laps": 2})
    outcome = explore(request, recordings.graph_factory(LAB, values))
    assert outcome["result"] == "violated", outcome["told"]
