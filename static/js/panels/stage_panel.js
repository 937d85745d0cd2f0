// The stage: the drawing of the job, with what moves in a step. One tab stop; arrow keys move inside.

import { emitsResults, hasStatuses, inputsOf, outputsOf, receiverOf, senderOf, timeDomain } from "../selectors.js";
import { savedElements } from "../snapshots.js";
import { html, setHtml } from "../svg.js";
import { glyph, inline, keyStyle, priorityMark, savedCorner } from "../glyphs.js";
import { TokensCanvas } from "../tokens_canvas.js";
import { Drawing, frameHtml } from "../stage/drawing.js";
import { priorityId } from "../stage/queues.js";
import { list } from "../format.js";

const PROJECTOR_SCALE = 1.5;
const FASTEST_MOTION = 16;
const LONGEST_MOTION = 260;
/** How high a barrier that overtakes hops over the queue, in px. */
const HOP = 20;

/** Size of the stage on the page, measured when it changes and not while drawing. */
const room = { width: 0, height: 0 };
let drawing;
let tokens;
let legendList;
let current = null;
let read;
let tell;

export function mount(element, { store, send }) {
  read = () => store.state;
  tell = send;
  setHtml(element, html`${frameHtml({ id: "stage", label: "Stage" })}<ul class="legend" aria-label="Legend"></ul>`);
  legendList = element.querySelector(".legend");
  tokens = new TokensCanvas(element.querySelector(".moving"));
  drawing = new Drawing(element, { onPlace: placeTokens });
  drawing.stage.addEventListener("keydown", onKey);
  drawing.stage.addEventListener("click", onClick);
  drawing.items.addEventListener("focusin", (event) => {
    current = event.target.dataset.item;
    rove();
  });
  const measure = () => Object.assign(room, { width: drawing.stage.clientWidth, height: drawing.stage.clientHeight });
  new ResizeObserver(() => {
    measure();
    render(read(), false);
  }).observe(drawing.stage);
  measure();
}

export function update(state, changes) {
  if (!["view", "last", "selection", "pointed", "lineage", "theme", "projector", "tableShown", "trail"].some((name) => changes.has(name))) return;
  if (changes.has("theme")) tokens.repaint();
  render(state, changes.has("view"));
}

function render(state, stepped) {
  const drawn = drawing.render(state, room, state.projector ? PROJECTOR_SCALE : 1);
  if (!drawn) return;
  if (stepped) move({ state, before: state.before, still: drawn.moved, ...drawn });
  drawing.places = drawn.places;
  describeStage(state.view);
  showLegend(state);
  rove();
}

function placeTokens({ width, height }, zoom) {
  tokens.stop();
  Object.assign(tokens.canvas.style, { width: `${width}px`, height: `${height}px` });
  tokens.resize(width, height, Math.min(2, devicePixelRatio) * zoom);
}

/** Signs that not every job has: once one was seen, its entry in the legend stays. */
const seen = { watermarks: false, statuses: false, priority: false, cancels: false, saved: false, ends: false, blocked: false };

function showLegend({ view, trail }) {
  const channels = Object.values(view.channels);
  const queued = (wanted) => channels.some(({ queue }) => queue.some(({ kind }) => kind === wanted));
  seen.watermarks ||= queued("watermark") || timeDomain(view) !== null;
  seen.statuses ||= hasStatuses(view);
  seen.priority ||= channels.some(({ priority }) => priority.length);
  seen.cancels ||= queued("cancel");
  seen.ends ||= queued("end");
  seen.blocked ||= Object.values(view.subtasks).some(({ aligning }) => aligning);
  seen.saved ||= savedElements(view, trail).size > 0;
  const results = view.graph.vertices.some((vertex) => vertex.results);
  setHtml(legendList, html`${legend({ results, ...seen })}`);
}

/** Moves what this step moved. All of it moves together: a step is one event, not a sequence. */
function move({ state, layout, places, facts, before, still }) {
  const { rate, state: playing } = state.play;
  const speed = playing === "playing" ? rate : 1;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  tokens.stop();
  if (still || !before || facts.failed || calm || speed > FASTEST_MOTION || document.hidden) return;
  const moves = [];
  const lifted = [];
  for (const [name, now] of places) {
    const was = new Map((drawing.places.get(name) ?? []).filter((one) => one.kind !== "ghost").map((one) => [one.id, one]));
    const overtook = facts.overtook.has(name) ? priorityId(name, facts.overtook.get(name)) : null;
    const changed = facts.taken.has(name) || facts.passed.has(name) || overtook || now.some((one) => facts.emitted.has(one.id));
    if (!changed) continue;
    const common = { channel: layout.channels[name], scale: layout.density.glyph || 0.45, down: layout.vertical };
    for (const one of now) {
      if (one.kind === "ghost") continue;
      const hops = one.id === overtook;
      const inLine = hops ? [...was.values()].find(({ mark }) => mark.kind === "barrier" && mark.label === one.mark.label) : null;
      moves.push({ ...common, mark: one.mark, from: (was.get(one.id) ?? inLine)?.distance ?? (one.id === "more" ? one.distance : common.channel.length), to: one.distance, hop: hops ? HOP : 0 });
    }
    const taken = was.get(facts.taken.get(name)) ?? was.get(facts.passed.has(name) ? priorityId(name, facts.passed.get(name)) : null);
    if (taken) moves.push({ ...common, mark: taken.mark, from: taken.distance, to: -14, fade: true });
    lifted.push(drawing.overs.get(name).lastChild, drawing.unders.get(name));
  }
  if (!moves.length) return;
  for (const group of lifted) group.classList.add("lifted");
  tokens.run(moves, Math.min(LONGEST_MOTION, 700 / speed), () => {
    for (const group of lifted) group.classList.remove("lifted");
  });
}

function onClick(event) {
  const item = event.target.closest("[data-subtask], [data-channel]");
  if (!item) return;
  const { subtask, channel } = item.dataset;
  const token = event.target.closest(".token");
  if (token) traceToken(channel, token.dataset.element);
  tell({ type: "select", selection: subtask ? { subtask, channel: null } : { subtask: read().selection.subtask, channel } });
}

/** A result that is clicked tells where it came from. */
function traceToken(channel, id) {
  const { view } = read();
  const element = view.channels[channel].queue.find((one) => one.id === id);
  if (element?.kind === "record" && emitsResults(view, view.channels[channel].from)) tell({ type: "lineage", element: id, label: element.text });
}

const SIDEWAYS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };
const TURNED = { up: "left", down: "right", left: "up", right: "down" };

function onKey(event) {
  let way = SIDEWAYS[event.key];
  if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
  if (drawing.layout.vertical) way = TURNED[way];
  const next = neighbour(current, way);
  event.preventDefault();
  event.stopPropagation();
  if (next) (drawing.cards.get(next) ?? drawing.lanes.get(next)).focus();
}

function neighbour(id, way) {
  const { view } = read();
  const isCard = drawing.cards.has(id);
  if (way === "right") return isCard ? outputsOf(view, id)[0] : receiverOf(id);
  if (way === "left") return isCard ? inputsOf(view, id)[0] : senderOf(id);
  const vertex = isCard ? view.subtasks[id].vertex : view.subtasks[receiverOf(id)].vertex;
  const rank = drawing.layout.vertical ? (one) => centre(one).x : (one) => centre(one).y;
  const mates = isCard
    ? [...drawing.cards.keys()].filter((one) => Math.abs(along(one) - along(id)) < 4)
    : [...drawing.lanes.keys()].filter((one) => view.subtasks[receiverOf(one)].vertex === vertex);
  mates.sort((a, b) => rank(a) - rank(b));
  return mates[mates.indexOf(id) + (way === "down" ? 1 : -1)];
}

const boxOf = (id) => drawing.layout.cards[id] ?? drawing.layout.channels[id].lane;
const centre = (id) => ({ x: boxOf(id).x + boxOf(id).width / 2, y: boxOf(id).y + boxOf(id).height / 2 });
const along = (id) => (drawing.layout.vertical ? boxOf(id).y : boxOf(id).x);

/** Exactly one item can be reached with Tab. */
function rove() {
  const { cards, lanes } = drawing;
  if (!cards.has(current) && !lanes.has(current)) current = read().selection.subtask ?? cards.keys().next().value;
  for (const [id, element] of [...cards, ...lanes]) element.tabIndex = id === current ? 0 : -1;
}

function describeStage(view) {
  const operators = view.graph.vertices.map((vertex) => `${vertex.name} times ${vertex.parallelism}`);
  drawing.stage.setAttribute("aria-label", `Stage: ${list(operators)}. Arrow keys move between subtasks and channels.`);
}

function legend({ results, watermarks, statuses, priority, cancels, saved, ends, blocked }) {
  const swatch = (width, height, body) => html`<svg width="${width}" height="${height}" viewBox="${-width / 2} ${-height / 2} ${width} ${height}" aria-hidden="true">${body}</svg>`;
  const disc = { kind: "record", ...keyStyle("UA") };
  return [
    [inline(disc), "record and key"],
    results && [inline({ ...disc, kind: "result", label: "3" }), "result"],
    watermarks && [inline({ kind: "watermark", label: "20:05" }), "watermark"],
    statuses && [inline({ kind: "status", label: "idle" }), "idle sender"],
    [inline({ kind: "barrier", label: "3" }), "barrier"],
    priority && [inline(priorityMark(3)), "barrier that overtook"],
    cancels && [inline({ kind: "cancel", label: "×3" }), "checkpoint given up"],
    saved && [swatch(22, 22, html`${glyph({ kind: "record", code: "", hue: null })}${savedCorner(false)}`), "saved in a checkpoint"],
    ends && [inline({ kind: "end", label: "" }), "end of input"],
    blocked && [swatch(22, 14, html`<rect class="lane blocked" x="-11" y="-7" width="22" height="14" rx="2"/>`), "blocked"],
    [swatch(18, 18, html`<g class="ghost">${glyph({ kind: "record", code: "", hue: null })}</g>`), "just taken"],
    [swatch(20, 20, html`<circle class="halo" r="8.5"/>`), "just made"],
  ].filter(Boolean).map(([picture, text]) => html`<li>${picture}${text}</li>`);
}
