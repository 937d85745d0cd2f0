// A process network as a small graph: processes on a circle, every link with what is on it, head next to the receiver.

import { html } from "../svg.js";
import { itemName, route } from "./network_diagram.js";

const NODE = 17;
const BEND = 0.17;
const SHOWN = 4;
/** Where on its link the head of a queue stands, and how far apart the others are behind it. */
const HEAD = 0.8;
const GAP = 0.17;

export function networkGraph(view, { width, height, acted }) {
  const ids = Object.keys(view.processes);
  const radius = Math.max(40, Math.min(width, height) / 2 - NODE - 8);
  const centre = { x: width / 2, y: height / 2 };
  const places = Object.fromEntries(ids.map((id, i) => {
    const angle = ids.length === 2 ? Math.PI * (1 - i) : (2 * Math.PI * i) / ids.length - Math.PI / 2;
    return [id, { x: round(centre.x + radius * Math.cos(angle)), y: round(centre.y + radius * Math.sin(angle)) }];
  }));
  const links = Object.entries(view.links).map(([name, link]) => ({ name, ...link, curve: curveOf(places[link.from], places[link.to], centre) }));
  return html`<svg class="net" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${spoken(view)}">${
    links.map(({ curve, fifo, queue }) => html`<path class="net-link${fifo ? "" : " unordered"}${queue.length ? " busy" : ""}" d="${curve.path}"/><path class="net-head" transform="translate(${curve.end.x},${curve.end.y}) rotate(${curve.turn})" d="M0,0L-7,-3.2V3.2Z"/>`)}${
    links.map(({ name, queue, curve }) => queueHtml(name, queue, curve, view.messages))}${
    ids.map((id) => nodeHtml(id, view.processes[id], places[id], acted === id))}</svg>`;
}

const round = (n) => Math.round(n * 10) / 10;

function curveOf(from, to, centre) {
  if (from === to) return selfLoop(from, centre);
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const [nx, ny] = [-dy / length, dx / length];
  const bend = { x: (from.x + to.x) / 2 + nx * length * BEND, y: (from.y + to.y) / 2 + ny * length * BEND };
  const away = (a, b, distance) => {
    const far = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    return { x: round(a.x + ((b.x - a.x) / far) * distance), y: round(a.y + ((b.y - a.y) / far) * distance) };
  };
  return quadratic(away(from, bend, NODE + 1), bend, away(to, bend, NODE + 3));
}

function selfLoop(at, centre) {
  const out = Math.atan2(at.y - centre.y, at.x - centre.x) || -Math.PI / 2;
  const on = (angle, distance) => ({ x: round(at.x + Math.cos(angle) * distance), y: round(at.y + Math.sin(angle) * distance) });
  return quadratic(on(out - 0.7, NODE), on(out, NODE * 3.4), on(out + 0.7, NODE + 2));
}

function quadratic(start, bend, end) {
  const point = (t) => ({
    x: round((1 - t) ** 2 * start.x + 2 * t * (1 - t) * bend.x + t ** 2 * end.x),
    y: round((1 - t) ** 2 * start.y + 2 * t * (1 - t) * bend.y + t ** 2 * end.y),
  });
  return { path: `M${start.x},${start.y}Q${round(bend.x)},${round(bend.y)} ${end.x},${end.y}`, end, point, turn: Math.round((Math.atan2(end.y - bend.y, end.x - bend.x) * 180) / Math.PI) };
}

function queueHtml(name, queue, { point }, messages) {
  const shown = queue.slice(0, queue.length > SHOWN ? SHOWN - 1 : SHOWN);
  const items = shown.map((number, i) => {
    const { x, y } = point(HEAD - i * GAP);
    const { tokens, marker } = messages[number];
    return html`<g transform="translate(${x},${y})"><title>${itemName(messages[number])} on ${route(name)}, ${i ? `behind ${i}` : "at the head"}</title>${
      marker ? html`<rect class="st-flag" x="-6.5" y="-6.5" width="13" height="13" rx="2"/>` : html`<circle class="st-disc" r="7.5"/>`}<text class="st-text${marker ? " flag" : ""}" y="0.5">${marker || tokens}</text></g>`;
  });
  if (shown.length === queue.length) return items;
  const { x, y } = point(HEAD - shown.length * GAP);
  return html`${items}<g transform="translate(${x},${y})"><rect class="g-more" x="-9" y="-6.5" width="18" height="13" rx="6"/><text class="st-text more" y="0.5">+${queue.length - shown.length}</text></g>`;
}

function nodeHtml(id, { tokens, owed }, { x, y }, acted) {
  return html`<g class="net-node${acted ? " hot" : ""}" transform="translate(${x},${y})"><circle r="${NODE}"/><text class="net-name" y="-4.5">${id.length > 4 ? `${id.slice(0, 3)}…` : id}</text><text class="net-tokens" y="7">${tokens}</text>${
    owed.length ? html`<g class="net-owed" transform="translate(${NODE},${-NODE + 2})"><title>${id} has still to send its markers</title><rect class="st-flag late" x="-6.5" y="-6.5" width="13" height="13" rx="2"/><text class="st-text late" y="0.5">${owed[0]}</text></g>` : ""}</g>`;
}

function spoken(view) {
  const processes = Object.entries(view.processes).map(([id, { tokens }]) => `${id} has ${tokens}`);
  const links = Object.entries(view.links).filter(([, { queue }]) => queue.length).map(([name, { queue }]) => `on ${route(name)}, head first: ${queue.map((number) => itemName(view.messages[number])).join(", ")}`);
  return `Network: ${processes.join(", ")}; ${links.length ? links.join("; ") : "nothing on the links"}`;
}
