"""The browser's fold equals the engine's view, for generated jobs, schedules and faults.

Every step is encoded as the socket encodes it, and folded by static/js/apply_event.js: once step by step, once as a
single batch. Both have to give the view that the server would send.
"""

import json
import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

from engine import ImpossibleAction, Policy, Recording
from streamlab.runs import protocol
from tests.engine.event_time.event_time_jobs import event_time_specs, make_event_time_job
from tests.engine.jobs import POLICIES, commands, job_specs, make_job
from tests.engine.loops import loop_specs, make_loop

EXAMPLES = int(os.environ.get("STREAMLAB_FOLD_EXAMPLES", "25"))
PLANS = st.lists(st.tuples(st.integers(0, 40), commands()), max_size=4)
FOLD = """async (trace) => {
    const {start, steps, views} = JSON.parse(trace);
    const { applySteps } = await import("/js/apply_event.js");
    const first = JSON.stringify(start);
    let view = start;
    for (const step of steps) {
        view = applySteps(view, [step]);
        const found = difference(view, views[step.step], `step ${step.step}`);
        if (found) return found;
    }
    if (JSON.stringify(start) !== first) return "the first view was changed";
    return difference(applySteps(start, steps), view, "batch");

    function difference(a, b, at) {
        if (Object.is(a, b)) return null;
        if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return `${at}: ${JSON.stringify(a)} is not ${JSON.stringify(b)}`;
        for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
            const found = difference(a[name], b[name], `${at} ${name}`);
            if (found) return found;
        }
        return null;
    }
}"""
"""Null, or where the folded view and the engine's differ first."""


def record(recording: Recording, plan: list[tuple[int, dict[str, Any]]]) -> str:
    """{start, steps, views} as JSON: every step, and the view at each."""
    start, steps, views = wire(recording.view()), [], {}

    def add(trace: Any) -> None:
        steps.append(json.loads(protocol.encode_step(trace.step, trace.action, "", trace.events)))
        views[trace.step] = wire(recording.view())

    for count, command in [*plan, (250, None)]:
        for _ in range(count):
            for trace in recording.step(1, events=True):
                add(trace)
        try:
            if command is not None:
                add(recording.apply(command))
        except ImpossibleAction:
            continue
    return json.dumps({"start": start, "steps": steps, "views": views})


def wire(value: Any) -> Any:
    return json.loads(protocol.dumps(protocol.clean(value)))


LAW = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@LAW
@given(job_specs(), POLICIES, st.integers(0, 5), PLANS)
def test_the_browser_folds_events_to_the_engines_view(
    modules: Page, spec: Any, policy: Any, seed: int, plan: Any
) -> None:
    trace = record(Recording(make_job(spec), Policy(*policy), seed), plan)
    assert modules.evaluate(FOLD, trace) is None


@LAW
@given(event_time_specs(), POLICIES, st.integers(0, 5), PLANS)
def test_it_does_so_with_everything_that_event_time_has(
    modules: Page, spec: Any, policy: Any, seed: int, plan: Any
) -> None:
    """Statuses, waits, sessions that merge, timers on both clocks, paused splits."""
    trace = record(Recording(make_event_time_job(spec), Policy(*policy), seed), plan)
    assert modules.evaluate(FOLD, trace) is None


@LAW
@given(loop_specs(), POLICIES, st.integers(0, 5), PLANS)
def test_it_does_so_with_loops(modules: Page, spec: Any, policy: Any, seed: int, plan: Any) -> None:
    """Probes, channels that lead back, and checkpoints that wait for them."""
    trace = record(Recording(make_loop(spec), Policy(*policy), seed), plan)
    assert modules.evaluate(FOLD, trace) is None


def test_an_event_that_the_page_does_not_know_is_named(modules: Page) -> None:
    complaint = modules.evaluate("""async () => {
        const { applyEvent } = await import("/js/apply_event.js");
        try { applyEvent({}, {e: "Teleported"}); } catch (error) { return error.message; }
    }""")
    assert complaint == "This page does not know the event Teleported."


PHASES = """async (trace) => {
    const { start, steps } = JSON.parse(trace);
    const [{ applySteps }, { startTrail, followTrail }, snapshots] = await Promise.all(
        ["apply_event", "trail", "snapshots"].map((name) => import(`/js/${name}.js`)));
    let [view, trail] = [start, startTrail(0)];
    for (const step of steps) {
        [view, trail] = [applySteps(view, [step]), followTrail(trail, [step])];
        for (const [number, one] of Object.entries(view.checkpoints)) {
            const last = one.ended ?? view.step;
            for (const [id, part] of Object.entries(one.subtasks)) {
                const phases = snapshots.phasesOf(view, number, id);
                const where = `step ${view.step}, ${number} of ${id}`;
                if (phases[0].from !== one.triggered) return `${where} begins at ${phases[0].from}`;
                for (const { kind, from, to, sentence } of phases) {
                    if (!(one.triggered <= from && from <= to && to <= Math.max(last, from))) return `${where}: ${kind} from ${from} to ${to}`;
                    if (/null|undefined|NaN/.test(sentence)) return `${where}: ${sentence}`;
                }
                const acked = phases.at(-1).kind === "answer" ? phases.at(-1).to : null;
                if (part.status === "acknowledged" && part.acknowledged <= last && acked !== part.acknowledged) return `${where}: acknowledged at ${acked}`;
                if (!snapshots.partWord(view, number, id)) return `${where} has no word`;
            }
        }
        const saved = snapshots.savedElements(view, trail);
        if (saved.size && !snapshots.inProgress(view).length) return `step ${view.step}: elements are saved for nothing`;
        for (const event of step.events) {
            if (event.e !== "ElementsSaved" || !view.checkpoints[event.checkpoint] || view.checkpoints[event.checkpoint].status !== "triggered") continue;
            for (const id of event.elements) if (!saved.has(id)) return `step ${view.step}: ${id} is not marked`;
        }
    }
    return null;
}"""
"""Null, or where the phases of a part are out of order."""


@LAW
@given(job_specs(), POLICIES, st.integers(0, 5), PLANS)
def test_the_phases_of_every_part_lie_between_trigger_and_end(
    modules: Page, spec: Any, policy: Any, seed: int, plan: Any
) -> None:
    trace = record(Recording(make_job(spec), Policy(*policy), seed), plan)
    assert modules.evaluate(PHASES, trace) is None
