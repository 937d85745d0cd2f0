// Each subtask's part of a checkpoint over the steps: waiting for the barrier, aligning, copied, acknowledged.

import { acknowledged } from "../selectors.js";
import { html, icons, setHtml } from "../svg.js";
import { bytes, count } from "../format.js";

const LEFT = 64;
const RIGHT = 78;
const ROW = 17;
const TABS = 6;

export const title = "Checkpoints";

export function summary({ view }) {
  const all = Object.entries(view.checkpoints);
  if (!all.length) return "none yet";
  const [number, newest] = all[all.length - 1];
  if (newest.status === "completed") return `${number} complete`;
  if (newest.status === "aborted") return `${number} aborted`;
  return `${number} in progress, ${acknowledged(newest)} of ${Object.keys(newest.subtasks).length} acked`;
}

let body;

export function mount(element, { send }) {
  body = element;
  element.addEventListener("click", (event) => {
    const button = event.target.closest("[data-checkpoint]");
    if (button) send({ type: "select_checkpoint", checkpoint: button.dataset.checkpoint });
  });
}

export function update({ view, checkpoint, inspectorWidth }, changes) {
  if (!["view", "checkpoint", "inspectorWidth"].some((name) => changes.has(name))) return;
  const all = Object.entries(view.checkpoints);
  if (!all.length) {
    setHtml(body, html`<p class="note">No checkpoint yet. Trigger one from Faults.</p>`);
    return;
  }
  const [number, chosen] = all.find(([name]) => name === checkpoint) ?? all[all.length - 1];
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.checkpoint : null;
  setHtml(body, html`${tabs(all, number, view.step)}${chart(view, number, chosen, Math.max(220, inspectorWidth))}<p class="note">${about(chosen)}</p>`);
  if (focused) body.querySelector(`[data-checkpoint="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

const SIGNS = { completed: icons.check, aborted: icons.cross, triggered: icons.wait };

function tabs(all, number, step) {
  return html`<div class="tabs" role="group" aria-label="Checkpoint">${all.slice(-TABS).map(([name, one]) =>
    html`<button type="button" data-checkpoint="${name}" aria-pressed="${String(name === number)}">${SIGNS[one.status]}${name} <i>${count((one.ended ?? step) - one.triggered, "step")}</i></button>`)}</div>`;
}

function about(one) {
  if (one.status === "aborted") return html`Aborted: ${one.reason}.`;
  if (one.status === "completed") return html`${one.kind === "savepoint" ? "Savepoint, c" : "C"}omplete, ${bytes(one.bytes)}.`;
  return html`Dotted: no barrier yet. Hatched: alignment. Bar: copy taken. Tick: acknowledged.`;
}

const word = (part, view, id) => {
  const inputs = Object.keys(view.subtasks[id]?.inputs ?? {}).length;
  switch (part.status) {
    case "acknowledged": return `acked ${part.acknowledged}`;
    case "snapshotted": return `copied ${part.snapshot}`;
    case "aligning": return `aligning ${view.subtasks[id]?.aligning?.received.length ?? 0}/${inputs}`;
    default: return inputs ? "waiting" : "asked";
  }
};

function chart(view, number, one, width) {
  const ids = Object.keys(one.subtasks);
  const end = one.ended ?? view.step;
  const length = Math.max(8, end - one.triggered);
  const x = (step) => Math.round((LEFT + ((step - one.triggered) / length) * (width - LEFT - RIGHT)) * 10) / 10;
  const height = 4 + ids.length * ROW;
  const unit = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000].find((n) => length / n <= 5) ?? 50_000;
  const ticks = [];
  for (let step = Math.ceil(one.triggered / unit) * unit; step <= end; step += unit) ticks.push(step);
  const said = ids.map((id) => `${id} ${word(one.subtasks[id], view, id)}`).join(", ");
  return html`<svg class="gantt" width="${width}" height="${height + 15}" role="img" aria-label="Checkpoint ${number}: ${said}">${ticks.map((step) =>
    html`<path class="grid" d="M${x(step)},2V${height}"/><text class="axis-text" x="${x(step)}" y="${height + 12}">${step}</text>`)}${ids.map((id, i) => row(one.subtasks[id], id, 4 + i * ROW + ROW / 2, { x, end, one, view, width }))}${
    one.status === "triggered" && html`<path class="now" d="M${x(end)},2V${height}"/>`}</svg>`;
}

function row(part, id, y, { x, end, one, view, width }) {
  const first = part.first_barrier ?? part.snapshot ?? end;
  const copied = part.snapshot ?? end;
  const acked = part.acknowledged ?? end;
  return html`<text class="row-label" x="0" y="${y}">${id}</text><path class="waiting" d="M${x(one.triggered)},${y}H${x(first)}"/>${
    part.first_barrier !== null && html`<rect class="aligning" x="${x(first)}" y="${y - 5}" width="${Math.max(1, x(copied) - x(first))}" height="10"/>`}${
    part.snapshot !== null && html`<rect class="on-its-way" x="${x(copied)}" y="${y - 5}" width="${Math.max(2, x(acked) - x(copied))}" height="10"/><rect class="copied" x="${x(copied) - 1.5}" y="${y - 5}" width="3.5" height="10"/>`}${
    part.acknowledged !== null && html`<path class="acked" d="M${x(acked) - 3.5},${y}l2.6,3l5,-6.4"/>`}<text class="row-word" x="${width}" y="${y}">${word(part, view, id)}</text>`;
}
