"""The page for those who use no mouse, see no picture, want no motion, or have a small screen."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import LAB, Viewer

GRAVE = {"serious", "critical"}


def grave_findings(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:120]} ({node.get('failureSummary', '')[:200]})"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


SCREENS = [
    ("light", 1440, 900, False), ("dark", 1440, 900, False), ("light", 1280, 720, True), ("light", 390, 844, False),
]  # fmt: skip


@pytest.mark.parametrize(("theme", "width", "height", "projector"), SCREENS)
def test_axe_finds_nothing_grave(
    viewer: Viewer, theme: str, width: int, height: int, projector: bool
) -> None:
    page = viewer.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    viewer.run_until("a window fires")
    viewer.expect_past(50)
    viewer.command(kind="checkpoint")
    if projector:
        page.click("button[data-projector]")
    assert grave_findings(page) == []
    page.click("[data-table]")
    expect(page.locator("#table-panel")).to_be_visible()
    assert grave_findings(page) == []


@pytest.mark.parametrize("path", ["/", "/glossary/", "/about/", "/nothing/here/"])
def test_axe_finds_nothing_grave_on_pages(server: Any, page: Page, path: str) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.goto(server.url + path)
        assert grave_findings(page) == []
    page.errors[:] = [error for error in page.errors if "404" not in error]


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1440, 900), (1100, 800)])
def test_the_word_cancelled_fits_into_every_card(viewer: Viewer, width: int, height: int) -> None:
    page = viewer.page
    page.set_viewport_size({"width": width, "height": height})
    viewer.command(kind="fail", subtask="window[0]")
    expect(viewer.card("source[0]").locator(".status")).to_have_text("cancelled")
    cut = page.evaluate(
        """() => [...document.querySelectorAll(".card .status")]
            .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.closest(".card").dataset.subtask)"""
    )
    assert cut == []


def test_a_walk_by_keyboard_alone(viewer: Viewer) -> None:
    page = viewer.page
    viewer.key("ArrowRight")
    viewer.expect_step(1)
    # The stage is one stop of Tab; arrows move inside it, and do not step.
    page.evaluate(
        "document.querySelector('#main').tabIndex = -1; document.querySelector('#main').focus()"
    )
    viewer.key("Tab")
    focused = "document.activeElement.dataset.item"
    assert page.evaluate(focused) == "window[0]"
    viewer.key("ArrowDown")
    assert page.evaluate(focused) == "window[1]"
    viewer.key("ArrowLeft")
    assert page.evaluate(focused) == "source[0]>window[1]"
    viewer.key("ArrowLeft")
    assert page.evaluate(focused) == "source[0]"
    viewer.expect_step(1)
    viewer.key("Enter")
    expect(viewer.card("source[0]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator('[data-panel="state"] .meta')).to_contain_text("source[0]")
    # Menus open by key, are walked by arrows, and close by Escape.
    viewer.key("u")
    expect(page.locator('[data-menu="until"] .popover button').first).to_be_focused()
    viewer.key("ArrowDown", "Escape")
    expect(page.locator('[data-menu="until"]')).not_to_have_attribute("open", "")
    viewer.key("f")
    expect(page.locator('[data-menu="faults"] .popover button').first).to_be_focused()
    viewer.key("Enter")
    viewer.expect_step(2)
    assert "checkpoint 1" in viewer.sentence
    viewer.key("t")
    expect(page.locator("#table-panel")).to_be_visible()
    viewer.key("t", "[", "]")
    expect(page.locator("#app")).to_have_class("app rail-folded inspector-folded")
    viewer.key("i", "p")
    expect(page.locator("#app")).to_have_class("app")
    viewer.key("?")
    expect(page.locator("#keys")).to_be_visible()


def test_single_keys_can_be_switched_off_and_are_inert_in_fields(viewer: Viewer) -> None:
    page = viewer.page
    page.get_by_label("Out-of-orderness bound").focus()
    viewer.key("1", "t", "ArrowRight")
    viewer.expect_step(0)
    expect(page.locator("#table-panel")).to_be_hidden()
    page.click("[data-keys]")
    page.get_by_label("Single keys act on the run").uncheck()
    page.get_by_role("button", name="Close").click()
    viewer.key("ArrowRight", "t")
    page.wait_for_timeout(200)
    viewer.expect_step(0)
    expect(page.locator("#table-panel")).to_be_hidden()


def test_the_table_says_what_the_picture_shows(viewer: Viewer) -> None:
    viewer.key("ArrowRight", "ArrowRight")
    viewer.expect_step(2)
    viewer.key("t")
    table = viewer.page.locator("#table-panel")
    for text in ("source[0] → window[0]", "record ", "watermark "):
        expect(table).to_contain_text(text, use_inner_text=True)


def test_with_motion_the_step_ends_in_the_same_picture(viewer: Viewer) -> None:
    page = viewer.page
    page.emulate_media(reduced_motion="no-preference")
    viewer.key("ArrowRight", "ArrowRight", "ArrowRight")
    viewer.expect_step(3)
    page.wait_for_function("() => !document.querySelector('.lifted')")
    moving = page.inner_html("svg.over")
    page.emulate_media(reduced_motion="reduce")
    viewer.key("ArrowLeft")
    viewer.expect_step(2)
    viewer.key("ArrowRight")
    viewer.expect_step(3)
    assert page.inner_html("svg.over") == moving


def test_without_motion_nothing_is_ever_lifted(viewer: Viewer) -> None:
    viewer.page.evaluate("""() => {
        window.lifted = 0;
        new MutationObserver(() => { window.lifted += document.querySelectorAll('.lifted').length; })
            .observe(document.querySelector('.stage'), {subtree: true, attributes: true});
    }""")
    viewer.key("ArrowRight", "ArrowRight", "ArrowRight")
    viewer.expect_step(3)
    assert viewer.page.evaluate("window.lifted") == 0


SIZES = [(1440, 900), (1280, 720), (900, 1100), (390, 844), (640, 360)]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_step_moves_nothing_but_what_it_is_about(viewer: Viewer, width: int, height: int) -> None:
    """Caption, actions, transport and timeline stay where they are, and the page never scrolls sideways."""
    page = viewer.page
    page.set_viewport_size({"width": width, "height": height})
    places = """() => [document.documentElement.scrollWidth - innerWidth <= 0, ...['stage-panel', 'caption', 'actions',
        'transport', 'timeline'].map((id) => {
            const box = document.getElementById(id).getBoundingClientRect();
            return [Math.round(box.top + scrollY), Math.round(box.height)];
        })]"""
    viewer.run_until("a window fires")
    viewer.expect_past(50)
    before = page.evaluate(places)
    assert before[0] is True
    for _ in range(12):
        stood = viewer.step
        viewer.key("ArrowRight")
        viewer.expect_step(stood + 1)
        assert page.evaluate(places) == before


def test_the_theme_is_the_systems_until_it_is_chosen(viewer: Viewer) -> None:
    page = viewer.page
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.click("[data-theme-toggle]")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    viewer.open(LAB)
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
