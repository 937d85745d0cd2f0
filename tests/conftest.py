"""Fixtures for the whole tree: a collected site, a live server, a browser.

server    tests.live.LiveServer, running, on the test's own database
browser   Chromium, started once; the test is skipped (or fails, see below) where there is none
page      a fresh page; the test fails when the console shows an error
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as hypothesis_settings

from scripts import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.live import LiveServer

# Playwright's synchronous interface keeps an event loop running in this thread.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

hypothesis_settings.register_profile("streamlab", deadline=None)
hypothesis_settings.load_profile("streamlab")

ENGINE_TESTS = Path(__file__).parent / "engine"
REQUIRE_BROWSER = os.environ.get("STREAMLAB_REQUIRE_BROWSER") == "1"
skipped_for_want_of_a_browser: set[str] = set()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Pages are tested with the static files that users get; the engine's tests need none."""
    asked_for = [
        (Path.cwd() / argument.split("::")[0]).resolve() for argument in session.config.args
    ]
    if all(path.is_relative_to(ENGINE_TESTS) for path in asked_for):
        return
    from django.core.management import call_command

    call_command("collectstatic", interactive=False, verbosity=0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: while Playwright's loop runs, no other test can run one."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if skipped_for_want_of_a_browser:
        count = len(skipped_for_want_of_a_browser)
        terminalreporter.section("NO BROWSER", sep="!", red=True)
        terminalreporter.line(
            f"{count} browser tests did NOT run, because no Chromium was found. Install it, or set "
            "STREAMLAB_CHROMIUM to its path."
        )


@pytest.fixture
def server(transactional_db: None) -> Iterator["LiveServer"]:
    from django.db import connection

    from tests.live import LiveServer

    live = LiveServer(str(connection.settings_dict["NAME"])).start()
    yield live
    live.stop()


@pytest.fixture(scope="session")
def chromium_path(request: pytest.FixtureRequest) -> str | None:
    return chromium.find()


@pytest.fixture
def browser(request: pytest.FixtureRequest, chromium_path: str | None) -> "Browser":
    if chromium_path is None:
        if REQUIRE_BROWSER:
            pytest.fail("No Chromium was found, and STREAMLAB_REQUIRE_BROWSER=1 asks for one.")
        skipped_for_want_of_a_browser.add(request.node.nodeid)
        pytest.skip("no Chromium on this machine")
    return request.getfixturevalue("running_browser")


@pytest.fixture(scope="session")
def running_browser(chromium_path: str) -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium_path, args=arguments)
        yield running
        running.close()


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    """`page.errors` lists what the console complained of; it must be empty in the end."""
    context = browser.new_context()
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on(
        "console",
        lambda message: page.errors.append(message.text) if message.type == "error" else None,
    )
    yield page
    context.close()
    assert page.errors == []
