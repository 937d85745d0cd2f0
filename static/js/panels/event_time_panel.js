// Event time at the selected subtask: its records over event time and order of processing with the stepped watermark and the
// windows, the watermarks of all subtasks and inputs with who holds them back, and why a window has not fired or a record was late.

import { holders, isKept, lateAt, openWindows, senderOf, splitWord, timeDomain, trackAt, whyNotFired } from "../selectors.js";
import { html, setHtml } from "../svg.js";
import { count, day, dayTime, span, time, timeValue, watermark, watermarkDay } from "../format.js";
import { PATTERNS, eventChart, eventTable, keysOf, onlyKey, pointWords } from "../stage/event_chart.js";
import { linked, pointFrom } from "../stage/why.js";

const LATE_SHOWN = 4;
const WINDOWS_OFFERED = 60;

export const title = "Event time";

export const summary = ({ selection, view }) => {
  const subtask = view.subtasks[selection.subtask];
  return subtask ? `${selection.subtask} at ${watermarkDay(subtask.watermark)} ${watermark(subtask.watermark)}` : "";
};

/** What the visitor has chosen here: a key, the table, a record, a window. */
const chosen = { subtask: null, key: null, table: false, record: null, window: "" };
let parts;
let read;
let drawn = null;

export function mount(element, { store, send }) {
  read = () => store.state;
  setHtml(element, html`<div class="chart-keys">${chartKeys()}</div><svg class="vh" aria-hidden="true">${PATTERNS}</svg><div class="chart-box"></div><div class="chart-table" tabindex="0" role="region" aria-label="Records as a table" hidden></div><div class="chart-foot"><p class="readout"></p><div class="chart-tools"></div></div><div class="gauges"></div><div class="asks"></div><div class="answer" role="status"></div>`);
  const find = (name) => element.querySelector(name);
  parts = { tools: find(".chart-tools"), box: find(".chart-box"), table: find(".chart-table"), readout: find(".readout"), gauges: find(".gauges"), asks: find(".asks"), answer: find(".answer") };
  const again = () => update(read(), { has: () => true });
  parts.tools.addEventListener("change", ({ target }) => {
    chosen.key = target.value === "" ? null : target.value;
    chosen.record = null;
    again();
  });
  parts.tools.addEventListener("click", (event) => {
    if (!event.target.closest("[data-as-table]")) return;
    chosen.table = !chosen.table;
    again();
  });
  parts.box.addEventListener("keydown", onKey);
  parts.box.addEventListener("pointermove", onPointer);
  parts.box.addEventListener("pointerleave", () => choose(null));
  parts.asks.addEventListener("change", ({ target }) => {
    chosen.window = target.value;
  });
  parts.asks.addEventListener("click", (event) => {
    const asked = event.target.closest("[data-ask]");
    if (asked) send({ type: "ask", question: questionOf(asked) });
  });
  parts.answer.addEventListener("click", (event) => {
    const until = event.target.closest("[data-run-to]");
    if (until) send({ type: "run_until", until: { kind: "step", step: Number(until.dataset.runTo) } });
    if (event.target.closest("[data-close]")) send({ type: "forget" });
  });
  pointFrom(parts.answer, send, read);
}

/** A window is named in its option, a late record on its button: as JSON, for the ends of event time are text. */
function questionOf(button) {
  if (button.dataset.ask === "late") return { kind: "late", ...JSON.parse(button.dataset.late) };
  return { kind: "window", ...JSON.parse(parts.asks.querySelector("select").value) };
}

export function update(state, changes) {
  if (["view", "trail", "selection", "inspectorWidth", "lineage"].some((name) => changes.has(name))) drawPicture(state);
  if (["view", "question", "run", "selection"].some((name) => changes.has(name))) setHtml(parts.answer, answerHtml(state));
}

function drawPicture({ view, trail, selection, position, inspectorWidth, lineage }) {
  const id = selection.subtask;
  const subtask = view.subtasks[id];
  if (!subtask) return;
  if (chosen.subtask !== id) Object.assign(chosen, { subtask: id, key: null, record: null, window: "" });
  const width = Math.max(220, inspectorWidth);
  const whole = trackAt(trail, id, position);
  const keys = keysOf(whole);
  if (!keys.includes(chosen.key)) chosen.key = null;
  const track = onlyKey({ ...whole, newest: whole.points.at(-1)?.n ?? 0, windows: withOpen(whole, subtask) }, chosen.key);
  const cursor = track.points.findIndex((point) => point.id === chosen.record);
  drawn = eventChart({ view, id, track, width, cursor, traced: lineage?.elements, mark: timeValue(subtask.watermark) });
  setHtml(parts.tools, toolsHtml(keys, id));
  parts.box.hidden = chosen.table;
  parts.table.hidden = !chosen.table;
  if (chosen.table) setHtml(parts.table, eventTable(track, id));
  else {
    setHtml(parts.box, drawn ? drawn.markup : html`<p class="note">No record has been taken here yet.</p>`);
    describeBox(track, id, subtask);
  }
  setHtml(parts.readout, readoutHtml(track, cursor));
  const domain = timeDomain(view);
  setHtml(parts.gauges, domain ? gauges(view, id, domain, width) : html`<p class="note">No watermark has been sent yet: event time has not begun.</p>`);
  setHtml(parts.asks, asksHtml(view, id, lateAt(trail, position, LATE_SHOWN)));
}

/** Windows of the trail, and those that the picture shows open though the trail did not see them open. */
function withOpen(track, subtask) {
  const known = new Set(track.windows.filter((window) => !window.gone).map((window) => `${window.key} ${window.start}:${window.end}`));
  const before = openWindows(subtask).filter(({ key, window }) => !known.has(`${key} ${timeValue(window[0])}:${timeValue(window[1])}`))
    .map(({ key, window }) => ({ key, start: timeValue(window[0]), end: timeValue(window[1]), opened: { n: 0 }, fired: isKept(subtask, window) ? [{ n: 0 }] : [], gone: null }));
  return [...before, ...track.windows];
}

function chartKeys() {
  return html`<span class="chart-key"><svg class="inline" width="12" height="12" viewBox="-6 -6 12 12" aria-hidden="true"><circle class="point g-key key-0" r="4"/></svg>record</span><span class="chart-key"><svg class="inline" width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true"><g class="point-late"><circle r="5"/><path d="M-4.6,4.6L4.6,-4.6"/></g></svg>late</span>${
    ["open", "fired", "removed"].map((state) => html`<span class="chart-key"><svg class="inline" width="17" height="11" aria-hidden="true"><g class="band ${state}"><rect x="0.7" y="0.7" width="15.6" height="9.6"/>${state === "open" ? "" : html`<path class="fired-edge" d="M0,1H17"/>`}</g></svg>${state}</span>`)}`;
}

function toolsHtml(keys, id) {
  return html`${keys.length > 1 ? html`<select aria-label="Records of which key at ${id}"><option value="">all keys</option>${keys.map((key) => html`<option value="${key}" ${key === chosen.key ? html`selected` : ""}>${key}</option>`)}</select>` : ""}<button class="btn line small" type="button" data-as-table aria-pressed="${String(chosen.table)}">Table</button>`;
}

function describeBox(track, id, subtask) {
  const box = parts.box;
  if (!drawn) {
    for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    return;
  }
  box.tabIndex = 0;
  box.setAttribute("role", "img");
  const late = track.points.filter((point) => point.late).length;
  const open = track.windows.filter((window) => !window.gone && !window.fired.length).length;
  box.setAttribute("aria-label", `${count(track.points.length, "record")} of ${id} over event time and order of processing; watermark ${watermark(subtask.watermark)}; ${count(open, "open window")}; ${late} late. Arrow up and down go from record to record.`);
}

function readoutHtml(track, cursor) {
  if (cursor >= 0) return html`${pointWords(track.points[cursor])}`;
  return html`Up: order of processing.${track.since > 0 ? html` Known from step ${track.since} on; before it, nothing was seen here.` : ""}`;
}

function choose(point) {
  if ((point?.id ?? null) === chosen.record) return;
  chosen.record = point?.id ?? null;
  drawPicture(read());
}

const WAYS = { ArrowUp: 1, ArrowDown: -1, Home: -Infinity, End: Infinity };

function onKey(event) {
  const way = WAYS[event.key];
  if (!way || !drawn?.points.length || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const { points } = drawn;
  const at = points.findIndex((point) => point.id === chosen.record);
  const next = at < 0 ? points.length - 1 : Math.max(0, Math.min(points.length - 1, at + way));
  choose(points[Number.isNaN(next) ? 0 : next]);
  parts.readout.setAttribute("role", "status");
}

function onPointer(event) {
  if (!drawn?.points.length) return;
  const { left, top } = parts.box.getBoundingClientRect();
  const distance = (point) => {
    const { x, y } = drawn.place(point);
    return Math.hypot(x - (event.clientX - left), y - (event.clientY - top));
  };
  const nearest = drawn.points.reduce((best, point) => (distance(point) < distance(best) ? point : best));
  choose(distance(nearest) < 14 ? nearest : null);
}

// ---- watermarks

const LEFT = 74;
const RIGHT = 44;
const ROW = 17;

function rowsOf(view, selected) {
  return Object.keys(view.subtasks).flatMap((id) => {
    const subtask = view.subtasks[id];
    const held = new Set(holders(subtask));
    const own = { id, label: id, value: subtask.watermark, own: true, word: subtask.idle ? "idle" : "" };
    if (id !== selected) return [own];
    const inputs = Object.entries(subtask.inputs).map(([name, input]) => ({ id, label: senderOf(name), value: input.ended ? "+inf" : input.watermark, low: held.has(name), word: input.idle && !input.ended ? "idle" : "" }));
    const splits = Object.values(subtask.splits).map((split) => ({ id, label: split.name, value: split.ended ? "+inf" : split.watermark, low: false, word: splitWord(split) }));
    return [own, ...inputs, ...splits];
  });
}

function gauges(view, selected, [from, to, unit], width) {
  const x = (ms) => Math.round((LEFT + Math.max(0, Math.min(1, (ms - from) / (to - from))) * (width - LEFT - RIGHT)) * 10) / 10;
  const rows = rowsOf(view, selected);
  const height = 4 + rows.length * ROW;
  const ticks = [];
  for (let at = from; at <= to; at += unit) ticks.push(at);
  const lines = rows.map((row, i) => {
    const y = 4 + i * ROW + ROW / 2;
    const value = timeValue(row.value);
    const bar = row.word
      ? html`<path class="gauge-idle" d="M${LEFT},${y}H${x(value)}"/>`
      : html`<rect class="gauge-bar${row.own || row.low ? " low" : ""}" x="${LEFT}" y="${y - 2.5}" width="${Math.max(0.5, x(value) - LEFT)}" height="5"/>`;
    return html`${row.id === selected && row.own && html`<rect class="chosen" x="0" y="${y - ROW / 2}" width="${width}" height="${ROW}"/>`}<text class="row-label${row.own ? "" : " inner"}" x="${row.own ? 0 : 10}" y="${y}">${row.label}</text><path class="axis" d="M${LEFT},${y}H${width - RIGHT}"/>${
      value > -Infinity && bar}<text class="row-word${row.low && value > -Infinity ? " low" : ""}" x="${width}" y="${y}">${row.word || watermark(row.value)}</text>`;
  });
  const said = rows.map((row) => `${row.own ? "" : "input "}${row.label} ${watermark(row.value)}${row.word ? `, ${row.word}` : ""}${row.low ? ", holds it back" : ""}`).join("; ");
  return html`<svg class="times" width="${width}" height="${height + 15}" role="img" aria-label="Watermarks: ${said}">${ticks.map((at) => html`<path class="grid" d="M${x(at)},2V${height}"/><text class="axis-text" x="${x(at)}" y="${height + 12}">${time(at)}</text>`)}<text class="axis-text start" x="0" y="${height + 12}">${day(from)}</text>${lines}</svg>`;
}

// ---- questions

function asksHtml(view, id, late) {
  const subtask = view.subtasks[id];
  const windows = openWindows(subtask).filter(({ window }) => !isKept(subtask, window)).slice(0, WINDOWS_OFFERED);
  const values = windows.map(({ key, window }) => JSON.stringify({ subtask: id, key, window }));
  if (!values.includes(chosen.window)) chosen.window = values[0] ?? "";
  return html`${windows.length ? html`<div class="ask"><label>Why has <select data-window>${windows.map(({ key, window }, i) => html`<option value="${values[i]}" ${values[i] === chosen.window ? html`selected` : ""}>${span(window)} of ${key}</option>`)}</select> not fired?</label><button class="btn line small" type="button" data-ask="window">Ask</button></div>` : ""}${
    late.map((one) => {
      const what = `${one.key} of ${dayTime(one.timestamp)}`;
      return html`<div class="ask"><span class="label">Why was <span class="bad">${what}</span> late at ${one.subtask}?</span><button class="btn line small" type="button" data-ask="late" data-late="${JSON.stringify(one)}" aria-label="Ask why ${what} was late at ${one.subtask}">Ask</button></div>`;
    })}`;
}

function answerHtml(state) {
  const { question, view, position } = state;
  if (!question) return shortAnswer(state);
  const about = question.kind === "late"
    ? `Why was ${question.key} of ${dayTime(question.timestamp)} late at ${question.subtask}?`
    : `Why has ${span(question.window)} of ${question.key} not fired at ${question.subtask}?`;
  const close = html`<button class="btn small" type="button" data-close aria-label="Close the answer">Close</button>`;
  const known = question.facts ?? [];
  const text = question.state === "refused"
    ? html`<p class="bad">${question.sentence}</p>`
    : known.length ? html`<ol class="facts">${known.map((fact) => html`<li>${linked(view, fact)}</li>`)}</ol>` : html`<p class="note">Asking…</p>`;
  return html`<div class="why"><div class="why-head"><b>${about}</b>${close}</div>${text}${untilHtml(question, state, position)}</div>`;
}

function untilHtml(question, { run }, position) {
  if (question.kind !== "window" || question.state !== "answered" || question.step !== position) return "";
  if (question.steps === null) return html`<p class="note">It does not fire within the next 20${"\u2009"}000 steps.</p>`;
  if (question.steps === 0 || (run && !run.mine)) return "";
  return html`<button class="btn line" type="button" data-run-to="${position + question.steps}">Run until it fires (${count(question.steps, "step")})</button>`;
}

/** What the page itself can tell of the earliest open window, before anybody asks. */
function shortAnswer({ view, selection }) {
  const why = whyNotFired(view, selection.subtask);
  return why ? html`<div class="why"><b>${why.title}</b> ${why.sentence}</div>` : "";
}
