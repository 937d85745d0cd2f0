// Keyed state of the selected subtask as a table, with what the last step added, changed and removed marked in a gutter;
// or, when a channel is selected, its queue.

import { arrow, emitsResults, openWindows, whyBlocked } from "../selectors.js";
import { html, setHtml } from "../svg.js";
import { inline, inlineKey, markOf } from "../glyphs.js";
import { count, span, time, timeValue, watermark } from "../format.js";

const ROWS_SHOWN = 200;

export const title = "State";

export function summary({ view, selection }) {
  if (selection.channel && view.channels[selection.channel]) return arrow(selection.channel);
  const subtask = view.subtasks[selection.subtask];
  if (!subtask) return "";
  const rows = Object.keys(subtask.state).length;
  const windows = openWindows(subtask).length;
  return `${selection.subtask}, ${windows ? count(windows, "open window") : count(rows, "row")}`;
}

let body;

export function mount(element) {
  body = element;
}

export function update(state, changes) {
  if (!["view", "selection"].some((name) => changes.has(name))) return;
  const { view, before, selection } = state;
  if (selection.channel && view.channels[selection.channel]) {
    setHtml(body, queueTable(view, selection.channel));
    return;
  }
  const subtask = view.subtasks[selection.subtask];
  if (!subtask) {
    setHtml(body, html`<p class="note">Select a subtask on the stage.</p>`);
    return;
  }
  setHtml(body, subtask.key_groups === null && !Object.keys(subtask.state).length ? plain(subtask, selection.subtask) : table(subtask, before?.subtasks[selection.subtask], selection.subtask));
}

function plain(subtask, id) {
  const rows = [];
  for (const split of Object.values(subtask.splits)) {
    rows.push(html`<tr><td>${split.name}</td><td class="num right">${split.offset} of ${split.length}</td><td class="num right">${split.ended ? "end" : watermark(split.watermark)}</td></tr>`);
  }
  if (rows.length) {
    return html`<table class="table"><caption class="vh">Splits of ${id}</caption><thead><tr><th>split</th><th class="right">offset</th><th class="right">watermark</th></tr></thead><tbody>${rows}</tbody></table><p class="note">${count(subtask.read, "record")} read${subtask.skipped ? `, ${subtask.skipped} skipped` : ""}. The offsets are what a checkpoint keeps of a source.</p>`;
  }
  return html`<p class="note">${id} keeps no keyed state. Select a subtask that does, or a channel.</p>`;
}

function changesOf(subtask, before) {
  const marks = new Map();
  const removed = [];
  if (!before || before.state === subtask.state) return { marks, removed };
  for (const [row, now] of Object.entries(subtask.state)) {
    const was = before.state[row];
    if (!was) marks.set(row, ["+", null]);
    else if (was !== now && was.value !== now.value) marks.set(row, ["±", was.value]);
  }
  for (const [row, was] of Object.entries(before.state)) if (!subtask.state[row]) removed.push([row, was]);
  return { marks, removed };
}

const order = ([, a], [, b]) => (a.window?.[1] ?? 0) - (b.window?.[1] ?? 0) || a.key_group - b.key_group || (a.key < b.key ? -1 : 1);

function table(subtask, before, id) {
  const { marks, removed } = changesOf(subtask, before);
  const rows = Object.entries(subtask.state).sort(order);
  const named = new Set([...rows, ...removed].map(([, row]) => row.name));
  const windowed = [...rows, ...removed].some(([, row]) => row.window) || !rows.length;
  const columns = { named: named.size > 1, windowed, id };
  const rose = before && before.watermark !== subtask.watermark && timeValue(before.watermark) !== timeValue(subtask.watermark);
  return html`<table class="table"><caption class="vh">State of ${id}</caption><thead><tr><th class="gutter"><span class="vh">change</span></th><th>key</th><th class="right">group</th>${columns.named ? html`<th>state</th>` : ""}${windowed ? html`<th class="wide">window</th>` : ""}<th class="right">value</th></tr></thead><tbody><tr class="${rose ? "changed" : ""}"><td class="gutter">${rose ? "±" : ""}</td><td colspan="${2 + columns.named + windowed}">watermark</td><td class="num right">${rose ? html`${watermark(before.watermark)} → ` : ""}${watermark(subtask.watermark)}</td></tr>${
    removed.sort(order).map(([, row]) => rowHtml(row, ["−", null], columns))}${rows.slice(0, ROWS_SHOWN).map(([name, row]) => rowHtml(row, marks.get(name) ?? ["", null], columns))}</tbody></table>${
    !rows.length && !removed.length ? html`<p class="note">${subtask.status === "finished" ? "Nothing is left: all its input has ended." : "Nothing yet. Keys appear here with their first record."}</p>` : ""}${rows.length > ROWS_SHOWN ? html`<p class="note">${count(rows.length - ROWS_SHOWN, "more row")}.</p>` : ""}${timersNote(subtask)}`;
}

function rowHtml(row, [sign, was], { named, windowed }) {
  const tone = { "−": "gone", "+": "changed", "±": "changed" }[sign] ?? "";
  return html`<tr class="${tone}"><td class="gutter">${sign}</td><td>${inlineKey(row.key)}${[...row.key].length > 3 ? html` ${row.key}` : ""}</td><td class="num right">${row.key_group}</td>${named ? html`<td>${row.name}${row.entry !== null ? html` [${row.entry}]` : ""}</td>` : ""}${windowed ? html`<td class="num wide"><span>${span(row.window)}</span></td>` : ""}<td class="num right value"><span>${was !== null ? html`${was} → ` : ""}${row.value}</span></td></tr>`;
}

function timersNote(subtask) {
  const timers = Object.values(subtask.timers).map((timer) => timeValue(timer.time)).sort((a, b) => a - b);
  return timers.length ? html`<p class="note">${count(timers.length, "timer")}, the next at ${time(watermark(timers[0]) === time(timers[0]) ? timers[0] : timers[0] + 1)}.</p>` : "";
}

function queueTable(view, name) {
  const channel = view.channels[name];
  const results = emitsResults(view, channel.from);
  const why = whyBlocked(view, name);
  return html`<table class="table"><caption class="vh">Queue of ${arrow(name)}, head first</caption><thead><tr><th class="right">place</th><th></th><th>element, head first</th><th class="right">event time</th></tr></thead><tbody>${channel.queue.slice(0, ROWS_SHOWN).map((element, i) =>
    html`<tr><td class="num right">${i + 1}</td><td>${inline(markOf(element, results))}</td><td class="text">${element.text || element.kind}</td><td class="num right">${element.timestamp === null || element.kind === "end" ? "" : element.kind === "watermark" ? watermark(element.timestamp) : time(element.timestamp)}</td></tr>`)}</tbody></table><p class="note">${channel.queue.length ? "" : "Empty. "}Room for ${channel.capacity}; ${count(channel.taken, "element")} taken so far.</p>${why ? html`<div class="why"><b>Why is this input blocked?</b> ${why}</div>` : ""}`;
}
