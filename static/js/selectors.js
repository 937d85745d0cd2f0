// Questions to a view, answered without a page: who holds the watermark back, what is full, why a window has not fired.

import { axisUnit, bytes, day, list, span, time, timeValue, watermark, watermarkDay, watermarkInWords } from "./format.js";


export { lateAt, trackAt } from "./trail.js";

export const outputsOf = (view, id) => Object.keys(view.channels).filter((name) => view.channels[name].from === id);
export const inputsOf = (view, id) => Object.keys(view.subtasks[id].inputs);
export const senderOf = (channel) => channel.slice(0, channel.indexOf(">"));
export const receiverOf = (channel) => channel.slice(channel.indexOf(">") + 1);
export const arrow = (channel) => channel.replace(">", " → ");
export const vertexOf = (view, id) => view.graph.vertices.find((vertex) => vertex.id === view.subtasks[id].vertex);

/** Whether nothing more can happen, in a job or in a network of processes. */
export const isOver = (view) => (view.job ?? view.network).state === "finished";

const sendsResults = new WeakMap();

/** Whether what `sender` emits is shown as results. */
export function emitsResults(view, sender) {
  let ids = sendsResults.get(view.graph);
  if (!ids) {
    ids = new Set(view.graph.vertices.filter((vertex) => vertex.results).map((vertex) => vertex.id));
    sendsResults.set(view.graph, ids);
  }
  return ids.has(view.subtasks[sender]?.vertex);
}

const shortNames = new WeakMap();

/** The shortest beginnings that tell sending operators apart, with the index: "s0" for source[0]. */
export function shortName(view, id) {
  let names = shortNames.get(view.graph);
  if (!names) {
    const senders = [...new Set(view.graph.edges.map((edge) => edge.from))];
    names = new Map(senders.map((name) => [name, shortest(name, senders)]));
    shortNames.set(view.graph, names);
  }
  const subtask = view.subtasks[id];
  return subtask ? `${names.get(subtask.vertex) ?? subtask.vertex}${subtask.index}` : id;
}

function shortest(name, rivals) {
  for (let n = 1; n < name.length; n += 1) {
    const start = name.slice(0, n);
    if (rivals.every((rival) => rival === name || !rival.startsWith(start))) return start;
  }
  return name;
}

/** Inputs whose watermark is the lowest of those that count: that have not ended and are not idle. Empty when nothing is known
 *  or all are equal. */
export function holders(subtask) {
  const open = Object.entries(subtask.inputs).filter(([, input]) => !input.ended && !input.idle);
  if (open.length < 2) return open.length && timeValue(open[0][1].watermark) > -Infinity ? [open[0][0]] : [];
  const lowest = Math.min(...open.map(([, input]) => timeValue(input.watermark)));
  const held = open.filter(([, input]) => timeValue(input.watermark) === lowest).map(([name]) => name);
  return held.length === open.length ? [] : held;
}

/** How much of a channel's credit is used, and whether its sender has to wait. */
export function creditOf(channel) {
  const used = channel.queue.filter((element) => element.kind === "record" || element.kind === "watermark").length;
  return { used: Math.min(used, channel.capacity), capacity: channel.capacity, full: used >= channel.capacity };
}

/** The newest checkpoint that is still in progress: [number, checkpoint], or null. */
export function liveCheckpoint(view) {
  const live = Object.entries(view.checkpoints).filter(([, checkpoint]) => checkpoint.status === "triggered");
  return live.length ? [Number(live[live.length - 1][0]), live[live.length - 1][1]] : null;
}

export const acknowledged = (checkpoint) =>
  Object.values(checkpoint.subtasks).filter((part) => part.status === "acknowledged").length;

const windowsKnown = new WeakMap();

/** Open windows of a subtask, one per key and span, earliest end first. Triggers and the like keep rows of their own. */
export function openWindows(subtask) {
  let known = windowsKnown.get(subtask.state);
  if (!known) windowsKnown.set(subtask.state, (known = windowsIn(subtask.state)));
  return known;
}

function windowsIn(state) {
  const rows = new Map();
  for (const row of Object.values(state)) {
    if (!row.window) continue;
    const name = `${row.key} ${row.window}`;
    if (!rows.has(name) || row.name === "window-contents") rows.set(name, row);
  }
  return [...rows.values()].sort((a, b) => timeValue(a.window[1]) - timeValue(b.window[1]));
}

/** Whether a window has fired already and is only kept for late records. */
export const isKept = (subtask, window) => timeValue(subtask.watermark) >= timeValue(window[1]) - 1;

/** The event-time axis that all gauges share: [from, to, tick]. Rounded outwards, so that it moves rarely. */
export function timeDomain(view) {
  let low = Infinity;
  let high = -Infinity;
  const see = (value) => {
    const ms = timeValue(value);
    if (!Number.isFinite(ms)) return;
    low = Math.min(low, ms);
    high = Math.max(high, ms);
  };
  for (const subtask of Object.values(view.subtasks)) {
    see(subtask.watermark);
    for (const input of Object.values(subtask.inputs)) see(input.watermark);
    for (const split of Object.values(subtask.splits)) see(split.watermark);
    for (const row of Object.values(subtask.state)) if (row.window) see(row.window[1]);
  }
  if (low > high) return null;
  const unit = axisUnit(low, high);
  const from = Math.floor(low / unit) * unit;
  return [from, Math.max(from + 3 * unit, Math.ceil((high + 1) / unit) * unit), unit];
}

/** What the last step did, by subtask and channel, for marking it in the picture. */
export function stepFacts(last) {
  const facts = { actors: new Set(), taken: new Map(), passed: new Map(), overtook: new Map(), emitted: new Set(), failed: null, rose: new Map(), touched: new Set() };
  for (const event of last?.events ?? []) {
    if (event.e === "ElementTaken") {
      facts.taken.set(event.channel, event.id);
      facts.actors.add(receiverOf(event.channel));
    } else if (event.e === "ElementEmitted") facts.emitted.add(event.element.id);
    else if (event.e === "BarrierOvertook") facts.overtook.set(event.channel, event.checkpoint);
    else if (event.e === "PriorityBarrierTaken") {
      facts.passed.set(event.channel, event.checkpoint);
      facts.actors.add(receiverOf(event.channel));
    } else if (event.e === "SubtaskFailed") facts.failed = event.subtask;
    else if (event.e === "WatermarkAdvanced") facts.rose.set(event.subtask, event.old);
    else if (event.e === "InputWatermark") facts.touched.add(event.input);
    if (ACTING.has(event.e)) facts.actors.add(event.subtask);
  }
  return facts;
}

const ACTING = new Set(["RecordRead", "RecordSkipped", "SplitEnded", "SnapshotTaken", "SnapshotUploaded", "SnapshotDropped", "SnapshotAcknowledged", "SubtaskFailed"]);

/** The checkpoint status of a subtask in a word or two, or null. */
export function checkpointStatus(view, id) {
  const live = liveCheckpoint(view);
  const subtask = view.subtasks[id];
  if (!live) return null;
  const [number, checkpoint] = live;
  const part = checkpoint.subtasks[id];
  if (!part) return null;
  const inputs = Object.values(subtask.inputs);
  const bars = inputs.map((input) => input.blocked);
  const got = subtask.aligning?.received.length ?? 0;
  switch (part.status) {
    case "acknowledged": return { number, kind: "acked", text: "acked" };
    case "dropped":
    case "declined": return { number, kind: "given-up", text: "gave up" };
    case "uploading": return { number, kind: "uploading", text: `${bytes(part.left)} left` };
    case "uploaded":
    case "snapshotted":
      if (part.saved && part.complete === null) return { number, kind: "saving", text: `saved ${part.saved}`, short: String(part.saved) };
      return { number, kind: "copied", text: part.status === "uploaded" ? "uploaded" : "copied" };
    // At least once: barriers are collected, and no input is blocked.
    case "aligning": return !subtask.aligning ? { number, kind: "collecting", text: "collecting" } : { number, kind: "aligning", text: `aligning ${got}/${inputs.length}`, short: `${got}/${inputs.length}`, bars };
    default: return inputs.length && view.job.paused === number ? { number, kind: "asked", text: "drains" } : inputs.length
      ? { number, kind: "waiting", text: `0/${inputs.length}`, bars }
      : { number, kind: "asked", text: "asked" };
  }
}

/** Whether a source reads nothing, so that the channels drain (stop-the-world). */
export const isPaused = (view, id) => view.job.paused !== null && !Object.keys(view.subtasks[id].inputs).length;

/** "idle" or "paused" for a split that is, else "". */
export const splitWord = (split) => (split.ended ? "" : split.paused ? "paused" : split.idle ? "idle" : "");

/** Whether the job has shown a status: an idle input or split, or a status under way. */
export const hasStatuses = (view) =>
  Object.values(view.subtasks).some((one) => one.idle || Object.values(one.inputs).some((input) => input.idle) || Object.values(one.splits).some((split) => split.idle || split.paused)) ||
  Object.values(view.channels).some((channel) => channel.queue.some((element) => element.kind === "status"));

/** What `l` asks about: the first result in the selected channel, else the last that a sink has written. {element, label}, or null. */
export function resultToTrace(view, { subtask, channel }) {
  const queued = channel && emitsResults(view, view.channels[channel]?.from) ? view.channels[channel].queue.find((element) => element.kind === "record") : null;
  if (queued) return { element: queued.id, label: queued.text };
  const sinks = Object.keys(view.subtasks).filter((id) => view.subtasks[id].results.length);
  const sink = sinks.includes(subtask) ? subtask : sinks[0];
  if (!sink) return null;
  const [index, text] = view.subtasks[sink].results.at(-1);
  return { element: resultId(sink, index), label: text };
}

/** What the server calls a result that a sink has written. */
export const resultId = (sink, index) => `${sink}#${index}`;

/** A subtask in one sentence, for those who do not see the picture. */
export function describeSubtask(view, id) {
  const subtask = view.subtasks[id];
  const parts = [id];
  if (subtask.status !== "running") parts.push(subtask.status);
  for (const split of Object.values(subtask.splits)) {
    parts.push(`${split.name} ${split.ended ? "ended" : `at ${split.offset} of ${split.length}`}${splitWord(split) ? `, ${splitWord(split)}` : ""}`);
  }
  if (subtask.idle) parts.push("idle");
  parts.push(`watermark ${watermarkInWords(subtask.watermark)}`);
  const held = holders(subtask).map((name) => senderOf(name));
  if (held.length) parts.push(`held back by ${list(held)}`);
  const silent = Object.entries(subtask.inputs).filter(([, input]) => input.idle && !input.ended).map(([name]) => senderOf(name));
  if (silent.length) parts.push(`input from ${list(silent)} idle`);
  const status = checkpointStatus(view, id);
  if (isPaused(view, id)) parts.push(`paused for checkpoint ${view.job.paused}`);
  if (subtask.upload_refused) parts.push("the storage refuses its next snapshot");
  if (status) parts.push(`checkpoint ${status.number}: ${status.kind === "waiting" ? "waiting for barriers" : status.text}`);
  const blocked = Object.entries(subtask.inputs).filter(([, input]) => input.blocked).map(([name]) => senderOf(name));
  if (blocked.length) parts.push(`input from ${list(blocked)} blocked`);
  const windows = openWindows(subtask).length;
  if (windows) parts.push(`${windows} open ${windows === 1 ? "window" : "windows"}`);
  if (subtask.late) parts.push(`${subtask.late} late`);
  return parts.join(", ");
}

/** Why the earliest open window of a subtask has not fired: {title, sentence}, or null where none is open. */
export function whyNotFired(view, id) {
  const subtask = view.subtasks[id];
  const row = subtask && openWindows(subtask).find(({ window }) => !isKept(subtask, window));
  if (!row) return null;
  const end = row.window[1];
  const near = nearTo(end);
  const title = `Why has ${span(row.window)} not fired at ${id}?`;
  const needs = `It fires when the watermark reaches ${time(end)}.`;
  const low = Object.entries(subtask.inputs).filter(([, input]) => !input.ended && timeValue(input.watermark) < end - 1);
  if (!low.length) return { title, sentence: `${needs} All inputs have passed it.` };
  const now = timeValue(subtask.watermark) === -Infinity
    ? "No watermark has arrived on every input yet."
    : `It stands at ${near(subtask.watermark)}.`;
  return { title, sentence: `${needs} ${now} ${low.map(([name, input]) => missing(view, name, input, end, near)).join(" ")}` };
}

/** Watermarks in a sentence about `moment`: the day is said only where it is another one. */
const nearTo = (moment) => (value) => (watermarkDay(value) === day(moment) ? watermark(value) : watermarkInWords(value));

const ORDER = ["next", "second", "third", "fourth", "fifth"];

function missing(view, name, input, end, near) {
  const from = senderOf(name);
  const queue = view.channels[name]?.queue ?? [];
  const at = queue.findIndex((element) => element.kind === "end" || (element.kind === "watermark" && timeValue(element.timestamp) >= end - 1));
  const gate = input.blocked ? ", behind the gate of the alignment" : "";
  const stands = `${from} stands at ${near(input.watermark)}`;
  if (at < 0) return `${stands} and nothing in its queue reaches ${time(end)}.`;
  const what = queue[at].kind === "end" ? "its end of input" : `watermark ${near(queue[at].timestamp)}`;
  return `${stands}; ${what} is ${ORDER[at] ?? `number ${at + 1}`} in its queue${gate}.`;
}

/** Why an input is blocked: a sentence, or null where it is not. */
export function whyBlocked(view, name) {
  const { to } = view.channels[name];
  const { inputs, aligning } = view.subtasks[to];
  if (!inputs[name]?.blocked || !aligning) return null;
  const missing = Object.keys(inputs).filter((input) => !inputs[input].ended && !aligning.received.includes(input));
  const places = missing.map((input) => {
    const at = view.channels[input].queue.findIndex((element) => element.kind === "barrier" && element.checkpoint === aligning.checkpoint);
    return `${senderOf(input)}, ${at < 0 ? "which has not sent it yet" : `where it is ${ORDER[at] ?? `number ${at + 1}`} in the queue`}`;
  });
  return `Barrier ${aligning.checkpoint} came here first. What follows on this input belongs to the next checkpoint, so it waits until barrier ${aligning.checkpoint} has come from ${list(places)}.`;
}
