// A space-time diagram as markup. What is where comes from space_time.js; what an arrow means is in its fields:
//
//   kind     "tokens" or "record" (full line, full head), "marker" or "barrier" (dashed line, open head)
//   label    a number at the arrow, or ""
//   held     it was recorded as state of its link; wrong: "backwards", "missed" or ""
//   say      the sentence of the arrow

import { html } from "../svg.js";

/** Several cuts at once: each with a dash of its own, and its number at its head. */
const DASHES = ["", "9 4", "2.5 3.5", "10 3 2.5 3"];

export const dashOf = (number) => DASHES[(number - 1) % DASHES.length];

const CONTROL = new Set(["marker", "barrier"]);

/** `chosen` is the id of the arrow that is told about, `hovered` a step, `zoom` the size on the page. */
export function spaceTimeChart(diagram, layout, { chosen = null, hovered = null, zoom = 1 } = {}) {
  const { width, height, top, bottom, x, lanes } = layout;
  const here = x(diagram.now);
  const column = (step, name) => html`<rect class="${name}" x="${x(step) - layout.unit / 2}" y="${top - 4}" width="${layout.unit}" height="${bottom - top + 4}"/>`;
  return html`<svg class="space-time" width="${Math.floor(width * zoom)}" height="${Math.floor(height * zoom)}" viewBox="0 0 ${width} ${height}" aria-hidden="true">${
    hovered !== null && column(hovered, "st-hover")}${layout.ticks.map((step) => html`<path class="grid" d="M${x(step)},${top - 4}V${bottom}"/><text class="axis-text" x="${x(step)}" y="${bottom + 13}">${step}</text>`)}${
    diagram.lanes.map((id) => html`<path class="st-lane" d="M${x(diagram.from)},${lanes[id]}H${here}"/><path class="st-lane ahead" d="M${here},${lanes[id]}H${x(diagram.to)}"/>`)}${
    layout.arrows.filter((arrow) => arrow.held).map((arrow) => html`<path class="st-held" d="${shaft(arrow)}"/>`)}${
    layout.cuts.map(cutHtml)}${[...layout.arrows].sort((a, b) => (a.id === chosen) - (b.id === chosen)).map((arrow) => arrowHtml(arrow, arrow.id === chosen))}<path class="playhead" d="M${here},${top - 4}V${bottom + 3}"/>${
    layout.cuts.map(flagHtml)}</svg>`;
}

/** The names of the lanes, each with a number under it, beside the diagram that scrolls. */
export function laneNames(layout, notes, { width, zoom = 1 }) {
  return html`<svg width="${Math.floor(width * zoom)}" height="${Math.floor(layout.height * zoom)}" viewBox="0 0 ${width} ${layout.height}" aria-hidden="true">${Object.entries(layout.lanes).map(([id, y]) =>
    html`<text class="st-id" x="${width - 2}" y="${y - 6}">${id}</text><text class="st-has" x="${width - 2}" y="${y + 9}">${notes[id] ?? ""}</text>`)}</svg>`;
}

/** A message to itself leaves its lane in a bow. */
function shaft({ x0, y0, x1, y1, loop }) {
  if (loop) return `M${x0},${y0}C${x0},${y0 - 26} ${x1},${y0 - 26} ${x1},${y1}`;
  return `M${x0},${y0}L${x1},${y1}`;
}

function arrowHtml(arrow, chosen) {
  const { x0, y0, x1, y1, open, kind, label, wrong } = arrow;
  const control = CONTROL.has(kind);
  const angle = arrow.loop ? Math.PI / 2 : Math.atan2(y1 - y0, x1 - x0);
  const turn = Math.round((angle * 180) / Math.PI);
  const head = open
    ? html`<circle class="st-open" r="2.6"/>`
    : control ? html`<path class="st-head open" d="M-7.5,-4L0,0L-7.5,4"/>` : html`<path class="st-head" d="M0,0L-8.5,-3.7V3.7Z"/>`;
  const at = arrow.loop ? [(x0 + x1) / 2, y0 - 20] : [x0 + (x1 - x0) * 0.34, y0 + (y1 - y0) * 0.34];
  const mark = label === "" ? "" : control
    ? html`<rect class="st-flag" x="${at[0] - 6.5}" y="${at[1] - 6.5}" width="13" height="13" rx="2"/><text class="st-text flag" x="${at[0]}" y="${at[1] + 0.5}">${label}</text>`
    : html`${arrow.held && html`<circle class="st-ring" cx="${at[0]}" cy="${at[1]}" r="10.5"/>`}<circle class="st-disc" cx="${at[0]}" cy="${at[1]}" r="7.5"/><text class="st-text" x="${at[0]}" y="${at[1] + 0.5}">${label}</text>`;
  const cross = wrong ? html`<path class="st-cross" d="M${mid(x0, x1) - 4.5},${mid(y0, y1) - 4.5}l9,9m0,-9l-9,9"/>` : "";
  return html`<g class="st-arrow ${kind}${chosen ? " is-chosen" : ""}${open ? " under-way" : ""}${wrong ? " wrong" : ""}" data-arrow="${arrow.id}">${chosen && html`<path class="st-chosen" d="${shaft(arrow)}"/>`}<path class="st-shaft" d="${shaft(arrow)}"/><circle class="st-dot" cx="${x0}" cy="${y0}" r="2.4"/><g transform="translate(${x1},${y1}) rotate(${turn})">${head}</g>${mark}${cross}</g>`;
}

const mid = (a, b) => a + (b - a) * 0.62;

const mean = (a, b) => (a + b) / 2;

/** A bow, so that it is not taken for the marker that runs beside it. */
function cutHtml(cut) {
  const dash = dashOf(cut.number);
  return html`<g class="st-cut"><title>${cut.title ?? cut.label}</title>${cut.segments.map(({ x0, y0, x1, y1, done }) =>
    html`<path class="${done ? "st-line" : "st-line coming"}" d="M${x0},${y0}C${x0},${mean(y0, y1)} ${x1},${mean(y0, y1)} ${x1},${y1}" ${done && dash ? html`stroke-dasharray="${dash}"` : ""}/>`)}${
    cut.dots.map((dot) => html`<rect class="st-point" x="${dot.x - 2}" y="${dot.y - 7}" width="4" height="14" rx="1"/>${cut.values?.[dot.id] !== undefined && html`<text class="st-value" x="${dot.x - 5}" y="${dot.y - 9}">${cut.values[dot.id]}</text>`}`)}</g>`;
}

function flagHtml(cut) {
  const { x, y } = cut.label;
  const text = cut.label_text ?? `cut ${cut.number}`;
  const width = text.length * 5.6 + 9;
  return html`<g class="st-name"><rect x="${x - width / 2}" y="${y - 7}" width="${width}" height="13" rx="2"/><text x="${x}" y="${y + 0.5}">${text}</text></g>`;
}

/** The arrows as a table: for those who do not see the picture, and for those who want to read it. */
export function arrowTable(diagram, caption) {
  return html`<table class="table"><caption>${caption}</caption><thead><tr><th scope="col">sent</th><th scope="col">arrived</th><th scope="col">message</th><th scope="col" class="wide">what of it</th></tr></thead><tbody>${diagram.arrows.map((arrow) =>
    html`<tr><td class="num">${arrow.sent}</td><td class="num">${arrow.delivered ?? "under way"}</td><td>${arrow.name}</td><td class="text wide">${arrow.say}</td></tr>`)}</tbody></table>`;
}
