"""The stage of a process network: what is drawn, what is said, and how it is driven without a mouse or without a picture."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page, expect

from engine import Policy
from engine.checkpointing.wrong_snapshots import PROTOCOLS
from engine.processes.recording import NetworkRecording
from streamlab.runs import protocol
from tests.browser.conftest import Viewer
from tests.browser.test_access import SCREENS, grave_findings
from tests.browser.test_fold import FOLD, LAW, wire
from tests.engine.checkpointing.networks import networks

LAB = "/labs/chandy-lamport/"


@pytest.fixture
def network(server: Any, page: Page) -> Viewer:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    return Viewer(page, server.url).open(LAB)


def complete(network: Viewer) -> None:
    network.run_until("a snapshot completes")
    network.expect_step(14)


def readout(network: Viewer) -> Any:
    return network.page.locator(".st-readout")


@LAW
@given(networks(sends=5), st.sampled_from(list(PROTOCOLS)), st.integers(0, 5))
def test_the_browser_folds_the_events_of_a_network_to_its_picture(
    modules: Page, network: Any, name: str, seed: int
) -> None:
    recording = NetworkRecording(lambda: PROTOCOLS[name](network), Policy("random"), seed, (), name)
    start, steps, views = wire(recording.view()), [], {}
    while trace := recording.step(1, events=True):
        (one,) = trace
        steps.append(json.loads(protocol.encode_step(one.step, one.action, "", one.events)))
        views[one.step] = wire(recording.view())
    assert (
        modules.evaluate(FOLD, json.dumps({"start": start, "steps": steps, "views": views})) is None
    )


LAYOUT = """async () => {
    const { layoutSpaceTime, arrowAt, stepAt } = await import("/js/stage/space_time.js");
    const diagram = {
        lanes: ["P", "Q"], from: 0, to: 10, now: 6,
        arrows: [{id: 0, from: "P", to: "Q", sent: 1, delivered: 4}, {id: 1, from: "Q", to: "P", sent: 5, delivered: null}],
        cuts: [{number: 1, points: {P: 2, Q: null}}],
    };
    const layout = layoutSpaceTime(diagram, {width: 452, height: 300});
    const [sent, open] = layout.arrows;
    const wide = layoutSpaceTime({...diagram, to: 400}, {width: 452, height: 300});
    return {
        lanes: layout.lanes, sent, open, cut: layout.cuts[0], x: [0, 6, 10].map(layout.x), wide: wide.width,
        near: arrowAt(layout, (sent.x0 + sent.x1) / 2, (sent.y0 + sent.y1) / 2)?.id, far: arrowAt(layout, layout.x(9), layout.lanes.P),
        steps: [0, 66, 9999].map((px) => stepAt(diagram, layout, px)),
    };
}"""


def test_a_diagram_is_laid_out_by_steps_and_lanes(modules: Page) -> None:
    found = modules.evaluate(LAYOUT)
    assert found["x"] == [26, 266, 426]
    assert found["lanes"]["P"] < found["lanes"]["Q"]
    sent, under_way = found["sent"], found["open"]
    assert (sent["x0"], sent["x1"], sent["y0"], sent["y1"]) == (
        66,
        186,
        found["lanes"]["P"],
        found["lanes"]["Q"],
    )
    assert under_way["open"]
    assert found["lanes"]["P"] < under_way["y1"] < found["lanes"]["Q"]
    assert under_way["x1"] > 266
    assert [dot["id"] for dot in found["cut"]["dots"]] == ["P"]
    assert [segment["done"] for segment in found["cut"]["segments"]] == [True, False, False]
    assert (found["near"], found["far"]) == (0, None)
    assert found["steps"] == [0, 1, 10]
    assert found["wide"] > 452


def test_a_state_that_never_occurred_is_shown_and_said(network: Viewer) -> None:
    page = network.page
    complete(network)
    assert "never occurred in this run" in network.sentence
    verdict = page.locator(".st-verdicts li").first
    expect(verdict).to_contain_text("never occurred")
    expect(verdict).to_contain_text("It might have")
    assert page.locator(".st-box .st-arrow").count() == 9
    assert page.locator(".st-box .st-arrow.marker").count() == 5
    assert page.locator(".st-box .st-held").count() == 1
    assert page.locator(".st-box .st-point").count() == 3
    expect(page.locator(".net-sum")).to_contain_text("9 of 9 tokens")
    expect(page.locator('[data-panel="snapshots"] .meta')).to_have_text("1 complete")
    expect(page.locator('[data-panel="snapshots"]')).to_contain_text("An order of the same actions")


def test_what_is_under_way_ends_at_the_present_and_stands_in_the_graph(network: Viewer) -> None:
    page = network.page
    for step in range(1, 6):
        network.key("ArrowRight")
        network.expect_step(step)
    assert page.locator(".st-box .under-way").count() == 5
    label = page.locator(".net").get_attribute("aria-label")
    assert label is not None
    assert "on P → Q, head first: 1 token, marker 1, 2 tokens" in label
    expect(page.locator(".net-sum")).to_contain_text("on P → Q 3")


def test_a_wrong_protocol_breaks_the_total_and_says_why(network: Viewer) -> None:
    page = network.page
    page.select_option("[name=protocol]", label="no channel state")
    page.click(".again button")
    page.wait_for_url("**/runs/**")
    network.wait_until_ready()
    complete(network)
    verdict = page.locator(".st-verdicts .wrong")
    expect(verdict).to_contain_text("7 tokens where the network has 9")
    expect(verdict).to_contain_text("What R sent to P in step 5 (2 tokens) was under way")
    assert page.locator(".st-box .st-arrow.wrong .st-cross").count() == 1
    expect(page.locator(".net-sum")).to_contain_text("9 of 9 tokens")
    assert page.locator("[name=protocol]").input_value() == "1"


def test_messages_are_walked_by_keys_and_enter_goes_to_their_steps(network: Viewer) -> None:
    page = network.page
    complete(network)
    page.focus(".st-box")
    network.key("End", "Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    expect(readout(network)).to_contain_text("R sent 2 tokens to P in step 5; arrived in step 7.")
    expect(readout(network)).to_contain_text("recorded as state of R → P")
    assert page.locator(".st-box .is-chosen").get_attribute("data-arrow") == "4"
    network.expect_step(14)
    network.key("Enter")
    network.expect_step(5)
    network.key("Enter")  # the arrow is under way here: there is no other step yet
    network.expect_step(5)
    network.key("Escape")
    expect(readout(network)).to_contain_text("Each arrow is a message")


def test_pointing_tells_and_a_click_beside_the_arrows_goes_to_that_step(network: Viewer) -> None:
    page = network.page
    complete(network)
    box = page.locator(".st-box").bounding_box()
    tick = page.locator(".st-box .axis-text", has_text="12").bounding_box()
    assert box is not None
    assert tick is not None
    x = tick["x"] + tick["width"] / 2
    page.mouse.move(x, tick["y"] - 6)
    expect(readout(network)).to_contain_text("Step 12 P received marker 1 from R")
    page.mouse.click(x, tick["y"] - 6)
    network.expect_step(12)
    flag = page.locator('.st-arrow[data-arrow="0"] .st-disc').bounding_box()
    assert flag is not None
    page.mouse.move(flag["x"] + 7, flag["y"] + 7)
    expect(readout(network)).to_contain_text("P sent 1 token to Q in step 1; arrived in step 6.")


def test_two_initiators_and_two_cuts(network: Viewer) -> None:
    page = network.page
    for step, action in enumerate(["snapshot:P/1", "snapshot:R/1", "snapshot:R/2"], 1):
        page.click(f'[data-action="{action}"]')
        network.expect_step(step)
    assert page.locator(".st-name text").all_text_contents() == ["cut 1", "cut 2"]
    dashes = page.locator(".st-cut .st-line:not(.coming)").evaluate_all(
        "lines => lines.map((line) => line.getAttribute('stroke-dasharray'))"
    )
    assert len(set(dashes)) == 2


def test_the_table_has_all_of_it(network: Viewer) -> None:
    page = network.page
    complete(network)
    network.key("t")
    table = page.locator("#table-panel")
    expect(table).to_be_visible()
    for words in [
        "Processes after step 14",
        "1 of 1",
        "nothing",
        "marker 1, P → Q",
        "recorded as state of R → P",
    ]:
        expect(table).to_contain_text(words)


def test_a_branch_in_the_past_and_the_run_where_it_was_left(network: Viewer) -> None:
    page = network.page
    complete(network)
    network.key("ArrowLeft")
    network.expect_step(13)
    network.key("ArrowLeft")
    network.expect_step(12)
    page.locator("#actions [data-action]", has_text="Start snapshot 2 at R").click()
    network.expect_step(13)
    expect(page.locator(".branches")).to_contain_text("branch of")
    page.reload()
    network.wait_until_ready()
    network.expect_step(13)
    assert page.locator(".st-name").count() == 2


def test_a_network_has_no_faults_and_no_lineage(network: Viewer) -> None:
    page = network.page
    expect(page.locator('[data-menu="faults"]')).to_be_hidden()
    network.key("f", "l", "ArrowRight")
    network.expect_step(1)


@pytest.mark.parametrize(("theme", "width", "height", "projector"), SCREENS)
def test_axe_finds_nothing_grave(
    network: Viewer, theme: str, width: int, height: int, projector: bool
) -> None:
    page = network.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    complete(network)
    if projector:
        page.click("button[data-projector]")
    assert grave_findings(page) == []
    page.click("[data-table]")
    expect(page.locator("#table-panel")).to_be_visible()
    assert grave_findings(page) == []


def test_a_step_does_not_move_the_page(network: Viewer) -> None:
    page = network.page
    boxes = set()
    for step in range(1, 13):
        network.key("ArrowRight")
        network.expect_step(step)
        boxes.add(json.dumps(page.locator("#caption").bounding_box()))
    assert len(boxes) == 1
