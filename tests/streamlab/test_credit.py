"""Outgoing frames: credit, coalescing, frame rate. And what a client gets when it comes back."""

import asyncio
from typing import Any

import orjson
import pytest

from streamlab.runs import outbox as outboxes
from streamlab.runs.models import Run
from streamlab.runs.outbox import Batch, Outbox, Step
from streamlab.runs.registry import registry
from tests.streamlab.conftest import (
    Connect,
    eventually,
    in_database,
    replay,
    traces_of,
    without_say,
)


class Reader:
    """Stands for a socket: keeps what an outbox sends."""

    def __init__(self, credit: int) -> None:
        self.frames: list[dict[str, Any]] = []
        self.sent_at: list[float] = []
        self.position = 0
        self.marks: list[Any] = []
        self.outbox = Outbox(
            send=self.send, view=self.view, marks=lambda: self.marks, credit=credit
        )

    async def send(self, frame: str) -> None:
        self.frames.append(orjson.loads(frame))
        self.sent_at.append(self.outbox.sent_at)

    async def view(self, outbox: Outbox) -> str:
        frame = f'{{"type": "view", "step": {self.position}, "why": "{outbox.view_wanted}"}}'
        outbox.view_taken()
        return frame

    def happen(self, *costs: int) -> None:
        """Steps with so many events become visible."""
        steps = []
        for cost in costs:
            self.position += 1
            number = self.position
            steps.append(Step(number, cost, "", orjson.dumps({"step": number, "cost": cost})))
        self.outbox.put_batch(Batch(steps, self.position, self.position, b'{"possible": []}'))

    @property
    def spans(self) -> list[Any]:
        return [
            (frame["from"], frame["to"]) if frame["type"] == "steps" else frame["type"]
            for frame in self.frames
        ]


async def test_a_frame_ends_with_the_step_that_uses_up_the_credit() -> None:
    reader = Reader(credit=7)
    reader.happen(3, 3, 3, 3)
    await reader.outbox.flush()
    assert reader.spans == [(0, 3)]
    assert reader.frames[0]["actions"] is None  # they describe step 4
    assert reader.outbox.credit == -2
    reader.outbox.grant(2)
    await reader.outbox.flush()
    assert reader.spans == [(0, 3)]
    reader.outbox.grant(1)
    await reader.outbox.flush()
    assert reader.spans == [(0, 3), (3, 4)]
    assert reader.frames[1]["actions"] == {"possible": []}


async def test_batches_that_wait_leave_as_one_frame() -> None:
    reader = Reader(credit=100)
    reader.happen(1)
    reader.happen(1, 1)
    reader.happen()
    await reader.outbox.flush()
    assert reader.spans == [(0, 3)]


async def test_a_reader_far_behind_gets_one_view_instead() -> None:
    reader = Reader(credit=1)
    for _ in range(1000):
        reader.happen(5)
        await reader.outbox.flush()
    assert reader.spans == [(0, 1)]
    assert len(reader.outbox.items) == 0
    reader.marks = [[1, "fired", ""]]
    reader.outbox.grant(100)
    await reader.outbox.flush()
    assert reader.spans == [(0, 1), "view", "marks"]
    assert reader.frames[1] == {"type": "view", "step": 1000, "why": "catch-up"}
    reader.happen(1)
    await reader.outbox.flush()
    assert reader.spans[-1] == (1000, 1001)
    assert reader.frames[-1]["marks"] == []  # sent with the view


async def test_answers_do_not_overtake_the_steps_before_them() -> None:
    reader = Reader(credit=1)
    reader.happen(2)
    reader.happen(2)
    reader.outbox.put_frame('{"type": "done"}')
    await reader.outbox.flush()
    assert reader.spans == [(0, 1)]
    reader.outbox.grant(10)
    await reader.outbox.flush()
    assert reader.spans == [(0, 1), (1, 2), "done"]


async def test_what_waits_is_bounded() -> None:
    reader = Reader(credit=0)
    for _ in range(1000):
        reader.happen(1)
        reader.outbox.put_frame('{"type": "status"}')
    assert len(reader.outbox.items) <= outboxes.FRAMES_WAITING_MAX


async def test_frames_keep_their_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many batches come, and however slow the machine is: it can only lengthen a distance."""
    monkeypatch.setattr(outboxes, "FRAME_SECONDS", 0.1)
    reader = Reader(credit=1000)
    task = asyncio.create_task(reader.outbox.run())
    for _ in range(50):
        reader.happen(1)
        await asyncio.sleep(0)
    await eventually(lambda: reader.spans and reader.spans[-1][1] == 50)
    task.cancel()
    assert 2 <= len(reader.frames) < 20
    pairs = zip(reader.sent_at, reader.sent_at[1:], strict=False)
    assert all(later - earlier > 0.099 for earlier, later in pairs)
    assert reader.spans[0][0] == 0
    assert reader.spans[-1][1] == 50
    assert all(one[1] == two[0] for one, two in zip(reader.spans, reader.spans[1:], strict=False))


# ---- over the socket -----------------------------------------------------------------------------


async def test_a_client_that_grants_nothing_gets_one_fresh_view(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    slow = await connect(run, credit=1)  # spent on its first view
    await slow.drain()
    assert slow.steps == {}
    for _ in range(10):
        await ada.drive("step")
    assert await slow.silence()
    await slow.send("credit", n=100)
    view = await slow.until("view")
    assert (view["step"], view["why"]) == (10, "catch-up")
    await ada.drive("step")
    await slow.until("steps")
    assert slow.position == 11


async def test_resume_sends_exactly_the_missing_steps(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("step", count=200)
    await ada.drive("command", command={"kind": "checkpoint"})
    await ada.drive("step", count=100)
    await ada.close()
    again = await connect(run, have=40)
    await again.until("steps")
    assert again.position == 301
    every = await in_database(replay, run=await Run.objects.aget(pk=run.pk))
    traces = traces_of(every)
    assert without_say(again.steps) == {step: traces[step] for step in range(41, 302)}
    assert again.last("steps")["actions"]["possible"]
    assert again.marks == ada.marks == every.marks


async def test_resume_with_nothing_missing_sends_the_actions(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("step", count=3)
    again = await connect(run, have=3)
    frame = await again.until("steps")
    assert (frame["from"], frame["to"], frame["steps"]) == (3, 3, [])
    assert frame["actions"]["possible"]


async def test_resume_from_afar_or_from_the_future_is_a_view(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("run_until", until={"kind": "step", "step": 2000})
    for have in (0, 1499, 2001):
        again = await connect(run, have=have)
        view = await again.until("view")
        assert (view["step"], view["why"]) == (2000, "resume")


async def test_a_client_that_vanished_while_playing_misses_nothing(
    run: Run, connect: Connect
) -> None:
    other = await connect(run)  # keeps the run playing
    ada = await connect(run)
    await ada.drive("play", rate=64)
    await ada.until(lambda message: message["type"] == "steps" and message["to"] >= 5)
    await ada.close()
    have = ada.position
    await other.until(lambda message: message["type"] == "steps" and message["to"] >= have + 10)
    again = await connect(run, have=have)
    await again.until(lambda message: message["type"] == "steps" and message["to"] >= have + 15)
    await again.drive("pause")
    assert sorted(ada.steps | again.steps) == list(range(1, again.position + 1))


async def test_views_of_a_run_in_motion_join_its_steps(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("play", rate=64)
    for _ in range(10):
        late = await connect(run, "bob")
        start = late.position
        await late.until("steps")  # Socket asserts that they continue where the view ended
        assert late.position > start


async def test_what_comes_over_the_wire_is_what_the_engine_says(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("step", count=150)
    every = await in_database(replay, run=await Run.objects.aget(pk=run.pk))
    assert without_say(ada.steps) == traces_of(every)
    assert registry().runs[run.pk].recording.log == every.log
