// The whole run on one line: what fired, checkpoints from trigger to end, late records and faults, branches below.
// Drag to scrub; a hidden range input does the same from the keyboard.

import { html, raw, setHtml } from "../svg.js";
import { count, dayTime } from "../format.js";

const TOP = 21;
const ROWS = ["fired", "checkpoints", "late, faults"];
const SHORT_ROWS = ["fired", "ckpt", "late"];
const NETWORK_ROWS = ["recorded", "snapshots", "verdicts"];
const SHORT_NETWORK_ROWS = ["rec.", "snap.", "verd."];
const RIGHT = 18;
const LEAST_STEPS = 40;
const LOW = "(max-height: 780px) and (min-width: 1100px)";

let width = 0;
let parts;
let read;
let tell;
let scale = null;
let dragging = false;
let wanted = null;

export function mount(element, { store, send }) {
  read = () => store.state;
  tell = send;
  setHtml(element, html`<svg class="line" role="img"></svg><div class="branches"></div><input class="vh" type="range" min="0" aria-label="Step of the run">`);
  parts = { svg: element.querySelector("svg"), branches: element.querySelector(".branches"), input: element.querySelector("input") };
  parts.input.addEventListener("input", () => tell({ type: "seek", step: Number(parts.input.value) }));
  parts.svg.addEventListener("pointerdown", (event) => {
    if (!scale) return;
    dragging = true;
    parts.svg.setPointerCapture(event.pointerId);
    scrub(event);
  });
  parts.svg.addEventListener("pointermove", (event) => dragging && scrub(event));
  for (const end of ["pointerup", "pointercancel"]) {
    parts.svg.addEventListener(end, () => {
      dragging = false;
      wanted = null;
    });
  }
  new ResizeObserver(() => {
    width = element.clientWidth;
    draw(read());
  }).observe(element);
  width = element.clientWidth;
}

function scrub(event) {
  const { left } = parts.svg.getBoundingClientRect();
  const step = Math.max(0, Math.min(read().head, Math.round(((event.clientX - left - scale.left) / scale.width) * scale.steps)));
  if (step === wanted || (wanted === null && step === read().position)) return;
  wanted = step;
  tell({ type: "seek", step });
}

export function update(state, changes) {
  if (["position", "head", "marks", "run", "projector", "invariants"].some((name) => changes.has(name))) draw(state);
}

/** A round number of steps that leaves room to grow: the axis moves rarely. */
function extent(head) {
  const size = Math.max(LEAST_STEPS, head * 1.06);
  const unit = 10 ** Math.floor(Math.log10(size)) / 2;
  return Math.ceil(size / unit) * unit;
}

function draw(state) {
  if (!width) return;
  const narrow = width < 560;
  const left = state.projector ? 108 : narrow ? 46 : 84;
  const row = state.projector ? 15 : matchMedia(LOW).matches ? 12 : 14;
  const steps = extent(state.head);
  scale = { left, width: width - left - RIGHT, steps };
  const x = (step) => Math.round((left + (step / steps) * scale.width) * 10) / 10;
  const y = (i) => TOP + 3 + row * i + row / 2;
  const height = TOP + 4 + row * ROWS.length + 6;
  const { position, head } = state;
  const all = [...state.marks, ...violations(state)];
  const unit = tickUnit(steps, scale.width);
  const ticks = Array.from({ length: Math.floor(steps / unit) + 1 }, (_, i) => i * unit);

  parts.svg.setAttribute("height", height);
  parts.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  parts.svg.setAttribute("aria-label", `Timeline: step ${position} of ${head}. ${summary(all)}`);
  setHtml(parts.svg, html`${ticks.map((step) => html`<path class="tick" d="M${x(step)},${TOP - 4}V${TOP}"/>${Math.abs(x(step) - x(position)) > 26 ? html`<text class="tick-text" x="${x(step)}" y="11">${step}</text>` : ""}`)}${
    (state.view.network ? (narrow ? SHORT_NETWORK_ROWS : NETWORK_ROWS) : narrow ? SHORT_ROWS : ROWS).map((name, i) => html`<text class="row-name" x="14" y="${y(i)}">${name}</text><path class="row-line" d="M${left},${y(i)}H${x(head)}"/>`)}<g>${
    marks(all, 0, position, x, y)}</g><g class="future">${marks(all, position + 1, Infinity, x, y, position)}</g>${head > position ? html`<path class="head-end" d="M${x(head)},${y(0) - 5}V${y(2) + 5}"/>` : ""}<path class="playhead" d="M${x(position)},${TOP - 5}V${height - 3}"/><g transform="translate(${Math.max(20, Math.min(width - 20, x(position)))},8)"><rect class="playhead-flag" x="${-flagWidth(position) / 2}" y="-8" width="${flagWidth(position)}" height="15" rx="2"/><text class="playhead-text">${position}</text></g>`);
  const { input } = parts;
  input.max = head;
  input.value = position;
  input.setAttribute("aria-valuetext", `step ${position} of ${head}: ${state.last?.say ?? ""}`);
  setHtml(parts.branches, branchesHtml(state));
}

/** Marks of the invariants that are switched on and do not hold. */
const violations = ({ invariants, rules }) =>
  invariants.filter((one) => one.state === "violated").map(({ name, step }) => [step, "violated", rules.find((rule) => rule.name === name)?.title ?? name]);

const flagWidth = (step) => Math.max(26, String(step).length * 7 + 10);

function tickUnit(steps, width) {
  for (const unit of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4]) {
    if ((unit / steps) * width >= 64) return unit;
  }
  return 100_000;
}

const POINTS = {
  fired: { row: 0, shape: (x, y) => `<rect class="mark-fired" x="${x - 3}" y="${y - 2.5}" width="6" height="5" rx="2.5"/>` },
  late: { row: 2, shape: (x, y) => `<g class="mark-late" transform="translate(${x},${y})"><circle r="3"/><path d="M-3.8,3.8L3.8,-3.8"/></g>` },
  failed: { row: 2, shape: (x, y) => `<path class="mark-failed" d="M${x - 3.5},${y - 3.5}l7,7M${x + 3.5},${y - 3.5}l-7,7"/>` },
  warned: { row: 2, shape: (x, y) => `<path class="mark-warned" d="M${x},${y - 4}L${x + 4},${y + 3.5}H${x - 4}Z"/>` },
  restored: { row: 2, shape: (x, y) => `<path class="mark-restored" d="M${x},${y - 4}V${y + 4}M${x},${y - 4}h4M${x},${y + 4}h4"/>` },
  violated: { row: 2, shape: (x, y) => `<circle class="mark-violated" cx="${x}" cy="${y}" r="4.6"/><path class="mark-violated-sign" d="M${x},${y - 2.8}V${y + 0.6}M${x},${y + 2}V${y + 2.8}"/>` },
  recorded: { row: 0, shape: (x, y) => `<rect class="bar-done" x="${x - 2}" y="${y - 5}" width="4" height="10"/>` },
  never_occurred: { row: 2, shape: (x, y) => `<circle class="mark-never" cx="${x}" cy="${y}" r="4"/>` },
  inconsistent: { row: 2, shape: (x, y) => `<path class="mark-failed" d="M${x - 3.5},${y - 3.5}l7,7M${x + 3.5},${y - 3.5}l-7,7"/>` },
  rescaled: { row: 2, shape: (x, y) => `<path class="mark-restored" d="M${x - 4},${y}L${x},${y - 4}L${x + 4},${y}L${x},${y + 4}Z"/>` },
};

/** Marks of steps from..to. Several in one pixel of a row are drawn once: a run of 100,000 steps costs as much as one of 100. */
function marks(all, from, to, x, y, cut = 0) {
  const drawn = new Set();
  const parts_ = [];
  for (const [step, kind, text] of all) {
    const point = POINTS[kind];
    if (!point || step < from || step > to) continue;
    const at = Math.round(x(step));
    const place = `${kind} ${at}`;
    if (drawn.has(place)) continue;
    drawn.add(place);
    parts_.push(html`<g><title>${titleOf(step, kind, text)}</title>${raw(point.shape(x(step), y(point.row)))}</g>`);
  }
  return html`${checkpointBars(all, from, to, x, y(1), cut)}${parts_}`;
}

function titleOf(step, kind, text) {
  const what = { fired: `windows up to ${dayTime(text)} fired`, late: "a record was late", failed: `${text} failed`, warned: `a warning of ${text}`, restored: "restarted", rescaled: "rescaled", violated: `${text} is violated`, recorded: `${text.split("/")[0]} recorded for snapshot ${text.split("/")[1]}`, never_occurred: `what snapshot ${text} recorded never occurred`, inconsistent: `snapshot ${text} is wrong` }[kind];
  return `step ${step}: ${what}`;
}

/** [{number, from, to, how}] from the marks; `text` of a mark names the checkpoint. */
function checkpointsOf(all) {
  const known = new Map();
  for (const [step, kind, text] of all) {
    const number = /\d+/.exec(text)?.[0];
    if (kind === "checkpoint_triggered" || kind === "snapshot_started") known.set(number, { number, from: step, to: null, how: "open" });
    const one = known.get(number);
    if (one && (kind === "checkpoint_completed" || kind === "snapshot_completed")) Object.assign(one, { to: step, how: "completed" });
    if (one && kind === "checkpoint_aborted") Object.assign(one, { to: step, how: "aborted" });
  }
  return [...known.values()];
}

function checkpointBars(all, from, to, x, y, cut) {
  let lastEnd = -Infinity;
  return checkpointsOf(all).map((one) => {
    const start = Math.max(one.from, cut);
    const ended = one.to !== null && one.to <= to;
    const end = one.to === null ? Math.min(to, read().head) : Math.min(one.to, to);
    if (one.from > to || end < from) return "";
    const label = one.from >= from && x(one.from) - lastEnd > 12;
    lastEnd = x(end);
    return html`<g><title>checkpoint ${one.number}</title><path class="bar-line${ended && one.how === "completed" ? "" : " open"}" d="M${x(start)},${y}H${Math.max(x(end), x(start) + 1)}"/>${
      one.from >= from && html`<path class="bar-end" d="M${x(one.from)},${y - 5}V${y + 5}"/>`}${label && html`<text class="bar-name" x="${x(one.from) - 4}" y="${y}">${one.number}</text>`}${
      ended && (one.how === "completed" ? html`<rect class="bar-done" x="${x(one.to) - 2}" y="${y - 5}" width="4" height="10"/>` : html`<path class="bar-aborted" d="M${x(one.to) - 3},${y - 3}l6,6M${x(one.to) + 3},${y - 3}l-6,6"/>`)}</g>`;
  });
}

function summary(all) {
  const n = (kind) => all.filter((mark) => mark[1] === kind).length;
  return [
    [n("fired"), "window fired", "windows fired"],
    [n("checkpoint_completed"), "checkpoint completed", "checkpoints completed"],
    [n("late"), "late record", "late records"],
    [n("snapshot_completed"), "snapshot completed", "snapshots completed"],
    [n("failed"), "failure", "failures"],
    [n("violated"), "invariant violated", "invariants violated"],
  ].filter(([k]) => k).map(([k, one, many]) => count(k, one, many)).join(", ");
}

const SHOWN = 3;

/** The row below is always there, so that a first branch moves nothing. */
function branchesHtml({ run, urls }) {
  if (!run) return html`<span class="none">Acting in the past starts a branch; the old future stays.</span>`;
  const link = (id, text) => html`<a href="${urls.run.replace("{run}", id)}">${text}</a>`;
  const others = (run.branches ?? []).filter((one) => one.id !== run.id && one.id !== run.parent && one.fork_step !== null);
  const from = run.parent ? html`<span>branch of ${link(run.parent, "the run before")} at step ${run.fork_step}</span>` : "";
  if (!others.length && !run.parent) return html`<span class="none">Acting in the past starts a branch; the old future stays.</span>`;
  return html`${from}${others.length ? html`<span>${others.length === 1 ? "other branch" : "other branches"}: ${others.slice(-SHOWN).map((one, i) => html`${i ? ", " : ""}${link(one.id, `from step ${one.fork_step} (${count(one.head, "step")})`)}`)}${
    others.length > SHOWN ? html` and ${others.length - SHOWN} more` : ""}</span>` : ""}`;
}
