// The inside of a subtask's card, as markup. Each gauge row stands on its lane's axis, so that queue, gate and gauge read
// as one line; all gauges share one event-time axis, and one rule through all rows marks the minimum.

import { checkpointStatus, creditOf, holders, isPaused, openWindows, outputsOf, senderOf, shortName, splitWord, vertexOf } from "../selectors.js";
import { html, icons } from "../svg.js";
import { keyStyle } from "../glyphs.js";
import { count, number, timeValue, watermark, watermarkDay } from "../format.js";

const SPLITS_SHOWN = 4;
const PIPS = 12;

export function cardHtml(view, id, context) {
  const subtask = view.subtasks[id];
  return Object.keys(subtask.inputs).length ? operatorCard(view, id, context) : sourceCard(view, id, context);
}

function head(view, id, context) {
  return html`<span class="card-head"><b>${id}</b>${statusHtml(view, id, context)}</span>`;
}

function statusHtml(view, id, context) {
  const subtask = view.subtasks[id];
  const refuses = subtask.upload_refused && html`<span class="refuses"><svg class="icon" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.35" role="img" aria-label="The storage refuses its next snapshot"><title>The storage refuses its next snapshot</title><path d="M3.5 5c0-2 9-2 9 0v6c0 2-9 2-9 0zM3.5 5c0 2 9 2 9 0M2 14 14 2"/></svg></span>`;
  const paused = isPaused(view, id) && html`<span class="status checkpoint">${icons.pause}${["asked", undefined].includes(checkpointStatus(view, id)?.kind) ? "paused" : ""}</span>`;
  const status = statusOnly(view, id, context, paused);
  return refuses || paused ? html`<span class="signs">${refuses}${paused}${status}</span>` : status;
}

function statusOnly(view, id, { width }, paused) {
  const subtask = view.subtasks[id];
  if (subtask.status === "failed") return html`<span class="status bad">${icons.cross}failed</span>`;
  if (subtask.status === "cancelled") return html`<span class="status">cancelled</span>`;
  const status = checkpointStatus(view, id);
  if (paused && status?.kind === "asked") return "";
  if (!status) return subtask.status === "finished" ? html`<span class="status">finished</span>` : "";
  const text = width < 126 && (status.kind === "acked" || status.kind === "copied") ? "" : width < 140 && status.short ? status.short : status.text;
  const tone = status.kind === "waiting" || status.kind === "asked" ? "" : "checkpoint";
  return html`<span class="status ${tone}">${status.bars ? bars(status.bars) : ""}${status.kind === "acked" ? icons.check : ""}${
    MARKS[status.kind] ?? ""}${text}</span>`;
}

const copyGlyph = html`<svg width="11" height="11" viewBox="0 0 11 11" aria-hidden="true"><path class="g-barrier" d="M1,1h5v5h-5z"/><path class="line-checkpoint" d="M3.5,7.5v2h6v-6h-2"/></svg>`;

const MARKS = { copied: copyGlyph, collecting: icons.wait, saving: copyGlyph, uploading: icons.upload, "given-up": icons.cross };

function bars(blocked) {
  const w = blocked.length * 5;
  return html`<svg width="${w}" height="11" viewBox="0 0 ${w} 11" aria-hidden="true">${blocked.map(
    (on, i) => html`<rect class="bar${on ? " on" : ""}" x="${i * 5 + 0.5}" y="0.5" width="3" height="10"/>`)}</svg>`;
}

function sourceCard(view, id, context) {
  const subtask = view.subtasks[id];
  const { density } = context;
  const splits = Object.entries(subtask.splits);
  const shown = splits.slice(0, SPLITS_SHOWN);
  return html`${head(view, id, context)}${shown.map(([id, split]) => splitHtml(split, density, context.origins?.offsets.get(id) ?? []))}${
    density.watermark ? html`<span class="row"><span>watermark${subtask.idle ? html`, <em>idle</em>` : ""}</span>${time_(subtask.watermark)}</span>` : ""}${
    context.vertical ? creditRow(view, id) : html`<span class="outs">${outputsOf(view, id).map((name) => creditHtml(view.channels[name], density))}</span>`}`;
}

const time_ = (value) => html`<b class="num time${timeValue(value) === -Infinity ? " unknown" : ""}">${watermark(value)}</b>`;

function splitHtml(split, density, origins) {
  const share = split.length ? (split.offset / split.length) * 100 : 0;
  const word = splitWord(split);
  const marks = origins.filter((offset) => offset < split.length).map((offset) => `M${((offset + 0.5) / split.length) * 100},1.5V8.5`).join("");
  const tape = html`<svg class="tape${word ? " silent" : ""}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="tape-all" x="0" y="2.5" width="100" height="5"/><rect class="tape-read" x="0" y="2.5" width="${share}" height="5"/><path class="tape-at" d="M${share},0V10"/>${marks && html`<path class="tape-origin" d="${marks}"/>`}</svg>`;
  if (density.name === "dense") return html`<span class="split dense">${tape}</span>`;
  const offset = html`<span class="num">${split.ended ? "end" : html`${number(split.offset)}<i>/${number(split.length)}</i>`}</span>`;
  return html`<span class="split ${density.name}"><span class="split-name">${split.name}${word ? html` <em>${word}</em>` : ""}</span>${offset}${tape}</span>`;
}

function creditHtml(channel, density) {
  const { used, capacity, full } = creditOf(channel);
  const title = `${used} of ${capacity} buffers used towards ${channel.to}`;
  if (density.name === "dense") return html`<span class="out"><svg width="14" height="4"><title>${title}</title><rect class="pip${full ? " full" : ""}" x="0.5" y="0.5" width="13" height="3"/><rect class="pip on${full ? " full" : ""}" width="${(14 * used) / capacity}" height="4"/></svg></span>`;
  const word = full ? html`<span class="bad">no credit</span>` : "";
  if (capacity > PIPS) {
    return html`<span class="out">${word}<svg width="46" height="7"><title>${title}</title><rect class="pip" x="0.5" y="1.5" width="45" height="4"/><rect class="pip ${full ? "full" : "on"}" y="1" width="${(46 * used) / capacity}" height="5"/></svg></span>`;
  }
  return html`<span class="out">${word}<svg width="${capacity * 5}" height="7"><title>${title}</title>${Array.from({ length: capacity }, (_, i) =>
    html`<rect class="pip ${i < used ? (full ? "full" : "on") : ""}" x="${i * 5 + 0.5}" y="1" width="3.4" height="5"/>`)}</svg></span>`;
}

function creditRow(view, id) {
  const left = outputsOf(view, id).map((name) => creditOf(view.channels[name])).map(({ capacity, used }) => capacity - used);
  const cells = left.length > 4 ? [html`<b class="num">${left.filter((n) => n === 0).length} full</b>`]
    : left.map((n, i) => html`${i ? " · " : ""}<b class="num${n ? "" : " bad"}">${n}</b>`);
  return html`<span class="row"><span>credit</span><span>${cells}</span></span>`;
}

function operatorCard(view, id, context) {
  const subtask = view.subtasks[id];
  const { density, facts } = context;
  const held = new Set(holders(subtask));
  const rose = facts.rose.get(id);
  const inputs = Object.entries(subtask.inputs);
  const value = timeValue(subtask.watermark);
  const narrow = context.width < 150;
  const by = subtask.idle ? html`<em>idle</em>` : value === -Infinity ? (context.width < 135 ? "unknown" : "not known yet") : held.size && !(narrow && rose !== undefined) ? `${narrow || (rose !== undefined && context.width < 175) ? "by" : "held by"} ${[...held].map((name) => shortName(view, senderOf(name))).join(", ")}` : "";
  const gauges = inputs.map(([name, input], i) => {
    const place = i === 0 ? "first" : i === inputs.length - 1 ? "last" : "";
    return inputHtml(view, name, input, { ...context, held: !input.idle && (held.has(name) || held.size === 0), now: value, place, only: inputs.length === 1 });
  });
  if (density.name === "dense") {
    return html`<span class="card-head"><b>${id}</b>${context.facts.failed === id || subtask.status !== "running" || checkpointStatus(view, id) ? statusHtml(view, id, context) : time_(subtask.watermark)}</span>${gauges}`;
  }
  const was = rose !== undefined && timeValue(rose) > -Infinity ? html`<s class="num">${watermark(rose)}</s>` : "";
  return html`${head(view, id, context)}<span class="card-time">${context.width > 150 && watermarkDay(subtask.watermark) ? html`<span class="day">${watermarkDay(subtask.watermark)}</span>` : ""}<b class="time${value === -Infinity ? " unknown" : ""}">${watermark(subtask.watermark)}</b>${was}<span class="by">${by}</span></span>${gauges}${footer(view, id, context)}`;
}

const W = 100;

function inputHtml(view, name, input, { density, domain, held, now, place, only, facts, before }) {
  const h = density.pitch;
  const middle = h / 2;
  const value = timeValue(input.watermark);
  const scale = (ms) => (domain ? Math.max(0, Math.min(W, ((ms - domain[0]) / (domain[1] - domain[0])) * W)) : 0);
  const x = value === -Infinity ? 0 : scale(value);
  const thick = density.name === "dense" ? 1.5 : 2.5;
  const was = facts.touched.has(name) ? timeValue(before?.subtasks[view.channels[name].to]?.inputs[name]?.watermark) : null;
  const steps = domain ? Array.from({ length: Math.round((domain[1] - domain[0]) / domain[2]) + 1 }, (_, i) => scale(domain[0] + i * domain[2])) : [0, 50, 100];
  const ruleTop = place === "first" || only ? middle - 7 : 0;
  const ruleEnd = place === "last" || only ? middle + 7 : h;
  const svg = html`<svg class="gauge" viewBox="0 0 ${W} ${h}" preserveAspectRatio="none" aria-hidden="true"><path class="axis" d="M0,${middle}H${W}"/>${
    density.name === "dense" ? "" : html`<path class="axis-tick" d="${steps.map((at) => `M${at},${middle - 3}V${middle + 3}`).join("")}"/>`}${
    value > -Infinity && (input.idle && !input.ended ? html`<path class="gauge-idle" d="M0,${middle}H${x}"/>` : html`<rect class="gauge-bar${held ? " low" : ""}" y="${middle - thick}" width="${x}" height="${2 * thick}"/>`)}${
    was !== null && Number.isFinite(was) && x > scale(was) && html`<rect class="gauge-rise" x="${scale(was)}" y="${middle - 5}" width="${x - scale(was)}" height="10"/>`}${
    Number.isFinite(now) && html`<path class="gauge-now" d="M${scale(now)},${ruleTop}V${ruleEnd}"/>`}</svg>`;
  if (density.name === "dense") return html`<span class="in dense${input.blocked ? " blocked" : ""}">${svg}</span>`;
  return html`<span class="in${held && value > -Infinity ? " low" : ""}${input.blocked ? " blocked" : ""}"><i>${shortName(view, senderOf(name))}</i>${svg}${input.ended ? html`<b class="num">end</b>` : input.idle ? html`<em>idle</em>` : html`<b class="num">${watermark(input.watermark)}</b>`}</span>`;
}

function footer(view, id, { density, vertical, width }) {
  const subtask = view.subtasks[id];
  const late = subtask.late ? html`<span class="bad"> · ${number(subtask.late)} late</span>` : "";
  const full = outputsOf(view, id).filter((name) => creditOf(view.channels[name]).full);
  const blocked = full.length ? html`<span class="bad">no credit</span>` : "";
  if (subtask.key_groups && density.keyed) {
    const rows = Object.values(subtask.state);
    const windows = openWindows(subtask).length;
    const keys = new Set(rows.map((row) => row.key)).size;
    const what = windows || vertexOf(view, id).kind === "window" ? `${number(windows)} open` : count(keys, "key");
    const [from, to] = subtask.key_groups;
    return html`<span class="foot">${strip(view, id)}<span class="row"><span>${vertical || width < 150 ? "" : "kg "}${from}–${to}</span><span>${blocked || what}${late}</span></span></span>`;
  }
  if (!subtask.key_groups && density.plain) {
    const isSink = outputsOf(view, id).length === 0;
    return html`<span class="foot"><span class="row"><span>${isSink ? "written" : blocked}</span><span>${isSink && html`<b class="num">${number(subtask.written)}</b>`}${late}</span></span></span>`;
  }
  return "";
}

function strip(view, id) {
  const subtask = view.subtasks[id];
  const most = vertexOf(view, id).max_parallelism;
  const x = (group) => (group / most) * 100;
  const [from, to] = subtask.key_groups;
  const keys = new Map(Object.values(subtask.state).map((row) => [row.key, row.key_group]));
  const ticks = [...keys].filter(([, group]) => Number.isInteger(group)).map(([key, group]) => {
    const { hue, ring } = keyStyle(key);
    return html`<rect class="g-key key-${hue}${ring ? " key-ring" : ""}" x="${x(group)}" y="0.5" width="2.2" height="9"/>`;
  });
  return html`<svg class="strip" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><path class="axis-tick" d="M0,5H100"/><rect class="strip-own" x="${x(from)}" y="2" width="${x(to + 1) - x(from)}" height="6"/>${ticks}</svg>`;
}

/** Column heading: name, parallelism and what the operator does; names alone where operators share a column. */
export function headingHtml(vertices) {
  const name = (vertex) => html`<b>${vertex.name} ×${vertex.parallelism}</b>`;
  if (vertices.length > 1) return html`${vertices.map((vertex, i) => html`${i ? " / " : ""}${name(vertex)}`)}`;
  return html`${name(vertices[0])} <span>${vertices[0].detail}</span>`;
}

export const edgeHtml = (edges) =>
  html`${edges.map((edge, i) => html`${i ? " / " : ""}<b>${edge.partitioner}</b> ${edge.detail}`)}`;
