"""The websocket of a run: every message, in the order in which a browser sends them."""

from typing import Any

from streamlab.runs import selectors
from streamlab.runs.models import LogEntry, Run
from tests.streamlab.conftest import (
    Connect,
    Socket,
    eventually,
    in_database,
    replay,
    traces_of,
    view_at,
    without_say,
)


async def stored(run: Run) -> Run:
    return await Run.objects.aget(pk=run.pk)


async def log_of(run: Run) -> list[Any]:
    return await in_database(selectors.run_log, run=await stored(run))


async def replayed(run: Run) -> Any:
    return await in_database(replay, run=await stored(run))


def choices(socket: Socket) -> tuple[str, str]:
    """(the policy's next action, another one that is possible)."""
    frame = next(message for message in reversed(socket.got) if message.get("actions"))
    possible = frame["actions"]["possible"]
    default = next(action["id"] for action in possible if action["default"])
    return default, next(action["id"] for action in possible if not action["default"])


async def test_hello_is_answered_with_welcome_marks_view_and_status(
    run: Run, connect: Connect
) -> None:
    ada = await connect(run)
    await ada.until("status")
    assert [message["type"] for message in ada.got] == ["welcome", "marks", "view", "status"]
    welcome = ada.welcome
    assert welcome["protocol"] == 1
    assert welcome["run"]["id"] == run.pk
    assert welcome["run"]["mine"] is True
    assert welcome["run"]["branches"] == [
        {"id": run.pk, "parent": None, "fork_step": 0, "head": 0, "title": "Counting"}
    ]
    assert welcome["time_zone_minutes"] == -300
    assert welcome["parameters"] == {"size": 10_000}
    view = ada.last("view")
    assert (view["step"], view["head"], view["why"], view["say"]) == (0, 0, "start", "")
    assert view["view"] == view_at(await replayed(run), 0)
    assert view["view"]["subtasks"]["window[0]"]["watermark"] == "-inf"
    assert view["actions"]["possible"][0]["id"] == "read:source[0]/collection"
    assert {command["kind"] for command in view["actions"]["commands"]} == {
        "checkpoint",
        "savepoint",
        "stop",
        "refuse_upload",
        "fail",
        "rescale",
        "rescale_from_checkpoint",
    }
    assert ada.last("status")["state"] == "paused"


async def test_a_step_is_stored_before_it_is_shown(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    assert (await ada.drive("step"))["type"] == "done"
    frame = ada.last("steps")
    assert (frame["from"], frame["to"], frame["head"]) == (0, 1, 1)
    assert frame["steps"][0]["action"] == "read:source[0]/collection"
    assert frame["steps"][0]["events"][0]["e"] == "RecordRead"
    assert frame["steps"][0]["say"].startswith("source[0] read 0")
    assert frame["actions"]["possible"]
    assert (await stored(run)).head == 1
    assert (await ada.drive("step", count=5))["type"] == "done"
    assert ada.position == ada.head == 6
    assert sorted(ada.steps) == [1, 2, 3, 4, 5, 6]
    assert await log_of(run) == [["policy", 6]]
    assert await LogEntry.objects.acount() == 0  # the head alone says it
    assert without_say(ada.steps) == traces_of(await replayed(run))


async def test_choices_and_commands_are_rows(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("step", count=2)
    _, other = choices(ada)
    assert (await ada.drive("choose", action=other))["type"] == "done"
    await ada.drive("step")
    assert (await ada.drive("command", command={"kind": "checkpoint"}))["type"] == "done"
    assert await log_of(run) == [
        ["policy", 2],
        ["action", other],
        ["policy", 1],
        ["command", {"kind": "checkpoint"}],
    ]
    assert await LogEntry.objects.acount() == 4
    recording = await replayed(run)
    assert ada.marks == recording.marks != []
    assert without_say(ada.steps) == traces_of(recording)


async def test_an_impossible_choice_is_refused_and_changes_nothing(
    run: Run, connect: Connect
) -> None:
    ada = await connect(run)
    error = await ada.drive("choose", action="restart")
    assert error["type"] == "error"
    assert error["sentence"].endswith(".")
    assert error["mend"]
    error = await ada.drive("command", command={"kind": "fail", "subtask": "window[9]"})
    assert "window[9]" in error["sentence"] + error["place"]
    error = await ada.drive(
        "command", command={"kind": "rescale", "operator": "window", "parallelism": 1000}
    )
    assert error["sentence"].endswith(".")
    assert (await ada.drive("step"))["type"] == "done"
    assert ada.position == 1


async def test_seeking_moves_the_position_and_stepping_follows_the_recorded_future(
    run: Run, connect: Connect
) -> None:
    ada = await connect(run)
    await ada.drive("step", count=10)
    first = dict(ada.steps)
    await ada.send("seek", step=3)
    view = await ada.until("view")
    assert (view["step"], view["head"], view["why"]) == (3, 10, "seek")
    assert view["say"] == first[3]["say"]
    assert view["view"] == view_at(await replayed(run), 3)
    await ada.until("done")
    ada.steps.clear()
    await ada.drive("step", count=4)
    assert ada.steps == {step: first[step] for step in (4, 5, 6, 7)}
    assert (ada.position, ada.head) == (7, 10)
    error = await ada.drive("seek", step=11)
    assert error["code"] == "outside"
    assert error["sentence"] == "Step 11 lies outside this run, which has 10 steps."


async def test_acting_in_the_past_makes_a_branch_and_keeps_the_old_future(
    run: Run, connect: Connect
) -> None:
    ada = await connect(run)
    await ada.drive("step", count=5)
    await ada.drive("seek", step=2)
    recorded, other = choices(ada)
    assert recorded == ada.steps[3]["action"]
    assert (await ada.drive("choose", action=recorded))["type"] == "done"
    assert (ada.position, ada.head) == (3, 5)  # the recorded choice is no branch
    await ada.drive("seek", step=2)
    assert (await ada.drive("choose", action=other))["type"] == "done"
    branched = ada.last("branched")
    assert branched["step"] == 2
    child = await Run.objects.aget(pk=branched["run"])
    assert (child.parent_id, child.root_id, child.fork_step, child.head) == (run.pk, run.pk, 2, 3)
    assert child.visitor == "ada"
    assert await log_of(child) == [["policy", 2], ["action", other]]
    assert await log_of(run) == [["policy", 5]]

    there = await connect(child)
    assert (there.position, there.head) == (3, 3)
    assert [member["id"] for member in there.welcome["run"]["branches"]] == [run.pk, child.pk]
    await there.drive("step", count=2)
    await there.drive("seek", step=1)
    await there.drive("command", command={"kind": "checkpoint"})
    grandchild = await Run.objects.aget(pk=there.last("branched")["run"])
    assert (grandchild.parent_id, grandchild.root_id) == (child.pk, run.pk)
    assert await log_of(grandchild) == [["policy", 1], ["command", {"kind": "checkpoint"}]]


async def test_an_impossible_branch_is_not_made(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("step", count=5)
    await ada.drive("seek", step=2)
    assert (await ada.drive("choose", action="restart"))["type"] == "error"
    assert await Run.objects.acount() == 1


async def test_play_pause_and_rate(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("play", rate=64)
    assert ada.last("status")["state"] == "playing"
    await ada.until(lambda message: message["type"] == "steps" and message["to"] >= 8)
    assert ada.last("steps")["actions"] is None
    await ada.send("rate", rate=4)
    await ada.until(lambda message: message["type"] == "status" and message["rate"] == 4)
    assert (await ada.drive("pause"))["type"] == "done"
    status = ada.last("status")
    assert (status["state"], status["why"], status["position"]) == (
        "paused",
        "paused",
        ada.position,
    )
    assert ada.last("steps")["actions"]["possible"]
    assert sorted(ada.steps) == list(range(1, ada.position + 1))
    assert await ada.silence()
    assert (await stored(run)).head == ada.position


async def test_play_as_fast_as_the_reader_grants(run: Run, connect: Connect) -> None:
    ada = await connect(run, credit=50)
    await ada.drive("play", rate=1000)
    await ada.until(lambda message: message["type"] == "steps" and message["to"] >= 10)
    await ada.drain()
    *before, last = [len(step["events"]) for step in ada.steps.values()]
    assert 1 + sum(before) < 50 <= 1 + sum(before) + last  # it ends with a whole step
    assert (await stored(run)).head < 3000  # it waits for its reader
    await ada.send("credit", n=100_000)
    await ada.until(lambda message: message["type"] == "steps" and message["to"] >= 500)
    await ada.drive("pause")
    assert sorted(ada.steps) == list(range(1, ada.position + 1))


async def test_playing_ends_where_nothing_more_can_happen(short_run: Run, connect: Connect) -> None:
    ada = await connect(short_run)
    await ada.send("play", rate=64)
    status = await ada.until(
        lambda message: (
            message["type"] == "status" and message["state"] == "paused" and message["why"]
        )
    )
    assert status["why"] == "nothing more can happen"
    assert (await in_database(replay, run=await stored(short_run))).step() == []
    assert (await ada.drive("step"))["code"] == "nothing_possible"


async def test_a_command_while_playing_counts_where_the_run_is(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.send("play", rate=64)
    await ada.until(lambda message: message["type"] == "steps" and message["to"] >= 4)
    answer = await ada.drive("command", position=1, head=1, command={"kind": "checkpoint"})
    assert answer["type"] == "done"
    await ada.drive("pause")
    assert [mark[1] for mark in ada.marks][:1] == ["checkpoint_triggered"]
    assert sorted(ada.steps) == list(range(1, ada.position + 1))


async def test_run_until_over_a_short_way_shows_each_step(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    assert (await ada.drive("run_until", until={"kind": "step", "step": 150}))["type"] == "done"
    assert sorted(ada.steps) == list(range(1, 151))
    assert ada.last("status")["why"] == "step 150 is reached"
    assert ada.last("steps")["actions"]["possible"]
    assert (await stored(run)).head == 150


async def test_run_until_over_a_long_way_shows_the_end(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    assert (await ada.drive("run_until", until={"kind": "step", "step": 5000}))["type"] == "done"
    assert ada.last("view")["step"] == 5000
    assert ada.steps == {}
    row = await stored(run)
    assert (row.head, row.position, len(row.digests)) == (5000, 5000, 5)
    assert ada.last("view")["view"] == view_at(await replayed(run), 5000)
    assert ada.marks == (await replayed(run)).marks


async def test_run_until_stops_at_its_limit_and_on_pause(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.send("run_until", head=0, position=0, until={"kind": "late_record"})
    await ada.until(lambda message: message["type"] == "status" and message["state"] == "running")
    await ada.drive("pause")
    assert ada.last("status")["why"] == "paused"
    await ada.drain()
    await ada.drive("run_until", until={"kind": "late_record"})
    assert ada.last("status")["why"] == "it did not happen within 20,000 steps"


async def test_ping(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    assert (await ada.answer(await ada.send("ping")))["type"] == "pong"


async def test_the_position_is_saved_when_the_owner_leaves(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("step", count=10)
    await ada.drive("seek", step=4)
    await ada.close()
    assert (await stored(run)).position == 4


async def test_a_run_stops_playing_when_its_owner_leaves(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("play", rate=20)
    await ada.until("steps")
    await ada.close()
    head = (await stored(run)).head
    bob = await connect(run, "bob")
    await bob.drain()
    assert bob.head == head == (await stored(run)).head


async def test_a_stranger_watches_but_does_not_drive(run: Run, connect: Connect) -> None:
    ada, bob = await connect(run), await connect(run, "bob")
    assert bob.welcome["run"]["mine"] is False
    for kind, fields in {
        "step": {},
        "choose": {"action": "read:a"},
        "command": {"command": {"kind": "checkpoint"}},
        "play": {"rate": 1},
        "pause": {},
        "run_until": {"until": {"kind": "end"}},
        "seek": {"step": 0},
    }.items():
        assert (await bob.drive(kind, **fields))["code"] == "not_yours"
    await ada.drive("step", count=3)
    await bob.until("steps")
    assert bob.steps == ada.steps


async def test_two_tabs_see_everything_and_a_stale_one_gets_a_fresh_view(
    run: Run, connect: Connect
) -> None:
    one, two = await connect(run), await connect(run)
    await one.drive("step", count=3)
    error = await two.drive("step", head=0, position=0)
    assert error["code"] == "stale"
    assert error["sentence"].endswith("it is at step 3 of 3.")
    view = await two.until("view")
    assert (view["step"], view["why"]) == (3, "other tab")
    assert (await two.drive("step"))["type"] == "done"
    await one.until(lambda message: message["type"] == "steps" and message["to"] == 4)
    await one.drive("seek", step=1)
    view = await two.until("view")
    assert (view["step"], view["why"]) == (1, "other tab")


async def test_of_two_steps_with_the_same_expectation_one_wins(run: Run, connect: Connect) -> None:
    one, two = await connect(run), await connect(run)
    refs = await one.send("step", head=0, position=0), await two.send("step", head=0, position=0)
    answers = [await one.answer(refs[0]), await two.answer(refs[1])]
    assert sorted(answer["type"] for answer in answers) == ["done", "error"]
    assert (await stored(run)).head == 1


async def test_housekeeping_saves_the_position(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("step", count=5)
    await ada.drive("seek", step=2)

    async def saved() -> bool:
        return (await stored(run)).position == 2

    await eventually(saved)
