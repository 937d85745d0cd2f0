"""Invariants of a run: judged as it grows, and over what it has recorded."""

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from engine.datastream import StreamExecutionEnvironment
from engine.explore import registry as engine_rules
from engine.explore.invariants import Invariant, Monitor
from labs.spec import load_lab
from streamlab.runs import invariants, recordings, selectors
from streamlab.runs.invariants import Judgement
from streamlab.runs.models import Run
from tests.streamlab.conftest import Connect, Socket, in_database

READ = 5
LABS = Path(__file__).parents[2] / "labs" / "content"


def few_read(subject: Any) -> Invariant:
    def broken(system: Any) -> str:
        step = system.runtime.step
        return f"Step {step} is one too many." if step >= READ else ""

    return Invariant("few steps", broken)


def steps_counted(subject: Any) -> Monitor:
    """Broken where the steps that it was shown are not all the steps that there were."""

    def observe(memory: int, system: Any, action: str) -> tuple[int, str]:
        missed = system.runtime.step != memory + 1 or not action
        return memory + 1, "A step was left out." if missed else ""

    return Monitor("every step is seen once", lambda system: 0, observe)


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariants, "_made", OrderedDict())
    for name, make in (("few", few_read), ("counted", steps_counted)):
        rule = engine_rules.NamedRule("job", name, name, make)
        monkeypatch.setitem(engine_rules.INVARIANTS, name, rule)


async def watch(socket: Socket, name: str, on: bool = True) -> dict[str, Any]:
    return await socket.answer(await socket.send("watch", name=name, on=on))


async def judged(socket: Socket, name: str, *states: str) -> dict[str, Any]:
    """Its entry, once it is in one of the states."""

    def entry() -> dict[str, Any] | None:
        told = [message for message in socket.got if message["type"] == "invariants"]
        found = [one for one in told[-1]["on"] if one["name"] == name] if told else []
        return found[0] if found and found[0]["state"] in states else None

    while entry() is None:
        await socket.receive()
    found = entry()
    assert found is not None
    return found


async def test_a_rule_is_judged_after_every_step(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    assert (await watch(ada, "few"))["type"] == "done"
    await judged(ada, "few", "holds")
    await ada.drive("step", count=READ - 1)
    await ada.drain()
    assert ada.last("invariants")["on"][0]["state"] == "holds"
    await ada.drive("step")
    found = await judged(ada, "few", "violated")
    assert (found["step"], found["sentence"]) == (READ, f"Step {READ} is one too many.")


async def test_what_was_recorded_before_is_judged_too(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("run_until", until={"kind": "step", "step": 3000})
    await watch(ada, "counted")
    await watch(ada, "few")
    assert (await judged(ada, "few", "violated"))["step"] == READ
    await judged(ada, "counted", "holds")


async def test_steps_that_nobody_is_shown_are_judged(run: Run, connect: Connect) -> None:
    """A long run_until goes unwatched; what it has taken is made up for, in the order of the steps."""
    ada = await connect(run)
    await watch(ada, "counted")
    await ada.drive("step", count=7)
    await ada.drive("run_until", until={"kind": "step", "step": 2500})
    await ada.drive("step", count=3)
    await judged(ada, "counted", "holds")
    await ada.drain()
    assert ada.last("invariants")["on"][0]["state"] == "holds"


async def test_a_step_back_and_forth_is_no_new_step(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await watch(ada, "counted")
    await ada.drive("step", count=20)
    await ada.drive("seek", step=4)
    await ada.drain()
    await ada.drive("step", count=17)
    await ada.drain()
    assert ada.last("invariants")["on"][0]["state"] == "holds"


async def test_exactly_once_is_undecided_until_the_end(short_run: Run, connect: Connect) -> None:
    ada = await connect(short_run)
    await watch(ada, "exactly-once")
    await judged(ada, "exactly-once", "undecided")
    await ada.drive("run_until", until={"kind": "end"})
    await judged(ada, "exactly-once", "holds")


async def test_a_branch_is_judged_for_itself(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await watch(ada, "few")
    await ada.drive("step", count=READ + 1)
    await judged(ada, "few", "violated")
    await ada.drive("seek", step=1)
    await ada.drain()
    await ada.drive("command", command={"kind": "checkpoint"})
    branch = ada.last("branched")["run"]
    other = await connect(branch)
    await judged(other, "few", "holds")
    await other.drive("step", count=READ)
    assert (await judged(other, "few", "violated"))["step"] == READ


async def test_what_is_switched_on_stays_on(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await watch(ada, "few")
    await watch(ada, "counted")
    await watch(ada, "few", on=False)
    stored = await in_database(selectors.run_get, run_id=run.pk)
    assert stored.invariants == ["counted"]
    again = await connect(run)
    assert [one["name"] for one in (await again.until("invariants"))["on"]] == ["counted"]


async def test_only_the_owner_switches(run: Run, connect: Connect) -> None:
    ada, bob = await connect(run), await connect(run, "bob")
    assert (await watch(bob, "few"))["code"] == "not_yours"
    await watch(ada, "few")
    await judged(bob, "few", "holds")


@pytest.mark.parametrize("name", ["nothing", "tokens-conserved", "'; drop table"])
async def test_unknown_rules_are_refused(run: Run, connect: Connect, name: str) -> None:
    ada = await connect(run)
    assert (await watch(ada, name))["code"] == "unknown_invariant"
    assert (await ada.drive("step"))["type"] == "done"


async def test_a_rule_that_cannot_be_made_says_why(
    run: Run, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(subject: Any) -> Invariant:
        return engine_rules.exactly_once(lambda: env.get_job_graph("none"))

    env = StreamExecutionEnvironment()
    monkeypatch.setitem(
        engine_rules.INVARIANTS, "few", engine_rules.NamedRule("job", "few", "few", endless)
    )
    ada = await connect(run)
    await watch(ada, "few")
    found = await judged(ada, "few", "refused")
    assert found["sentence"]


def test_a_judgement_ends_with_the_first_violation(lab: Any) -> None:
    recording = recordings.open_recording(
        lab=lab, parameters={"size": 5}, policy="round_robin", quantum=1, seed=1
    )
    judgement = Judgement("few")
    judgement.follow(few_read(None))
    judgement.observe(recording, "")
    while traces := recording.step(1, events=True):
        judgement.observe(recording, traces[0].action)
    assert (judgement.violated, judgement.checked) == (READ, READ)
    assert not judgement.wants(recording.head)


def test_the_rules_of_networks_are_judged_on_networks() -> None:
    """Without channel state a snapshot misses tokens; the right protocol keeps all its promises."""
    spec = load_lab(LABS / "chandy-lamport")
    verdicts = []
    for protocol in (0, 1):
        parameters = spec.parameter_values({"protocol": protocol})
        recording = recordings.open_recording(
            lab=spec, parameters=parameters, policy="script", quantum=1, seed=1
        )
        judged = [Judgement(rule["name"]) for rule in invariants.offered("network")]
        for judgement in judged:
            judgement.follow(engine_rules.INVARIANTS[judgement.name].make(None))
            judgement.observe(recording, "")
        while traces := recording.step(1, events=True):
            for judgement in judged:
                judgement.observe(recording, traces[0].action)
        verdicts.append({one.name: one.state(recording.head) for one in judged})
    assert verdicts[0]["snapshot-conserves"] == verdicts[0]["snapshots-complete"] == "holds"
    assert verdicts[1]["snapshot-conserves"] == "violated"
    assert verdicts[1]["tokens-conserved"] == "holds"
