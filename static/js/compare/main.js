// Two runs under one cursor. The server makes both; this page asks for both where the cursor stands, and draws them.

import { createStore, drawOnChange } from "../store.js";
import { html, icons, setHtml } from "../svg.js";
import { Drawing, frameHtml } from "../stage/drawing.js";
import { applySteps } from "../apply_event.js";
import { number, setTimes } from "../format.js";
import { setKeys } from "../glyphs.js";
import { copyText } from "../header.js";
import { post } from "../post.js";
import { drawChart } from "./chart.js";
import { drawDetails, drawMeasures } from "./measures.js";
import { drawFirst, drawPlan, withCommand } from "./plan.js";

const boot = JSON.parse(document.getElementById("boot").textContent);
const byId = (id) => document.getElementById(id);
const root = document.documentElement;
setTimes({ zone: boot.time_zone_minutes, format: boot.time_format });
setKeys(Object.keys(boot.keys));

/** The subtask whose failure shows most: one with state by key, else the last. */
function victimIn({ subtasks }) {
  const ids = Object.keys(subtasks);
  return ids.find((id) => subtasks[id].key_groups) ?? ids.at(-1);
}

const store = createStore({
  by: boot.by,
  at: boot.at,
  measure: "held",
  query: boot.query,
  urls: boot.urls,
  targets: boot.targets,
  victim: victimIn(boot.view),
  summary: null,
  shown: null,
  error: null,
  width: 0,
});

// ---- asking --------------------------------------------------------------------------------------

const FAILED = { sentence: "The server could not be reached.", mend: "Look at your connection, and move the cursor to ask again." };

async function ask(url, query) {
  const answer = await fetch(`${url}?${query}`, { headers: { Accept: "application/json" } });
  const result = await answer.json().catch(() => ({}));
  if (!answer.ok) throw result.error ?? FAILED;
  return result;
}

/** Runs `work`; what it throws is shown as a sentence. */
async function guarded(work) {
  try {
    await work();
    store.set({ error: null });
  } catch (error) {
    store.set({ error: error.sentence ? error : FAILED });
  }
}

let asking = false;

/** One request at a time, always for where the cursor is by then. */
async function follow() {
  if (asking || !store.state.summary) return;
  asking = true;
  await guarded(async () => {
    for (;;) {
      const { by, at } = store.state;
      const shown = await ask(boot.urls.at, `${boot.query}&by=${by}&at=${at}`);
      store.set({ shown: { ...shown, by, sides: shown.sides.map(folded) } });
      if (store.state.by === by && store.state.at === at) return;
    }
  });
  asking = false;
}

/** The server sends the picture before the step and what the step did; the page folds them like any other step. */
function folded(side) {
  if (!side.last.step) return { ...side, before: null };
  return { ...side, before: side.view, view: applySteps(side.view, [side.last]) };
}

function move(cursor) {
  const { summary, by, at } = store.state;
  if (!summary) return;
  const wanted = Math.max(0, Math.min(summary.by[by].length, cursor));
  if (wanted === at && store.state.shown?.cursor === wanted && !store.state.error) return;
  store.set({ at: wanted });
  remember();
  follow();
}

/** Counting otherwise, the cursor stays at the same moment of run A. */
function count(by) {
  const { shown, summary } = store.state;
  if (by === store.state.by) return;
  const side = shown?.sides[0];
  const cursor = side ? (by === "steps" ? side.last.step : side.position) : 0;
  store.set({ by, at: Math.min(cursor, summary?.by[by].length ?? 0) });
  remember();
  follow();
}

function remember() {
  const { by, at } = store.state;
  history.replaceState(null, "", `${boot.urls.page}?${boot.query}&by=${by}&at=${at}`);
}

// ---- the page ------------------------------------------------------------------------------------

setHtml(byId("pictures"), html`${boot.sides.map((side, i) => html`<figure class="side-picture" aria-labelledby="name-${i}"><figcaption><span class="side-name" id="name-${i}"><b>${"AB"[i]}</b> ${side.label}</span><span class="num" data-step></span><span class="spring"></span><button class="btn" type="button" data-open="${i}" title="A run of your own under this scheme, without the commands">Open in the viewer</button></figcaption><p class="scheme-note">${side.sentence}</p><p class="side-said" data-said></p>${frameHtml({ id: `stage-${i}`, label: `Stage of ${"AB"[i]}, ${side.label}`, first: i === 0 })}</figure>`)}`);
const figures = [...document.querySelectorAll(".side-picture")].map((element) => {
  const drawing = new Drawing(element, { live: false });
  const figure = { element, drawing, step: element.querySelector("[data-step]"), said: element.querySelector("[data-said]"), room: { width: 0, height: 0 } };
  drawing.stage.tabIndex = 0;
  new ResizeObserver(() => {
    figure.room = { width: drawing.stage.clientWidth, height: drawing.stage.clientHeight };
    drawSides(store.state);
  }).observe(drawing.stage);
  return figure;
});

setHtml(byId("cursor"), html`<button class="btn line square" type="button" data-move="-1" aria-label="Back" title="Back (←)">${icons.back}</button><button class="btn primary" type="button" data-move="1" title="On (→)">${icons.step}<span>On</span><kbd>→</kbd></button><input type="range" min="0" max="1" value="0" disabled aria-label="Cursor of both runs"><output class="where num"></output><fieldset class="by"><legend class="vh">The cursor counts</legend><label><input type="radio" name="by" value="input"> input read</label><label><input type="radio" name="by" value="steps"> steps</label></fieldset><p class="state" role="status"></p>`);
const cursor = { range: byId("cursor").querySelector("[type=range]"), where: byId("cursor").querySelector(".where"), state: byId("cursor").querySelector(".state") };
const plan = byId("plan").querySelector("div");
let cursorAt = () => 0;

function drawSides({ shown }) {
  figures.forEach((figure, i) => {
    const side = shown?.sides[i] ?? { view: boot.view, before: null, last: { step: 0, say: "", events: [] } };
    const drawn = figure.drawing.render(side, figure.room);
    if (drawn) figure.drawing.places = drawn.places;
    figure.step.textContent = `step ${number(side.last.step)}`;
    figure.said.textContent = side.last.say || "Nothing has happened yet.";
  });
}

function where({ by, at, summary }) {
  const { length } = summary.by[by];
  if (by === "steps") return `step ${number(at)} of ${number(length)}`;
  return at === length ? "the end of both" : `${number(at)} of ${number(length - 1)} entries read`;
}

function drawCursor(state) {
  const { summary, by, at, error } = state;
  for (const radio of byId("cursor").querySelectorAll("[name=by]")) radio.checked = radio.value === by;
  const length = summary?.by[by].length ?? 0;
  for (const button of byId("cursor").querySelectorAll("[data-move]")) {
    button.setAttribute("aria-disabled", String(!summary || (button.dataset.move === "1" ? at >= length : at <= 0)));
  }
  setHtml(cursor.state, error ? html`<b>${error.sentence}</b> ${error.mend}` : html`${summary ? limits(summary) : "Running both to their ends…"}`);
  cursor.state.classList.toggle("bad", Boolean(error));
  if (!summary) return;
  cursor.range.disabled = false;
  cursor.range.max = length;
  cursor.range.value = at;
  cursor.range.setAttribute("aria-valuetext", where(state));
  cursor.where.textContent = where(state);
}

const limits = ({ sides }) => sides.map((side, i) => side.limit && `${"AB"[i]}: ${side.limit}`).filter(Boolean).join(" ");

function draw(state, changes) {
  if (changes.has("shown")) {
    drawSides(state);
    drawDetails(byId("details"), state);
  }
  drawCursor(state);
  if (["shown", "summary", "measure"].some((name) => changes.has(name))) drawMeasures(byId("figures"), state);
  if (["summary", "at", "by"].some((name) => changes.has(name))) drawPlan(plan, state);
  if (changes.has("summary")) drawFirst(byId("first"), state);
  if (["summary", "measure", "by", "at", "width"].some((name) => changes.has(name))) cursorAt = drawChart(byId("chart"), state.width, state);
  if (state.shown) root.dataset.ready = "true";
  root.dataset.cursor = state.shown && state.shown.by === state.by ? String(state.shown.cursor) : "";
}

draw(store.state, { has: () => true });
drawOnChange(store, draw);
new ResizeObserver(() => store.set({ width: byId("chart").clientWidth })).observe(byId("chart"));

// ---- what the visitor does -----------------------------------------------------------------------

byId("cursor").addEventListener("click", (event) => {
  const button = event.target.closest("[data-move]");
  if (button) move(store.state.at + Number(button.dataset.move));
});
cursor.range.addEventListener("input", () => move(Number(cursor.range.value)));
byId("cursor").addEventListener("change", (event) => {
  if (event.target.name === "by") count(event.target.value);
});
byId("figures").addEventListener("click", (event) => {
  const measure = event.target.closest("[data-measure]")?.dataset.measure;
  if (measure) store.set({ measure });
});
byId("chart").addEventListener("pointerdown", (event) => {
  const svg = event.target.closest("svg");
  if (svg) move(cursorAt(event.clientX - svg.getBoundingClientRect().left));
});
plan.addEventListener("submit", (event) => {
  event.preventDefault();
  if (store.state.shown) location.assign(withCommand(store.state, new FormData(event.target).get("command")));
});
byId("pictures").addEventListener("click", (event) => {
  const button = event.target.closest("[data-open]");
  if (!button) return;
  const { scheme, parameters, ...start } = boot.start;
  guarded(async () => {
    const made = await post(boot.urls.new, { ...start, parameters: { ...parameters, [scheme]: boot.sides[button.dataset.open].name } }, boot.csrf);
    location.assign(made.url);
  });
});
byId("copy").addEventListener("click", async () => {
  await copyText(location.href);
  const said = byId("copy").querySelector("[data-said]");
  said.textContent = "copied";
  setTimeout(() => {
    said.textContent = "";
  }, 2000);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, .stage, .table-scroll")) return;
  const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!way) return;
  event.preventDefault();
  move(store.state.at + way);
});

guarded(async () => {
  const summary = await ask(boot.urls.summary, boot.query);
  const sides = summary.sides.map((side, i) => ({ ...side, label: boot.sides[i].label }));
  store.set({ summary: { ...summary, sides }, at: Math.min(store.state.at, summary.by[store.state.by].length) });
  follow();
});
