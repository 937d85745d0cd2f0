"""Event time on the page: the chart, idle partitions, explanations, lineage; on the lab where an airport falls silent."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from engine import Recording
from engine.datastream.extensions import SetIdle
from streamlab.runs import protocol
from tests.browser.conftest import PATIENCE, Viewer
from tests.browser.test_access import SCREENS, grave_findings
from tests.engine.event_time.event_time_jobs import make_event_time_job

LAB = "/labs/silent-airport/"


@pytest.fixture
def silent(server: Any, page: Page) -> Viewer:
    """The lab as it opens: nobody has an idle timeout."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    return Viewer(page, server.url).open(LAB)


@pytest.fixture
def timed_out(silent: Viewer) -> Viewer:
    """With an idle timeout of an hour, played to its end."""
    page = silent.page
    page.get_by_label("Idle timeout").fill("60")
    page.get_by_role("button", name="Start again").click()
    page.wait_for_url("**/runs/*/")
    silent.wait_until_ready()
    silent.run_until("the end")
    expect(page.locator(".aside")).to_contain_text("Stopped", timeout=PATIENCE)
    return silent


def panel(viewer: Viewer, name: str) -> Locator:
    return viewer.page.locator(f'[data-panel="{name}"]')


def fire(viewer: Viewer, times: int = 1) -> None:
    for _ in range(times):
        stood = viewer.step
        viewer.page.get_by_role("button", name="Run until a window fires").click()
        viewer.expect_past(stood)


def go_to(viewer: Viewer, step: int) -> None:
    viewer.page.locator(".timeline input").fill(str(step))
    viewer.page.evaluate("document.activeElement.blur()")  # arrows would move the slider
    viewer.expect_step(step)


def first_step_with(viewer: Viewer, mark: str) -> int:
    """From the log, which has every sentence that was seen."""
    for row in viewer.page.locator(".log li").all():
        if mark in row.inner_text():
            return int(row.locator(".num").inner_text())
    raise AssertionError(f"no step with {mark!r}")


# ---- the chart


def test_the_chart_shows_what_the_subtask_took(silent: Viewer) -> None:
    fire(silent)
    chart = panel(silent, "time").locator(".event-chart")
    points = chart.locator(".point")
    taken = points.count()
    assert taken > 10
    expect(chart.locator(".stepped")).to_have_count(1)
    assert chart.locator(".band.open").count() >= 1
    removed = chart.locator(".band.removed title").first.evaluate("e => e.textContent")
    assert re.search(r"\d\d:\d\d–\d\d:\d\d of \w{3}[\w, ]* has fired and was removed", removed)
    box = panel(silent, "time").locator(".chart-box")
    assert f"{taken} records of window[0]" in (box.get_attribute("aria-label") or "")


def test_stepping_back_takes_the_last_record_away_and_keeps_the_rest(silent: Viewer) -> None:
    fire(silent)
    points = panel(silent, "time").locator(".event-chart .point")
    now = silent.step
    at_now = points.count()
    while "took record" not in silent.sentence or "window[0]" not in silent.sentence:
        silent.key("ArrowLeft")
        now -= 1
        silent.expect_step(now)
    expect(points).to_have_count(at_now)
    silent.key("ArrowLeft")
    silent.expect_step(now - 1)
    expect(points).to_have_count(at_now - 1)
    silent.key("ArrowRight")
    silent.expect_step(now)
    expect(points).to_have_count(at_now)


def test_after_a_jump_the_chart_says_from_where_on_it_knows(silent: Viewer) -> None:
    fire(silent)
    stood = silent.step
    silent.page.reload()
    silent.wait_until_ready()
    silent.expect_step(stood)
    readout = panel(silent, "time").locator(".readout")
    expect(readout).to_contain_text(f"Known from step {stood} on")
    expect(panel(silent, "time").locator(".event-chart .point")).to_have_count(0)
    assert panel(silent, "time").locator(".event-chart .band.open").count() >= 1


def test_records_are_read_by_pointer_by_arrows_and_as_a_table(silent: Viewer) -> None:
    fire(silent)
    time = panel(silent, "time")
    box, readout = time.locator(".chart-box"), time.locator(".readout")
    stood = silent.step
    box.focus()
    silent.key("ArrowUp")
    expect(readout).to_contain_text(re.compile(r"\w{3} of \d\d:\d\d, number \d+, in step \d+"))
    newest = readout.inner_text()
    silent.key("ArrowDown")
    expect(readout).not_to_have_text(newest)
    expect(time.locator(".chosen-ring")).to_have_count(1)
    silent.key("Home")
    expect(readout).to_contain_text("number 1,")
    silent.expect_step(stood)
    time.locator(".event-chart .point").last.hover(force=True)
    expect(readout).to_contain_text("in step")
    rows = time.locator(".event-chart .point").count()
    time.locator("[data-as-table]").click()
    expect(time.locator(".chart-table tbody tr")).to_have_count(min(rows, 60))
    expect(box).to_be_hidden()


def test_the_chart_can_show_one_key(silent: Viewer) -> None:
    fire(silent)
    time = panel(silent, "time")
    everything = time.locator(".event-chart .point").count()
    time.get_by_label("Records of which key").select_option("BOS")
    titles = time.locator(".event-chart .point title")
    assert 0 < titles.count() < everything
    words = titles.evaluate_all("all => all.map((one) => one.textContent)")
    assert all(word.startswith("BOS of") for word in words)


def test_a_closed_panel_draws_nothing(silent: Viewer) -> None:
    summary = panel(silent, "time").locator("summary").first
    summary.click()
    silent.page.evaluate("""() => {
        window.drawn = 0;
        new MutationObserver((all) => { window.drawn += all.length; })
            .observe(document.querySelector('[data-panel="time"] .panel-body'), {subtree: true, childList: true});
    }""")
    fire(silent)
    assert silent.page.evaluate("window.drawn") == 0
    expect(summary).to_contain_text("window[0] at")
    summary.click()
    expect(panel(silent, "time").locator(".event-chart .point").nth(10)).to_be_attached()


# ---- who is silent


def test_an_idle_split_is_shown_by_a_word_and_a_dashed_tape(timed_out: Viewer) -> None:
    card = timed_out.card("source[0]")
    go_to(timed_out, 480)
    expect(card.locator(".split", has_text="LGA").locator("em")).to_have_text("idle")
    expect(card.locator(".tape.silent")).to_have_count(1)
    assert "LGA at" in (card.get_attribute("aria-label") or "")
    assert ", idle" in (card.get_attribute("aria-label") or "")
    expect(timed_out.page.locator(".legend")).to_contain_text("idle sender")
    card.click()
    expect(panel(timed_out, "time").locator(".gauges .row-word", has_text="idle")).to_have_count(1)
    expect(panel(timed_out, "time").locator(".gauge-idle")).to_have_count(1)


def test_the_legend_names_a_status_only_where_there_was_one(silent: Viewer) -> None:
    fire(silent)
    expect(silent.page.locator(".legend")).not_to_contain_text("idle")


IDLE_INPUT = """async () => {
    const selectors = await import("/js/selectors.js");
    const glyphs = await import("/js/glyphs.js");
    const input = (watermark, idle) => ({ watermark, idle, ended: false, blocked: false });
    const subtask = { inputs: { "a[0]>b[0]": input(5, true), "a[1]>b[0]": input(9, false), "a[2]>b[0]": input(12, false) } };
    const status = { id: "a[0]>b[0]:3", kind: "status", key: null, text: "idle", brief: "", timestamp: null, checkpoint: null };
    return [selectors.holders(subtask), glyphs.markOf(status).label, String(glyphs.glyph(glyphs.markOf(status))), glyphs.nameOf(status)];
}"""


def test_an_idle_input_holds_nothing_back_and_a_status_has_a_shape_of_its_own(
    modules: Page,
) -> None:
    held, label, drawn, name = modules.evaluate(IDLE_INPUT)
    assert held == ["a[1]>b[0]"]
    assert (label, name) == ("idle", "status idle")
    assert "g-status g-idle" in drawn
    assert "g-time" not in drawn


# ---- why


def test_why_a_window_has_not_fired_is_answered_down_to_the_split(silent: Viewer) -> None:
    page = silent.page
    fire(silent, 8)
    time = panel(silent, "time")
    time.locator('[data-ask="window"]').click()
    facts = time.locator(".facts li")
    expect(facts.first).to_contain_text("fires when the watermark of window[0] reaches")
    assert facts.count() >= 4
    # A name points at the stage by hover and by focus, and selects by click.
    name = time.locator(".facts .ref", has_text="LGA").first
    name.hover()
    expect(silent.card("source[0]")).to_have_class(re.compile("pointed"))
    page.mouse.move(600, 300)
    expect(silent.card("source[0]")).not_to_have_class(re.compile("pointed"))
    channel = time.locator(".facts .ref", has_text="→").first
    channel.focus()
    expect(page.locator(".channel.pointed")).to_have_count(1)
    silent.key("Enter")
    expect(page.locator(".channel.selected")).to_have_count(1)
    expect(panel(silent, "state").locator(".meta")).to_contain_text("→")


def test_run_until_it_fires_takes_the_steps_that_it_names(silent: Viewer) -> None:
    fire(silent, 8)
    time = panel(silent, "time")
    window = time.locator("[data-window] option:checked").inner_text()
    time.locator('[data-ask="window"]').click()
    button = time.locator("[data-run-to]")
    expect(button).to_contain_text(re.compile(r"Run until it fires \(\d+ steps?\)"))
    steps = int(re.sub(r"\D", "", button.inner_text()))
    stood = silent.step
    button.click()
    silent.expect_step(stood + steps)
    key = window.split(" of ")[1]
    assert re.search(rf"fired for .*{key}", silent.sentence)
    # The answer is about the new step now.
    expect(time.locator(".facts li").first).to_contain_text(re.compile("is not open|fired"))
    time.locator("[data-close]").click()
    expect(time.locator(".facts")).to_have_count(0)


def test_an_open_explanation_follows_the_steps(silent: Viewer) -> None:
    fire(silent, 8)
    time = panel(silent, "time")
    time.locator('[data-ask="window"]').click()
    button = time.locator("[data-run-to]")
    expect(button).to_be_visible()
    steps = int(re.sub(r"\D", "", button.inner_text()))
    stood = silent.step
    silent.key("ArrowRight")
    silent.expect_step(stood + 1)
    expect(button).to_contain_text(f"({steps - 1} step")


def test_why_a_record_was_late(timed_out: Viewer) -> None:
    go_to(timed_out, 0)
    timed_out.run_until("dropped as late")
    timed_out.expect_past(400)
    late = timed_out.sentence
    found = re.search(r"(window\[\d\]) dropped (\w{3}) of (\d\d:\d\d) as late", late)
    assert found is not None, late
    subtask, key, at = found.groups()
    timed_out.card(subtask).click()
    time = panel(timed_out, "time")
    expect(time.locator(".point-late title").first).to_have_text(
        re.compile("late, for the watermark was")
    )
    time.get_by_role("button", name=f"Ask why {key} of {at} was late at {subtask}").click()
    facts = time.locator(".facts li")
    expect(facts.first).to_contain_text(f"The record of {at} belongs to")
    expect(facts.last).to_contain_text("allowed lateness")
    expect(time.locator("[data-run-to]")).to_have_count(0)


def test_a_question_before_the_first_step_is_answered_with_what_to_do(silent: Viewer) -> None:
    """On a shared picture there are windows, but no run yet that could be asked."""
    fire(silent)
    page = silent.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("[data-share]")
    expect(page.locator("[data-share] [data-said]")).to_have_text("link copied")
    link = page.evaluate("navigator.clipboard.readText()")
    page.goto(link)
    silent.wait_until_ready()
    time = panel(silent, "time")
    time.locator('[data-ask="window"]').click()
    expect(time.locator(".why")).to_contain_text("Take a step first")


# ---- state


def test_open_windows_timers_and_merging_sessions_are_in_the_state_panel(silent: Viewer) -> None:
    page = silent.page
    fire(silent)
    state = panel(silent, "state")
    state.locator(".timers summary").click()
    expect(state.locator(".timers tbody tr").first).to_contain_text("event time")
    merging = first_step_with(silent, "became")
    go_to(silent, merging - 1)
    silent.key("ArrowRight")
    silent.expect_step(merging)
    subtask = re.search(r"window\[\d\]", silent.sentence)
    assert subtask is not None
    silent.card(subtask.group()).click()
    expect(state.locator(".merged")).to_contain_text("→")
    expect(state.locator("tr.gone")).not_to_have_count(0)
    assert not page.locator('[data-panel="state"] td', has_text="sessions").count()


# ---- lineage


def test_a_result_tells_of_which_records_it_was_made(silent: Viewer) -> None:
    page = silent.page
    fire(silent, 3)
    while not re.search(r"sink\[0\] wrote", silent.sentence):
        stood = silent.step
        silent.key("ArrowRight")
        silent.expect_step(stood + 1)
    results = panel(silent, "results")
    pick = results.locator(".pick").first
    flights = int(re.findall(r"\d+", pick.inner_text())[-1])
    pick.focus()
    silent.key("Enter")
    expect(results.locator(".origins tbody tr")).to_have_count(flights)
    expect(pick).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".aside")).to_contain_text(f"was made of {flights} record")
    expect(page.locator(".card.traced").first).to_be_visible()
    expect(page.locator(".tape-origin").first).to_be_attached()
    silent.key("Escape")
    expect(page.locator(".card.traced")).to_have_count(0)
    expect(results.locator(".origins table")).to_have_count(0)
    silent.key("l")
    expect(results.locator(".origins tbody tr")).to_have_count(flights)
    silent.key("l")
    expect(page.locator(".card.traced")).to_have_count(0)


def test_a_result_on_its_way_is_traced_by_a_click_and_from_its_queue(silent: Viewer) -> None:
    page = silent.page
    fire(silent)
    token = page.locator(
        'svg.over [data-channel^="window["] .token', has=page.locator(".g-value")
    ).first
    token.click()
    expect(page.locator(".aside")).to_contain_text("was made of")
    expect(page.locator("svg.over .traced-ring").first).to_be_visible()
    expect(panel(silent, "time").locator(".traced-ring").first).to_be_attached()
    page.locator(".aside [data-clear]").click()
    expect(page.locator("svg.over .traced-ring")).to_have_count(0)
    panel(silent, "state").locator(".pick").first.click()
    expect(page.locator(".aside")).to_contain_text("was made of")


# ---- for everybody


@pytest.mark.parametrize(("theme", "width", "height", "projector"), SCREENS)
def test_axe_finds_nothing_grave_in_answers_and_lineage(
    silent: Viewer, theme: str, width: int, height: int, projector: bool
) -> None:
    page = silent.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    fire(silent, 8)
    panel(silent, "time").locator('[data-ask="window"]').click()
    expect(panel(silent, "time").locator(".facts")).to_be_visible()
    silent.key("l")
    expect(page.locator(".aside")).to_contain_text("was made of")
    if projector:
        page.click("button[data-projector]")
    assert grave_findings(page) == []
    page.locator('[data-panel="time"] [data-as-table]').dispatch_event("click")
    assert grave_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_lab_is_offered_on_the_home_page(server: Any, page: Page) -> None:
    page.goto(server.url)
    page.get_by_role("link", name="The airport that fell silent").click()
    page.wait_for_selector("html[data-ready=true]", state="attached", timeout=PATIENCE)
    expect(page.locator(".prose h1")).to_have_text("The airport that fell silent")


# ---- the trail, from which the chart is drawn

TRAIL = """async (trace) => {
    const { followTrail, jumpTrail, startTrail, trackAt } = await import("/js/trail.js");
    const { steps, subtasks } = JSON.parse(trace);
    const told = (trail, at) => JSON.stringify(subtasks.map((id) => trackAt(trail, id, at)));
    const end = steps.length;
    const batch = followTrail(startTrail(0), steps);
    let single = startTrail(0);
    const seen = [told(single, 0)];
    for (const step of steps) {
        single = followTrail(single, [step]);
        seen.push(told(single, step.step));
    }
    if (told(batch, end) !== seen[end]) return "batch";
    // Going back shows what was shown then; going on from there leads to the same again.
    for (const at of [end - 1, Math.floor(end / 2), 1]) {
        const back = jumpTrail(single, at);
        if (told(back, at) !== seen[at]) return `back at ${at}`;
        single = followTrail(back, steps.slice(at));
        if (told(single, end) !== seen[end]) return `on from ${at}`;
    }
    const jumped = jumpTrail(single, end + 5);
    return [jumped.since, trackAt(jumped, subtasks[0], end + 5).points.length, end > 20];
}"""


ENTRIES = [("abc"[n % 3], (n * 37) % 90, n % 10) for n in range(40)]
SESSIONS = {
    "sources": [[ENTRIES[:14], [SetIdle(True), *ENTRIES[14:20]]], [ENTRIES[20:]]],
    "source_parallelism": 2, "parallelism": 2, "bound": 5, "idleness": 0, "drift": None, "interval": 0,
    "finished": "max", "middle": "window", "assigner": "session", "trigger": "default", "evictor": "none",
    "contents": "list", "lateness": 5, "retract": False, "buffers": 4,
}  # fmt: skip


def test_a_trail_does_not_depend_on_batches_and_survives_going_back(modules: Page) -> None:
    recording = Recording(make_event_time_job(SESSIONS))
    steps = [
        json.loads(protocol.encode_step(step.step, step.action, "", step.events))
        for step in recording.step(400, events=True)
    ]
    subtasks = list(recording.view()["subtasks"])
    answer = modules.evaluate(TRAIL, json.dumps({"steps": steps, "subtasks": subtasks}))
    assert answer == [len(steps) + 5, 0, True]
