"""The page that compares two snapshot schemes, as a visitor uses it."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, Viewer
from tests.browser.test_access import SCREENS, grave_findings

PLAN = "b=at_least_once&do=checkpoint@300&do=fail,subtask=window[1]@320"


class Comparing:
    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, query: str = PLAN) -> "Comparing":
        self.page.goto(f"{self.url}/labs/flights/compare/?{query}")
        return self.wait_until_ready()

    def wait_until_ready(self) -> "Comparing":
        self.page.wait_for_selector("html[data-ready=true]", state="attached", timeout=PATIENCE)
        return self

    def expect_cursor(self, at: int) -> None:
        expect(self.page.locator("html")).to_have_attribute(
            "data-cursor", str(at), timeout=PATIENCE
        )

    def here(self, measure: str) -> list[str]:
        """What the table says of both runs where the cursor stands."""
        row = self.page.locator("tr", has=self.page.locator(f'[data-measure="{measure}"]'))
        return row.locator("td.right").all_inner_texts()

    @property
    def steps(self) -> list[str]:
        return self.page.locator("[data-step]").all_inner_texts()


@pytest.fixture
def comparing(server: Any, page: Page) -> Comparing:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    return Comparing(page, server.url)


def test_one_cursor_moves_both(comparing: Comparing) -> None:
    page = comparing.open(f"{PLAN}&at=310").page
    comparing.expect_cursor(310)
    expect(page.locator(".where")).to_contain_text("310 of 2\u2009546 entries read")
    assert comparing.here("read") != ["0", "0"]
    page.keyboard.press("ArrowRight")
    comparing.expect_cursor(311)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    comparing.expect_cursor(309)
    assert parse_qs(urlsplit(page.url).query)["at"] == ["309"]
    # By steps the cursor stays at the moment of A, and moves both by one step.
    at = int(comparing.steps[0].removeprefix("step ").replace("\u2009", ""))
    page.check('[name="by"][value="steps"]')
    comparing.expect_cursor(at)
    assert comparing.steps[0] == comparing.steps[1]
    page.locator("[type=range]").focus()
    page.keyboard.press("End")
    expect(page.locator(".where")).to_contain_text("step 6")
    sinks = page.locator('.card[data-subtask="sink[0]"]')
    expect(sinks.first).to_contain_text("finished", timeout=PATIENCE)
    expect(sinks.last).to_contain_text("finished")


def test_what_each_scheme_costs_stands_side_by_side(comparing: Comparing) -> None:
    page = comparing.open(
        "b=at_least_once&do=checkpoint@300&do=fail,subtask=window[1]@500&at=2547"
    ).page
    comparing.expect_cursor(2547)
    held = comparing.here("held")
    assert held[0] != "0"
    assert held[1] == "0"  # at least once blocks nothing
    assert comparing.here("blocked")[1] == "0"
    assert comparing.here("repeated")[0] != "0"  # a plain sink writes again what it wrote since
    chart = page.locator(".compare-chart")
    expect(chart).to_have_attribute("aria-label", f"Records held over entries of input read, then the end: at the end A {held[0]}, B 0.")  # fmt: skip
    page.click('[data-measure="saved"]')
    expect(page.locator(".chart-name b")).to_have_text("Bytes saved")
    expect(page.locator('[data-measure="saved"]')).to_have_attribute("aria-pressed", "true")
    page.locator(".compare-chart").click(position={"x": 700, "y": 60})
    page.wait_for_function("() => !['', '2547'].includes(document.documentElement.dataset.cursor)")


def test_commands_are_given_to_both_and_taken_out_again(comparing: Comparing) -> None:
    page = comparing.open("at=100").page
    comparing.expect_cursor(100)
    expect(page.locator("#plan")).to_contain_text("None yet")
    page.click("text=Give it where the cursor stands")
    comparing.wait_until_ready()
    comparing.expect_cursor(100)
    expect(page.locator("#plan li")).to_contain_text("Trigger a checkpoint when 100 entries")
    expect(page.locator("#plan li")).to_contain_text("of A, step")
    page.select_option('[name="command"]', label="Fail window[2]")
    page.click("text=Give it where the cursor stands")
    expect(page.locator("#plan li")).to_have_count(2, timeout=PATIENCE)
    page.click("text=Take out >> nth=0")
    expect(page.locator("#plan li")).to_have_count(1, timeout=PATIENCE)
    expect(page.locator("#plan li")).to_contain_text("Fail window[2]", timeout=PATIENCE)
    page.select_option('[name="a"]', "at_least_once")
    page.select_option('[name="b"]', "aligned")
    page.click(".choose button")
    expect(page.locator(".side-name").first).to_contain_text("at least once", timeout=PATIENCE)
    expect(page.locator("#plan li")).to_contain_text("Fail window[2]", timeout=PATIENCE)


def test_without_commands_the_first_thing_to_do_is_one_button(comparing: Comparing) -> None:
    page = comparing.open("b=at_least_once").page
    first = page.get_by_role("link", name="Add a checkpoint and a failure")
    expect(first).to_be_visible(timeout=PATIENCE)
    assert grave_findings(page) == []
    first.click()
    expect(page.locator("#plan li")).to_have_count(2, timeout=PATIENCE)
    expect(page.locator("#plan li").first).to_contain_text("Trigger a checkpoint when 849")
    expect(page.locator("#plan li").last).to_contain_text("Fail window[0] when 1")
    expect(first).to_be_hidden()


def test_from_a_lab_the_comparison_comes_with_a_checkpoint(viewer: Viewer) -> None:
    page = viewer.page
    page.click("a[data-compare]")
    Comparing(page, viewer.url).wait_until_ready()
    expect(page.locator("#plan li")).to_contain_text("Trigger a checkpoint when 849")
    expect(page.locator("#plan li")).to_contain_text("of A, step")


def test_from_a_run_to_its_comparison_and_back_into_a_run(viewer: Viewer) -> None:
    page = viewer.page
    viewer.key("ArrowRight", "ArrowRight")
    viewer.expect_step(2)
    viewer.command(kind="checkpoint")
    viewer.expect_step(3)
    page.click("a[data-compare]")
    comparing = Comparing(page, viewer.url).wait_until_ready()
    expect(page.locator("#plan li")).to_contain_text("step 3 of A, step 3 of B")
    page.click("[data-open='1']")
    page.wait_for_url("**/runs/*/")
    viewer.wait_until_ready()
    assert comparing.url in page.url


def test_a_lost_server_is_told_and_asked_again(comparing: Comparing) -> None:
    page = comparing.open().page
    comparing.expect_cursor(0)
    page.route("**/compare/at/**", lambda route: route.abort())
    page.keyboard.press("ArrowRight")
    told = "The server could not be reached."
    expect(page.locator(".cursor .state")).to_contain_text(told, timeout=PATIENCE)
    page.unroute("**/compare/at/**")
    page.keyboard.press("ArrowRight")
    comparing.expect_cursor(2)
    expect(page.locator(".cursor .state")).to_have_text("")
    page.errors[:] = [error for error in page.errors if "ERR_FAILED" not in error]


@pytest.mark.parametrize(("theme", "width", "height", "projector"), SCREENS)
def test_axe_finds_nothing_grave_and_nothing_overflows(
    comparing: Comparing, theme: str, width: int, height: int, projector: bool
) -> None:
    page = comparing.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    comparing.open(f"{PLAN}&at=312")
    comparing.expect_cursor(312)
    assert grave_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_step_never_moves_the_page(comparing: Comparing) -> None:
    page = comparing.open(f"{PLAN}&at=316").page
    comparing.expect_cursor(316)
    places = """() => [...document.querySelectorAll(".side-picture, .figures, .chart")].map(
        (one) => [one.offsetTop, one.offsetHeight])"""
    before = page.evaluate(places)
    for cursor in range(317, 326):
        page.keyboard.press("ArrowRight")
        comparing.expect_cursor(cursor)
        assert page.evaluate(places) == before
