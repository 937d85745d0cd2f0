"""Connections that are lost, blocked or slow: the transport by itself, and the page when its server dies."""

from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, Viewer

TRANSPORT = """async (script) => {
    const { createTransport, backoff } = await import("/js/transport.js");
    const told = [], sent = [], sockets = [];
    const timers = [];
    window.setTimeout = (work, ms) => timers.push({work, ms});
    window.clearTimeout = (id) => { if (timers[id - 1]) timers[id - 1].work = null; };
    class Socket {
        constructor(url) { this.url = url; this.readyState = 0; sockets.push(this); }
        send(text) { sent.push(JSON.parse(text)); }
        close() { this.readyState = 3; }
        open() { this.readyState = 1; this.onopen(); }
        say(message) { this.onmessage({data: JSON.stringify(message)}); }
        lose(code = 1006) { this.readyState = 3; this.onclose({code}); }
    }
    let have = null;
    const transport = createTransport({have: () => have, onMessage: () => {}, onStatus: (...status) => told.push(status.join(" ").trim()), Socket});
    const run = (text) => timers.filter((one) => one.work && (text === undefined || one.ms === text)).forEach((one) => { const {work} = one; one.work = null; work(); });
    return new Function("transport", "sockets", "sent", "told", "timers", "run", "setHave", "backoff", script)(
        transport, sockets, sent, told, timers, run, (step) => { have = step; }, backoff);
}"""


def test_after_a_loss_it_says_what_it_has_and_asks_for_the_rest(modules: Page) -> None:
    told, sent = modules.evaluate(
        TRANSPORT,
        """
        transport.connect("ws://x/");
        sockets[0].open();
        sockets[0].say({type: "welcome"});
        setHave(17);
        sockets[0].lose();
        run();
        sockets[1].open();
        sockets[1].say({type: "welcome"});
        return [told, sent.map((one) => [one.type, one.have])];
        """,
    )
    assert sent == [["hello", None], ["hello", 17]]
    assert told == ["connecting", "open", "lost in 1 s", "lost now", "open"]


def test_waits_grow_and_are_spread(modules: Page) -> None:
    waits = modules.evaluate(
        TRANSPORT, "return [0, 1, 2, 3, 20].map((n) => [backoff(n, () => 0), backoff(n, () => 1)])"
    )
    assert waits == [[200, 400], [400, 800], [800, 1600], [1600, 3200], [7500, 15000]]


def test_blocked_websockets_are_named_after_five_seconds(modules: Page) -> None:
    told = modules.evaluate(TRANSPORT, 'transport.connect("ws://x/"); run(5000); return told')
    assert told == ["connecting", "blocked"]


def test_credit_is_handed_back_in_portions(modules: Page) -> None:
    granted = modules.evaluate(
        TRANSPORT,
        """
        transport.connect("ws://x/");
        sockets[0].open();
        const step = {step: 1, events: Array(100).fill({})};
        for (let i = 0; i < 12; i += 1) sockets[0].say({type: "steps", steps: [step]});
        return sent.filter((one) => one.type === "credit").map((one) => one.n);
        """,
    )
    assert granted == [500, 500]


def test_an_old_page_does_not_come_back_by_itself(modules: Page) -> None:
    told, sockets = modules.evaluate(
        TRANSPORT,
        'transport.connect("ws://x/"); sockets[0].open(); sockets[0].lose(4002); run(); return [told, sockets.length]',
    )
    assert told == ["connecting", "closed"]
    assert sockets == 1


def test_a_killed_server_leaves_the_picture_and_comes_back_to_the_same_step(
    viewer: Viewer, server: Any
) -> None:
    page = viewer.page
    viewer.key(*["ArrowRight"] * 5)
    viewer.expect_step(5)
    told = viewer.sentence
    server.kill()
    expect(page.locator(".aside")).to_contain_text("Connection lost", timeout=PATIENCE)
    expect(viewer.card("window[0]")).to_be_visible()
    assert viewer.step == 5
    server.start()
    expect(page.locator("html")).to_have_attribute("data-connection", "open", timeout=30_000)
    expect(page.locator(".aside")).not_to_contain_text("Connection lost")
    viewer.expect_step(5)
    assert viewer.sentence == told
    viewer.key("ArrowRight")
    viewer.expect_step(6)
    # Chromium reports each refused connection; that is what this test is about.
    page.errors[:] = [error for error in page.errors if "WebSocket" not in error]


def test_a_run_that_played_when_its_server_died_says_why_it_stands_still(
    viewer: Viewer, server: Any
) -> None:
    page = viewer.page
    viewer.key("Space")
    viewer.expect_past(3)
    server.kill()
    expect(page.locator(".aside")).to_contain_text("Connection lost", timeout=PATIENCE)
    server.start()
    expect(page.locator("html")).to_have_attribute("data-connection", "open", timeout=30_000)
    expect(page.locator(".aside")).to_contain_text(
        "Stopped: the connection was lost while the run was playing", timeout=PATIENCE
    )
    viewer.key("ArrowRight")
    expect(page.locator(".aside")).not_to_contain_text("Stopped", timeout=PATIENCE)
    page.errors[:] = [error for error in page.errors if "WebSocket" not in error]


def test_every_refusal_is_shown_with_its_mend(viewer: Viewer) -> None:
    page = viewer.page
    viewer.key("ArrowRight")
    viewer.expect_step(1)
    # The action of a picture that is no longer true: another tab has gone on.
    other = Viewer(page.context.new_page(), viewer.url)
    other.page.goto(page.url)
    other.wait_until_ready()
    other.expect_step(1)
    other.key("ArrowRight")
    other.expect_step(2)
    viewer.expect_step(2)
    page.evaluate(
        """() => { document.querySelector('#actions [data-action]').dataset.action = 'take:nowhere>window[0]'; }"""
    )
    page.locator("#actions [data-action]").first.click()
    strip = page.locator(".caption .error")
    expect(strip).to_be_visible()
    assert len(strip.inner_text()) > 20
    strip.get_by_role("button", name="Close").click()
    expect(strip).to_be_hidden()
    viewer.expect_step(2)


def test_whoever_watches_a_run_of_somebody_else_cannot_drive_it(viewer: Viewer) -> None:
    viewer.key("ArrowRight", "ArrowRight")
    viewer.expect_step(2)
    stranger = viewer.page.context.browser.new_context(viewport={"width": 1440, "height": 900})
    guest = Viewer(stranger.new_page(), viewer.url)
    guest.page.goto(viewer.page.url)
    guest.wait_until_ready()
    guest.expect_step(2)
    expect(guest.page.locator(".aside")).to_contain_text("somebody else")
    for act in (lambda: guest.page.click("[data-share]"), lambda: guest.run_until("the end")):
        act()
        expect(guest.page.locator(".caption .error")).to_contain_text("ask the owner")
        guest.page.click("[data-close]")
    expect(guest.page.locator('[data-do="step"]')).to_have_attribute("aria-disabled", "true")
    guest.key("ArrowRight", "1")
    viewer.key("ArrowRight")
    viewer.expect_step(3)
    guest.expect_step(3)
    expect(guest.page.locator(".caption .error")).to_be_hidden()
    stranger.close()
