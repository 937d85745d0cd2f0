"""The panels Invariants and Explorer: from a wrong protocol to the step at which it goes wrong."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, Viewer
from tests.browser.test_access import grave_findings

LAB = "/labs/two-barriers/"
SEARCH = 120_000
"""A search takes some seconds of a processor, which others may use as well."""


@pytest.fixture
def lab(server: Any, page: Page) -> Viewer:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    return Viewer(page, server.url).open(LAB)


def open_panel(page: Page, name: str) -> None:
    panel = page.locator(f'[data-panel="{name}"]')
    if not panel.evaluate("panel => panel.open"):
        panel.locator("> summary").click()


def explore(page: Page, **chosen: str) -> None:
    open_panel(page, "explorer")
    form = page.locator(".explorer")
    expect(form.locator("fieldset").first).to_be_visible(timeout=PATIENCE)
    for name, value in chosen.items():
        field = form.locator(f'[name="{name}"]')
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    form.locator("[type=submit]").focus()
    page.keyboard.press("Enter")


def verdict(page: Page, rule: str) -> Any:
    return page.locator(".rules > li", has_text=rule).locator(".verdict")


def test_from_a_wrong_protocol_to_the_violating_step(lab: Viewer) -> None:
    page = lab.page
    explore(page, mutant="snapshot-after-emit", way="depth first")
    expect(page.locator("[data-stop]")).to_be_focused(timeout=PATIENCE)
    expect(page.locator(".numbers")).to_contain_text("distinct states", timeout=SEARCH)
    found = page.locator(".exploration")
    expect(found).to_contain_text(
        re.compile(r"Violated after \d+ steps: count ends"), timeout=SEARCH
    )
    expect(page.locator("[data-news]")).to_contain_text("Explorer: violated")
    steps = page.locator(".trace li").count()
    assert steps > 5
    assert grave_findings(page) == []
    expect(page.locator("[data-open]")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator(".wrong-protocol")).to_contain_text("snapshot after emit", timeout=PATIENCE)
    lab.wait_until_ready()
    lab.expect_step(steps)
    expect(page.locator(".aside")).to_contain_text("Violated here", timeout=PATIENCE)
    open_panel(page, "invariants")
    rule = verdict(page, "exactly once")
    expect(rule).to_contain_text("Violated at this step")
    lab.key("ArrowLeft", "ArrowLeft")
    expect(page.locator(".aside")).not_to_contain_text("Violated here")
    expect(page.locator("#timeline svg.line title", has_text="is violated")).to_have_count(1)
    rule.locator("button").click()
    lab.expect_step(steps)
    expect(page.locator(".exploration")).to_contain_text("This run shows it")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    assert grave_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_of_a_network_the_protocol_that_loses_a_token(server: Any, page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    lab = Viewer(page, server.url).open("/labs/token-ring/")
    open_panel(page, "explorer")
    form = page.locator(".explorer")
    expect(form).to_contain_text("A complete snapshot holds every token once", timeout=PATIENCE)
    expect(form.locator('[name="checkpoints"]')).to_have_count(0)
    explore(page, mutant="no-channel-state")
    found = page.locator(".exploration")
    expect(found).to_contain_text("Violated after", timeout=SEARCH)
    expect(found).not_to_contain_text("commands")
    steps = page.locator(".trace li").count()
    assert grave_findings(page) == []
    page.locator("[data-open]").click()
    lab.wait_until_ready()
    lab.expect_step(steps)
    expect(page.locator(".exploration")).to_contain_text("This run shows it", timeout=PATIENCE)
    open_panel(page, "invariants")
    rule = verdict(page, "holds every token once")
    expect(rule).to_contain_text("Violated at this step", timeout=PATIENCE)
    page.locator(".ask-explorer > summary").click()
    expect(form.locator('[name="mutant"]')).to_have_value("no-channel-state")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    assert grave_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_search_survives_a_reload_and_can_be_stopped(lab: Viewer) -> None:
    page = lab.page
    explore(page, checkpoints="4", failures="3", states="200000")
    expect(page.locator(".numbers")).to_be_visible(timeout=SEARCH)
    page.reload()
    lab.wait_until_ready()
    expect(page.locator(".numbers")).to_be_visible(timeout=PATIENCE)
    stop = page.locator("[data-stop]")
    stop.focus()
    page.keyboard.press("Enter")
    found = page.locator(".exploration")
    expect(found).to_contain_text("Bound reached: your stop ended the search", timeout=SEARCH)
    expect(found).to_contain_text("nothing is proven")
    expect(page.locator(".ask-explorer > summary")).to_be_focused()
    page.reload()
    lab.wait_until_ready()
    expect(found).to_contain_text("Bound reached", timeout=PATIENCE)


def test_a_search_for_nothing_is_not_started(lab: Viewer) -> None:
    page = lab.page
    open_panel(page, "explorer")
    page.locator('.explorer [name="invariants"]').first.uncheck()
    expect(page.locator("[data-none]")).to_be_visible()
    explore(page)
    expect(page.locator(".explorer input:invalid").first).to_be_focused()
    assert page.locator(".exploration").count() == 0


def test_an_invariant_is_switched_on_after_the_run(lab: Viewer) -> None:
    page = lab.page
    lab.run_until("the end")
    lab.expect_past(5)
    open_panel(page, "invariants")
    for rule in ("exactly-once", "fifo-channels"):
        page.locator(f'[data-invariant="{rule}"]').focus()
        page.keyboard.press("Space")
    expect(verdict(page, "exactly once")).to_contain_text("Holds at every one", timeout=PATIENCE)
    expect(verdict(page, "keep their order")).to_contain_text("Holds", timeout=PATIENCE)
    expect(page.locator('[data-panel="invariants"] .meta')).to_have_text("2 hold")
    page.reload()
    lab.wait_until_ready()
    expect(verdict(page, "exactly once")).to_contain_text("Holds", timeout=PATIENCE)
    page.locator('[data-invariant="fifo-channels"]').uncheck()
    expect(verdict(page, "keep their order")).to_have_count(0)


def test_the_first_switch_makes_the_run(lab: Viewer) -> None:
    page = lab.page
    open_panel(page, "invariants")
    page.locator('[data-invariant="exactly-once"]').check()
    expect(verdict(page, "exactly once")).to_contain_text("Not decided yet", timeout=PATIENCE)
    assert "/runs/" in page.url
    assert grave_findings(page) == []
