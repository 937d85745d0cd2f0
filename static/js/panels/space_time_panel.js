// The checkpoints of a job as a space-time diagram: a lane per subtask, barriers and records as arrows, the cut of each checkpoint.
// The server finds it by replay, so it is asked for only while this panel is open and the run stands still.

import { arrow as arrowText } from "../selectors.js";
import { html, setHtml } from "../svg.js";
import { count } from "../format.js";
import { createSpaceTimeBox } from "../stage/space_time_box.js";
import { arrowTable } from "../stage/space_time_chart.js";

const NAMES = 66;
const ROW = 36;
const ROOM = 48;
const SETTLE = 200;
const UNIT = 3;
/** More records than this are drawn only on demand. */
const MANY_RECORDS = 40;

export const title = "Space-time";

export const summary = ({ view }) => {
  const numbers = Object.keys(view.checkpoints);
  return numbers.length ? `cuts of ${count(numbers.length, "checkpoint")}` : "barriers and records";
};

let parts;
let box;
let read;
let tell;
let timer = 0;
let asked = null;
let asTable = false;
/** Whether records are drawn; null leaves it to their number. */
let withRecords = null;

export function mount(element, { store, send }) {
  read = () => store.state;
  tell = send;
  setHtml(element, html`<div class="st-panel"><div class="st-names" aria-hidden="true"></div><div class="st-box" tabindex="0" role="img" aria-label="Space-time diagram"></div></div><div class="st-table" tabindex="0" role="region" aria-label="Barriers and records as a table" hidden></div><div class="chart-foot"><p class="st-readout" role="status"></p><div class="chart-tools"><button class="btn line small" type="button" data-records>Records</button><button class="btn line small" type="button" data-as-table aria-pressed="false">Table</button></div></div><p class="note"></p>`);
  const find = (selector) => element.querySelector(selector);
  parts = { whole: find(".st-panel"), box: find(".st-box"), names: find(".st-names"), readout: find(".st-readout"), table: find(".st-table"), note: find(".note"), button: find("[data-as-table]"), records: find("[data-records]") };
  box = createSpaceTimeBox({
    parts,
    seek: (step) => step <= read().head && step !== read().position && tell({ type: "seek", step }),
    words: (step) => read().log.sentences.get(step) ?? "was passed without being shown.",
    hint: html`Dashed: barriers. Point at an arrow, or go through them with the arrow keys.`,
  });
  parts.records.addEventListener("click", () => {
    withRecords = !recordsShown(read().diagram);
    draw(read());
  });
  parts.button.addEventListener("click", () => {
    asTable = !asTable;
    parts.button.setAttribute("aria-pressed", String(asTable));
    draw(read());
  });
}

export function update(state, changes) {
  if (["view", "play", "checkpoint", "runId", "run"].some((name) => changes.has(name))) wish(state);
  if (["diagram", "inspectorWidth", "log"].some((name) => changes.has(name))) draw(state);
}

/** Asks for the diagram of where the run stands, once per place, when it has come to rest. */
function wish({ runId, position, checkpoint, play, run }) {
  const place = `${runId} ${position} ${checkpoint}`;
  if (runId === null || !run || play.state !== "paused" || asked === place) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    const now = read();
    if (now.play.state !== "paused" || now.position !== position || parts.readout.offsetParent === null) return; // folded meanwhile
    asked = place;
    tell({ type: "diagram", checkpoint: checkpoint === null ? null : Number(checkpoint) });
  }, SETTLE);
}

function draw({ diagram, inspectorWidth }) {
  const known = Boolean(diagram?.lanes);
  parts.whole.hidden = !known || asTable;
  parts.table.hidden = !known || !asTable;
  parts.button.hidden = parts.records.hidden = !known;
  if (!known) {
    setHtml(parts.readout, html`${diagram?.sentence ?? "Take a step: the diagram is drawn from what the run did."}`);
    setHtml(parts.note, "");
    return;
  }
  const records = recordsShown(diagram);
  parts.records.setAttribute("aria-pressed", String(records));
  const shown = diagramOf(diagram, records || asTable);
  if (asTable) setHtml(parts.table, arrowTable(shown, `Barriers and records of the steps ${diagram.from + 1} to ${diagram.to}`));
  else {
    box.show(shown, { width: Math.max(160, inspectorWidth - NAMES), height: shown.lanes.length * ROW + ROOM }, { namesWidth: NAMES });
    parts.box.setAttribute("aria-label", spoken(shown, diagram));
  }
  setHtml(parts.note, noteHtml(diagram, diagramOf(diagram, true)));
}

const matters = (arrow) => arrow.kind === "barrier" || arrow.held !== null || arrow.crossing !== null;

const recordsShown = ({ arrows }) => withRecords ?? arrows.filter((arrow) => !matters(arrow)).length <= MANY_RECORDS;

/** The server's answer as a diagram; what crosses a cut or was saved for one is always in it. */
function diagramOf({ from, to, step, lanes, arrows, cuts }, records) {
  return {
    lanes, from, to, now: Math.min(step, to), leastUnit: UNIT,
    arrows: arrows.map((arrow, id) => [arrow, id]).filter(([arrow]) => records || matters(arrow)).map(([arrow, id]) => arrowOf(arrow, id, from)).sort((a, b) => a.sent - b.sent),
    cuts: cuts.filter(({ points }) => Object.keys(points).length).map(({ checkpoint, points }) => ({
      number: checkpoint,
      label_text: String(checkpoint),
      title: `Checkpoint ${checkpoint}: ${Object.entries(points).map(([id, at]) => `${id} copied in step ${at}`).join(", ")}`,
      points,
    })),
  };
}

function arrowOf({ channel, from, to, kind, checkpoint, text, sent, delivered, held, lost, crossing }, id, start) {
  const what = kind === "barrier" ? `Barrier ${checkpoint}` : text ? `Record ${text}` : "A record";
  const left = sent === null ? `was sent before step ${start + 1}` : `left ${from} in step ${sent}`;
  const arrived = lost !== null ? `was lost in the failure of step ${lost}` : delivered === null ? "is under way" : `was taken by ${to} in step ${delivered}`;
  const saved = held === null ? "" : ` It was saved as state in flight of checkpoint ${held}.`;
  const crosses = crossing === null ? "" : ` It crosses the cut of checkpoint ${crossing} backwards: a restart from there sends it again.`;
  return {
    id, from, to, kind,
    sent: sent ?? start,
    delivered: delivered ?? lost,
    label: kind === "barrier" ? String(checkpoint) : "",
    held: held !== null,
    wrong: crossing !== null ? "backwards" : lost !== null ? "lost" : "",
    name: `${what}, ${arrowText(channel)}`,
    say: `${what} ${left} and ${arrived}.${saved}${crosses}`,
  };
}

function noteHtml({ from, to, left_out: left, checkpoint }, { arrows }) {
  const backwards = arrows.filter((arrow) => arrow.wrong === "backwards").length;
  const held = arrows.filter((arrow) => arrow.held).length;
  return html`Steps ${from + 1} to ${to}${checkpoint === null ? "" : `, around checkpoint ${checkpoint}`}.${left ? ` ${count(left, "record")} less is drawn.` : ""}${
    held ? ` ${count(held, "record")} saved in flight.` : ""}${backwards ? html` <span class="bad">${count(backwards, "record")} cross${backwards === 1 ? "es" : ""} a cut backwards.</span>` : ""}`;
}

function spoken(diagram, { from, to }) {
  return `Space-time diagram of steps ${from + 1} to ${to}: ${count(diagram.lanes.length, "subtask")}, ${count(diagram.arrows.filter((arrow) => arrow.kind === "barrier").length, "barrier")}. ${diagram.cuts.map((cut) => `${cut.title}.`).join(" ")} Arrow keys go from arrow to arrow, Enter to its step.`;
}
