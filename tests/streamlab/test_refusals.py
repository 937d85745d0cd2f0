"""Bad input of every kind: a clear sentence, connection and run intact."""

import asyncio
from typing import Any

import orjson
import pytest
from channels.testing import WebsocketCommunicator
from django.contrib.sessions.backends.db import SessionStore

from streamlab.asgi import application
from streamlab.runs import limits, protocol, registry, services
from streamlab.runs.errors import CATALOGUE, RunError
from streamlab.runs.models import Run
from streamlab.runs.registry import Registry
from streamlab.runs.selectors import Owner
from tests.streamlab.conftest import Connect, Socket, eventually, in_database

STEP = {"type": "step", "ref": 1, "head": 0, "position": 0}


async def error_after(socket: Socket, text: str | bytes) -> dict[str, Any]:
    if isinstance(text, bytes):
        await socket.communicator.send_to(bytes_data=text)
    else:
        await socket.send_text(text)
    return await socket.until("error")


async def still_works(socket: Socket) -> bool:
    return (await socket.drive("step"))["type"] == "done"


MALFORMED = [" ", "{", "nonsense", "[]", "3", "null", '"step"', "{'type': 'step'}", "[" * 5000]


@pytest.mark.parametrize("text", MALFORMED)
async def test_what_is_not_a_message(run: Run, connect: Connect, text: str) -> None:
    ada = await connect(run)
    error = await error_after(ada, text)
    assert error["code"] == "malformed"
    assert error["sentence"] == "The message is not JSON text with an object at its top."
    assert error["mend"].startswith("Send one object per message, such as {")
    assert await still_works(ada)


async def test_a_binary_message(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    assert (await error_after(ada, b"\x00\x01"))["code"] == "malformed"
    assert await still_works(ada)


async def test_a_message_that_is_too_long(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    error = await error_after(ada, orjson.dumps({**STEP, "x": "é" * 10_000}).decode())
    assert error["code"] == "too_large"
    assert error["sentence"] == "The message has 20052 bytes; at most 16384 are read."
    assert await still_works(ada)


@pytest.mark.parametrize("kind", ["jump", "", None, 7, ["step"], {"step": 1}, "x" * 5000])
async def test_an_unknown_message(run: Run, connect: Connect, kind: Any) -> None:
    ada = await connect(run)
    error = await error_after(ada, orjson.dumps({"type": kind, "ref": 9}).decode())
    assert error["code"] == "unknown_message"
    assert error["ref"] == 9
    assert "hello, credit, step" in error["mend"]
    assert len(error["sentence"]) < 100
    assert await still_works(ada)


@pytest.mark.parametrize(
    ("message", "place", "rule"),
    [
        ({**STEP, "ref": "a"}, "step.ref", "a whole number from 0 to 9007199254740991"),
        ({**STEP, "ref": True}, "step.ref", "a whole number"),
        ({**STEP, "head": -1}, "step.head", "a whole number from 0 to 2147483647"),
        ({**STEP, "position": 1.5}, "step.position", "a whole number"),
        ({**STEP, "position": None}, "step.position", "a whole number"),
        ({**STEP, "count": 0}, "step.count", "a whole number from 1 to 200"),
        ({**STEP, "count": 10**18}, "step.count", "a whole number from 1 to 200"),
        ({**STEP, "type": "choose"}, "choose.action", "text of 1 to 400 characters"),
        ({**STEP, "type": "choose", "action": "x" * 500}, "choose.action", "text of 1 to 400"),
        (
            {**STEP, "type": "command"},
            "command.command",
            "checkpoint, savepoint, stop, refuse_upload, fail, rescale",
        ),
        ({**STEP, "type": "command", "command": {"kind": "halt"}}, "command.command", "an object"),
        (
            {**STEP, "type": "command", "command": {"kind": "fail"}},
            "command.command.subtask",
            "text of 1 to 200 characters",
        ),
        (
            {**STEP, "type": "command", "command": {"kind": "rescale", "operator": "window"}},
            "command.command.parallelism",
            "a whole number from 1 to 32768",
        ),
        ({"type": "play", "ref": 1, "rate": 0}, "play.rate", "a number from 0.25 to 64, or 1000"),
        ({"type": "play", "ref": 1, "rate": 65}, "play.rate", "a number from 0.25 to 64, or 1000"),
        ({"type": "play", "ref": 1, "rate": "fast"}, "play.rate", "a number"),
        ({**STEP, "type": "run_until", "until": {"kind": "luck"}}, "run_until.until", "an object"),
        (
            {**STEP, "type": "run_until", "until": {"kind": "watermark_passes"}},
            "run_until.until.timestamp",
            "a whole number",
        ),
        ({"type": "seek", "ref": 1, "step": "0"}, "seek.step", "a whole number"),
        ({"type": "credit", "n": 0}, "credit.n", "a whole number from 1 to 1000000"),
    ],
)
async def test_a_field_that_is_wrong(
    run: Run, connect: Connect, message: dict[str, Any], place: str, rule: str
) -> None:
    ada = await connect(run)
    error = await error_after(ada, orjson.dumps(message).decode())
    assert (error["code"], error["place"]) == ("bad_field", place)
    assert rule in error["sentence"]
    assert await still_works(ada)


async def test_fields_that_nobody_asked_for_do_not_reach_the_log(
    run: Run, connect: Connect
) -> None:
    ada = await connect(run)
    await ada.drive("command", command={"kind": "checkpoint", "extra": 1}, other=2)
    entry = await run.entries.aget()
    assert entry.payload == {"kind": "checkpoint"}


async def test_a_message_before_hello(run: Run, connect: Connect) -> None:
    ada = await connect(run, hello=False)
    assert (await error_after(ada, orjson.dumps(STEP).decode()))["code"] == "hello_first"
    await ada.send("hello", protocol=1, credit=100)
    await ada.until("view")
    assert await still_works(ada)
    await ada.send("hello", protocol=1, credit=100)
    assert (await ada.until("error"))["code"] == "hello_twice"


async def test_a_page_older_than_the_server(run: Run, connect: Connect) -> None:
    ada = await connect(run, hello=False)
    await ada.send("hello", protocol=0, credit=100)
    error = await ada.until("error")
    assert error["code"] == "old_page"
    assert error["sentence"] == "StreamLab was updated, reload keeps your place."
    assert (await ada.communicator.receive_output())["code"] == 4002


async def test_no_hello_at_all(run: Run, connect: Connect) -> None:
    ada = await connect(run, hello=False, hello_seconds=0.05)
    assert (await ada.until("error"))["code"] == "hello_late"
    assert (await ada.communicator.receive_output())["code"] == 4001


async def test_a_run_that_does_not_exist(run: Run, connect: Connect) -> None:
    ada = await connect("nosuchrun", hello=False)
    await ada.send("hello", protocol=1, credit=100)
    error = await ada.until("error")
    assert error["code"] == "unknown_run"
    assert "30 days" in error["sentence"]
    assert (await ada.communicator.receive_output())["code"] == 4004


async def test_too_many_messages(
    run: Run, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    here = registry.registry()
    here.visitor_rate = limits.Rate(10, 20, clock=lambda: clock[0])
    ada, bob = await connect(run), await connect(run, "bob")
    for _ in range(19):
        assert (await ada.answer(await ada.send("ping")))["type"] == "pong"
    error = await ada.answer(await ada.send("ping"))
    assert error["code"] == "too_fast"
    assert (
        error["sentence"] == "More than 10 messages a second came from you; this one was left out."
    )
    assert (await bob.answer(await bob.send("ping")))["type"] == "pong"  # counted per visitor
    clock[0] += 1
    assert await still_works(ada)


async def test_the_windows_of_one_run_share_a_rate(run: Run, connect: Connect) -> None:
    here = registry.registry()
    here.run_rate = limits.Rate(1, 2, clock=lambda: 0.0)
    one, two = await connect(run), await connect(run)
    assert await still_works(one)
    await two.until("steps")
    assert await still_works(two)
    error = await one.drive("step")
    assert error["code"] == "too_fast"
    assert "this run's windows" in error["sentence"]


async def test_a_flood_of_nonsense_ends_the_connection(run: Run, connect: Connect) -> None:
    registry.registry().visitor_rate = limits.Rate(10_000, 10_000)
    ada = await connect(run)
    for _ in range(300):
        await ada.send_text("nonsense")
    await ada.until(lambda message: message.get("code") == "flood")
    while (output := await ada.communicator.receive_output())["type"] != "websocket.close":
        pass
    assert output["code"] == 4008
    assert await ada.silence()  # what was under way is not answered: nobody hears it
    assert registry.registry().runs[run.pk].audience
    await ada.close()
    assert not registry.registry().runs[run.pk].audience


# ---- limits of runs ------------------------------------------------------------------------------


async def test_the_limit_of_steps(run: Run, connect: Connect, settings: Any) -> None:
    settings.RUN_STEPS_MAX = 30
    ada = await connect(run)
    await ada.drive("step", count=50)
    assert ada.head == 30
    error = await ada.drive("step")
    assert error["code"] == "steps_limit"
    assert error["sentence"] == "Limit of 30 steps reached: this run cannot grow further."
    await ada.send("play", rate=64)
    status = await ada.until(lambda message: message["type"] == "status" and message["why"] != "")
    assert status["why"] == error["sentence"]
    await ada.drive("seek", step=10)
    assert await still_works(ada)  # the recorded future is free
    error = await ada.drive("choose", action="read:source[0]/collection")
    assert error["type"] == "done"


async def test_a_run_until_ends_at_the_limit_of_steps(
    run: Run, connect: Connect, settings: Any
) -> None:
    settings.RUN_STEPS_MAX = 1000
    ada = await connect(run)
    await ada.drive("run_until", until={"kind": "end"})
    assert ada.head == 1000
    assert (
        ada.last("status")["why"] == "Limit of 1,000 steps reached: this run cannot grow further."
    )


async def test_the_limit_of_memory(run: Run, connect: Connect, settings: Any) -> None:
    settings.RUN_MEMORY_MAX = 1
    ada = await connect(run)
    error = await ada.drive("step")
    assert error["code"] == "memory_limit"


async def test_the_limit_of_live_runs(run: Run, connect: Connect, settings: Any) -> None:
    settings.RUNS_LIVE_MAX = 2
    lab = services.lab_get(slug="counting")
    others = [await in_database(services.run_create, lab=lab, owner=Owner("ada")) for _ in range(2)]
    ada = await connect(run)
    await ada.drive("step", count=3)
    first = await connect(others[0])
    await connect(others[1])  # the one that was used longest ago gives way, though it is looked at
    here = registry.registry()
    assert here.runs[run.pk].recording is None
    assert await still_works(ada)  # and comes back when it is used
    assert ada.position == 4
    assert first.position == 0


async def test_runs_that_play_give_way_to_nobody(run: Run, connect: Connect, settings: Any) -> None:
    settings.RUNS_LIVE_MAX = 1
    lab = services.lab_get(slug="counting")
    other = await in_database(services.run_create, lab=lab, owner=Owner("ada"))
    ada = await connect(run)
    await ada.drive("play", rate=1)
    third = await connect(other, hello=False)
    await third.send("hello", protocol=1, credit=100)
    error = await third.until("error")
    assert error["code"] == "server_full"
    assert error["sentence"] == "1 runs are live on this server, which is as many as it takes."
    await ada.drive("pause")
    await third.send("hello", protocol=1, credit=100)
    await third.until("view")


async def test_an_idle_run_is_evicted_and_rebuilt(
    run: Run, connect: Connect, settings: Any
) -> None:
    settings.RUN_IDLE_SECONDS = 5
    ada = await connect(run)
    await ada.drive("step", count=20)
    await ada.drive("seek", step=10)
    live = registry.registry().runs[run.pk]
    live.used_at -= 6
    await registry.registry().round()
    assert live.recording is None
    assert (await Run.objects.aget(pk=run.pk)).position == 10
    assert await still_works(ada)
    assert (ada.position, ada.head) == (11, 20)


# ---- what goes wrong on the server ---------------------------------------------------------------


async def test_a_step_that_cannot_be_saved_is_not_taken(run: Run, connect: Connect) -> None:
    here = registry.registry()
    append = here.writer.append

    def full(growths: Any) -> None:
        raise OSError("disk full")

    ada = await connect(run)
    await ada.drive("step", count=5)
    here.writer.append = full
    error = await ada.drive("step", count=5)
    assert error["code"] == "not_saved"
    assert (await ada.until("view"))["step"] == 5
    here.writer.append = append
    assert await still_works(ada)
    assert ada.steps[6]["step"] == 6


async def test_a_mistake_of_ours_is_told_and_survived(
    run: Run, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamlab.runs.live import LiveRun

    ada = await connect(run)
    await ada.drive("step", count=5)
    with monkeypatch.context() as patch:
        patch.setattr(LiveRun, "encoded", lambda self, trace: 1 / 0)
        assert (await ada.drive("step"))["code"] == "our_mistake"
    await ada.until("view")
    assert await still_works(ada)
    assert sorted(ada.steps) == [1, 2, 3, 4, 5, 6]


async def test_a_run_of_another_engine_does_not_open(run: Run, connect: Connect) -> None:
    ada = await connect(run)
    await ada.drive("run_until", until={"kind": "step", "step": 2500})
    await ada.close()
    row = await Run.objects.aget(pk=run.pk)
    row.digests[1] += 1
    await row.asave()
    registry.registry().runs[run.pk].drop()
    ada = await connect(run, hello=False)
    await ada.send("hello", protocol=1, credit=100)
    error = await ada.until("error")
    assert error["code"] == "run_diverged"
    assert error["place"] == "step 2000"
    assert error["mend"] == "Start a new run of this lab with the same seed."


async def test_a_short_run_of_another_engine_is_checked_by_its_fingerprint(
    run: Run, connect: Connect
) -> None:
    ada = await connect(run)
    await ada.drive("step", count=30)
    await ada.close()
    row = await Run.objects.aget(pk=run.pk)
    step, digest = row.fingerprint
    assert step == 30
    await Run.objects.aupdate(engine=0)
    registry.registry().runs[run.pk].drop()
    ada = await connect(run)  # it shows what it showed
    await ada.close()
    registry.registry().runs[run.pk].drop()
    await Run.objects.aupdate(fingerprint=[step, digest + 1])
    ada = await connect(run, hello=False)
    await ada.send("hello", protocol=1, credit=100)
    assert (await ada.until("error"))["code"] == "run_diverged"


def test_every_refusal_is_a_sentence_with_a_mend() -> None:
    for code, refusal in CATALOGUE.items():
        for text in (refusal.sentence, refusal.mend):
            assert text.endswith((".", "{sentence}")), code
            assert text[0] in '{"0123456789' or text[0].isupper(), code
    assert RunError("bad_parameter", sentence="Too much.").sentence == "Too much."


# ---- numbers -------------------------------------------------------------------------------------


def test_numbers_on_the_wire() -> None:
    value = {
        "safe": 2**53 - 1,
        "big": 2**53,
        "low": -(2**63),
        "high": 2**63 - 1,
        "inf": [float("inf"), float("-inf")],
        "half": 0.5,
        "flag": True,
    }
    assert orjson.loads(protocol.encode_part(value)) == {
        "safe": 9007199254740991,
        "big": "9007199254740992",
        "low": "-inf",
        "high": "+inf",
        "inf": ["+inf", "-inf"],
        "half": 0.5,
        "flag": True,
    }
    with pytest.raises(ValueError, match="NaN"):
        protocol.encode_part({"x": float("nan")})


# ---- where a socket may come from ----------------------------------------------------------------


def headers(
    host: bytes = b"127.0.0.1", origin: bytes | None = b"http://127.0.0.1", cookie: bytes = b""
) -> list[tuple[bytes, bytes]]:
    found = [(b"host", host)]
    if origin is not None:
        found.append((b"origin", origin))
    if cookie:
        found.append((b"cookie", cookie))
    return found


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": b"http://evil.example"},
        {"origin": b"null"},
        {"origin": None},
        {"host": b"evil.example"},
        {"host": b""},
    ],
)
async def test_foreign_pages_and_hosts_are_refused(run: Run, wrong: dict[str, Any]) -> None:
    communicator = WebsocketCommunicator(
        application, f"/ws/runs/{run.pk}/", headers=headers(**wrong)
    )
    assert not (await communicator.connect())[0]


@pytest.mark.parametrize("mine", [True, False])
async def test_the_session_says_whose_run_it_is(run: Run, mine: bool) -> None:
    def session_key() -> str:
        session = SessionStore()
        session["visitor"] = "ada" if mine else "bob"
        session.save()
        return str(session.session_key)

    key = await in_database(session_key)
    communicator = WebsocketCommunicator(
        application,
        f"/ws/runs/{run.pk}/",
        headers=headers(cookie=f"streamlab_session={key}".encode()),
    )
    assert (await communicator.connect())[0]
    socket = Socket(communicator)
    await socket.send("hello", protocol=1, credit=100)
    assert (await socket.until("welcome"))["run"]["mine"] is mine
    await socket.close()
    await registry.registry().close()


async def test_close_gives_back_everything(run: Run, connect: Connect) -> None:
    from streamlab.runs.models import Lease

    here = Registry()
    ada = await connect(run, server=here)
    await ada.drive("play", rate=20)
    await ada.until("steps")
    assert await Lease.objects.acount() == 1
    await here.close()
    assert await Lease.objects.acount() == 0
    row = await Run.objects.aget(pk=run.pk)
    assert row.position == row.head > 0

    async def quiet() -> bool:
        return (await Run.objects.aget(pk=run.pk)).head == row.head

    await asyncio.sleep(0.1)
    await eventually(quiet)
