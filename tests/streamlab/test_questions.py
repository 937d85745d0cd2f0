"""Questions about a run: they are answered at the step where they are asked, and change nothing."""

import asyncio
from typing import Any

import pytest

from streamlab.runs import questions
from streamlab.runs.models import Run
from streamlab.runs.registry import registry as shared_registry
from streamlab.runs.slices import SLICE_SECONDS, Pace
from tests.streamlab.conftest import Connect, Socket, in_database, replay

STEP_SECONDS = SLICE_SECONDS / 20


async def ask(socket: Socket, kind: str, **fields: Any) -> dict[str, Any]:
    """The answer, or the error."""
    ref = await socket.send(kind, **fields)
    return await socket.until(
        lambda message: (
            message["type"] in ("explanation", "lineage", "space_time", "error")
            and message["ref"] == ref
        )
    )


async def answer_to(socket: Socket, ref: int) -> dict[str, Any]:
    """What came for this ref, or comes."""
    came = (message for message in socket.got if message.get("ref") == ref)
    return next(came, None) or await socket.until(lambda message: message.get("ref") == ref)


async def open_window(socket: Socket) -> dict[str, Any]:
    """Step until a window is open, and name it as the page does."""
    for _ in range(40):
        await socket.drive("step")
        puts = [e for e in socket.steps[socket.position]["events"] if e["e"] == "StatePut"]
        if puts:
            return {name: puts[0][name] for name in ("subtask", "key", "window")}
    raise AssertionError("no window was opened")


async def test_why_a_window_has_not_fired(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    window = await open_window(ada)
    position = ada.position
    answer = await ask(ada, "explain", **window)
    assert answer["type"] == "explanation"
    assert answer["step"] == position
    first = answer["facts"][0]
    start, end = window["window"]
    assert (first["kind"], first["id"]) == (
        "window",
        f"{window['subtask']}/{window['key']}/{start}:{end}",
    )
    assert "19:00" in first["sentence"]  # the zone of the lab, five hours behind the epoch
    assert {fact["kind"] for fact in answer["facts"]} >= {"window", "subtask", "split"}
    assert ada.position == position
    until = {"kind": "step", "step": position + answer["steps"]}
    await ada.drive("run_until", until=until)
    fired = [e for e in ada.steps[ada.position]["events"] if e["e"] == "WindowFired"]
    assert window["key"] in [event["key"] for event in fired]


async def test_a_firing_that_is_too_far_away_has_no_number_of_steps(
    run: Run, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions.FiringSearch.__init__, "__defaults__", (3,))
    ada = await connect(run)
    assert (await ask(ada, "explain", **await open_window(ada)))["steps"] is None


async def test_why_a_record_was_late(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("step", count=60)
    answer = await ask(ada, "explain_late", subtask="window[0]", timestamp=100, watermark=1999)
    assert answer["type"] == "explanation"
    assert answer["steps"] is None
    told = " ".join(fact["sentence"] for fact in answer["facts"])
    assert "belongs to" in told
    assert "Kept" in told


async def test_where_a_result_came_from(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    until = {"kind": "window_fires"}
    await ada.drive("run_until", until=until)
    emitted = [
        event["element"]
        for event in ada.steps[ada.position]["events"]
        if event["e"] == "ElementEmitted" and event["element"]["kind"] == "record"
    ]
    answer = await ask(ada, "lineage", element=emitted[0]["id"])
    assert answer["element"] == emitted[0]["id"]
    offsets = [origin["offset"] for origin in answer["origins"]]
    assert offsets == [offsets[0] % 3 + 3 * i for i in range(len(offsets))]
    assert sum(offsets) == int(emitted[0]["text"])
    assert {origin["split"] for origin in answer["origins"]} == {"source[0]/collection"}
    assert all(">" in element for element in answer["elements"])
    assert answer["elements"]


async def test_a_result_in_a_sink_is_named_by_its_index(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("step", count=100)
    written = next(
        event
        for step in ada.steps.values()
        for event in step["events"]
        if event["e"] == "ResultWritten"
    )
    answer = await ask(ada, "lineage", element=f"{written['subtask']}#{written['index']}")
    assert sum(origin["offset"] for origin in answer["origins"]) == int(written["text"])


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        ("explain", {"subtask": "nobody[0]", "key": "0", "window": [0, 1000]}, "unknown_subtask"),
        ("explain", {"subtask": "sink[0]", "key": "0", "window": [0, 1000]}, "no_window"),
        ("explain", {"subtask": "window[0]", "key": "0", "window": [1000, 0]}, "bad_field"),
        ("explain", {"subtask": "window[0]", "key": "0", "window": [0, "soon"]}, "bad_field"),
        ("explain", {"subtask": "window[0]", "key": "0", "window": [True, 5]}, "bad_field"),
        ("explain", {"subtask": "window[0]", "key": "", "window": [0, 5]}, "bad_field"),
        ("explain_late", {"subtask": "nobody[0]", "timestamp": 1, "watermark": 2}, "unknown_subtask"),
        ("explain_late", {"subtask": "window[0]", "timestamp": 0.5, "watermark": 2}, "bad_field"),
        ("explain_late", {"subtask": "window[0]", "timestamp": 1, "watermark": "9" * 30}, "bad_field"),
        ("lineage", {"element": "source[0]>window[0]:99"}, "unknown_element"),
        ("lineage", {"element": 7}, "bad_field"),
        ("lineage", {}, "bad_field"),
    ],
)  # fmt: skip
async def test_questions_that_cannot_be_answered(
    run: Run, connect: Connect, kind: str, fields: dict[str, Any], code: str
) -> None:
    ada = await connect(run)
    answer = await ask(ada, kind, **fields)
    assert (answer["type"], answer["code"]) == ("error", code)
    assert answer["sentence"]
    assert answer["mend"]
    assert (await ada.drive("step"))["type"] == "done"


async def test_the_ends_of_event_time_are_understood(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    fields = {"subtask": "window[0]", "key": "0", "window": ["-inf", "9223372036854775808"]}
    assert "is not open" in (await ask(ada, "explain", **fields))["facts"][0]["sentence"]
    fields = {"subtask": "window[0]", "timestamp": 5, "watermark": "+inf"}
    assert (await ask(ada, "explain_late", **fields))["facts"]


async def test_whoever_watches_may_ask(run: Run, connect: Connect) -> None:
    ada, ben = await connect(run, "ada"), await connect(run, "ben")
    window = await open_window(ada)
    answer = await ask(ben, "explain", **window)
    assert answer["type"] == "explanation"
    assert answer["steps"] > 0


async def test_a_long_run_refuses_lineage_in_the_engines_words(
    run: Run, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions.LineageSearch.__init__, "__defaults__", (10,))
    ada = await connect(run)
    await ada.drive("step", count=11)
    answer = await ask(ada, "lineage", element="source[0]>window[0]:0")
    assert answer["code"] == "lineage_too_long"
    assert answer["mend"] == "Ask at an earlier step."


async def test_a_question_is_answered_while_the_run_goes_on(run: Run, connect: Connect) -> None:
    """The search works on a copy in short slices: the run is stepped between them, one question at a time is asked."""
    ada = await connect(run)
    await ada.drive("step", count=20)
    element = next(
        event["element"]["id"]
        for step in ada.steps.values()
        for event in step["events"]
        if event["e"] == "ElementEmitted"
    )
    await ada.drive("run_until", until={"kind": "step", "step": 3000})
    first = await ada.send("lineage", element=element)
    second = await ada.send("lineage", element=element)
    assert (await ada.drive("step"))["type"] == "done"
    assert (await answer_to(ada, second))["code"] == "still_asking"
    assert (await answer_to(ada, first))["step"] == 3000
    assert ada.position == 3001


async def test_slices_are_short(
    run: Run, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop comes round between any two slices of a long search, and a slice takes no more steps than fit into it.

    Time is counted in steps here, so that a busy machine changes nothing.
    """
    ada = await connect(run)
    await ada.drive("run_until", until={"kind": "step", "step": 6000})
    await ada.drain()
    recording = await in_database(replay, run=await Run.objects.aget(pk=run.pk))
    recording.seek(6000)

    class Live:
        registry = shared_registry()

    class Counted(questions.LineageSearch):
        seconds = 0.0
        slices: list[tuple[int, int]] = []  # (steps, how often the loop had come round)

        def slice(self, steps: int) -> bool:
            self.slices.append((steps, rounds))
            Counted.seconds += steps * STEP_SECONDS
            return super().slice(steps)

    rounds = 0

    async def watch() -> None:
        nonlocal rounds
        while True:
            await asyncio.sleep(0)
            rounds += 1

    monkeypatch.setattr(questions, "Pace", lambda: Pace(clock=lambda: Counted.seconds))
    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await questions.finish(Live(), Counted(recording))  # type: ignore[arg-type]
    watcher.cancel()
    assert sum(steps for steps, _ in Counted.slices) >= 6000
    # The first slice is a guess; after it a slice holds what was measured to fit.
    assert all(steps * STEP_SECONDS <= SLICE_SECONDS for steps, _ in Counted.slices[1:])
    assert all(
        one[1] < two[1] for one, two in zip(Counted.slices, Counted.slices[1:], strict=False)
    )


async def test_a_checkpoint_is_answered_as_a_space_time_diagram(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    empty = await ask(ada, "space_time")
    assert (empty["arrows"], empty["cuts"], empty["checkpoint"]) == ([], [], None)
    await ada.drive("step", count=20)
    await ada.drive("command", command={"kind": "checkpoint"})
    await ada.drive("run_until", until={"kind": "checkpoint_completes"})
    position = ada.position
    answer = await ask(ada, "space_time", checkpoint=1)
    assert (answer["step"], answer["to"], answer["checkpoint"]) == (position, position, 1)
    [cut] = answer["cuts"]
    assert set(cut["points"]) == set(answer["lanes"])
    barriers = [arrow for arrow in answer["arrows"] if arrow["kind"] == "barrier"]
    assert {arrow["checkpoint"] for arrow in barriers} == {1}
    assert (await ask(ada, "space_time", checkpoint=0))["code"] == "bad_field"
    assert ada.position == position
