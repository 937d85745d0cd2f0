// The stage: operators as columns, subtasks as cards, every channel with its queue. One tab stop; arrow keys move inside.

import { emitsResults, hasStatuses, inputsOf, outputsOf, receiverOf, senderOf, stepFacts, timeDomain, describeSubtask, arrow } from "../selectors.js";
import { html, keyedChildren, setHtml, svgElement } from "../svg.js";
import { layoutFor } from "../layout.js";
import { glyph, inline, nameOf, keyStyle } from "../glyphs.js";
import { TokensCanvas } from "../tokens_canvas.js";
import { cardHtml, edgeHtml, headingHtml } from "../stage/cards.js";
import { madeBoxes, portsHtml, queueHtml, underHtml } from "../stage/lanes.js";
import { placeQueue } from "../stage/queues.js";
import { list } from "../format.js";

const NARROW = 560;
const PROJECTOR_SCALE = 1.5;
const FASTEST_MOTION = 16;
const LONGEST_MOTION = 260;
const QUEUE_SPOKEN = 6;

const HATCH = html`<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-ground" width="5" height="5"/><path class="hatch-line" d="M0,0V5"/></pattern></defs>`;

const cards = new Map();
const lanes = new Map();
const unders = new Map();
const overs = new Map();
/** Size of the stage on the page, measured when it changes and not while drawing. */
const room = { width: 0, height: 0 };
const drawn = { layout: null, places: new Map() };
let parts;
let current = null;
let read;
let tell;

export function mount(element, { store, send }) {
  read = () => store.state;
  tell = send;
  setHtml(element, html`<div class="stage" id="stage" role="group" aria-label="Stage"><div class="stage-in"><svg class="under" aria-hidden="true">${HATCH}</svg><div class="heads" aria-hidden="true"></div><div class="items"></div><svg class="over" aria-hidden="true"></svg><canvas class="moving" aria-hidden="true"></canvas></div></div><ul class="legend" aria-label="Legend"></ul>`);
  const find = (selector) => element.querySelector(selector);
  parts = { stage: find(".stage"), inside: find(".stage-in"), under: find(".under"), heads: find(".heads"), items: find(".items"), over: find(".over"), legend: find(".legend") };
  parts.tokens = new TokensCanvas(find(".moving"));
  parts.stage.addEventListener("keydown", onKey);
  parts.stage.addEventListener("click", onClick);
  parts.items.addEventListener("focusin", (event) => {
    current = event.target.dataset.item;
    rove();
  });
  const measure = () => Object.assign(room, { width: parts.stage.clientWidth, height: parts.stage.clientHeight });
  new ResizeObserver(() => {
    measure();
    render(read(), false);
  }).observe(parts.stage);
  measure();
}

export function update(state, changes) {
  if (!["view", "last", "selection", "pointed", "lineage", "theme", "projector", "tableShown"].some((name) => changes.has(name))) return;
  if (changes.has("theme")) parts.tokens.repaint();
  render(state, changes.has("view"));
}

function render(state, stepped) {
  const { view, before, last } = state;
  const zoom = state.projector ? PROJECTOR_SCALE : 1;
  const width = Math.floor(room.width / zoom);
  if (!width) return;
  const vertical = width < NARROW;
  const size = { width, height: vertical ? 0 : Math.floor(room.height / zoom), vertical };
  const layout = layoutFor(view, size);
  const facts = stepFacts(last);
  const moved = layout !== drawn.layout;
  if (moved) place(layout, view, zoom);

  const domain = timeDomain(view);
  const origins = originsOf(state.lineage);
  for (const [id, card] of cards) {
    const box = layout.cards[id];
    setHtml(card, cardHtml(view, id, { density: layout.density, vertical, width: box.width, facts, domain, before, origins }));
    card.className = `card ${layout.density.name}${facts.actors.has(id) ? " hot" : ""}${view.subtasks[id].status === "failed" ? " failed" : ""}${state.selection.subtask === id ? " selected" : ""}${state.pointed === id ? " pointed" : ""}${origins?.cards.has(id) ? " traced" : ""}`;
    card.setAttribute("aria-label", describeSubtask(view, id));
    card.setAttribute("aria-pressed", String(state.selection.subtask === id));
  }

  const places = new Map();
  for (const [name, button] of lanes) {
    drawChannel(name, { view, before, facts, layout, places, selected: state.selection.channel === name, traced: state.lineage?.elements, pointed: state.pointed });
    button.setAttribute("aria-label", describeChannel(view, name));
    button.setAttribute("aria-pressed", String(state.selection.channel === name));
  }
  if (stepped) move({ state, layout, places, facts, before, still: moved });
  drawn.layout = layout;
  drawn.places = places;
  describeStage(view);
  showLegend(view);
  rove();
}

let statusesSeen = false;

/** The legend holds what this job has; once a status was seen, it stays. */
function showLegend(view) {
  statusesSeen ||= hasStatuses(view);
  const results = view.graph.vertices.some((vertex) => vertex.results);
  setHtml(parts.legend, html`${legend({ results, statuses: statusesSeen })}`);
}

/** Where the records of the shown lineage were read: {cards, offsets by split}, or null. */
function originsOf(lineage) {
  if (!lineage?.origins) return null;
  const offsets = new Map();
  for (const { split, offset } of lineage.origins) offsets.set(split, [...(offsets.get(split) ?? []), offset]);
  return { cards: new Set([...offsets.keys()].map((split) => split.slice(0, split.indexOf("/")))), offsets };
}

function drawChannel(name, { view, before, facts, layout, places, selected, traced, pointed }) {
  const channel = layout.channels[name];
  const { queue, from, to } = view.channels[name];
  const blocked = view.subtasks[to].inputs[name]?.blocked ?? false;
  const active = facts.taken.has(name);
  const results = emitsResults(view, from);
  const ghost = active ? before?.channels[name]?.queue[0] : null;
  const at = placeQueue({ queue, lane: channel, layout, results, blocked, ghost });
  const lostQueue = facts.failed ? before?.channels[name]?.queue ?? [] : [];
  const lost = lostQueue.length ? placeQueue({ queue: lostQueue, lane: channel, layout, results, blocked: false }).map((one) => ({ ...one, kind: "lost" })) : [];
  places.set(name, at);
  const made = layout.density.glyph ? madeBoxes(channel, at, facts.emitted, layout) : [];
  setHtml(unders.get(name), underHtml(channel, { active, blocked, made, layout }));
  const [ports, waiting] = overs.get(name).children;
  setHtml(ports, portsHtml(channel, { active, blocked, layout }));
  setHtml(waiting, queueHtml(channel, [...at, ...lost], layout, { traced, pointed }));
  lanes.get(name).classList.toggle("selected", selected);
  lanes.get(name).classList.toggle("pointed", pointed === name);
}

/** Puts cards, lanes and headings where a new layout wants them. */
function place(layout, view, zoom) {
  parts.tokens.stop();
  drawn.places = new Map();
  const { width, height } = layout;
  for (const svg of [parts.under, parts.over]) {
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
  }
  Object.assign(parts.inside.style, { width: `${width}px`, height: `${height}px`, transform: zoom === 1 ? "" : `scale(${zoom})` });
  parts.stage.style.height = layout.vertical ? `${Math.ceil(height * zoom)}px` : "";
  parts.stage.classList.toggle("vertical", layout.vertical);
  const canvas = parts.tokens.canvas;
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  parts.tokens.resize(width, height, Math.min(2, devicePixelRatio) * zoom);

  const item = (kind, id) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", tabIndex: -1, className: kind });
    button.dataset.item = id;
    button.dataset[kind === "card" ? "subtask" : "channel"] = id;
    return button;
  };
  keyedChildren(parts.items, lanes, Object.keys(layout.channels), (id) => item("channel", id));
  keyedChildren(parts.items, cards, Object.keys(layout.cards), (id) => item("card", id));
  keyedChildren(parts.under, unders, Object.keys(layout.channels), () => svgElement("g"));
  keyedChildren(parts.over, overs, Object.keys(layout.channels), (id) => {
    const group = svgElement("g", { "data-channel": id });
    group.append(svgElement("g"), svgElement("g", { class: "queue" }));
    return group;
  });
  for (const [id, card] of cards) box(card, layout.cards[id]);
  for (const [id, button] of lanes) box(button, layout.channels[id].lane);

  const heading = (x, y, width, className, markup) => ({ x, y, width, className, markup });
  const lines = layout.twoLines ? " two-lines" : "";
  const all = layout.columns.map((column) => heading(column.x, column.y ?? 6, lines ? column.wide : column.width, `head-column${lines}`, headingHtml(column.vertices)));
  if (!layout.vertical) for (const edge of layout.edges) all.push(heading(edge.x + 14, 6, edge.width - 20, "head-edge", edgeHtml(edge.edges)));
  parts.heads.replaceChildren(...all.map((one) => {
    const element = document.createElement("div");
    element.className = one.className;
    setHtml(element, one.markup);
    Object.assign(element.style, { left: `${one.x}px`, top: `${one.y}px`, width: `${one.width}px` });
    return element;
  }));
}

function box(element, { x, y, width, height }) {
  Object.assign(element.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
}

/** Moves what this step moved. All of it moves together: a step is one event, not a sequence. */
function move({ state, layout, places, facts, before, still }) {
  const { rate, state: playing } = state.play;
  const speed = playing === "playing" ? rate : 1;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  parts.tokens.stop();
  if (still || !before || facts.failed || calm || speed > FASTEST_MOTION || document.hidden) return;
  const moves = [];
  const lifted = [];
  for (const [name, now] of places) {
    const was = new Map((drawn.places.get(name) ?? []).filter((one) => one.kind !== "ghost").map((one) => [one.id, one]));
    const changed = facts.taken.has(name) || now.some((one) => facts.emitted.has(one.id));
    if (!changed) continue;
    const common = { channel: layout.channels[name], scale: layout.density.glyph || 0.45, down: layout.vertical };
    for (const one of now) {
      if (one.kind === "ghost") continue;
      moves.push({ ...common, mark: one.mark, from: was.get(one.id)?.distance ?? (one.id === "more" ? one.distance : common.channel.length), to: one.distance });
    }
    const taken = was.get(facts.taken.get(name));
    if (taken) moves.push({ ...common, mark: taken.mark, from: taken.distance, to: -14, fade: true });
    lifted.push(overs.get(name).lastChild, unders.get(name));
  }
  if (!moves.length) return;
  for (const group of lifted) group.classList.add("lifted");
  parts.tokens.run(moves, Math.min(LONGEST_MOTION, 700 / speed), () => {
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
  if (drawn.layout.vertical) way = TURNED[way];
  const next = neighbour(current, way);
  event.preventDefault();
  event.stopPropagation();
  if (next) (cards.get(next) ?? lanes.get(next)).focus();
}

function neighbour(id, way) {
  const { view } = read();
  const isCard = cards.has(id);
  if (way === "right") return isCard ? outputsOf(view, id)[0] : receiverOf(id);
  if (way === "left") return isCard ? inputsOf(view, id)[0] : senderOf(id);
  const vertex = isCard ? view.subtasks[id].vertex : view.subtasks[receiverOf(id)].vertex;
  const rank = drawn.layout.vertical ? (one) => centre(one).x : (one) => centre(one).y;
  const mates = isCard
    ? [...cards.keys()].filter((one) => Math.abs(along(one) - along(id)) < 4)
    : [...lanes.keys()].filter((one) => view.subtasks[receiverOf(one)].vertex === vertex);
  mates.sort((a, b) => rank(a) - rank(b));
  return mates[mates.indexOf(id) + (way === "down" ? 1 : -1)];
}

const boxOf = (id) => drawn.layout.cards[id] ?? drawn.layout.channels[id].lane;
const centre = (id) => ({ x: boxOf(id).x + boxOf(id).width / 2, y: boxOf(id).y + boxOf(id).height / 2 });
const along = (id) => (drawn.layout.vertical ? boxOf(id).y : boxOf(id).x);

/** Exactly one item can be reached with Tab. */
function rove() {
  if (!cards.has(current) && !lanes.has(current)) current = read().selection.subtask ?? cards.keys().next().value;
  for (const [id, element] of [...cards, ...lanes]) element.tabIndex = id === current ? 0 : -1;
}

function describeStage(view) {
  const operators = view.graph.vertices.map((vertex) => `${vertex.name} times ${vertex.parallelism}`);
  parts.stage.setAttribute("aria-label", `Stage: ${list(operators)}. Arrow keys move between subtasks and channels.`);
}

function describeChannel(view, name) {
  const { queue, from, to } = view.channels[name];
  const words = queue.slice(0, QUEUE_SPOKEN).map(nameOf);
  if (queue.length > QUEUE_SPOKEN) words.push(`${queue.length - QUEUE_SPOKEN} more`);
  const blocked = view.subtasks[to].inputs[name]?.blocked ? ", blocked" : "";
  return `Channel ${arrow(name)}${blocked}: ${words.length ? words.join(", ") : "empty"}`;
}

function legend({ results, statuses }) {
  const swatch = (width, height, body) => html`<svg width="${width}" height="${height}" viewBox="${-width / 2} ${-height / 2} ${width} ${height}" aria-hidden="true">${body}</svg>`;
  const disc = { kind: "record", ...keyStyle("UA") };
  return [
    [inline(disc), "record and key"],
    results && [inline({ ...disc, kind: "result", label: "3" }), "result"],
    [inline({ kind: "watermark", label: "20:05" }), "watermark"],
    statuses && [inline({ kind: "status", label: "idle" }), "idle sender"],
    [inline({ kind: "barrier", label: "3" }), "barrier"],
    [inline({ kind: "end", label: "" }), "end of input"],
    [swatch(22, 14, html`<rect class="lane blocked" x="-11" y="-7" width="22" height="14" rx="2"/>`), "blocked"],
    [swatch(18, 18, html`<g class="ghost">${glyph({ kind: "record", code: "", hue: null })}</g>`), "just taken"],
    [swatch(20, 20, html`<circle class="halo" r="8.5"/>`), "just made"],
  ].filter(Boolean).map(([picture, text]) => html`<li>${picture}${text}</li>`);
}
