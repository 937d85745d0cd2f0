// Which subtask owns which key groups, and what a rescale by one would move.

import { html, setHtml } from "../svg.js";
import { keyStyle } from "../glyphs.js";
import { count } from "../format.js";

export const title = "Key groups";

const keyed = (view) => view.graph.vertices.filter((vertex) => Object.values(view.subtasks).some((one) => one.vertex === vertex.id && one.key_groups));

export function summary({ view }) {
  const vertices = keyed(view);
  return vertices.length ? vertices.map((vertex) => `${vertex.id}: ${vertex.max_parallelism} over ${vertex.parallelism}`).join(", ") : "no keyed operator";
}

let body;

export function mount(element) {
  body = element;
}

export function update({ view, inspectorWidth }, changes) {
  if (!["view", "inspectorWidth"].some((name) => changes.has(name))) return;
  const width = Math.max(220, inspectorWidth);
  const vertices = keyed(view);
  setHtml(body, vertices.length ? html`${vertices.map((vertex) => vertexHtml(view, vertex, width))}` : html`<p class="note">No operator of this job keeps keyed state.</p>`);
}

/** Owner of a key group, as Flink computes it. */
const ownerOf = (group, parallelism, most) => Math.floor((group * parallelism) / most);

function rangesOf(parallelism, most) {
  return Array.from({ length: parallelism }, (_, i) => [Math.ceil((i * most) / parallelism), Math.ceil(((i + 1) * most) / parallelism) - 1]);
}

function keysOf(view, vertex) {
  const keys = new Map();
  for (const subtask of Object.values(view.subtasks)) {
    if (subtask.vertex !== vertex.id) continue;
    for (const row of Object.values(subtask.state)) if (Number.isInteger(row.key_group)) keys.set(row.key, row.key_group);
  }
  return [...keys].sort((a, b) => a[1] - b[1]);
}

const STRIP = 11;
const NOW = 18;
const THEN = 62;

function vertexHtml(view, vertex, width) {
  const { parallelism: p, max_parallelism: most } = vertex;
  const q = p + 1;
  const keys = keysOf(view, vertex);
  if (q > most) return html`<p class="note">${vertex.id} cannot grow beyond ${count(most, "key group")}.</p>`;
  const x = (group) => (group / most) * width;
  const moves = Array.from({ length: most }, (_, group) => ownerOf(group, p, most) !== ownerOf(group, q, most));
  const moved = moves.filter(Boolean).length;
  const ribbons = rangesOf(q, most).flatMap(([a, b], to) => rangesOf(p, most).map(([c, d], from) => ({ from, to, left: Math.max(a, c), right: Math.min(b, d) }))).filter((one) => one.left <= one.right && one.from !== one.to);
  const names = keys.filter(([, group]) => moves[group]).map(([key]) => key);
  return html`<svg class="groups" width="${width}" height="${THEN + STRIP + 14}" role="img" aria-label="Key groups of ${vertex.id} by owner, now and after a rescale to ${q}">${ribbons.map(({ from, to, left, right }) =>
    html`<rect class="moving-groups" x="${x(left)}" y="${NOW + STRIP}" width="${x(right + 1) - x(left)}" height="${THEN - NOW - STRIP}"/>${x(right + 1) - x(left) > 30 && html`<text class="axis-text" x="${(x(left) + x(right + 1)) / 2}" y="${(NOW + STRIP + THEN) / 2 + 3.5}">${from} → ${to}</text>`}`)}${
    stripHtml(view, vertex, p, NOW, NOW - 5, x, width)}${stripHtml(view, vertex, q, THEN, THEN + STRIP + 11, x, width)}${keys.map(([key, group]) => {
      const { hue, ring } = keyStyle(key);
      return html`<path class="follow${moves[group] ? " moves" : ""}" d="M${x(group) + 1.5},${NOW + STRIP + 2}V${THEN - 2}"/>${[NOW, THEN].map((y) => html`<rect class="g-key key-${hue}${ring ? " key-ring" : ""}" x="${x(group) - 0.5}" y="${y - 2}" width="4" height="${STRIP + 4}" rx="1"><title>${key}: key group ${group}</title></rect>`)}`;
    })}</svg><p class="note">Above: ${p} subtasks now. Below: with ${q}, ${moved} of ${most} groups would change owner${names.length ? html`, and with them the state of ${names.slice(0, 6).join(", ")}${names.length > 6 ? ` and ${names.length - 6} more keys` : ""}` : ""}.</p>`;
}

function stripHtml(view, vertex, parallelism, y, textY, x, width) {
  return rangesOf(parallelism, vertex.max_parallelism).map(([a, b], i) => html`<rect class="owner${i % 2 ? " odd" : ""}" x="${x(a) + 0.5}" y="${y}" width="${Math.max(1, x(b + 1) - x(a) - 1)}" height="${STRIP}"/>${
    width / parallelism > 34 && html`<text class="owner-text" x="${x(a) + 1}" y="${textY}">${width / parallelism > 76 ? `${vertex.id}[${i}]` : `[${i}]`}</text>`}`);
}
