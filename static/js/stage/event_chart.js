// Records of one subtask over event time (to the right) and in the order in which it took them (upwards), with its stepped
// watermark and the windows as bands. Markup only; what is known comes from a trail.

import { html } from "../svg.js";
import { keyStyle } from "../glyphs.js";
import { axisUnit, count, dayTime, span, time, watermark } from "../format.js";

const LEFT = 30;
const RIGHT = 12;
const TOP = 22;
const BOTTOM = 17;
const HEIGHT = 236;
const LEAST_ORDER = 8;
const LABEL_HEIGHT = 10;
const LABEL_WIDTH = 24;
const TRIED_LABELS = 60;
const BANDS = 60;

export const PATTERNS = html`<defs><pattern id="fired" width="6" height="6" patternUnits="userSpaceOnUse"><path class="fired-line" d="M0,3H6"/></pattern><pattern id="removed" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="removed-line" d="M0,0V5"/></pattern></defs>`;

/** Records that wait in the queues of a subtask: they come next, in no order yet. */
const waitingFor = (view, id) =>
  Object.keys(view.subtasks[id].inputs).flatMap((name) => view.channels[name]?.queue ?? []).filter((element) => element.kind === "record" && element.timestamp !== null);

/** Which keys there are to choose from. */
export const keysOf = (track) => [...new Set([...track.points, ...track.windows].map((one) => one.key).filter((key) => key !== null))].sort();

/** The track with only what is about `key`; the order of processing stays that of all records. */
export const onlyKey = (track, key) =>
  key === null ? track : { ...track, points: track.points.filter((point) => point.key === key), windows: track.windows.filter((window) => window.key === key) };

/** Windows of several keys with the same span are one band; those that were merged into others are gone. */
function bandsOf(windows) {
  const bands = new Map();
  for (const window of windows) {
    if (window.gone?.why === "merged" || !Number.isFinite(window.start) || !Number.isFinite(window.end)) continue;
    const state = window.gone ? "removed" : window.fired.length ? "fired" : "open";
    const name = `${window.start}:${window.end} ${state}`;
    const band = bands.get(name);
    const from = window.opened.n;
    const to = window.gone?.n ?? window.fired[window.fired.length - 1]?.n ?? null;
    if (!band) bands.set(name, { start: window.start, end: window.end, state, from, to, keys: [window.key] });
    else {
      band.from = Math.min(band.from, from);
      band.to = band.to === null || to === null ? null : Math.max(band.to, to);
      band.keys.push(window.key);
    }
  }
  return [...bands.values()].slice(-BANDS);
}

function domainOf(track, bands, waiting, mark) {
  const times = [...track.points.map((point) => point.time), ...waiting.map((element) => Number(element.timestamp)), ...bands.filter((band) => band.state === "open").flatMap((band) => [band.start, band.end]), mark].filter(Number.isFinite);
  if (!times.length) return null;
  const [low, high] = [Math.min(...times), Math.max(...times)];
  const unit = axisUnit(low, high, 5);
  const air = Math.max((high - low) / 25, unit / 6);
  return [low - air, high + air, unit];
}

/** {markup, points, place}: the points from the oldest to the newest as they are drawn. Null where there is nothing to draw. */
export function eventChart({ view, id, track, width, cursor, traced, mark }) {
  const waiting = waitingFor(view, id);
  const bands = bandsOf(track.windows);
  const domain = domainOf(track, bands, waiting, mark);
  if (!domain) return null;
  const [from, to, unit] = domain;
  const newest = Math.max(track.points.at(-1)?.n ?? 0, track.newest ?? 0);
  const oldest = Math.min(track.points[0]?.n ?? 1, newest);
  const low = Math.max(0, oldest - 1);
  const high = Math.max(newest, low + LEAST_ORDER) + 0.6;
  const x = (ms) => round(LEFT + Math.max(0, Math.min(1, (ms - from) / (to - from))) * (width - LEFT - RIGHT));
  const y = (n) => round(HEIGHT - BOTTOM - (Math.max(0, n - low) / (high - low)) * (HEIGHT - BOTTOM - TOP));
  const now = y(newest + 0.5);
  const ticks = [];
  for (let at = Math.ceil(from / unit) * unit; at <= to; at += unit) ticks.push(at);
  const axis = html`${ticks.map((at) => html`<path class="grid" d="M${x(at)},${TOP}V${HEIGHT - BOTTOM}"/><text class="axis-text${x(at) > width - 16 ? " last" : ""}" x="${x(at) > width - 16 ? width : x(at)}" y="${HEIGHT - 4}">${time(at)}</text>`)}${
    orders(low, high).map((n) => html`<text class="axis-text order" x="${LEFT - 6}" y="${y(n)}">${n}</text>`)}<text class="axis-text order" x="${LEFT - 6}" y="${TOP - 11}">next</text>`;
  const coming = waiting.map((element) => html`<circle class="coming ${hue(element.key)}" cx="${x(Number(element.timestamp))}" cy="${TOP - 11}" r="3.4"><title>${element.key ?? "record"} of ${dayTime(element.timestamp)} waits in a queue</title></circle>`);
  return {
    markup: html`<svg class="event-chart" width="${width}" height="${HEIGHT}" aria-hidden="true">${axis}${bands.map((band) => bandHtml(band, x, y, now))}<path class="next-line" d="M${LEFT},${TOP - 1}H${width - RIGHT}"/>${coming}${stepped(track.line, mark, x, y, newest, from, to)}${pointsHtml(track.points, { x, y, cursor, traced, width })}</svg>`,
    points: track.points,
    place: (point) => ({ x: x(point.time), y: y(point.n) }),
  };
}

const round = (n) => Math.round(n * 10) / 10;

/** Some whole numbers for the axis of order. */
function orders(low, high) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((size) => (high - low) / size <= 5) ?? 5000;
  const found = [];
  for (let n = Math.ceil((low + 0.01) / step) * step; n <= high - 0.5; n += step) found.push(n);
  return found;
}

const hue = (key) => {
  const style = keyStyle(key);
  return style.hue === null ? "key-none" : `key-${style.hue}${style.ring ? " key-ring" : ""}`;
};

const BAND_WORDS = { open: "is open", fired: "has fired and is kept for late records", removed: "has fired and was removed" };

function bandHtml(band, x, y, now) {
  const [left, right] = [x(band.start), x(band.end)];
  if (right <= left) return "";
  const bottom = y(band.from - 0.5);
  const top = band.state === "removed" ? Math.min(y(band.to + 0.5), bottom - 2) : Math.min(now, bottom - 2);
  const fired = band.state === "fired" ? y(band.to + 0.5) : top;
  const title = `${span([band.start, band.end])} of ${band.keys.slice(0, 6).join(", ")}${band.keys.length > 6 ? ` and ${band.keys.length - 6} more` : ""} ${BAND_WORDS[band.state]}`;
  return html`<g class="band ${band.state}"><title>${title}</title><rect x="${left}" y="${top}" width="${round(right - left)}" height="${round(bottom - top)}"/>${
    band.state === "open" ? "" : html`<path class="fired-edge" d="M${left},${fired}H${right}"/>`}</g>`;
}

/** The watermark: to the right when it rises, upwards while records are taken. */
function stepped(line, mark, x, y, newest, from, to) {
  const inside = (ms) => Math.max(from, Math.min(to, ms));
  let path = "";
  let at = line.length ? line[0].old : mark;
  if (line.length && Number.isFinite(at)) path = `M${x(inside(at))},${y(0)}`;
  for (const { n, value } of line) {
    const height = y(n + 0.5);
    path += path ? `V${height}H${x(inside(value))}` : `M${x(from)},${height}H${x(inside(value))}`;
    at = value;
  }
  if (at === -Infinity || at === undefined) return "";
  if (!path) path = `M${x(inside(at))},${y(0)}`;
  const end = y(newest + 0.5);
  return html`<path class="stepped" d="${path}V${end}"><title>watermark</title></path>${Number.isFinite(at) ? html`<path class="stepped-now" d="M${x(at) - 3.5},${TOP}h7l-3.5,5z"/>` : ""}`;
}

function pointsHtml(points, { x, y, cursor, traced, width }) {
  const labelled = [];
  const free = (px, py) => labelled.every(([lx, ly]) => Math.abs(lx - px) > LABEL_WIDTH || Math.abs(ly - py) > LABEL_HEIGHT);
  const labels = [...points].slice(-TRIED_LABELS).reverse().map((point) => {
    const { code } = keyStyle(point.key);
    const [px, py] = [x(point.time), y(point.n)];
    if (!code || !free(px, py)) return "";
    labelled.push([px, py]);
    const left = px > width - RIGHT - LABEL_WIDTH;
    return html`<text class="point-code${point.late ? " late" : ""}" x="${left ? px - 7 : px + 7}" y="${py}" ${left ? html`text-anchor="end"` : ""}>${code}</text>`;
  });
  return html`${points.map((point, i) => pointHtml(point, { x, y, chosen: i === cursor, traced: traced?.has(point.id) }))}${labels}`;
}

function pointHtml(point, { x, y, chosen, traced }) {
  const [px, py] = [x(point.time), y(point.n)];
  if (!Number.isFinite(px)) return "";
  const ring = traced ? html`<circle class="traced-ring" cx="${px}" cy="${py}" r="7.5"/>` : "";
  const here = chosen ? html`<circle class="chosen-ring" cx="${px}" cy="${py}" r="9.5"/>` : "";
  if (point.late) return html`${ring}${here}<g class="point-late"><title>${pointWords(point)}</title><circle cx="${px}" cy="${py}" r="5"/><path d="M${px - 4.6},${py + 4.6}L${px + 4.6},${py - 4.6}"/></g>`;
  return html`${ring}${here}<circle class="point g-key ${hue(point.key)}" cx="${px}" cy="${py}" r="4"><title>${pointWords(point)}</title></circle>`;
}

/** A record in words, for its tooltip, the line under the chart, and those who do not see it. */
export function pointWords(point) {
  const at = Number.isFinite(point.time) ? ` of ${dayTime(point.time)}` : "";
  const what = point.key ?? point.text ?? "record";
  return point.late ? `${what}${at}, number ${point.n}: late, for the watermark was ${watermark(point.late.watermark)} already` : `${what}${at}, number ${point.n}, in step ${point.step}`;
}

/** The chart as a table, the newest record first. */
export function eventTable(track, id) {
  const mark = (point) => track.line.filter((one) => one.step < point.step).at(-1);
  return html`<table class="table"><caption class="vh">Records taken by ${id}, the newest first</caption><thead><tr><th scope="col" class="right">order</th><th scope="col">key</th><th scope="col" class="right">event time</th><th scope="col" class="right">watermark then</th><th scope="col"></th></tr></thead><tbody>${[...track.points].reverse().slice(0, 60).map((point) =>
    html`<tr><td class="num right">${point.n}</td><td>${point.key ?? point.text ?? ""}</td><td class="num right">${dayTime(point.time)}</td><td class="num right">${mark(point) ? watermark(mark(point).value) : ""}</td><td>${point.late ? html`<span class="bad">late</span>` : ""}</td></tr>`)}</tbody></table>${track.points.length > 60 ? html`<p class="note">${count(track.points.length - 60, "older record")} not shown.</p>` : ""}`;
}
