"""Barrier snapshots as a space-time diagram: what crosses a cut says which guarantee a scheme gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine import Policy, Recording
from engine.datastream import CheckpointingMode
from engine.job_diagram import MARGIN, DiagramSearch, JobDiagram

from .checkpointing.test_at_least_once import A, B, counter
from .jobs import POLICIES, commands, job_specs, make_job
from .laws import LAWS, apply_if_possible
from .small import MANUAL, act, job


def diagram_of(recording, checkpoint=None, slices=7):
    search = DiagramSearch(recording, checkpoint)
    while not search.slice(slices):
        pass
    return search.answer()


def one_barrier_first(mode):
    """A barrier of the first source overtakes nothing, and a record behind it is taken before the second one comes."""
    recording = Recording(job(counter(mode)), MANUAL)
    recording.apply({"kind": "checkpoint"})
    act(recording, "trigger:source[0]", "read:source[0]/a", f"take:{A}")
    if mode is CheckpointingMode.AT_LEAST_ONCE:
        act(recording, f"take:{A}")
    act(recording, "read:source[1]/b", f"take:{B}", "trigger:source[1]")
    while (possible := recording.possible()) and recording.view()["last_completed"] is None:
        recording.act(next(one["id"] for one in possible if not one["id"].startswith("read")))
    return recording


def test_a_checkpoint_is_lanes_arrows_and_a_cut():
    recording = one_barrier_first(CheckpointingMode.EXACTLY_ONCE)
    found = diagram_of(recording)
    assert found["lanes"] == ["source[0]", "source[1]", "count[0]", "out[0]"]
    assert found["checkpoint"] == 1
    [cut] = found["cuts"]
    assert cut["checkpoint"] == 1
    assert cut["points"]["source[0]"] == 2
    assert cut["points"]["source[0]"] < cut["points"]["source[1]"] < cut["points"]["count[0]"]
    barriers = [arrow for arrow in found["arrows"] if arrow["kind"] == "barrier"]
    assert [(one["channel"], one["sent"]) for one in barriers][:2] == [
        (A, 2),
        (B, cut["points"]["source[1]"]),
    ]
    assert all(one["delivered"] for one in barriers[:2])
    records = {
        (one["channel"], one["sent"]): one["delivered"]
        for one in found["arrows"]
        if one["kind"] == "record"
    }
    assert records[A, 3] is None or records[A, 3] > cut["points"]["count[0]"]
    assert records[B, 5] == 6
    assert found["left_out"] == 0


def test_at_least_once_lets_a_record_cross_the_cut_backwards():
    found = diagram_of(one_barrier_first(CheckpointingMode.AT_LEAST_ONCE))
    [crossing] = [arrow for arrow in found["arrows"] if arrow["crossing"] is not None]
    assert (crossing["channel"], crossing["crossing"], crossing["sent"]) == (A, 1, 3)
    exactly = diagram_of(one_barrier_first(CheckpointingMode.EXACTLY_ONCE))
    assert [arrow for arrow in exactly["arrows"] if arrow["crossing"] is not None] == []


def test_without_a_checkpoint_the_last_steps_are_shown():
    recording = Recording(job(counter(CheckpointingMode.EXACTLY_ONCE, 40, 40)))
    assert diagram_of(recording)["arrows"] == []
    recording.step(60)
    found = diagram_of(recording)
    assert (found["checkpoint"], found["from"], found["to"], found["cuts"]) == (None, 20, 60, [])
    assert any(arrow["sent"] is None for arrow in found["arrows"])
    assert found == diagram_of(recording, slices=1000)
    assert recording.position == 60


def test_an_unaligned_barrier_saves_what_it_overtakes():
    def build(env):
        counter(CheckpointingMode.EXACTLY_ONCE, 5, 5)(env)
        env.get_checkpoint_config().enable_unaligned_checkpoints()

    recording = Recording(job(build), MANUAL)
    act(recording, "read:source[0]/a", "read:source[0]/a", "read:source[1]/b")
    recording.apply({"kind": "checkpoint"})
    act(recording, "trigger:source[0]")
    while recording.view()["last_completed"] is None:
        possible = [one["id"] for one in recording.possible()]
        recording.act(next(one for one in possible if not one.startswith("read")))
    found = diagram_of(recording)
    held = [arrow for arrow in found["arrows"] if arrow["held"] == 1]
    assert held
    assert {arrow["kind"] for arrow in held} == {"record"}
    overtaking = next(
        one for one in found["arrows"] if one["kind"] == "barrier" and one["channel"] == A
    )
    assert any(one["channel"] == A and (one["sent"] or 0) < overtaking["sent"] for one in held)


def test_a_failure_ends_what_was_under_way():
    recording = Recording(job(counter(CheckpointingMode.EXACTLY_ONCE)), MANUAL)
    act(recording, "read:source[0]/a")
    recording.apply({"kind": "checkpoint"})
    act(recording, "trigger:source[0]")
    recording.apply({"kind": "fail", "subtask": "count[0]"})
    lost = [arrow["kind"] for arrow in diagram_of(recording)["arrows"] if arrow["lost"] == 4]
    assert sorted(lost) == ["barrier", "record"]


def test_of_many_records_those_that_matter_are_drawn():
    recording = one_barrier_first(CheckpointingMode.AT_LEAST_ONCE)
    search = DiagramSearch(recording)
    while not search.slice(10):
        pass
    whole = search.answer()
    few = search.diagram.answer(1, most=2)
    assert few["left_out"] > 0
    assert len(few["arrows"]) == len(whole["arrows"]) - few["left_out"]
    assert [one for one in few["arrows"] if one["crossing"]] == [
        one for one in whole["arrows"] if one["crossing"]
    ]
    assert isinstance(search.diagram, JobDiagram)


@LAWS
@given(
    job_specs(),
    POLICIES,
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(0, 40), commands()), max_size=4),
)
def test_an_exactly_once_cut_is_never_crossed_backwards(spec, policy, seed, plan):
    """Lanes and steps are those of the run, and no completed cut of a job that aligns is crossed."""
    recording = Recording(make_job(spec), Policy(*policy), seed)
    for count, command in [*plan, (60, {"kind": "checkpoint"}), (120, None)]:
        recording.step(count)
        if command is not None:
            apply_if_possible(recording, command)
    scheme = recording.runtime.job.checkpointing.scheme
    for number in recording.view()["checkpoints"]:
        found = diagram_of(recording, int(number))
        assert 0 <= found["from"] <= found["to"] <= recording.position
        assert found["to"] - found["from"] <= 400 + 2 * MARGIN
        for arrow in found["arrows"]:
            assert arrow["from"] in found["lanes"]
            assert arrow["to"] in found["lanes"]
            if arrow["sent"] is not None and arrow["delivered"] is not None:
                assert found["from"] < arrow["sent"] <= arrow["delivered"] <= found["to"]
            if scheme != "at_least_once":
                assert arrow["crossing"] is None, scheme
