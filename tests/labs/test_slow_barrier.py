"""What the lab's text says of the six schemes happens in its job, with its seed."""

from typing import Any

import pytest

from engine import Recording
from labs.catalog import CONTENT
from labs.spec import load_lab
from streamlab.runs import recordings
from streamlab.runs.schemes import SCHEME, SCHEMES

LAB = load_lab(CONTENT / "slow-barrier")
FILLED = 150
PEOPLE = 900


def filled(scheme: str, buffers: int = 5) -> Recording:
    """A run whose channels are full."""
    recording = recordings.open_recording(
        lab=LAB,
        parameters={**LAB.parameter_values({"buffers": buffers}), SCHEME: scheme},
        policy=LAB.scheduler,
        quantum=1,
        seed=LAB.seed,
    )
    recording.step(FILLED)
    return recordings.of_job(recording)


def checkpoint(recording: Recording) -> dict[str, Any]:
    """Take a checkpoint to its end: {steps, bytes, held, saved}."""
    recording.apply({"kind": "checkpoint"})
    recording.run_until({"kind": "checkpoint_completes"}, 1000)
    taken = recording.view()["checkpoints"]["1"]
    assert taken["status"] == "completed"
    parts = taken["subtasks"].values()
    return {
        "steps": taken["ended"] - taken["triggered"],
        "bytes": taken["bytes"],
        "held": sum(part["held"] for part in parts),
        "saved": sum(part["saved"] for part in parts),
    }


def people_let_in(recording: Recording) -> int:
    """By the counters, at the end of the run."""
    recording.run_until({"kind": "end"}, 100_000)
    subtasks = recording.view()["subtasks"].items()
    rows = [
        row for name, one in subtasks if name.startswith("count") for row in one["state"].values()
    ]
    return sum(int(row["value"].split(": ")[1]) for row in rows)


def test_alignment_holds_records_back_and_overtaking_stores_them() -> None:
    taken = {scheme: checkpoint(filled(scheme)) for scheme in SCHEMES if scheme != "none"}
    assert {scheme for scheme, one in taken.items() if one["held"]} == {
        "aligned",
        "unaligned_after_timeout",  # the clock stands while anything else can happen
    }
    assert {scheme for scheme, one in taken.items() if one["saved"]} == {"unaligned"}
    assert taken["unaligned"]["bytes"] > taken["aligned"]["bytes"]
    assert taken["unaligned"]["steps"] < taken["aligned"]["steps"]


def test_more_buffers_make_unaligned_checkpoints_bigger() -> None:
    def stored(buffers: int) -> int:
        recording = filled("unaligned", buffers)
        recording.step(FILLED)
        return int(checkpoint(recording)["bytes"])

    assert stored(5) < stored(16)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_only_at_least_once_lets_people_in_twice(scheme: str) -> None:
    recording = filled(scheme)
    if scheme != "none":
        checkpoint(recording)
    recording.step(50)
    recording.apply({"kind": "fail", "subtask": "count[0]"})
    let_in = people_let_in(recording)
    assert let_in > PEOPLE if scheme == "at_least_once" else let_in == PEOPLE
