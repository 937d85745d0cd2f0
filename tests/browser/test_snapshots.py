"""What a student sees of snapshots: every phase of a checkpoint on the stage and in its panel, under each scheme."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from engine.checkpointing.failure_reasons import REASONS
from tests.browser.conftest import PATIENCE, Viewer
from tests.browser.test_access import grave_findings

SLOW = "/labs/slow-barrier/"
FILLED = 150
"""Steps after which the channels of the lab are full."""


class Lab(Viewer):
    """The lab whose queues are full, and its checkpoint panel."""

    def start(self, scheme: str = "aligned") -> "Lab":
        self.open(SLOW)
        if scheme != "aligned":
            self.page.select_option('[name="@scheme"]', scheme)
            self.page.get_by_role("button", name="Start again with this").click()
            self.page.wait_for_url("**/runs/**")
            self.wait_until_ready()
        self.page.get_by_role("button", name=f"Run until step {FILLED}").click()
        self.expect_step(FILLED)
        expect(self.page.locator(".aside")).to_contain_text("Stopped")
        return self

    def walk_until(self, seen: Locator, most: int = 150) -> None:
        """Step until something is there."""
        for _ in range(most):
            if seen.count():
                return
            stood = self.step
            self.key("ArrowRight")
            self.expect_past(stood)
        raise AssertionError(f"{most} steps, and no {seen}")

    @property
    def panel(self) -> Locator:
        return self.page.locator('[data-panel="checkpoints"]')

    @property
    def over(self) -> Locator:
        return self.page.locator("svg.over")


@pytest.fixture
def lab(server: Any, page: Page) -> Lab:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    return Lab(page, server.url)


def test_barriers_overtake_and_what_they_overtook_is_marked_and_counted(lab: Lab) -> None:
    page = lab.start("unaligned").page
    expect(page.locator("[data-scheme]")).to_have_text("unaligned checkpoints")
    legend = page.locator(".legend")
    expect(legend).not_to_contain_text("overtook")
    lab.command(kind="checkpoint")
    lab.walk_until(lab.over.locator(".token .g-priority"))
    expect(legend).to_contain_text("barrier that overtook")
    before = page.locator('.channel[aria-label*="barrier 1 before the queue"]')
    expect(before.first).to_be_attached()
    expect(page.locator("#actions .reason.priority").first).to_contain_text("overtakes")
    expect(page.locator('#actions [data-action^="barrier:"] .g-priority').first).to_be_visible()
    lab.walk_until(lab.over.locator(".token .saved-corner"))
    expect(legend).to_contain_text("saved in a checkpoint")
    lab.walk_until(lab.panel.locator(".gantt .gathered"))
    lab.walk_until(page.locator(".card .status", has_text=re.compile(r"B left")))
    left = page.locator(".card .status", has_text="B left").first.inner_text()
    page.reload()
    expect(page.locator(".card .status", has_text="B left").first).to_have_text(left)
    assert grave_findings(page) == []
    lab.run_until("a checkpoint completes")
    expect(lab.panel.locator("[data-about]")).to_contain_text("stored as channel state")
    expect(lab.over.locator(".saved-corner")).to_have_count(0)
    lab.panel.locator("[data-as-table]").click()
    row = lab.panel.locator("tbody tr", has_text="all").locator("td").all_inner_texts()
    held, state, new, saved = (int(cell) for cell in row[1:5])
    assert held == 0
    assert state == new > 0
    assert saved > 0


def test_a_bar_tells_what_it_is_and_leads_to_its_end(lab: Lab) -> None:
    page = lab.start().page
    lab.command(kind="checkpoint")
    lab.run_until("a checkpoint completes")
    expect(lab.panel.locator(".meta")).to_have_text("1 complete")
    end = lab.step
    expect(lab.panel.locator(".gantt .aligning").first).to_be_visible()
    expect(lab.panel.locator("[data-about]")).to_contain_text("records held back")
    # One stop of Tab; arrows go along a part and from part to part.
    reached = lab.panel.locator('.gantt [tabindex="0"]')
    expect(reached).to_have_count(1)
    reached.focus()
    lab.key("ArrowDown", "ArrowDown", "ArrowRight")
    told = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert re.fullmatch(
        r"count\[0\] aligned its barriers for \d+ steps, until step \d+; .* had to wait\.", told
    )
    expect(lab.panel.locator("[data-readout]")).to_have_text(told)
    lab.expect_step(end)
    lab.key("Enter")
    lab.expect_step(int(re.findall(r"until step (\d+)", told)[0]))
    expect(lab.panel.locator(".meta")).to_contain_text("in progress")
    assert page.evaluate("Boolean(document.activeElement.closest('.gantt'))")
    lab.panel.locator('[data-mark^="count[0]"] .hit').nth(1).hover()
    expect(lab.panel.locator("[data-readout]")).to_contain_text("count[0]")


def test_a_pinned_checkpoint_stays_while_newer_ones_come(lab: Lab) -> None:
    lab.start()
    for number in (1, 2):
        lab.command(kind="checkpoint")
        lab.run_until("a checkpoint completes")
        expect(lab.panel.locator(".meta")).to_have_text(f"{number} complete")
    follow = lab.panel.locator("[data-follow]")
    pressed = lab.panel.locator('[data-checkpoint][aria-pressed="true"]')
    expect(follow).to_have_attribute("aria-pressed", "true")
    expect(pressed).to_have_attribute("data-checkpoint", "2")
    follow.focus()
    lab.key("Enter")
    expect(follow).to_have_attribute("aria-pressed", "false")
    expect(follow).to_be_focused()
    lab.command(kind="checkpoint")
    expect(lab.panel.locator('[data-checkpoint="3"]')).to_be_visible()
    expect(pressed).to_have_attribute("data-checkpoint", "2")
    expect(pressed).to_have_attribute("aria-label", re.compile("pinned"))
    follow.click()
    expect(pressed).to_have_attribute("data-checkpoint", "3")


def test_a_refused_upload_is_told_to_everybody(lab: Lab) -> None:
    page = lab.start().page
    lab.command(kind="refuse_upload", subtask="count[1]")
    sign = lab.card("count[1]").locator(".refuses")
    expect(sign).to_be_visible()
    expect(lab.card("count[1]")).to_have_attribute("aria-label", re.compile("refuses"))
    lab.command(kind="checkpoint")
    lab.walk_until(lab.panel.locator(".gantt .dropped"))
    expect(sign).to_have_count(0)
    lab.walk_until(lab.over.locator(".token .g-cancel"))
    expect(page.locator(".legend")).to_contain_text("checkpoint given up")
    expect(lab.panel.locator("[data-about]")).to_contain_text("CHECKPOINT_ASYNC_EXCEPTION")
    gone = lab.panel.locator('[aria-label^="count[1] gave up its part"]')
    expect(gone).to_have_attribute("aria-label", re.compile(r"in step \d+: the storage refused"))


def test_the_gates_pause_while_the_channels_drain(lab: Lab) -> None:
    page = lab.start("stop_the_world").page
    lab.command(kind="checkpoint")
    for gate in ("gate[0]", "gate[1]"):
        expect(lab.card(gate).locator(".status")).to_have_text("paused")
    expect(page.locator("#actions .reason.paused").first).to_contain_text("pauses for checkpoint 1")
    lab.run_until("a checkpoint completes")
    expect(lab.card("gate[0]").locator(".status")).to_have_count(0)


def test_the_fault_menu_fits_a_small_screen_and_is_walked_by_keys(lab: Lab) -> None:
    page = lab.page
    page.set_viewport_size({"width": 1280, "height": 720})
    lab.open(SLOW)
    lab.key("f")
    menu = page.locator('[data-menu="faults"] .popover')
    box = menu.bounding_box()
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 720
    groups = menu.locator("h3").all_inner_texts()
    assert groups == ["Snapshots", "Trouble", "Another parallelism"]
    lab.key("ArrowUp")
    last = menu.locator("button").last
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport()
    expect(last).to_have_attribute("aria-label", "Rescale board to 8 from the beginning")
    lab.key("Escape")
    lab.command(kind="stop", drain=True)
    lab.expect_step(1)
    lab.run_until("the end")
    expect(page.locator("#actions")).to_contain_text("The job has finished", timeout=PATIENCE)
    expect(page.locator("#actions")).to_contain_text("drained with savepoint 1")


def test_a_barrier_that_hops_over_the_queue_arrives_where_it_is_without_motion(lab: Lab) -> None:
    page = lab.start("unaligned").page
    lab.command(kind="checkpoint")
    lab.walk_until(lab.over.locator(".token .g-priority"))
    still = page.inner_html("svg.over")
    stood = lab.step
    page.emulate_media(reduced_motion="no-preference")
    lab.key("ArrowLeft")
    lab.expect_step(stood - 1)
    lab.key("ArrowRight")
    lab.expect_step(stood)
    page.wait_for_function("() => !document.querySelector('.lifted')")
    assert page.inner_html("svg.over") == still


@pytest.mark.parametrize(("theme", "width"), [("dark", 1440), ("light", 390)])
def test_axe_finds_nothing_grave_in_any_phase(lab: Lab, theme: str, width: int) -> None:
    page = lab.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 860})
    lab.start("unaligned")
    lab.command(kind="refuse_upload", subtask="count[1]")
    lab.command(kind="checkpoint")
    lab.walk_until(lab.panel.locator(".gantt .gathered"))
    assert grave_findings(page) == []
    lab.walk_until(lab.panel.locator(".gantt .dropped"))
    lab.panel.locator("[data-as-table]").click()
    page.locator('[data-menu="faults"] summary').click()
    assert grave_findings(page) == []


def test_reasons_read_the_same_in_the_page_and_in_the_engine(modules: Page) -> None:
    known = modules.evaluate("import('/js/snapshots.js').then((module) => module.FAILURES)")
    assert known == REASONS
