"""Questions beside the viewer: answered by mouse and by keyboard, in both themes, on a small screen."""

import os
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_access import grave_findings

LAB = "/labs/watermarks-and-lateness/"


def card(page: Page, name: str) -> Any:
    return page.locator(f"#question-{name}")


def opened(page: Page, url: str, name: str) -> Any:
    page.goto(url)
    found = card(page, name)
    expect(found).to_have_attribute("data-ready", "true")
    return found


def shot(page: Page, name: str) -> None:
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=f"{folder}/{name}.png")


def test_a_prediction_is_answered_and_shown(server: Any, page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": 1280, "height": 720})
    found = opened(page, server.url + LAB, "next-watermark")
    found.scroll_into_view_if_needed()
    shot(page, "lab")
    found.get_by_role("button", name="Begin").click()
    found.get_by_role("link", name="Look at step").click()
    found = card(page, "next-watermark")
    expect(found).to_have_attribute("data-ready", "true")
    shot(page, "question")
    # What comes next is not told before the answer.
    page.keyboard.press("ArrowRight")
    expect(page.locator("body")).to_contain_text("goes on once the question is answered")
    page.errors[:] = [error for error in page.errors if "409" not in error]
    assert grave_findings(page) == []
    # By keyboard alone: write, and Enter.
    found.get_by_role("textbox").focus()
    page.keyboard.type("999")
    page.keyboard.press("Enter")
    expect(found.locator(".said")).to_contain_text("Not so: watermark of window[0] is")
    shot(page, "wrong")
    assert grave_findings(page) == []
    found.get_by_role("button", name="See it happen").click()
    page.wait_for_url("**/runs/*/")
    expect(page.locator("html")).to_have_attribute("data-ready", "true")


def test_what_is_forbidden_is_greyed_out_with_its_reason(server: Any, page: Page) -> None:
    page.emulate_media(reduced_motion="reduce", color_scheme="dark")
    page.set_viewport_size({"width": 1440, "height": 900})
    found = opened(page, server.url + LAB, "nothing-late")
    found.get_by_role("button", name="Begin").click()
    found.get_by_role("link", name="Open the run").click()
    found = card(page, "nothing-late")
    expect(found).to_have_attribute("data-ready", "true")
    for _ in range(3):
        page.locator("#actions [data-action]").first.click()
        page.wait_for_timeout(150)
    page.keyboard.press("f")
    expect(page.locator("body")).to_contain_text("this is about time")
    shot(page, "forbidden")
    page.keyboard.press("Escape")
    found.get_by_role("button", name="Answer").click()
    expect(found.locator(".said")).to_contain_text("Not reached in")
    assert grave_findings(page) == []


@pytest.mark.parametrize("slug", ["watermarks-and-lateness", "aligned-barriers"])
def test_every_card_fits_a_small_screen(server: Any, page: Page, slug: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server.url}/labs/{slug}/")
    cards = page.locator("[data-question]")
    for number in range(cards.count()):
        expect(cards.nth(number)).to_have_attribute("data-ready", "true")
        cards.nth(number).get_by_role("button", name="Begin").click()
        expect(cards.nth(number).get_by_role("button", name="Answer")).to_be_visible(timeout=20_000)
    shot(page, f"narrow-{slug}")
    page.locator("[data-question]").nth(1).scroll_into_view_if_needed()
    shot(page, f"narrow2-{slug}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert grave_findings(page) == []
