"""How fast the page is: ready time from a warm local server, and frames per second with moving tokens.

    .venv/bin/python -m benchmarks.page

Headless Chromium with software rendering, on a server of its own. Ready means: the first stage is drawn and the socket
is open. Tokens move on the real canvas code, along the channels of the first lab, over a stage of 1440 x 900.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from scripts import chromium

ROOT = Path(__file__).resolve().parent.parent
LAB = "labs/flights/"
LOADS = 7
TOKENS = (100, 500, 1000, 2000)
SECONDS = 4
START_SECONDS = 60

FRAMES = """async ([tokens, seconds]) => {
    const { layoutFor } = await import("/static/js/layout.js");
    const { TokensCanvas } = await import("/static/js/tokens_canvas.js");
    const { keyStyle } = await import("/static/js/glyphs.js");
    const { view } = JSON.parse(document.getElementById("boot").textContent).preview;
    const stage = document.querySelector(".stage");
    const size = {width: stage.clientWidth, height: stage.clientHeight, vertical: false};
    const channels = Object.values(layoutFor(view, size).channels);
    const canvas = document.createElement("canvas");
    canvas.className = "moving";
    document.querySelector(".stage-in").append(canvas);
    const drawing = new TokensCanvas(canvas);
    drawing.resize(size.width, size.height, devicePixelRatio);
    const keys = ["UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E"];
    const mark = (i) => i % 5 === 4
        ? {kind: "watermark", label: `${10 + (i % 10)}:05`}
        : {kind: "record", ...keyStyle(keys[i % keys.length]), label: ""};
    const moves = Array.from({length: tokens}, (_, i) => ({
        mark: mark(i), channel: channels[i % channels.length], from: channels[i % channels.length].length, to: (i * 7) % 120,
    }));
    return await new Promise((resolve) => {
        let frames = 0, start = 0, worst = 0, last = 0;
        const count = (now) => {
            if (!start) start = now; else { frames += 1; worst = Math.max(worst, now - last); }
            last = now;
            if (now - start < seconds * 1000) requestAnimationFrame(count);
            else { canvas.remove(); resolve({fps: frames / ((now - start) / 1000), worst}); }
        };
        drawing.run(moves, seconds * 1000 + 500, () => {});
        requestAnimationFrame(count);
    });
}"""


def main() -> None:
    path = chromium.find()
    if path is None:
        sys.exit("No Chromium was found: install it, or set STREAMLAB_CHROMIUM to its path.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server, url = start_server(folder)
        try:
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=path, args=arguments)
            report(browser, url)
            browser.close()
        finally:
            server.terminate()
            server.wait(timeout=15)


def start_server(folder: str) -> tuple[subprocess.Popen[str], str]:
    environment = {**os.environ, "VAR_DIR": folder, "HOST": "127.0.0.1", "PORT": "0", "DEBUG": "0"}
    server = subprocess.Popen(
        [sys.executable, "manage.py", "up"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    deadline = time.monotonic() + START_SECONDS
    for line in server.stdout:
        if line.strip().startswith("http://"):
            return server, line.strip()
        if time.monotonic() > deadline:
            break
    raise RuntimeError("the server did not start")


def report(browser: Browser, url: str) -> None:
    print("ready: first stage drawn and socket open, from a warm server, in ms")
    for name, empty_cache in (("first visit, empty cache", True), ("next visits", False)):
        times = ready_times(browser, url, empty_cache)
        print(f"  {name:26} median {statistics.median(times):6.0f}   worst {max(times):6.0f}")
    print("moving tokens: frames per second, longest frame in ms")
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(url + LAB)
    page.wait_for_selector("html[data-ready=true]", state="attached")
    for tokens in TOKENS:
        found: Any = page.evaluate(FRAMES, [tokens, SECONDS])
        print(f"  {tokens:5} tokens               {found['fps']:6.1f}   {found['worst']:6.0f}")


def ready_times(browser: Browser, url: str, empty_cache: bool) -> list[float]:
    """From the start of the navigation to ready, for a visitor who has a run and so opens a socket."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(url + LAB)
    page.wait_for_selector("html[data-ready=true]", state="attached")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("html[data-connection=open]", state="attached")
    run = page.url
    cookies = context.cookies()
    context.close()

    times = []
    context = None
    for _ in range(LOADS):
        if context is None or empty_cache:
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            context.add_cookies(cookies)
        page = context.new_page()
        page.goto(run, wait_until="commit")
        page.wait_for_selector("html[data-ready=true]", state="attached")
        times.append(page.evaluate("performance.getEntriesByName('ready')[0].startTime"))
        page.close()
    return times if empty_cache else times[1:]


if __name__ == "__main__":
    main()
