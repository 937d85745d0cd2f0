// One checkpoint at a time: each subtask's part over the steps as bars, or as a table with every number. The newest is
// followed until one is pinned. The bars are one tab stop; arrow keys go from bar to bar, Enter goes to the step where one ends.

import { acknowledged } from "../selectors.js";
import { failureWords, inProgress, partWord, phasesOf, sizeWords, totals, totalWords } from "../snapshots.js";
import { html, icons, setHtml } from "../svg.js";
import { bytes, count } from "../format.js";

const ROW = 20;
const TABS = 6;
const LEAST_WIDTH = 220;

export const title = "Checkpoints";

export function summary({ view }) {
  const all = Object.entries(view.checkpoints);
  if (!all.length) return view.job.scheme === "none" ? "none in this run" : "none yet";
  const live = inProgress(view);
  if (live.length > 1) return `${live.map(([number]) => number).join(" and ")} in progress`;
  const [number, newest] = live[0] ?? all.at(-1);
  if (newest.status === "completed") return `${number} complete`;
  if (newest.status === "aborted") return `${number} aborted`;
  return `${number} in progress, ${acknowledged(newest)} of ${Object.keys(newest.subtasks).length} acked`;
}

/** table: whether numbers are shown; mark: the bar that is told and can be reached with Tab, as "subtask|place". */
const chosen = { table: false, mark: null };
let parts;
let read;
let tell;

export function mount(element, { store, send }) {
  read = () => store.state;
  tell = send;
  setHtml(element, html`<div data-tools></div><div data-picture></div><p class="readout" data-readout></p><div class="chart-keys" data-keys></div><div data-about></div>`);
  const find = (name) => element.querySelector(`[data-${name}]`);
  parts = { body: element, tools: find("tools"), picture: find("picture"), readout: find("readout"), keys: find("keys"), about: find("about") };
  element.addEventListener("click", onClick);
  parts.picture.addEventListener("keydown", onKey);
  for (const on of ["focusin", "mouseover"]) parts.picture.addEventListener(on, point);
  parts.picture.addEventListener("mouseleave", () => point({ target: parts.picture }));
}

function onClick(event) {
  const button = event.target.closest("[data-checkpoint], [data-follow], [data-as-table], [data-mark]");
  if (!button) return;
  const { checkpoint, follow, asTable, mark } = button.dataset;
  if (checkpoint !== undefined) tell({ type: "select_checkpoint", checkpoint });
  else if (follow !== undefined) tell({ type: "select_checkpoint", checkpoint: read().checkpoint === null ? shownOf(read())[0] : null });
  else if (asTable !== undefined) {
    chosen.table = !chosen.table;
    draw(read());
  } else if (mark !== undefined) seek(button);
}

function seek(mark) {
  chosen.mark = mark.dataset.mark;
  tell({ type: "seek", step: Number(mark.dataset.step) });
}

const WAYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function onKey(event) {
  const mark = event.target.closest("[data-mark]");
  if (!mark || event.ctrlKey || event.metaKey || event.altKey) return;
  const way = WAYS[event.key];
  if (!way && event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  event.stopPropagation();
  if (!way) {
    seek(mark);
    return;
  }
  const rows = [...parts.picture.querySelectorAll(".part")].map((row) => [...row.querySelectorAll("[data-mark]")]);
  const at = rows.findIndex((row) => row.includes(mark));
  const row = rows[Math.max(0, Math.min(rows.length - 1, at + way[0]))];
  const place = way[0] ? Math.min(row.length - 1, rows[at].indexOf(mark)) : rows[at].indexOf(mark) + way[1];
  row[place]?.focus();
}

/** The bar under the pointer or the focus is told in a sentence below. */
function point(event) {
  const mark = event.target.closest?.("[data-mark]");
  const told = mark ?? parts.picture.querySelector("[data-mark]:focus");
  if (event.type === "focusin" && mark) {
    parts.picture.querySelector('[data-mark][tabindex="0"]')?.setAttribute("tabindex", "-1");
    mark.setAttribute("tabindex", "0");
    chosen.mark = mark.dataset.mark;
  }
  setHtml(parts.readout, told ? html`${told.getAttribute("aria-label")}` : html`${HINT}`);
}

const HINT = "Point at a bar to read it; a click or Enter goes to the step where it ends.";

/** The checkpoint that is shown: the pinned one where the picture has it, else the newest. */
function shownOf({ view, checkpoint }) {
  const all = Object.entries(view.checkpoints);
  return all.find(([name]) => name === checkpoint) ?? all.at(-1) ?? null;
}

export function update(state, changes) {
  if (["view", "checkpoint", "inspectorWidth", "projector"].some((name) => changes.has(name))) draw(state);
}

function draw(state) {
  const { view, checkpoint, inspectorWidth } = state;
  const shown = shownOf(state);
  for (const name of ["picture", "readout", "keys", "tools"]) parts[name].hidden = !shown;
  if (!shown) {
    setHtml(parts.tools, html``);
    setHtml(parts.picture, html``);
    setHtml(parts.about, html`<p class="note">${view.job.scheme === "none" ? "This run takes no checkpoints: after a failure it starts from its beginning. A savepoint can be taken from Faults." : "No checkpoint yet. Trigger one from Faults."}</p>`);
    return;
  }
  const [number, one] = shown;
  keepFocus(() => {
    setHtml(parts.tools, toolsHtml(view, number, checkpoint));
    const rows = Object.keys(one.subtasks).map((id) => ({ id, phases: phasesOf(view, number, id), word: partWord(view, number, id) }));
    setHtml(parts.picture, chosen.table ? tableHtml(view, number, one) : chartHtml(view, number, one, rows, Math.max(LEAST_WIDTH, inspectorWidth)));
    parts.picture.classList.toggle("table-scroll", chosen.table);
    const scrolls = { role: "region", tabindex: "0", "aria-label": "Numbers of the checkpoint" };
    for (const [name, value] of Object.entries(scrolls)) chosen.table ? parts.picture.setAttribute(name, value) : parts.picture.removeAttribute(name);
    parts.readout.hidden = parts.keys.hidden = chosen.table;
    setHtml(parts.keys, keysHtml(new Set(rows.flatMap(({ phases }) => phases.map(({ kind }) => kind)))));
    setHtml(parts.about, aboutHtml(one));
  });
  const told = parts.picture.querySelector("[data-mark]:hover, [data-mark]:focus");
  setHtml(parts.readout, html`${told ? told.getAttribute("aria-label") : HINT}`);
}

/** Draws, and gives the focus back to what had it. */
function keepFocus(change) {
  const { activeElement } = document;
  const held = parts.body.contains(activeElement) ? Object.entries(activeElement.dataset).find(([name]) => name !== "step") : null;
  change();
  if (!held || parts.body.contains(document.activeElement)) return;
  const [name, value] = held;
  const attribute = name.replace(/[A-Z]/g, (sign) => `-${sign.toLowerCase()}`);
  const same = parts.body.querySelector(`[data-${attribute}="${CSS.escape(value)}"]`) ?? parts.picture.querySelector('[tabindex="0"]');
  same?.focus({ preventScroll: true });
}

const SIGNS = { completed: icons.check, aborted: icons.cross, triggered: icons.wait };

function toolsHtml(view, shown, pinned) {
  const all = Object.entries(view.checkpoints);
  const tabs = all.slice(-TABS);
  if (!tabs.some(([name]) => name === shown)) tabs[0] = all.find(([name]) => name === shown);
  const fact = (one) => (one.status === "triggered" ? `${acknowledged(one)} of ${Object.keys(one.subtasks).length}` : count(one.ended - one.triggered, "step"));
  return html`<div class="tabs" role="group" aria-label="Checkpoint">${tabs.map(([name, one]) =>
    html`<button type="button" data-checkpoint="${name}" aria-pressed="${String(name === shown)}" aria-label="${one.kind} ${name}, ${one.status === "triggered" ? "in progress, " : `${one.status} after `}${fact(one)}${one.status === "triggered" ? " acknowledged" : ""}${name === pinned ? ", pinned" : ""}">${SIGNS[one.status]}${name}${name === pinned ? icons.pin : ""} <i>${fact(one)}</i></button>`)}</div><div class="chart-tools"><button class="btn line small" type="button" data-follow aria-pressed="${String(pinned === null)}" title="Else the one that is shown stays while newer ones come">Follow newest</button><button class="btn line small" type="button" data-as-table aria-pressed="${String(chosen.table)}">Table</button></div>`;
}

function aboutHtml(one) {
  const kind = one.kind === "savepoint" ? "Savepoint" : "Checkpoint";
  const sum = totals(one);
  const words = totalWords(sum);
  const steps = one.ended === null ? "" : ` after ${count(one.ended - one.triggered, "step")}`;
  const state = sum.bytes ? `State copied: ${sizeWords(sum)}.` : "";
  const also = html` ${state} ${words ? `${words[0].toUpperCase()}${words.slice(1)}.` : ""}`;
  if (one.status === "aborted") return html`<p class="note"><b class="bad">Aborted${steps}:</b> ${one.reason || failureWords(one.failure)} ${one.failure && html`<code>${one.failure}</code>`}.${also}</p>`;
  if (one.status === "completed") return html`<p class="note">${kind} complete${steps}: ${one.written === one.bytes ? `${bytes(one.bytes)} stored` : sizeWords(one)}.${also}</p>`;
  return html`<p class="note">${kind} triggered in step ${one.triggered}.${also}</p>`;
}

const KEYS = {
  waiting: [html`<path class="waiting" d="M0,5H16"/>`, "waits"],
  aligning: [html`<rect class="aligning" y="0.5" width="16" height="9"/>`, "aligns"],
  collecting: [html`<rect class="collecting" x="0.5" y="0.5" width="15" height="9"/>`, "waits, nothing blocked"],
  copied: [html`<rect class="copied" x="5" width="4" height="10"/>`, "copy"],
  channel: [html`<rect class="gathered" y="0.5" width="16" height="9"/>`, "channel state"],
  upload: [html`<rect class="uploaded" y="3" width="16" height="5"/>`, "upload"],
  answer: [html`<path class="answer" d="M0,5H10"/><path class="acked" d="M9,5l2.6,3l5,-6.4"/>`, "acknowledged"],
  "given-up": [html`<path class="dropped" d="M4,1l8,8M12,1l-8,8"/>`, "given up"],
};

const keysHtml = (kinds) => html`${Object.entries(KEYS).filter(([kind]) => kinds.has(kind)).map(([, [picture, word]]) =>
  html`<span class="chart-key"><svg class="inline" width="17" height="10" aria-hidden="true">${picture}</svg>${word}</span>`)}`;

const LETTER = 6.4;

function chartHtml(view, number, one, rows, width) {
  const zoom = read().projector ? 1.15 : 1;
  const longest = Math.max(...rows.map(({ id }) => id.length)) * LETTER * zoom + 8;
  const left = Math.min(longest, width * 0.36);
  const right = Math.max(...rows.map(({ word }) => word.length)) * LETTER * 0.92 * zoom + 8;
  const end = one.ended ?? view.step;
  const length = Math.max(8, end - one.triggered);
  const x = (step) => Math.round((left + ((step - one.triggered) / length) * (width - left - right)) * 10) / 10;
  const height = 4 + rows.length * ROW;
  const most = Math.max(1, Math.floor((width - left - right) / 44));
  const unit = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000].find((n) => length / n <= most) ?? 50_000;
  const ticks = [];
  for (let step = Math.ceil(one.triggered / unit) * unit; step <= end; step += unit) ticks.push(step);
  const marks = rows.flatMap(({ id, phases }) => phases.map((_, i) => `${id}|${i}`));
  if (!marks.includes(chosen.mark)) chosen.mark = marks[0];
  return html`<svg class="gantt" width="${width}" height="${height + 15}" role="group" aria-label="${one.kind} ${number}, part by part">${ticks.map((step) =>
    html`<path class="grid" d="M${x(step)},2V${height}"/><text class="axis-text" x="${x(step)}" y="${height + 12}">${step}</text>`)}${rows.map((row, i) => rowHtml(row, 4 + i * ROW + ROW / 2, x, width))}${
    one.status === "triggered" && html`<path class="now" d="M${x(end)},2V${height}"/>`}</svg>`;
}

function rowHtml({ id, phases, word }, y, x, width) {
  const both = phases.some(({ kind }) => kind === "channel") && phases.some(({ kind }) => kind === "upload");
  const ordered = [...phases.entries()];
  return html`<g class="part" role="group" aria-label="${id}: ${word}"><text class="row-label" x="0" y="${y}" aria-hidden="true">${id}</text>${ordered.map(([i, phase]) => markHtml(`${id}|${i}`, phase, y, x, both))}<text class="row-word" x="${width}" y="${y}" aria-hidden="true">${word}</text></g>`;
}

const LEAST_BAR = 2;

function markHtml(name, { kind, from, to, sentence }, y, x, both) {
  const [a, b] = [x(from), x(to)];
  const wide = Math.max(LEAST_BAR, b - a);
  const bar = (className, top, high) => html`<rect class="${className}" x="${a}" y="${y + top}" width="${wide}" height="${high}"/>`;
  const shape = {
    waiting: () => html`<path class="waiting" d="M${a},${y}H${Math.max(b, a + LEAST_BAR)}"/>`,
    aligning: () => bar("aligning", -5, 10),
    collecting: () => bar("collecting", -5, 10),
    copied: () => html`<rect class="copied" x="${a - 1.5}" y="${y - 6}" width="4" height="12"/>`,
    channel: () => bar("gathered", -5, both ? 5 : 10),
    upload: () => bar("uploaded", both ? 1 : -3, both ? 4 : 6),
    answer: () => html`<path class="answer" d="M${a},${y}H${b}"/><path class="acked" d="M${b - 3.5},${y}l2.6,3l5,-6.4"/>`,
    "given-up": () => html`<path class="dropped" d="M${a - 3.5},${y - 3.5}l7,7M${a + 3.5},${y - 3.5}l-7,7"/>`,
  }[kind]();
  const point = kind === "copied" || kind === "given-up";
  const top = both && kind === "upload" ? 1 : -9;
  const high = both && (kind === "upload" || kind === "channel") ? (kind === "upload" ? 8 : 10) : 18;
  return html`<g class="mark-part" role="button" tabindex="${name === chosen.mark ? 0 : -1}" data-mark="${name}" data-step="${to}" aria-label="${sentence}."><rect class="hit" x="${point ? a - 4 : a}" y="${y + top}" width="${point ? 9 : Math.max(5, wide)}" height="${high}"/>${shape}</g>`;
}

function tableHtml(view, number, one) {
  const sum = totals(one);
  const step = (value) => html`<td class="num right">${value ?? ""}</td>`;
  const rows = Object.entries(one.subtasks).map(([id, part]) => {
    const how = part.reason ? `given up in ${part.dropped}: ${failureWords(part.reason)}` : part.status === "uploading" ? `uploading, ${bytes(part.left)} left` : part.status;
    return html`<tr><th scope="row">${id}</th>${step(part.first_barrier)}${step(part.snapshot)}${step(part.complete)}${step(part.uploaded)}${step(part.acknowledged)}<td class="num right">${part.held}</td><td class="num right">${part.bytes}</td><td class="num right">${part.written}</td><td class="num right">${part.saved}</td><td class="num right">${part.saved_bytes}</td><td>${how}</td></tr>`;
  });
  const head = (text) => html`<th scope="col" class="right">${text}</th>`;
  return html`<table class="table"><caption>${one.kind} ${number}, ${view.job.scheme.replaceAll("_", " ")}: triggered in step ${one.triggered}${one.ended === null ? "" : `, ${one.status} in step ${one.ended}`}</caption><thead><tr><th scope="col">subtask</th>${["first barrier", "copied", "channel state complete", "uploaded", "acknowledged", "records held", "state, B", "new state, B", "elements saved", "channel state, B"].map(head)}<th scope="col">part</th></tr></thead><tbody>${rows}<tr><th scope="row">all</th><td colspan="5"></td><td class="num right">${sum.held}</td><td class="num right">${sum.bytes}</td><td class="num right">${sum.written}</td><td class="num right">${sum.saved}</td><td class="num right">${sum.saved_bytes}</td><td>${one.bytes ? `${sizeWords(one)}, stored` : ""}</td></tr></tbody></table>`;
}
