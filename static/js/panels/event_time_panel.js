// How far event time has come: the watermark of every subtask and of each of its inputs, who holds it back, and why the
// earliest open window has not fired.

import { holders, openWindows, senderOf, timeDomain, whyNotFired } from "../selectors.js";
import { html, setHtml } from "../svg.js";
import { day, span, time, timeValue, watermark, watermarkDay } from "../format.js";

export const title = "Event time";

export const summary = ({ selection, view }) => {
  const subtask = view.subtasks[selection.subtask];
  return subtask ? `${selection.subtask} at ${watermarkDay(subtask.watermark)} ${watermark(subtask.watermark)}` : "";
};

let body;

export function mount(element, { send }) {
  body = element;
  element.addEventListener("click", (event) => {
    const button = event.target.closest("[data-subtask]");
    if (button) send({ type: "select", selection: { subtask: button.dataset.subtask, channel: null } });
  });
}

const LEFT = 74;
const RIGHT = 44;
const ROW = 17;

export function update({ view, selection, inspectorWidth }, changes) {
  if (!["view", "selection", "inspectorWidth"].some((name) => changes.has(name))) return;
  const width = Math.max(220, inspectorWidth);
  const domain = timeDomain(view);
  const why = whyNotFired(view, selection.subtask);
  setHtml(body, html`${domain ? chart(view, selection.subtask, domain, width) : html`<p class="note">No watermark has been sent yet: event time has not begun.</p>`}${
    why ? html`<div class="why"><b>${why.title}</b> ${why.sentence}</div>` : ""}`);
}

function rowsOf(view, selected) {
  return Object.keys(view.subtasks).flatMap((id) => {
    const subtask = view.subtasks[id];
    const held = new Set(holders(subtask));
    const own = { id, label: id, value: subtask.watermark, own: true, windows: openWindows(subtask) };
    if (id !== selected) return [own];
    const parts = Object.entries(subtask.inputs).map(([name, input]) => ({ id, label: senderOf(name), value: input.ended ? "+inf" : input.watermark, low: held.has(name) }));
    const splits = Object.values(subtask.splits).map((split) => ({ id, label: split.name, value: split.ended ? "+inf" : split.watermark, low: false }));
    return [own, ...parts, ...splits];
  });
}

function chart(view, selected, [from, to, unit], width) {
  const x = (ms) => Math.round((LEFT + (Math.max(0, Math.min(1, (ms - from) / (to - from)))) * (width - LEFT - RIGHT)) * 10) / 10;
  const rows = rowsOf(view, selected);
  const height = 4 + rows.length * ROW;
  const ticks = [];
  for (let at = from; at <= to; at += unit) ticks.push(at);
  const body_ = rows.map((row, i) => {
    const y = 4 + i * ROW + ROW / 2;
    const value = timeValue(row.value);
    return html`${row.id === selected && row.own && html`<rect class="chosen" x="0" y="${y - ROW / 2}" width="${width}" height="${ROW}"/>`}<text class="row-label${row.own ? "" : " inner"}" x="${row.own ? 0 : 10}" y="${y}">${row.label}</text><path class="axis" d="M${LEFT},${y}H${width - RIGHT}"/>${
      value > -Infinity && html`<rect class="gauge-bar${row.own || row.low ? " low" : ""}" x="${LEFT}" y="${y - 2.5}" width="${Math.max(0.5, x(value) - LEFT)}" height="5"/>`}${
      (row.windows ?? []).slice(0, 40).map((one) => html`<path class="window-end" d="M${x(one.window[1])},${y - 5}V${y + 5}"><title>${span(one.window)} is open for ${one.key}</title></path>`)}<text class="row-word${row.low && value > -Infinity ? " low" : ""}" x="${width}" y="${y}">${watermark(row.value)}</text>`;
  });
  const said = rows.map((row) => `${row.own ? "" : "input "}${row.label} ${watermark(row.value)}${row.low ? ", holds it back" : ""}`).join("; ");
  return html`<svg class="times" width="${width}" height="${height + 15}" role="img" aria-label="Watermarks: ${said}">${ticks.map((at) => html`<path class="grid" d="M${x(at)},2V${height}"/><text class="axis-text" x="${x(at)}" y="${height + 12}">${time(at)}</text>`)}<text class="axis-text start" x="0" y="${height + 12}">${day(from)}</text>${body_}</svg><p class="note">Bars: how far each watermark has come. Small marks: ends of open windows.</p>`;
}
