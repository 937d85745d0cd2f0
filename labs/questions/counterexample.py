"""Counterexample: break a wrong protocol. Any schedule that breaks the rule passes; that there is none is an answer, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.commands import parse_command
from engine.errors import StreamLabError
from engine.explore.invariants import Rule, Watch
from engine.explore.job import JobSystem
from engine.explore.registry import INVARIANTS
from engine.randomness import RandomStream
from labs.questions import explored
from labs.questions.facts import unanswerable
from labs.questions.report import Replay, Report, Told, judged, refused
from labs.questions.scenes import Variant, Work, draw, follow, logged_steps, opened
from labs.questions.spec import Counterexample
from labs.spec import LabSpec
from streamlab.runs import recordings

STEPS_A_PIECE = 4


def vary(lab: LabSpec, question: Counterexample, seed: int) -> Work[Variant]:
    """One of the cases, with parameters. Raises Unanswerable where the explorer has not looked at it."""
    random = RandomStream(seed, f"{lab.slug} {question.id} {question.generator}")
    run_seed, parameters = draw(lab, question, random)
    case = question.cases[random.below(len(question.cases))]
    variant = Variant(
        run_seed, parameters, 0, case.mutant, case.invariant, asked={"kind": "counterexample"}
    )
    found(lab, question, variant)
    yield
    return variant


def found(lab: LabSpec, question: Counterexample, variant: Variant) -> dict[str, Any]:
    """What the explorer found. Raises Unanswerable."""
    name = explored.name_of(lab, question, variant.mutant, variant.invariant, variant.parameters)
    entry: dict[str, Any] | None = explored.load(lab).get(name)
    if entry is None:
        raise unanswerable(
            "Nobody has explored this question yet.",
            question.id,
            f"Run manage.py checklabs --explore {lab.slug}.",
        )
    return entry


def judge(
    lab: LabSpec,
    question: Counterexample,
    variant: Variant,
    answer: Mapping[str, Any],
    rule: Rule | None = None,
) -> Work[Report]:
    """answer: {"log": choices from step 0}, or {"none": True}. rule: the invariant for this job, where somebody has made it."""
    name, of = question.title, question.points
    title = INVARIANTS[variant.invariant].title
    if answer.get("none") is True:
        entry = found(lab, question, variant)
        if entry["result"] == explored.EXHAUSTED:
            sentence = f"Right: there is none. {entry['told']}"
            return judged(name, True, 1, of, sentence)
        return judged(name, False, 0, of, "There is one. Look for it: which order would hurt most?")
    log = answer.get("log")
    if not log or not logged_steps(log):
        return refused("Take a step first: your run is the answer. Or say that there is none.")
    if logged_steps(log) > question.most:
        return refused(
            f"This run has {logged_steps(log)} steps, and at most {question.most} may be used. "
            "Go back to where it is broken, and hand that in."
        )
    factory = recordings.graph_factory(lab, dict(variant.parameters))
    if rule is None:
        rule = INVARIANTS[variant.invariant].make(factory)
    budget = {parse_command(one.command): one.times for one in question.commands}
    protocol = recordings.runtime_of(variant.mutant)
    recording = opened(lab, variant, log)
    results = bool(rule.results)
    system = JobSystem(factory, budget, results, variant.seed, protocol)
    names = {command: action for action, command in system.commands.items()}
    commands = [entry[1] for entry in log if entry[0] == "command"]
    commands.reverse()
    watch, times = Watch([rule]), recordings.times_of(lab)
    memories = watch.start(system)
    told: list[Told] = []
    try:
        while recording.position < logged_steps(log):
            trace = recording.step(1, events=True)[0]
            action = trace.action
            if action == "command":
                command = parse_command(commands.pop())
                if command not in names:
                    return refused(f"Step {trace.step} gives a command that may not be used here.")
                action = names[command]
            told.append(Told(trace.step, recording.narrate(trace, times)))
            system.apply(action)
            memories, broken = watch.observe(memories, system, action)
            broken = broken or watch.judge(system, not system.enabled())
            if broken is not None:
                sentence = f"Broken at step {trace.step}: {broken.sentence}"
                replay = Replay(tuple(log), trace.step, rule=title, sentence=broken.sentence)
                return judged(name, True, 1, of, sentence, steps=tuple(told[-4:]), replay=replay)
            if recording.position % STEPS_A_PIECE == 0:
                yield
    except StreamLabError as error:
        return refused(f"This schedule cannot be used: {error.sentence}")
    ended = not system.enabled()
    sentence = f"“{title}” holds in all {recording.position} steps of this run."
    if not ended:
        sentence += " It has not come to its end yet, where some rules are judged."
    replay = Replay(tuple(log), recording.position, rule=title, sentence=sentence)
    return judged(name, False, 0, of, sentence, steps=tuple(told[-4:]), replay=replay)


def examples(
    lab: LabSpec, question: Counterexample, variant: Variant
) -> Work[tuple[Any, list[Any]]]:
    """(the answer of the explorer, wrong ones). For proofs, never for a page."""
    entry = found(lab, question, variant)
    violated = entry["result"] == explored.VIOLATED
    right = {"log": entry["trace"]} if violated else {"none": True}
    wrong: list[Any] = [{"none": True}] if violated else []
    for plan in question.wrong:
        log = yield from follow(lab, variant, plan, question.most)
        wrong.append({"log": list(log)})
    return right, wrong
