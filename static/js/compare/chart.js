// One measure of both runs over the cursor: A solid, B dashed, and where each failed or had a checkpoint.

import { html, setHtml } from "../svg.js";
import { measureOf } from "./measures.js";

const HEIGHT = 176;
const LEFT = 62;
const RIGHT = 30;
const TOP = 14;
const MARKS = 38;
const AXIS = 18;

const MARK_NAMES = { checkpoint_triggered: "checkpoint triggered", checkpoint_completed: "checkpoint completed", checkpoint_aborted: "checkpoint aborted", failed: "failed" };

/** Draws into `element`; returns cursor(x): the cursor at `x` px from its left edge. */
export function drawChart(element, width, { summary, by, at, measure }) {
  if (!summary || !width) return () => at;
  const one = measureOf(measure);
  const { cursors, values, length } = summary.by[by];
  const lines = values[one.id];
  const bottom = HEIGHT - MARKS - AXIS;
  const most = Math.max(1, ...lines.flat().map((value) => value ?? 0));
  const inner = width - LEFT - RIGHT;
  const x = (cursor) => Math.round((LEFT + (cursor / (length || 1)) * inner) * 10) / 10;
  const y = (value) => Math.round((bottom - (value / most) * (bottom - TOP)) * 10) / 10;
  const known = (line) => line.some((value) => value !== null);
  // A value holds until the next one: a step line.
  const path = (line) => line.map((value, i) => (i ? `H${x(cursors[i])}V${y(value ?? 0)}` : `M${x(cursors[0])},${y(value ?? 0)}`)).join("");
  const last = lines.map((line) => y(line[line.length - 1] ?? 0));
  const apart = Math.abs(last[0] - last[1]) < 12 ? 6 : 0;
  const label = (side) => html`<text class="line-name" x="${width - RIGHT + 5}" y="${last[side] + (last[side] <= last[1 - side] && !(side === 1 && last[0] === last[1]) ? -apart : apart) + 4}">${"AB"[side]}</text>`;
  const unit = by === "input" ? "entries of input read, then the end" : "steps of each run";
  const spoken = known(lines[0])
    ? `${one.name} over ${unit}: at the end ${["A", "B"].map((name, i) => `${name} ${one.text(lines[i][lines[i].length - 1] ?? 0)}`).join(", ")}.`
    : `${one.name}: nothing fails, so there is nothing to compare with.`;
  setHtml(element, html`<p class="chart-name"><b>${one.name}</b> ${one.note}</p><svg class="compare-chart" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${spoken}"><path class="grid" d="M${LEFT},${y(0)}H${width - RIGHT}M${LEFT},${y(most)}H${width - RIGHT}"/><text class="axis-text end" x="${LEFT - 6}" y="${y(most) + 4}">${one.text(most)}</text><text class="axis-text end" x="${LEFT - 6}" y="${y(0) + 4}">0</text>${
    known(lines[0]) ? html`<path class="line-b" d="${path(lines[1])}"/><path class="line-a" d="${path(lines[0])}"/>${label(0)}${label(1)}` : html`<text class="axis-text" x="${LEFT + 8}" y="${(TOP + bottom) / 2}">Nothing fails here: there is nothing to compare with.</text>`}${
    summary.sides.map((side, i) => html`<text class="axis-text end" x="${LEFT - 6}" y="${bottom + 22 + i * 14}">${"AB"[i]}</text>${side.marks.map((mark) => markHtml(mark, x(by === "input" ? mark[1] : mark[0]), bottom + 18 + i * 14))}`)}<path class="cursor-line" d="M${x(at)},4V${HEIGHT - AXIS}"/><text class="axis-text" x="${LEFT}" y="${HEIGHT - 4}">0</text><text class="axis-text middle" x="${LEFT + inner / 2}" y="${HEIGHT - 4}">${unit}</text><text class="axis-text end" x="${width - RIGHT}" y="${HEIGHT - 4}">${length}</text></svg>`);
  return (px) => Math.max(0, Math.min(length, Math.round(((px - LEFT) / inner) * length)));
}

function markHtml([step, , kind, text], x, y) {
  const title = html`<title>${MARK_NAMES[kind]} ${text}, step ${step}</title>`;
  if (kind === "failed") return html`<path class="mark-failed" d="M${x - 4},${y - 4}l8,8m0,-8l-8,8">${title}</path>`;
  if (kind === "checkpoint_completed") return html`<path class="g-barrier" d="M${x - 1.5},${y - 5}h3v10h-3z">${title}</path>`;
  if (kind === "checkpoint_aborted") return html`<path class="mark-aborted" d="M${x - 3},${y - 3}l6,6m0,-6l-6,6">${title}</path>`;
  return html`<path class="mark-triggered" d="M${x},${y - 5}v10">${title}</path>`;
}
