"""The real server as a process: it dies in the middle of a playing run, and comes back."""

import asyncio
import time
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from labs.catalog import find_lab
from streamlab.runs import recordings, selectors
from streamlab.runs.models import Run
from tests.live import LiveServer
from tests.streamlab.client import Client, Visit, visit
from tests.streamlab.conftest import eventually, in_database, traces_of, without_say

LAB = "flights"


def recorded(run_id: str) -> Any:
    """The engine itself, from what is stored."""
    run = Run.objects.get(pk=run_id)
    lab = find_lab(run.lab)
    assert lab is not None
    recording = recordings.open_recording(
        lab=lab,
        parameters=run.parameters,
        policy=run.policy,
        quantum=run.quantum,
        seed=run.seed,
        log=selectors.run_log(run=run),
    )
    recording.seek(recording.head)
    return recording


@pytest.fixture
def ada(server: LiveServer) -> Visit:
    return visit(server.url, LAB, policy="seeded_random")


async def play_until_killed(server: LiveServer, client: Client) -> None:
    await client.send("play", rate=64)
    await client.until("steps", position=client.position + 60)
    server.kill()
    with pytest.raises(ConnectionClosed):
        await client.until("nothing that is ever sent")


async def test_a_killed_server_loses_nothing_that_was_shown(server: LiveServer, ada: Visit) -> None:
    client = await Client(ada).connect()
    await client.drive("step", count=40)
    await client.drive("command", command={"kind": "checkpoint"})
    await play_until_killed(server, client)
    shown = client.position

    server.start()
    row = await Run.objects.aget(pk=ada.run)
    assert row.head >= shown
    assert row.position >= shown - 64  # a second's worth of steps at most

    again = await Client(ada).connect(have=shown)
    assert again.head == row.head
    await again.drive("step", count=30)
    await again.drive("command", command={"kind": "fail", "subtask": "window[1]"})
    await again.drive("step", count=30)
    await again.close()

    # Every choice is there, and everything that was ever shown is what a replay tells.
    recording = await in_database(recorded, run_id=ada.run)
    assert recording.log[1] == ["command", {"kind": "checkpoint"}]
    assert recording.log[3] == ["command", {"kind": "fail", "subtask": "window[1]"}]
    told = traces_of(recording)
    for steps in (client.steps, again.steps):
        assert without_say(steps) == {number: told[number] for number in steps}
    assert set(client.steps) == set(range(1, shown + 1))


async def test_a_run_survives_three_deaths(server: LiveServer, ada: Visit) -> None:
    seen: dict[int, Any] = {}
    client = await Client(ada).connect()
    for _ in range(3):
        await play_until_killed(server, client)
        for number, step in client.steps.items():
            assert seen.setdefault(number, step) == step
        server.start()
        client = await Client(ada).connect(have=client.position)
    await client.close()
    told = traces_of(await in_database(recorded, run_id=ada.run))
    assert without_say(seen) == {number: told[number] for number in seen}


async def test_the_position_in_the_recorded_past_is_saved_while_nothing_else_happens(
    server: LiveServer, ada: Visit
) -> None:
    """The server's housekeeping does it once a second; nobody has to ask, to leave or to stop the server."""
    client = await Client(ada).connect()
    await client.drive("step", count=200)
    await client.drive("seek", step=50)
    assert client.position == 50

    async def is_saved() -> bool:
        return (await Run.objects.aget(pk=ada.run)).position == 50

    await eventually(is_saved, seconds=30)
    server.kill()
    assert await is_saved()


async def test_a_class_that_reconnects_at_once_gets_its_runs_back(server: LiveServer) -> None:
    visits = await asyncio.gather(
        *(asyncio.to_thread(visit, server.url, LAB, seed=seed) for seed in range(150))
    )
    clients = await asyncio.gather(*(Client(one).connect() for one in visits))
    for number, client in enumerate(clients):
        await client.drive("step", count=20 + number % 50)
        await client.drive("command", command={"kind": "checkpoint"})
    server.kill()
    server.start()
    began = time.monotonic()
    again = await asyncio.gather(
        *(
            Client(client.visit).connect(have=client.position if number % 2 else None)
            for number, client in enumerate(clients)
        )
    )
    await asyncio.gather(*(client.drive("ping") for client in again))
    print(f"150 runs were back after {time.monotonic() - began:.1f} s")
    for before, after in zip(clients, again, strict=True):
        assert after.head == before.head
        assert after.seen[0]["run"]["mine"]
    answers = await asyncio.gather(*(client.drive("step") for client in again))
    assert [answer["type"] for answer in answers] == ["done"] * 150
    for client in again:
        await client.close()


async def test_a_server_told_to_stop_ends_with_a_socket_open(
    server: LiveServer, ada: Visit
) -> None:
    client = await Client(ada).connect()
    await client.drive("play", rate=20)
    await client.until("steps")
    assert server.stop() == 0
    with pytest.raises(ConnectionClosed):
        await client.until("nothing that is ever sent")
    assert (await Run.objects.aget(pk=ada.run)).head >= client.position


async def test_a_message_of_any_size_leaves_the_run_intact(server: LiveServer, ada: Visit) -> None:
    client = await Client(ada).connect()
    await client.drive("step", count=5)
    await client.socket.send("x" * 100_000)
    error = await client.until("error")
    assert error["sentence"] == "The message has 100000 bytes; at most 16384 are read."
    assert (await client.drive("step"))["type"] == "done"
    # Beyond what the server itself reads, the connection ends before anybody can answer.
    await client.socket.send("x" * 3_000_000)
    with pytest.raises(ConnectionClosed):
        await client.until("nothing that is ever sent")
    again = await Client(ada).connect(have=client.position)
    assert (await again.drive("step"))["type"] == "done"
    assert again.position == 7
    await again.close()
