"""What a page asks about its run: why a window has not fired, why a record was late, where a result came from.

A question changes nothing. What takes long runs on a copy, in slices that take turns with all other work; the run may move
meanwhile, and the answer names the step that it is about.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.job_diagram import DiagramSearch
from engine.searches import FiringSearch, LineageSearch
from streamlab.runs import recordings
from streamlab.runs.errors import RunError
from streamlab.runs.messages import moment_of, window_of
from streamlab.runs.slices import Pace

if TYPE_CHECKING:
    from streamlab.runs.live import LiveRun

SEARCH_STEPS = 512
"""In one slice at most: these steps are taken with events."""
ELEMENTS_MAX = 2000

Answer = dict[str, Any]


async def explain(live: "LiveRun", *, subtask: str, key: str, window: Any) -> Answer:
    """Raises what the engine has against the question."""
    span = window_of(window)
    assert span is not None
    async with live.lock:
        recording = recordings.of_job(await live.ensure())
        answer = {
            "step": recording.position,
            "facts": facts(recording.explain_window(subtask, key, span, live.times)),
        }
        async with live.registry.turns.turn():
            search = FiringSearch(recording, subtask, key, span)
    await finish(live, search)
    return {**answer, "steps": search.steps}


async def explain_late(live: "LiveRun", *, subtask: str, timestamp: Any, watermark: Any) -> Answer:
    then, reached = moment_of(timestamp), moment_of(watermark)
    assert then is not None
    assert reached is not None
    async with live.lock:
        recording = recordings.of_job(await live.ensure())
        told = recording.explain_late(subtask, then, reached, live.times)
        return {"step": recording.position, "facts": facts(told), "steps": None}


async def lineage(live: "LiveRun", *, element: str) -> Answer:
    async with live.lock:
        recording = recordings.of_job(await live.ensure())
        step = recording.position
        async with live.registry.turns.turn():
            search = LineageSearch(recording)
    await finish(live, search)
    origins = search.origins(element)
    if not origins:
        raise RunError("unknown_element", place="lineage.element", element=element[:80])
    return {
        "step": step,
        "element": element,
        "origins": [origin._asdict() for origin in origins],
        "elements": search.elements(element)[:ELEMENTS_MAX],
    }


async def space_time(live: "LiveRun", *, checkpoint: int | None) -> Answer:
    async with live.lock:
        recording = recordings.of_job(await live.ensure())
        step = recording.position
        async with live.registry.turns.turn():
            search = DiagramSearch(recording, checkpoint)
    await finish(live, search)
    return {"step": step, **search.answer()}


def facts(told: Sequence[Any]) -> list[Answer]:
    return [fact._asdict() for fact in told]


async def finish(live: "LiveRun", search: FiringSearch | LineageSearch | DiagramSearch) -> None:
    pace = Pace()  # its own: steps with events take longer than others
    done = False
    while not done:
        async with pace.slice(live.registry.turns, SEARCH_STEPS) as steps:
            done = search.slice(steps)
