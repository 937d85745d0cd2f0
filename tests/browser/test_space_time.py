"""The checkpoints of a job as a space-time diagram: folded at first, asked for when it is opened, and walked by keys."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, Viewer
from tests.browser.test_access import grave_findings

PANEL = '[data-panel="spacetime"]'


def sent(page: Page) -> list[str]:
    """Types of what the page has sent, kept from now on."""
    kinds: list[str] = []
    page.on(
        "websocket",
        lambda socket: socket.on(
            "framesent", lambda text: kinds.append(str(text).split('"type":"')[1].split('"')[0])
        ),
    )
    return kinds


def after_a_checkpoint(viewer: Viewer) -> None:
    viewer.page.click("text=Take a checkpoint")
    expect(viewer.page.locator('[data-panel="checkpoints"] .meta')).to_contain_text(
        "complete", timeout=PATIENCE
    )


def test_it_is_folded_and_asks_for_nothing_until_it_is_opened(viewer: Viewer) -> None:
    page = viewer.page
    kinds = sent(page)
    after_a_checkpoint(viewer)
    page.wait_for_timeout(500)
    assert "space_time" not in kinds
    assert page.locator(f"{PANEL} svg.space-time").count() == 0
    page.click(f"{PANEL} > summary")
    expect(page.locator(f"{PANEL} svg.space-time")).to_be_visible()
    assert kinds.count("space_time") == 1
    expect(page.locator(f"{PANEL} .note")).to_contain_text("around checkpoint 1")
    lanes = page.locator(f"{PANEL} .st-id").all_text_contents()
    assert lanes == ["source[0]", "source[1]", "window[0]", "window[1]", "window[2]", "sink[0]"]
    assert page.locator(f"{PANEL} .st-point").count() == len(lanes)
    assert page.locator(f"{PANEL} .st-arrow.barrier").count() == 9
    assert page.locator(f"{PANEL} .st-arrow.wrong").count() == 0
    assert grave_findings(page) == []


def test_barriers_are_walked_by_keys_and_lead_to_their_steps(viewer: Viewer) -> None:
    page = viewer.page
    after_a_checkpoint(viewer)
    page.click(f"{PANEL} > summary")
    expect(page.locator(f"{PANEL} svg.space-time")).to_be_visible()
    page.focus(f"{PANEL} .st-box")
    viewer.key("End")
    readout = page.locator(f"{PANEL} .st-readout")
    expect(readout).to_contain_text(" in step ")
    step = viewer.step
    viewer.key("Enter")
    page.wait_for_function(
        "n => Number(document.querySelector('.said .number').textContent) !== n", arg=step
    )
    assert viewer.step < step


def test_it_is_a_table_too(viewer: Viewer) -> None:
    page = viewer.page
    after_a_checkpoint(viewer)
    page.click(f"{PANEL} > summary")
    expect(page.locator(f"{PANEL} svg.space-time")).to_be_visible()
    page.click(f"{PANEL} [data-as-table]")
    table = page.locator(f"{PANEL} .st-table")
    expect(table).to_be_visible()
    expect(table).to_contain_text("Barrier 1 left source[0]")
    expect(page.locator(f"{PANEL} .st-box")).to_be_hidden()
    assert grave_findings(page) == []
