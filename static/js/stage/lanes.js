// Channels as markup: curve and lane under the cards; port, gate, queue above them.

import { glyph, savedCorner, tick } from "../glyphs.js";
import { html, raw } from "../svg.js";
import { pointBefore } from "../layout.js";

/** What lies under the cards: routing curves, lanes, the outline round what this step made. */
export function underHtml(channel, { active, blocked, made, layout }) {
  const { lane, curve } = channel;
  const edges = layout.vertical
    ? `M${lane.x},${lane.y}V${lane.y + lane.height}M${lane.x + lane.width},${lane.y}V${lane.y + lane.height}`
    : `M${lane.x},${lane.y}H${lane.x + lane.width}M${lane.x},${lane.y + lane.height}H${lane.x + lane.width}`;
  return html`<path class="curve${active ? " active" : ""}${blocked ? " blocked" : ""}" d="${curve}"/><rect class="lane${blocked ? " blocked" : ""}" x="${lane.x}" y="${lane.y}" width="${lane.width}" height="${lane.height}" rx="2"/>${
    active && html`<path class="curve active" d="${edges}"/>`}${made.map(outline)}`;
}

const outline = ([x0, y0, x1, y1]) =>
  html`<rect class="halo" x="${x0}" y="${y0}" width="${x1 - x0}" height="${y1 - y0}" rx="${Math.min(11, (y1 - y0) / 2)}"/>`;

/** What lies above the cards, without the queue: ports and the gate of a blocked input. */
export function portsHtml(channel, { active, blocked, layout }) {
  const { start, end } = channel;
  const dense = !layout.density.glyph;
  const out = html`<circle class="port" cx="${start.x}" cy="${start.y}" r="${dense ? 1.6 : 2.3}"/>`;
  if (!blocked) return html`${out}<circle class="port${active ? " active" : ""}" cx="${end.x}" cy="${end.y}" r="${dense ? 2 : 3}"/>`;
  const half = (layout.vertical ? channel.lane.width : channel.lane.height) / 2;
  if (dense) return html`${out}<rect class="gate" x="${end.x - 4}" y="${end.y - half}" width="3" height="${2 * half}"/>`;
  const lock = (x, y) => html`<g transform="translate(${x},${y})"><circle class="lock" r="7"/><path class="lock-body" d="M-2.7,-0.6h5.4v4h-5.4z"/><path class="lock-bow" d="M-1.6,-0.6V-1.8a1.6,1.6 0 0 1 3.2,0V-0.6"/></g>`;
  return layout.vertical
    ? html`${out}<rect class="gate" x="${end.x - half}" y="${end.y - 4.5}" width="${2 * half}" height="3"/>${lock(end.x, end.y - 12)}`
    : html`${out}<rect class="gate" x="${end.x - 4.5}" y="${end.y - half}" width="3" height="${2 * half}"/>${lock(end.x - 12, end.y)}`;
}

const round = (n) => Math.round(n * 10) / 10;

/**
 * The queue of a channel. `lost` are elements that a failure destroyed in this step, shown once as outlines; `saved` maps elements to
 * the checkpoint in progress that they are part of.
 */
export function queueHtml(channel, places, layout, { traced, pointed, saved } = {}) {
  return html`${places.map((place) => {
    const { x, y } = pointBefore(channel, place.distance);
    const ghost = place.kind === "ghost" || place.kind === "lost";
    const ring = !ghost && (pointed === place.id ? "pointed-ring" : traced?.has(place.id) ? "traced-ring" : "");
    const part = saved?.get(place.id.replace(/-taken$/, ""));
    return html`<g class="${ghost ? `ghost ${place.kind}` : "token"}" data-element="${place.id}" transform="translate(${round(x)},${round(y)})${scaleOf(layout)}"><title>${place.mark.title}${part ? `, saved in checkpoint ${part}` : ""}</title>${ring && ringHtml(ring, place, layout)}${shapeOf(place.mark, layout)}${part && savedCorner(!layout.density.glyph)}</g>`;
  })}`;
}

/** Lineage of a selected result, or what a link points at. */
function ringHtml(name, place, layout) {
  const scale = layout.density.glyph || 1;
  const along = place.length / scale / 2 + 2;
  const across = layout.density.glyph ? 11 : 4;
  const [w, h] = layout.vertical ? [across, along] : [along, across];
  return html`<rect class="${name}" x="${round(-w)}" y="${round(-h)}" width="${round(2 * w)}" height="${round(2 * h)}" rx="${Math.min(w, h)}"/>`;
}

const scaleOf = ({ density }) => (density.glyph && density.glyph !== 1 ? raw(` scale(${density.glyph})`) : "");

export const shapeOf = (mark, layout) => (layout.density.glyph ? glyph(mark, layout.vertical) : tick(mark, layout.density.lane - 1, layout.vertical));

/** Boxes round runs of elements that this step made: one outline per run, never one per element. */
export function madeBoxes(channel, places, emitted, layout) {
  const boxes = [];
  let run = null;
  const high = (layout.vertical ? channel.lane.width : channel.lane.height) / 2 + 2;
  for (const place of places) {
    if (!emitted.has(place.id)) {
      run = null;
      continue;
    }
    const { x, y } = pointBefore(channel, place.distance);
    const half = place.length / 2 + 2;
    const box = layout.vertical ? [x - high, y - half, x + high, y + half] : [x - half, y - high, x + half, y + high];
    if (run) {
      run[0] = Math.min(run[0], box[0]);
      run[1] = Math.min(run[1], box[1]);
      run[2] = Math.max(run[2], box[2]);
      run[3] = Math.max(run[3], box[3]);
    } else {
      run = box;
      boxes.push(run);
    }
  }
  return boxes;
}
