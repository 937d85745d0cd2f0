"""The site as a whole: pages, headers, static files, sockets, and the start."""

import ast
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.testing import WebsocketCommunicator
from django.contrib.sessions.models import Session
from django.contrib.staticfiles.storage import staticfiles_storage
from django.test import AsyncClient, Client
from websockets.sync.client import connect as websocket_connect

from scripts import bootstrap
from streamlab import addresses, fonts
from streamlab.asgi import application
from streamlab.secret_key import kept_secret_key
from streamlab.websocket_hosts import AllowedHostValidator, SameOriginValidator
from tests.live import LiveServer

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["/", "/glossary/", "/about/"]


# ---- pages ---------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_without_writing_a_row_or_setting_a_cookie(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert not response.cookies
    assert Session.objects.count() == 0


def test_every_answer_allows_only_this_site(client: Client) -> None:
    response = client.get("/about/")
    assert response["Content-Security-Policy"].startswith("default-src 'self';")
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"


def test_an_unknown_address_is_answered_with_a_page(client: Client) -> None:
    response = client.get("/no/such/page/")
    assert response.status_code == 404
    assert "nothing at this address" in response.content.decode()


def test_a_foreign_host_header_is_refused(client: Client) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400


def test_pages_contain_nothing_that_the_policy_forbids(client: Client) -> None:
    for path in PAGES:
        html = client.get(path).content.decode()
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html), path


@pytest.mark.parametrize("name", [face.name for face in fonts.FACES])
def test_a_font_is_served_small_and_under_a_name_of_its_own(name: str) -> None:
    from fontTools.ttLib import TTFont

    path = Path(staticfiles_storage.path(f"fonts/{name}.woff2"))
    assert path.read_bytes()[:4] == b"wOF2"
    assert path.stat().st_size < 30_000
    font = TTFont(path)
    assert {ord(sign) for sign in "Aéž−–…·0"} <= font.getBestCmap().keys()
    assert "Source" not in font["name"].getDebugName(1)
    assert "Open Font License" in font["name"].getDebugName(13)


async def test_static_files_are_sent_whole_in_part_or_not_at_all(async_client: AsyncClient) -> None:
    url = staticfiles_storage.url("icon.svg")
    whole = await async_client.get(url)
    assert whole.content.startswith(b"<svg")
    assert "immutable" in whole["Cache-Control"]
    assert whole["X-Content-Type-Options"] == "nosniff"
    part = await async_client.get(url, headers={"range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"<svg")
    known = await async_client.get(url, headers={"if-none-match": whole["ETag"]})
    assert (known.status_code, known.content) == (304, b"")
    assert (await async_client.post(url)).status_code == 405
    squeezed = await async_client.get(url, headers={"accept-encoding": "br"})
    assert squeezed["Content-Encoding"] == "br"


def test_the_font_licences_are_served(client: Client) -> None:
    for name in fonts.LICENCES:
        response = client.get(staticfiles_storage.url(f"fonts/{name}"))
        assert b"SIL OPEN FONT LICENSE" in response.content


# ---- websockets ----------------------------------------------------------------------------------


async def connects(app: object, headers: list[tuple[bytes, bytes]], path: str = "/ws/") -> bool:
    communicator = WebsocketCommunicator(app, path, headers=headers)
    connected, _ = await communicator.connect()
    await communicator.disconnect()
    return connected


@pytest.mark.parametrize(
    ("hosts", "welcome"),
    [
        ([b"127.0.0.1:8000"], True),
        ([b"localhost"], True),
        ([b"evil.example"], False),
        ([b"evil.example:8000"], False),
        ([b""], False),
        ([], False),
        ([b"localhost", b"evil.example"], False),
    ],
)
async def test_a_websocket_needs_a_host_that_is_ours(hosts: list[bytes], welcome: bool) -> None:
    app = AllowedHostValidator(AsyncWebsocketConsumer.as_asgi())
    assert await connects(app, [(b"host", host) for host in hosts]) is welcome


def test_a_page_under_a_foreign_host_says_which_address_to_take(client: Client) -> None:
    response = client.get("/", headers={"host": "streamlab.example"})
    assert response.status_code == 400
    assert "under the address that it printed" in response.content.decode()


@pytest.mark.parametrize(
    "origin",
    [b"http://evil.example", b"null", None, b"http://127.0.0.1:9000", b"http://127.0.0.1:port"],
)
async def test_a_websocket_of_a_foreign_page_is_refused(origin: bytes | None) -> None:
    headers = [(b"host", b"127.0.0.1:8000")] + ([(b"origin", origin)] if origin else [])
    assert not await connects(application, headers)


@pytest.mark.parametrize(
    ("origin", "host", "welcome"),
    [
        (b"http://127.0.0.1:8000", b"127.0.0.1:8000", True),
        (b"https://localhost", b"localhost", True),
        (b"http://[::1]:8000", b"[::1]:8000", True),
        (b"http://localhost:8000", b"127.0.0.1:8000", False),
        (b"https://streamlab.example.edu", b"127.0.0.1:8001", True),
        (b"http://streamlab.example.edu", b"127.0.0.1:8001", False),
        (b"https://one.example.org", b"127.0.0.1:8001", True),
    ],
)
async def test_a_websocket_needs_an_origin_that_is_ours(
    settings: Any, origin: bytes, host: bytes, welcome: bool
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://streamlab.example.edu", "https://*.example.org"]
    app = SameOriginValidator(AsyncWebsocketConsumer.as_asgi())
    assert await connects(app, [(b"host", host), (b"origin", origin)]) is welcome


async def test_a_websocket_to_nowhere_is_refused_without_a_traceback() -> None:
    headers = [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1")]
    assert not await connects(application, headers, path="/no/such/socket/")


def test_a_server_that_is_stopped_with_a_websocket_open_ends_cleanly(tmp_path: Path) -> None:
    server = LiveServer(str(tmp_path / "db.sqlite3"), "tests.echo_asgi:application").start()
    try:
        with websocket_connect(server.websocket + "/") as socket:
            socket.send("hello")
            assert socket.recv(timeout=5) == "hello"
            assert server.stop() == 0
    finally:
        server.kill()


# ---- the start -----------------------------------------------------------------------------------


def test_the_secret_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    first = kept_secret_key(path)
    assert len(first) >= 50
    assert kept_secret_key(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_only_a_network_address_opens_the_site_to_the_network() -> None:
    assert addresses.names_of_this_machine("127.0.0.1") == [*addresses.LOOPBACK]
    assert addresses.lan_address() in addresses.names_of_this_machine("0.0.0.0")


def test_a_taken_port_is_passed_over_unless_it_was_asked_for() -> None:
    with addresses.listen("127.0.0.1", 0) as first, addresses.listen("127.0.0.1", 0) as second:
        assert first.getsockname()[1] < second.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            addresses.listen("127.0.0.1", first.getsockname()[1])


def start_up(tmp_path: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "up"],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "streamlab.settings",
            "VAR_DIR": str(tmp_path),
            "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def addresses_told_by(process: subprocess.Popen[str], count: int) -> list[str]:
    """The last lines that it prints before it serves."""
    assert process.stdout is not None
    while not process.stdout.readline().startswith("Stop with"):
        assert process.poll() is None
    return [process.stdout.readline().strip() for _ in range(count)]


def test_up_prepares_serves_tells_where_and_ends_cleanly(tmp_path: Path) -> None:
    var = tmp_path / "var"
    process = start_up(var)
    try:
        [address] = addresses_told_by(process, 1)
        assert re.fullmatch(r"http://127\.0\.0\.1:8\d\d\d/", address)
        with urlopen(address, timeout=10) as response:
            assert b"<h1>Labs</h1>" in response.read()
        assert stat.S_IMODE(var.stat().st_mode) == 0o700  # the database holds sessions
        assert stat.S_IMODE((var / "secret_key").stat().st_mode) == 0o600
    finally:
        process.terminate()
        assert process.wait(timeout=10) == 0


def test_up_for_the_network_tells_the_address_there_and_answers_to_it(tmp_path: Path) -> None:
    lan = addresses.lan_address()
    process = start_up(tmp_path, HOST="0.0.0.0")
    try:
        told = addresses_told_by(process, 1 if lan == "127.0.0.1" else 2)
        assert told[-1].startswith(f"http://{lan}:")
        with urlopen(told[-1], timeout=10) as response:
            assert response.status == 200
    finally:
        process.terminate()
        assert process.wait(timeout=10) == 0


def test_up_says_in_one_sentence_that_a_port_is_taken(tmp_path: Path) -> None:
    with addresses.listen("127.0.0.1", 0) as taken:
        process = start_up(tmp_path, PORT=str(taken.getsockname()[1]))
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert re.search(r"^CommandError: Cannot listen on .*PORT=9000 make run`\.$", errors, re.M)


def test_an_old_python_gets_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: None)
    with pytest.raises(
        bootstrap.CannotBootstrap, match=r"needs Python 3\.11 .* this is Python 3\.9"
    ):
        bootstrap.ensure()


@pytest.mark.parametrize("name", ["manage.py", "scripts/bootstrap.py"])
def test_what_says_so_can_be_read_by_an_old_python(name: str) -> None:
    ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 5))


def test_a_missing_ensurepip_gets_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: None)
    monkeypatch.setattr(bootstrap.subprocess, "call", lambda *args, **kwargs: 1)
    with pytest.raises(bootstrap.CannotBootstrap, match="apt install python3-venv"):
        bootstrap.install_afresh(sys.executable, bootstrap.LOCK)


def test_an_up_to_date_environment_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("one==1\n")
    monkeypatch.setattr(bootstrap, "VENV", str(tmp_path))
    installed: list[str] = []

    def ensure() -> None:
        bootstrap.ensure_installed("python", str(lock), "lock", lambda *args: installed.append("x"))

    ensure()
    ensure()
    assert len(installed) == 1
    lock.write_text("one==2\n")
    ensure()
    assert len(installed) == 2


# ---- in the browser ------------------------------------------------------------------------------


def test_pages_are_accessible_and_silent_in_the_console(server, page) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for path in PAGES:
        page.goto(server.url + path)
        found = [
            f"{violation['id']}: {violation['help']}"
            for violation in Axe().run(page).response["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
        assert found == [], path


def test_the_policy_allows_our_own_websocket_and_no_other(server, page) -> None:
    """The socket itself may be refused: only what the policy says counts here."""
    page.goto(server.url)
    blocked = page.evaluate(
        """async ([ours, foreign]) => {
            const blocked = [];
            addEventListener("securitypolicyviolation", e => blocked.push(e.blockedURI));
            for (const url of [ours, foreign]) {
                try { await new Promise(r => { const s = new WebSocket(url); s.onerror = s.onclose = r; }); }
                catch (error) { /* the policy may throw */ }
            }
            await new Promise(r => setTimeout(r, 100));
            return blocked;
        }""",
        [server.websocket + "/no/such/socket/", "ws://127.0.0.1:9/"],
    )
    assert [uri.startswith("ws://127.0.0.1:9") for uri in blocked] == [True]
    page.errors.clear()  # both attempts leave a line in the console
