// The measures of a comparison: their names, what they mean, and the table that puts both runs beside each other.

import { html, setHtml } from "../svg.js";
import { bytes, number } from "../format.js";

const sum = (amounts) => Object.values(amounts).reduce((a, b) => a + b, 0);

/** {id, name, note, of(measures), text(value)}; `plotted` measures can be chosen for the chart. */
export const MEASURES = [
  { id: "step", name: "Steps", note: "taken so far" },
  { id: "read", name: "Records read", note: "read again after a failure included" },
  { id: "waiting", name: "Records waiting now", note: "behind a barrier, in blocked inputs" },
  { id: "held", name: "Records held", note: "record-steps: each record counts for every step that it waited in a blocked input" },
  { id: "blocked", name: "Blocked steps", note: "summed over subtasks", of: ({ blocked }) => sum(blocked) },
  { id: "paused", name: "Paused steps", note: "in which the sources stood still for a snapshot" },
  { id: "saved", name: "Bytes saved", note: "by all snapshots, those of aborted checkpoints included", text: bytes },
  { id: "in_flight", name: "Of these in flight", note: "elements of channels that went into a snapshot", text: bytes },
  { id: "completed", name: "Checkpoints completed" },
  { id: "aborted", name: "Checkpoints aborted" },
  { id: "written", name: "Results written" },
  { id: "repeated", name: "Results repeated", note: "written more often than without the failures" },
  { id: "foreign", name: "Results that differ", note: "never written without the failures: counted twice, or late another time" },
  { id: "missing", name: "Results missing", note: "at the end; written without the failures alone", plotted: false },
].map((one) => ({ note: "", plotted: true, of: (measures) => measures[one.id], text: number, ...one }));

export const measureOf = (id) => MEASURES.find((one) => one.id === id) ?? MEASURES[0];

const told = (measure, value) => (value === null || value === undefined ? "–" : measure.text(value));

export function drawMeasures(element, { shown, summary, measure }) {
  const ends = summary?.sides.map((side) => side.end) ?? [null, null];
  const now = shown?.sides.map((side) => side.measures) ?? [null, null];
  const [a, b] = summary?.sides.map((side) => side.label) ?? ["", ""];
  setHtml(element, html`<table class="table measures"><thead><tr><th scope="col" rowspan="2">measure</th><th scope="colgroup" colspan="2">A ${a}</th><th scope="colgroup" colspan="2">B ${b}</th></tr><tr>${["A", "B"].map((name) => html`<th scope="col" class="right"><span class="vh">${name} </span>here</th><th scope="col"><span class="vh">${name} </span>of the end</th>`)}</tr></thead><tbody>${MEASURES.map((one) => row(one, now, ends, measure, summary?.by.steps.values[one.id]?.flat() ?? []))}</tbody></table>`);
}

/** `ever`: values of both runs on the way, of which some are higher than at the end. */
function row(one, now, ends, chosen, ever) {
  const end = ends.map((measures) => (measures ? one.of(measures) : null));
  const here = now.map((measures) => (measures ? one.of(measures) : null));
  const most = Math.max(1, ...[...end, ...here, ...ever].map((value) => value ?? 0));
  const name = one.plotted
    ? html`<button type="button" class="pick" data-measure="${one.id}" aria-pressed="${String(one.id === chosen)}">${one.name}</button>`
    : one.name;
  return html`<tr><th scope="row">${name}${one.note && html`<small>${one.note}</small>`}</th>${[0, 1].map((side) => html`<td class="num right">${told(one, here[side])}</td><td class="of">${bar(here[side] ?? 0, end[side] ?? 0, most)}<span class="num">${told(one, end[side])}</span></td>`)}</tr>`;
}

/** The filled part is what there is here, the outline what there will be at the end; both runs share the scale. */
function bar(here, end, most) {
  const w = (value) => Math.round((value / most) * 1000) / 10;
  return html`<svg class="bar-of" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="bar-end" x="0.5" y="1" width="${Math.max(0, w(end) - 1)}" height="8"/><rect class="bar-here" y="1" width="${Math.min(100, w(here))}" height="8"/></svg>`;
}

/** Blocked steps of each subtask and every checkpoint, both runs beside each other. */
export function drawDetails(element, { shown }) {
  if (!shown) return;
  const [a, b] = shown.sides.map((side) => side.measures);
  const subtasks = Object.keys(shown.sides[0].view.subtasks).filter((id) => Object.keys(shown.sides[0].view.subtasks[id].inputs).length > 1);
  const checkpoints = [...new Set([...Object.keys(a.checkpoints), ...Object.keys(b.checkpoints)])].sort((x, y) => x - y);
  setHtml(element, html`<table class="table"><caption>Steps in which an input of the subtask was blocked</caption><thead><tr><th scope="col">subtask</th><th scope="col" class="right">A</th><th scope="col" class="right">B</th></tr></thead><tbody>${
    subtasks.length ? subtasks.map((id) => html`<tr><th scope="row">${id}</th><td class="num right">${number(a.blocked[id] ?? 0)}</td><td class="num right">${number(b.blocked[id] ?? 0)}</td></tr>`) : html`<tr><td colspan="3">No subtask has more than one input: nothing is ever aligned.</td></tr>`}</tbody></table><table class="table"><caption>Checkpoints: steps from trigger to end, bytes saved</caption><thead><tr><th scope="col">checkpoint</th><th scope="col">A</th><th scope="col">B</th></tr></thead><tbody>${
    checkpoints.length ? checkpoints.map((id) => html`<tr><th scope="row">${id}</th><td>${checkpoint(a.checkpoints[id])}</td><td>${checkpoint(b.checkpoints[id])}</td></tr>`) : html`<tr><td colspan="3">None has been triggered up to here.</td></tr>`}</tbody></table>`);
}

function checkpoint(one) {
  if (!one) return "–";
  const steps = one.ended === null ? `since step ${number(one.triggered)}` : `${number(one.ended - one.triggered)} steps`;
  return html`${one.kind === "savepoint" ? "savepoint, " : ""}${one.status === "triggered" ? "in progress" : one.status}, <span class="num">${steps}, ${bytes(one.state)}${one.in_flight ? ` + ${bytes(one.in_flight)} in flight` : ""}</span>`;
}
