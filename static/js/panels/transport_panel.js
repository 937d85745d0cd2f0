// Step back, step, play, speed; run until something happens; cause trouble.

import { html, icons, setHtml } from "../svg.js";
import { inline } from "../glyphs.js";
import { rate as rateText, time, timeValue } from "../format.js";
import { isOver, timeDomain } from "../selectors.js";

/** The rate that means: as fast as the page reads. */
const FASTEST = 1000;
const RATES = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, FASTEST];

let parts;
let read;

export function mount(element, { store, send }) {
  read = () => store.state;
  setHtml(element, html`<div class="buttons"><button class="btn line square" type="button" data-do="back" aria-label="Step back" title="Step back (←)">${icons.back}</button><button class="btn primary" type="button" data-do="step" title="Step (→)">${icons.step}<span>Step</span><kbd>→</kbd></button><button class="btn line" type="button" data-do="play" title="Play or pause (space)"></button></div><label class="speed"><span class="vh">Speed</span><input type="range" min="0" max="${RATES.length - 1}" step="1"><span class="marks" aria-hidden="true"><i>¼</i><i>1</i><i>4</i><i>16</i><i>64</i></span><output class="num"></output></label><span class="spring"></span><details class="menu" data-menu="until"><summary class="btn line" title="Run until (u)">${icons.until}<span class="word">Run until…</span><kbd>u</kbd></summary><div class="popover"></div></details><details class="menu" data-menu="faults"><summary class="btn line" title="Faults (f)">${icons.fault}<span class="word">Faults</span><kbd>f</kbd></summary><div class="popover"></div></details>`);
  const find = (selector) => element.querySelector(selector);
  parts = { back: find('[data-do="back"]'), step: find('[data-do="step"]'), play: find('[data-do="play"]'), speed: find(".speed input"), shown: find("output"), until: find('[data-menu="until"]'), faults: find('[data-menu="faults"]') };
  element.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do], [data-until], [data-command]");
    if (!button || button.getAttribute("aria-disabled") === "true") return;
    if (button.dataset.do) send({ type: button.dataset.do === "play" && playing(read()) ? "pause" : button.dataset.do });
    if (button.dataset.until) send({ type: "run_until", until: JSON.parse(button.dataset.until) });
    if (button.dataset.command) send({ type: "command", command: JSON.parse(button.dataset.command) });
    if (!button.dataset.do) close(button.closest("details"));
  });
  parts.speed.addEventListener("input", () => send({ type: "rate", rate: RATES[parts.speed.value] }));
  for (const menu of [parts.until, parts.faults]) wireMenu(menu);
  parts.faults.hidden = Boolean(read().view.network); // a network takes no commands
}

function wireMenu(menu) {
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.open) {
      close(menu);
      event.stopPropagation();
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const items = [...menu.querySelectorAll("button")];
    const at = items.indexOf(document.activeElement);
    items[(at + (event.key === "ArrowDown" ? 1 : -1) + items.length) % items.length]?.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  menu.querySelector("summary").addEventListener("click", () => fill(menu, read()));
  menu.addEventListener("toggle", () => {
    if (!menu.open) return;
    for (const other of [parts.until, parts.faults]) if (other !== menu) other.open = false;
    menu.querySelector(".popover button")?.focus();
  });
  document.addEventListener("pointerdown", (event) => {
    if (menu.open && !menu.contains(event.target)) menu.open = false;
  });
}

/** Opens a menu: "until" or "faults". */
export function openMenu(name) {
  if (parts[name].hidden) return;
  fill(parts[name], read());
  parts[name].open = true;
  // At once, not with the event of the opening, which comes later than a fast next key.
  parts[name].querySelector(".popover button")?.focus();
}

function close(menu) {
  menu.open = false;
  menu.querySelector("summary").focus();
}

const playing = (state) => state.play.state !== "paused";

export function update(state, changes) {
  if (["play", "position", "run", "connection", "view"].some((name) => changes.has(name))) {
    const foreign = Boolean(state.run && !state.run.mine);
    const idle = foreign ? "This run belongs to somebody else" : "";
    const over = idle || (isOver(state.view) ? `${state.view.job ? "The job has finished" : "Nothing more can happen"}: step back, or start a new run` : "");
    disable(parts.back, idle || (state.position === 0 ? "This is the beginning" : ""), "Step back (←)");
    disable(parts.step, over, "Step (→)");
    disable(parts.play, playing(state) ? idle : over, "Play or pause (space)");
    setHtml(parts.play, playing(state) ? html`${icons.pause}<span>Pause</span><kbd>space</kbd>` : html`${icons.play}<span>Play</span><kbd>space</kbd>`);
    parts.speed.value = RATES.findIndex((rate) => rate >= state.play.rate);
    parts.speed.setAttribute("aria-valuetext", state.play.rate >= FASTEST ? "as fast as possible" : `${state.play.rate} steps per second`);
    parts.shown.textContent = rateText(state.play.rate);
  }
  for (const menu of [parts.until, parts.faults]) if (menu.open) fill(menu, state);
}

function disable(button, reason, title) {
  button.setAttribute("aria-disabled", String(Boolean(reason)));
  button.title = reason || title;
}

function fill(menu, state) {
  setHtml(menu.querySelector(".popover"), menu === parts.until ? untilHtml(state) : faultsHtml(state));
}

const FIRED = html`<svg width="14" height="10" aria-hidden="true"><rect class="mark-fired" y="1" width="14" height="8" rx="4"/></svg>`;
const LATE = html`<svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true"><g class="mark-late"><circle r="4.2"/><path d="M-5.5,5.5L5.5,-5.5"/></g></svg>`;
const FAILED = html`<svg width="12" height="12" viewBox="-6 -6 12 12" aria-hidden="true"><path class="mark-failed" d="M-4,-4L4,4M4,-4L-4,4"/></svg>`;

function untilHtml(state) {
  const entry = (picture, text, until, note = "") => html`<button type="button" data-until="${JSON.stringify(until)}"><span class="picture">${picture}</span><span>${text}${note && html`<small>${note}</small>`}</span></button>`;
  if (state.view.network) return html`<h3>Run until</h3>${entry(inline({ kind: "barrier", label: "✓" }), "a snapshot completes", { kind: "snapshot_completes" })}${entry(icons.until, "the end", { kind: "end" })}`;
  const underWay = Object.values(state.view.checkpoints).some((one) => one.status === "triggered");
  return html`<h3>Run until</h3>${entry(FIRED, "a window fires", { kind: "window_fires" })}${
    entry(inline({ kind: "barrier", label: "✓" }), "a checkpoint completes", { kind: "checkpoint_completes" }, underWay ? "" : "none is under way now: Faults triggers one")}${
    nextTimes(state.view).map((at) => entry(inline({ kind: "watermark", label: time(at) }), `a watermark passes ${time(at)}`, { kind: "watermark_passes", timestamp: at - 1 }))}${
    entry(LATE, "a record is dropped as late", { kind: "late_record" })}${entry(icons.until, "the end", { kind: "end" })}`;
}

/** The next ticks of the event-time axis that no combined watermark has passed. */
function nextTimes(view) {
  const domain = timeDomain(view);
  if (!domain) return [];
  const [, , unit] = domain;
  const reached = Math.max(...Object.values(view.subtasks).map((one) => timeValue(one.watermark)).filter(Number.isFinite), domain[0]);
  const first = (Math.floor((reached + 1) / unit) + 1) * unit;
  return [first, first + unit];
}

const SIZES_SHOWN = 8;

const sizes = ({ parallelism, maximum }) =>
  Array.from({ length: Math.min(maximum, SIZES_SHOWN) }, (_, i) => i + 1).filter((n) => n !== parallelism);

const chip = (text, command, possible, label) => html`<button type="button" data-command="${JSON.stringify(command)}" aria-disabled="${String(!possible)}" aria-label="${label}">${text}</button>`;

const single = (picture, text, command, { possible, reason }, note = "") => html`<button type="button" data-command="${JSON.stringify(command)}" aria-disabled="${String(!possible)}"><span class="picture">${picture}</span><span>${text}${(reason || note) && html`<small>${reason || note}</small>`}</span></button>`;

const entryHtml = (picture, text, note, label, chips) => html`<div class="entry"><span class="picture">${picture}</span><span>${text}<small>${note}</small></span></div><div class="chips" role="group" aria-label="${label}">${chips}</div>`;

const REFUSED = html`<svg class="icon" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.35" aria-hidden="true"><path d="M3.5 5c0-2 9-2 9 0v6c0 2-9 2-9 0zM3.5 5c0 2 9 2 9 0M2 14 14 2"/></svg>`;

/** Three groups: snapshots, trouble, another parallelism. What is in the way of a command stands below it. */
function faultsHtml({ actions, view }) {
  const of = (kind) => actions.commands.find((one) => one.kind === kind);
  const offered = (kind) => of(kind) ?? { possible: false, reason: "not offered now" };
  const [checkpoint, savepoint, stop, fail, refuse] = ["checkpoint", "savepoint", "stop", "fail", "refuse_upload"].map(offered);
  const restores = view.last_completed === null ? "restarts from the beginning" : `restarts from checkpoint ${view.last_completed}`;
  const flag = (label) => inline({ kind: "barrier", label });
  return html`<p class="about-menu">These are steps too: you can step back over them.</p><section aria-labelledby="faults-snapshots"><h3 id="faults-snapshots">Snapshots</h3>${
    single(flag("+"), "Trigger a checkpoint", { kind: "checkpoint" }, checkpoint)}${
    single(flag("S"), "Take a savepoint", { kind: "savepoint" }, savepoint, view.job.scheme === "aligned" ? "" : "always aligned")}${
    of("stop") && entryHtml(icons.stop, "Stop with a savepoint", stop.reason || "drain: event time ends first, so that every window fires", "Stop with a savepoint", [
      chip("as it is", { kind: "stop", drain: false }, stop.possible, "Stop with a savepoint, windows as they are"),
      chip("drain", { kind: "stop", drain: true }, stop.possible, "Stop with a savepoint and drain"),
    ])}</section><section aria-labelledby="faults-trouble"><h3 id="faults-trouble">Trouble</h3>${
    entryHtml(FAILED, "Fail a subtask", fail.reason || restores, "Fail a subtask", (fail.subtasks ?? []).map((id) => chip(id, { kind: "fail", subtask: id }, fail.possible, `Fail ${id}`)))}${
    of("refuse_upload") && entryHtml(REFUSED, "Refuse the next upload", refuse.reason || "the storage takes no snapshot of it, once", "Refuse the next upload of a subtask", (refuse.subtasks ?? []).map((id) =>
      chip(id, { kind: "refuse_upload", subtask: id }, refuse.possible, `Refuse the next upload of ${id}`)))}</section>${
    scalesHtml(view, offered("rescale"), of("rescale_from_checkpoint"))}`;
}

function scalesHtml(view, rescale, fromCheckpoint) {
  const operators = rescale.operators ?? [];
  if (!operators.length) return "";
  const last = view.last_completed === null ? "from the beginning" : `from checkpoint ${view.last_completed}`;
  const chips = (operator, kind, possible, how) => sizes(operator).map((n) => chip(n, { kind, operator: operator.id, parallelism: n }, possible, `Rescale ${operator.id} to ${n} ${how}`));
  return html`<section aria-labelledby="faults-rescale"><h3 id="faults-rescale">Another parallelism</h3>${operators.map((operator) => html`<div class="entry"><span class="picture">${icons.scale}</span><span>Rescale ${operator.id}, now ${operator.parallelism}${rescale.reason && html`<small>${rescale.reason}</small>`}</span></div><div class="scales"><span>by a savepoint</span><div class="chips" role="group" aria-label="Rescale ${operator.id} by a savepoint">${chips(operator, "rescale", rescale.possible, "by a savepoint")}</div>${
    fromCheckpoint && html`<span>${last}</span><div class="chips" role="group" aria-label="Rescale ${operator.id} ${last}">${chips(operator, "rescale_from_checkpoint", fromCheckpoint.possible, last)}</div>`}</div>`)}</section>`;
}
