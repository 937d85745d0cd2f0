// What the sinks have written: their last results, newest first.

import { html, setHtml } from "../svg.js";
import { count } from "../format.js";

export const title = "Results";

const sinksOf = (view) => Object.entries(view.subtasks).filter(([, one]) => one.written > 0 || one.results.length);

export function summary({ view }) {
  const total = sinksOf(view).reduce((sum, [, one]) => sum + one.written, 0);
  return total ? `${count(total, "result")} written` : "none yet";
}

let body;

export function mount(element) {
  body = element;
}

export function update({ view, before }, changes) {
  if (!changes.has("view")) return;
  const sinks = sinksOf(view);
  setHtml(body, sinks.length ? html`${sinks.map(([id, one]) => sinkHtml(id, one, before?.subtasks[id], sinks.length > 1))}` : html`<p class="note">Nothing has been written. Results appear here when a window fires and its result reaches the sink.</p>`);
}

function sinkHtml(id, one, before, named) {
  const fresh = before ? before.written : one.written;
  return html`${named ? html`<h3>${id}</h3>` : ""}<table class="table"><caption class="vh">Last results of ${id}</caption><tbody>${[...one.results].reverse().map(([index, text]) =>
    html`<tr class="${index >= fresh ? "changed" : ""}"><td class="num right place">${index + 1}</td><td class="text">${text}</td></tr>`)}</tbody></table>`;
}
