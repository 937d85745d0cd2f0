// What the sinks have written: their last results, newest first. A result that is chosen tells of which records it was made.

import { resultId } from "../selectors.js";
import { html, setHtml } from "../svg.js";
import { count } from "../format.js";

export const title = "Results";

const sinksOf = (view) => Object.entries(view.subtasks).filter(([, one]) => one.written > 0 || one.results.length);

export function summary({ view }) {
  const total = sinksOf(view).reduce((sum, [, one]) => sum + one.written, 0);
  return total ? `${count(total, "result")} written` : "none yet";
}

let body;
let origins;

export function mount(element, { send, store }) {
  setHtml(element, html`<div class="origins"></div><div></div>`);
  [origins, body] = element.children;
  element.addEventListener("click", (event) => {
    const { element: id, label } = event.target.closest("[data-element]")?.dataset ?? {};
    if (event.target.closest("[data-clear]") || (id && store.state.lineage?.element === id)) send({ type: "forget_lineage" });
    else if (id) send({ type: "lineage", element: id, label });
  });
}

export function update({ view, before, lineage }, changes) {
  if (changes.has("lineage")) setHtml(origins, originsHtml(lineage));
  if (!changes.has("view") && !changes.has("lineage")) return;
  const sinks = sinksOf(view);
  setHtml(body, sinks.length ? html`${sinks.map(([id, one]) => sinkHtml(id, one, before?.subtasks[id], sinks.length > 1, lineage))}` : html`<p class="note">Nothing has been written. Results appear here when a window fires and its result reaches the sink.</p>`);
}

function sinkHtml(id, one, before, named, lineage) {
  const fresh = before ? before.written : one.written;
  return html`${named ? html`<h3>${id}</h3>` : ""}<table class="table"><caption class="vh">Last results of ${id}; a result that is chosen tells where it came from</caption><tbody>${[...one.results].reverse().map(([index, text]) => {
    const element = resultId(id, index);
    return html`<tr class="${index >= fresh ? "changed" : ""}"><td class="num right place">${index + 1}</td><td class="text"><button class="pick" type="button" data-element="${element}" data-label="${text}" aria-pressed="${String(lineage?.element === element)}">${text}</button></td></tr>`;
  })}</tbody></table>`;
}

function originsHtml(lineage) {
  if (!lineage) return "";
  if (!lineage.origins) return html`<p class="note">${lineage.state === "refused" ? lineage.sentence : "Looking where it came from…"}</p>`;
  return html`<div class="why-head"><b>${lineage.label}</b><button class="btn small" type="button" data-clear>Clear</button></div><table class="table"><caption class="vh">Records that ${lineage.label} was made of</caption><thead><tr><th scope="col">split</th><th scope="col" class="right">offset</th><th scope="col" class="wide">record</th></tr></thead><tbody>${lineage.origins.map(({ split, offset, text }) =>
    html`<tr><td>${split.slice(split.indexOf("/") + 1)}</td><td class="num right">${offset}</td><td class="text wide">${text}</td></tr>`)}</tbody></table>`;
}
