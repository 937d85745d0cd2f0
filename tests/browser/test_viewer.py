"""What a student does in the viewer, on the real server and the real engine."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import LAB, PATIENCE, Viewer


def test_opening_a_lab_draws_the_job_and_makes_no_run(viewer: Viewer) -> None:
    page = viewer.page
    for subtask in ("source[0]", "source[1]", "window[0]", "window[1]", "window[2]", "sink[0]"):
        expect(viewer.card(subtask)).to_be_visible()
    expect(page.locator(".channel")).to_have_count(9)
    expect(viewer.possible.first).to_be_visible()
    assert page.url.endswith(LAB)


def test_steps_go_forward_and_back_and_are_told_in_sentences(viewer: Viewer) -> None:
    viewer.key("ArrowRight")
    viewer.expect_step(1)
    assert viewer.sentence.startswith("source[")
    assert re.search(r"/runs/[\w-]+/$", viewer.page.url)
    viewer.key("ArrowRight", "ArrowRight")
    viewer.expect_step(3)
    told = viewer.sentence
    viewer.page.click('[data-do="back"]')
    viewer.expect_step(2)
    assert viewer.sentence != told
    viewer.page.click('[data-do="step"]')
    viewer.expect_step(3)
    assert viewer.sentence == told
    log = viewer.page.locator(".log li .num").all_inner_texts()
    assert log[:3] == ["3", "2", "1"]


def test_the_end_of_the_data_is_told_and_the_page_itself_never_scrolls(viewer: Viewer) -> None:
    page = viewer.page
    page.click('[data-menu="until"] summary')
    expect(page.locator('[data-until*="checkpoint"] small')).to_contain_text("none is under way")
    page.keyboard.press("Escape")
    viewer.run_until("the end")
    expect(page.locator(".aside")).to_contain_text("Stopped", timeout=3 * PATIENCE)
    expect(page.locator("#actions")).to_contain_text("The job has finished")
    expect(page.locator('[data-panel="state"]')).to_contain_text("Nothing is left")
    for do in ("step", "play"):
        expect(page.locator(f'[data-do="{do}"]')).to_have_attribute("aria-disabled", "true")
    viewer.key("ArrowLeft")
    expect(page.locator('[data-do="step"]')).to_have_attribute("aria-disabled", "false")
    scrolls = "document.documentElement.scrollHeight > document.documentElement.clientHeight"
    assert not page.evaluate(scrolls)


def test_steps_in_a_hurry_are_all_taken(viewer: Viewer) -> None:
    viewer.key("ArrowRight")
    viewer.expect_step(1)
    viewer.key(*["ArrowRight"] * 9)
    viewer.expect_step(10)


def test_any_possible_action_can_be_chosen_by_click_and_by_number(viewer: Viewer) -> None:
    label = viewer.possible.nth(2).locator(".what").inner_text()
    assert "JFK" in label
    viewer.possible.nth(2).click()
    viewer.expect_step(1)
    assert "JFK" in viewer.sentence
    viewer.key("2")
    viewer.expect_step(2)


def test_play_pauses_and_speed_changes_while_playing(viewer: Viewer) -> None:
    viewer.page.fill(".speed input", "6")  # 16 steps per second
    viewer.key("Space")
    expect(viewer.page.locator('[data-do="play"]')).to_contain_text("Pause")
    viewer.expect_past(10)
    viewer.page.fill(".speed input", "9")  # as fast as the page reads
    viewer.expect_past(400)
    viewer.page.click('[data-do="play"]')
    expect(viewer.page.locator('[data-do="play"]')).to_contain_text("Play")
    expect(viewer.possible.first).to_be_visible()
    stood = viewer.step
    viewer.page.wait_for_timeout(300)
    assert viewer.step == stood
    # Choosing while the run plays stops it first: the choice is about the picture that is seen.
    viewer.page.fill(".speed input", "4")
    viewer.page.click('[data-do="play"]')
    viewer.expect_past(stood + 1)
    viewer.page.locator('#actions [data-action^="read:"]').first.click()
    expect(viewer.page.locator('[data-do="play"]')).to_contain_text("Play")
    expect(viewer.page.locator(".said .sentence")).to_contain_text("read")
    expect(viewer.page.locator(".caption .error")).to_be_hidden()


def test_the_first_visit_sees_a_window_fire_a_checkpoint_complete_and_a_failure(
    viewer: Viewer,
) -> None:
    page = viewer.page
    page.get_by_role("button", name="Run until a window fires").click()
    viewer.expect_past(50)
    expect(page.locator(".aside")).to_contain_text("fired", timeout=PATIENCE)
    expect(page.locator(".timeline .mark-fired").first).to_be_visible()

    page.get_by_role("button", name="Take a checkpoint").click()
    expect(page.locator(".aside")).to_contain_text("checkpoint", timeout=PATIENCE)
    panel = page.locator('[data-panel="checkpoints"]')
    expect(panel.locator(".meta")).to_have_text("1 complete")
    expect(panel.locator(".gantt .acked")).to_have_count(6)

    page.get_by_role("button", name="Fail window[1]").click()
    expect(viewer.card("window[1]")).to_have_class(re.compile("failed"))
    expect(page.locator(".mark-failed")).to_have_count(1)
    viewer.key("ArrowRight")
    expect(viewer.card("window[1]")).not_to_have_class(re.compile("failed"))
    assert "checkpoint 1" in viewer.sentence


def test_alignment_is_shown_while_it_lasts(viewer: Viewer) -> None:
    viewer.run_until("a window fires")
    viewer.expect_past(50)
    stood = viewer.step
    viewer.command(kind="checkpoint")
    viewer.expect_step(stood + 1)
    gate = viewer.page.locator("svg.over .gate")
    for _ in range(200):
        if gate.count():
            break
        stood = viewer.step
        viewer.key("ArrowRight")
        viewer.expect_step(stood + 1)
    expect(gate.first).to_be_visible()
    expect(
        viewer.page.locator(".card .status.checkpoint", has_text="aligning").first
    ).to_be_visible()
    assert re.search(r"blocked|barrier", viewer.sentence)


def test_acting_in_the_past_branches_and_the_old_run_stays(viewer: Viewer) -> None:
    viewer.key(*["ArrowRight"] * 6)
    viewer.expect_step(6)
    old = viewer.page.url
    viewer.page.locator(".timeline input").fill("2")
    viewer.expect_step(2)
    other = viewer.page.locator("#actions .act:not(.next)").first
    other.click()
    viewer.page.wait_for_function("old => location.href !== old", arg=old, timeout=PATIENCE)
    viewer.expect_step(3)
    back = viewer.page.locator(".branches a", has_text="the run before")
    expect(back).to_be_visible()
    back.click()
    viewer.wait_until_ready()
    assert viewer.page.url == old
    viewer.page.wait_for_function(
        "() => document.querySelector('.timeline input').max === '6'", timeout=PATIENCE
    )


def test_rescaling_moves_key_groups_and_draws_the_new_subtask(viewer: Viewer) -> None:
    viewer.key("ArrowRight")
    viewer.expect_step(1)
    viewer.command(kind="rescale", operator="window", parallelism=4)
    viewer.page.fill(".speed input", "9")
    viewer.page.click('[data-do="play"]')
    expect(viewer.card("window[3]")).to_be_visible(timeout=PATIENCE)
    viewer.page.click('[data-do="play"]')
    expect(viewer.page.locator(".channel")).to_have_count(12)
    expect(viewer.page.locator('[data-panel="groups"] .meta')).to_have_text("window: 128 over 4")


def test_a_share_link_opens_a_copy_at_the_same_step(viewer: Viewer) -> None:
    page = viewer.page
    viewer.key(*["ArrowRight"] * 4)
    viewer.expect_step(4)
    told = viewer.sentence
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("[data-share]")
    expect(page.locator("[data-share] [data-said]")).to_have_text("link copied")
    link = page.evaluate("navigator.clipboard.readText()")

    stranger = page.context.browser.new_context(viewport={"width": 1280, "height": 720})
    copy = Viewer(stranger.new_page(), viewer.url)
    copy.page.goto(link)
    copy.wait_until_ready()
    copy.expect_step(4)
    assert copy.sentence == told
    copy.key("ArrowRight")
    copy.expect_step(5)
    assert copy.page.url != page.url
    stranger.close()


def test_parameters_start_a_run_of_their_own(viewer: Viewer) -> None:
    page = viewer.page
    bound = page.get_by_label("Out-of-orderness bound")
    expect(bound).to_have_value("60")
    bound.fill("0")
    page.get_by_role("button", name="Start again").click()
    page.wait_for_url("**/runs/*/")
    viewer.wait_until_ready()
    expect(page.get_by_label("Out-of-orderness bound")).to_have_value("0")


def test_a_lost_connection_is_said_and_mended(viewer: Viewer) -> None:
    viewer.key("ArrowRight", "ArrowRight")
    viewer.expect_step(2)
    page = viewer.page
    page.context.set_offline(True)
    page.evaluate("window.dispatchEvent(new Event('offline'))")
    page.context.set_offline(False)
    viewer.key("ArrowRight")
    viewer.expect_step(3)


def test_times_are_those_of_the_lab_in_any_browser(viewer: Viewer) -> None:
    page = viewer.page
    hanoi = page.context.browser.new_context(
        timezone_id="Asia/Ho_Chi_Minh", locale="vi-VN", reduced_motion="reduce"
    )
    other = Viewer(hanoi.new_page(), viewer.url).open()
    for one in (viewer, other):
        one.key(*["ArrowRight"] * 2)
        one.expect_step(2)
    marks = [one.page.locator("svg.over .g-time-text").all_inner_texts() for one in (viewer, other)]
    assert marks[0] == marks[1] != []
    hanoi.close()


def test_names_in_the_text_point_at_the_stage(viewer: Viewer) -> None:
    name = viewer.page.locator(".prose .ref", has_text="window[1]").first
    name.focus()
    expect(viewer.card("window[1]")).to_have_class(re.compile("pointed"))
    viewer.key("Enter")
    expect(viewer.card("window[1]")).to_have_attribute("aria-pressed", "true")
    viewer.page.locator(".card").first.focus()
    expect(viewer.card("window[1]")).not_to_have_class(re.compile("pointed"))
