// Keyed state of the selected subtask as a table, with what the last step added, changed and removed marked in a gutter;
// or, when a channel is selected, its queue.

import { arrow, emitsResults, isKept, openWindows, splitWord, whyBlocked } from "../selectors.js";
import { html, setHtml } from "../svg.js";
import { inline, inlineKey, markOf, nameOf, priorityMark } from "../glyphs.js";
import { savedElements } from "../snapshots.js";
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

export function mount(element, { send }) {
  body = element;
  element.addEventListener("click", (event) => {
    const { element: id, label } = event.target.closest("[data-element]")?.dataset ?? {};
    if (id) send({ type: "lineage", element: id, label });
  });
}

export function update(state, changes) {
  if (!["view", "selection", "lineage", "trail"].some((name) => changes.has(name))) return;
  const { view, before, selection, last } = state;
  if (selection.channel && view.channels[selection.channel]) {
    setHtml(body, queueTable(state, selection.channel));
    return;
  }
  const subtask = view.subtasks[selection.subtask];
  if (!subtask) {
    setHtml(body, html`<p class="note">Select a subtask on the stage.</p>`);
    return;
  }
  setHtml(body, subtask.key_groups === null && !Object.keys(subtask.state).length ? plain(subtask, selection.subtask) : table(subtask, before?.subtasks[selection.subtask], selection.subtask, last));
}

function plain(subtask, id) {
  const rows = [];
  for (const split of Object.values(subtask.splits)) {
    rows.push(html`<tr><td>${split.name}</td><td class="num right">${split.offset} of ${split.length}</td><td class="num right">${split.ended ? "end" : html`${splitWord(split)} ${watermark(split.watermark)}`}</td></tr>`);
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

/** Rows that a window keeps besides its contents, under the names that the engine gives them. */
const shortState = (name) => (name === "window-contents" ? "contents" : name.replace(/^window-/, ""));

const order = ([, a], [, b]) => (a.window?.[1] ?? 0) - (b.window?.[1] ?? 0) || a.key_group - b.key_group || (a.key === b.key ? (a.name < b.name ? 1 : -1) : a.key < b.key ? -1 : 1);

function table(subtask, before, id, last) {
  const { marks, removed } = changesOf(subtask, before);
  const rows = Object.entries(subtask.state).sort(order);
  const named = new Set([...rows, ...removed].map(([, row]) => row.name));
  const windowed = [...rows, ...removed].some(([, row]) => row.window) || !rows.length;
  const columns = { named: named.size > 1, windowed, id, subtask };
  const rose = before && before.watermark !== subtask.watermark && timeValue(before.watermark) !== timeValue(subtask.watermark);
  return html`${mergedHtml(last, id)}<table class="table"><caption class="vh">State of ${id}</caption><thead><tr><th class="gutter"><span class="vh">change</span></th><th>key</th><th class="right">group</th>${columns.named ? html`<th>state</th>` : ""}${windowed ? html`<th class="wide">window</th>` : ""}<th class="right">value</th></tr></thead><tbody><tr class="${rose ? "changed" : ""}"><td class="gutter">${rose ? "±" : ""}</td><td colspan="${2 + columns.named + windowed}">watermark</td><td class="num right">${rose ? html`${watermark(before.watermark)} → ` : ""}${watermark(subtask.watermark)}</td></tr>${
    removed.sort(order).map(([, row]) => rowHtml(row, ["−", null], columns))}${rows.slice(0, ROWS_SHOWN).map(([name, row]) => rowHtml(row, marks.get(name) ?? ["", null], columns))}</tbody></table>${
    !rows.length && !removed.length ? html`<p class="note">${subtask.status === "finished" ? "Nothing is left: all its input has ended." : "Nothing yet. Keys appear here with their first record."}</p>` : ""}${rows.length > ROWS_SHOWN ? html`<p class="note">${count(rows.length - ROWS_SHOWN, "more row")}.</p>` : ""}${timersNote(subtask)}`;
}

/** What the last step merged: sessions that became one. */
function mergedHtml(last, id) {
  const merges = (last?.events ?? []).filter((event) => event.e === "WindowsMerged" && event.subtask === id);
  return merges.map(({ key, merged, start, end }) => html`<p class="merged">${inlineKey(key)} <span>${merged.map((window, i) => html`${i ? " + " : ""}<s class="num">${span(window)}</s>`)} → <b class="num">${span([start, end])}</b></span></p>`);
}

function rowHtml(row, [sign, was], { named, windowed, subtask }) {
  const tone = { "−": "gone", "+": "changed", "±": "changed" }[sign] ?? "";
  return html`<tr class="${tone}"><td class="gutter">${sign}</td><td>${inlineKey(row.key)}${[...row.key].length > 3 ? html` ${row.key}` : ""}</td><td class="num right">${row.key_group}</td>${named ? html`<td>${shortState(row.name)}${row.entry !== null ? html` [${row.entry}]` : ""}</td>` : ""}${windowed ? html`<td class="num wide"><span>${span(row.window)}</span>${row.window && sign !== "−" && isKept(subtask, row.window) ? html` <em>fired, kept</em>` : ""}</td>` : ""}<td class="num right value" title="${row.value}"><span>${was !== null ? html`${was} → ` : ""}${row.value}</span></td></tr>`;
}

const TIMERS_SHOWN = 12;

/** When a timer is due, on the clock that it listens to. */
const dueAt = ({ clock, time: due }) => (clock === "processing" ? `${count(timeValue(due), "ms", "ms")}` : watermark(due) === time(due) ? time(due) : time(timeValue(due) + 1));

function timersNote(subtask) {
  const timers = Object.values(subtask.timers).sort((a, b) => timeValue(a.time) - timeValue(b.time));
  if (!timers.length) return "";
  return html`<details class="timers"><summary>${count(timers.length, "timer")}, the next at ${dueAt(timers[0])}</summary><table class="table"><caption class="vh">Timers, the next first</caption><thead><tr><th scope="col">key</th><th scope="col">clock</th><th scope="col" class="right">due</th></tr></thead><tbody>${timers.slice(0, TIMERS_SHOWN).map((timer) =>
    html`<tr><td>${inlineKey(timer.key)}</td><td>${timer.clock === "processing" ? "processing time" : "event time"}</td><td class="num right">${dueAt(timer)}</td></tr>`)}</tbody></table>${timers.length > TIMERS_SHOWN ? html`<p class="note">${count(timers.length - TIMERS_SHOWN, "more timer")}.</p>` : ""}</details>`;
}

function queueTable({ view, lineage, trail }, name) {
  const saved = savedElements(view, trail);
  const channel = view.channels[name];
  const results = emitsResults(view, channel.from);
  const why = whyBlocked(view, name);
  const before = channel.priority.map((checkpoint) => html`<tr><td class="num right">0</td><td>${inline(priorityMark(checkpoint))}</td><td class="text" colspan="2">barrier ${checkpoint}, before the queue</td></tr>`);
  return html`<table class="table"><caption class="vh">Queue of ${arrow(name)}, head first</caption><thead><tr><th class="right">place</th><th></th><th>element, head first</th><th class="right">event time</th></tr></thead><tbody>${before}${channel.queue.slice(0, ROWS_SHOWN).map((element, i) =>
    html`<tr><td class="num right">${i + 1}</td><td>${inline(markOf(element, results))}</td><td class="text">${element.kind === "record" ? html`<button class="pick" type="button" data-element="${element.id}" data-label="${element.text}" aria-pressed="${String(lineage?.element === element.id)}">${element.text || element.kind}</button>` : element.kind === "status" || element.kind === "cancel" ? html`${nameOf(element)}` : element.text || element.kind}${saved.has(element.id) ? html` <em>saved in checkpoint ${saved.get(element.id)}</em>` : ""}</td><td class="num right">${element.timestamp === null || element.kind === "end" ? "" : element.kind === "watermark" ? watermark(element.timestamp) : time(element.timestamp)}</td></tr>`)}</tbody></table><p class="note">${channel.queue.length ? "" : "Empty. "}Room for ${channel.capacity}; ${count(channel.taken, "element")} taken so far.</p>${why ? html`<div class="why"><b>Why is this input blocked?</b> ${why}</div>` : ""}`;
}
