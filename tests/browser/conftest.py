"""A page of the first lab on a live server, and what a visitor does on it.

viewer     a Viewer, ready, at step 0
modules    a page that can load the modules of static/js, without any server
"""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

STATIC = Path(__file__).resolve().parents[2] / "static"
LAB = "/labs/flights/"
PATIENCE = 10_000


class Viewer:
    """The page of a lab or a run, in the words of its visitor."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, path: str = LAB) -> "Viewer":
        self.page.goto(self.url + path)
        return self.wait_until_ready()

    def wait_until_ready(self) -> "Viewer":
        self.page.wait_for_selector("html[data-ready=true]", state="attached", timeout=PATIENCE)
        return self

    def key(self, *names: str) -> None:
        for name in names:
            self.page.keyboard.press(name)

    def expect_step(self, number: int) -> None:
        expect(self.page.locator(".said .number")).to_have_text(str(number), timeout=PATIENCE)

    def expect_past(self, number: int) -> None:
        self.page.wait_for_function(
            "n => Number(document.querySelector('.said .number').textContent) > n",
            arg=number,
            timeout=PATIENCE,
        )

    @property
    def step(self) -> int:
        return int(self.page.inner_text(".said .number"))

    @property
    def sentence(self) -> str:
        return self.page.inner_text(".said .sentence")

    @property
    def aside(self) -> str:
        return self.page.inner_text(".aside")

    def card(self, subtask: str) -> Locator:
        return self.page.locator(f'.card[data-subtask="{subtask}"]')

    @property
    def possible(self) -> Locator:
        return self.page.locator("#actions [data-action]")

    def command(self, **command: Any) -> None:
        """By way of the fault menu."""
        self.page.click('[data-menu="faults"] summary')
        wanted = json.dumps(command, separators=(",", ":"))
        self.page.locator(f"[data-command='{wanted}']").click()

    def run_until(self, text: str) -> None:
        self.page.click('[data-menu="until"] summary')
        self.page.locator('[data-menu="until"] button', has_text=text).click()


@pytest.fixture
def viewer(server: Any, page: Page) -> Viewer:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    return Viewer(page, server.url).open()


@pytest.fixture
def modules(page: Page) -> Page:
    def answer(route: Any) -> None:
        path = route.request.url.removeprefix("http://modules.test")
        if path.startswith("/js/"):
            route.fulfill(body=(STATIC / path[1:]).read_text(), content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html><title>modules</title>", content_type="text/html")

    page.route("http://modules.test/**", answer)
    page.goto("http://modules.test/")
    return page
