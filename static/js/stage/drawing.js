// The stage as a drawing: operators as columns, subtasks as cards, every channel with its queue. Knows a view and the room
// it has; who may click, what moves and what is read aloud about it is up to the page that shows it.

import { arrow, describeSubtask, emitsResults, stepFacts, timeDomain } from "../selectors.js";
import { html, keyedChildren, setHtml, svgElement } from "../svg.js";
import { layoutFor } from "../layout.js";
import { nameOf } from "../glyphs.js";
import { savedElements } from "../snapshots.js";
import { cardHtml, edgeHtml, headingHtml } from "./cards.js";
import { madeBoxes, portsHtml, queueHtml, underHtml } from "./lanes.js";
import { placeQueue, priorityId } from "./queues.js";

const NARROW = 560;
const QUEUE_SPOKEN = 6;

const HATCH = html`<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-ground" width="5" height="5"/><path class="hatch-line" d="M0,0V5"/></pattern><pattern id="saved" width="4" height="4" patternUnits="userSpaceOnUse"><rect class="saved-ground" width="4" height="4"/><circle class="saved-line" cx="2" cy="2" r="1.1"/></pattern></defs>`;

/** The inside of the element that a Drawing is given. `id` is that of the scrolling box; a page's first drawing brings the hatching. */
export const frameHtml = ({ id, label, first = true }) =>
  html`<div class="stage" id="${id}" role="group" aria-label="${label}"><div class="stage-in"><svg class="under" aria-hidden="true">${first && HATCH}</svg><div class="heads" aria-hidden="true"></div><div class="items"></div><svg class="over" aria-hidden="true"></svg><canvas class="moving" aria-hidden="true"></canvas></div></div>`;

export class Drawing {
  /** `live`: cards and channels are buttons; else they are pictures with a name. `onPlace(layout, zoom)`: everything has a new place. */
  constructor(element, { live = true, onPlace = () => {} } = {}) {
    const find = (selector) => element.querySelector(selector);
    this.stage = find(".stage");
    this.inside = find(".stage-in");
    this.under = find(".under");
    this.heads = find(".heads");
    this.items = find(".items");
    this.over = find(".over");
    this.live = live;
    this.onPlace = onPlace;
    this.cards = new Map();
    this.lanes = new Map();
    this.unders = new Map();
    this.overs = new Map();
    this.layout = null;
    this.places = new Map();
  }

  /**
   * Draws `view` in a room of {width, height} px, `height` 0 for as much as it needs. Returns {moved, layout, places, facts}, or null
   * without room; `places` are not yet those of this drawing, so that what moves can be told from `this.places`.
   */
  render({ view, before, last, selection = {}, pointed = null, lineage = null, trail = null }, room, zoom = 1) {
    const width = Math.floor(room.width / zoom);
    if (!width) return null;
    const vertical = width < NARROW;
    const layout = layoutFor(view, { width, height: vertical ? 0 : Math.floor(room.height / zoom), vertical });
    const facts = stepFacts(last);
    const moved = layout !== this.layout;
    if (moved) this.place(layout, zoom);
    const domain = timeDomain(view);
    const origins = originsOf(lineage);
    for (const [id, card] of this.cards) {
      setHtml(card, cardHtml(view, id, { density: layout.density, vertical, width: layout.cards[id].width, facts, domain, before, origins }));
      card.className = `card ${layout.density.name}${facts.actors.has(id) ? " hot" : ""}${view.subtasks[id].status === "failed" ? " failed" : ""}${selection.subtask === id ? " selected" : ""}${pointed === id ? " pointed" : ""}${origins?.cards.has(id) ? " traced" : ""}`;
      this.tell(card, describeSubtask(view, id), selection.subtask === id);
    }
    const places = new Map();
    const saved = trail ? savedElements(view, trail) : new Map();
    for (const [name, lane] of this.lanes) {
      this.drawChannel(name, { view, before, facts, layout, places, selected: selection.channel === name, traced: lineage?.elements, pointed, saved });
      this.tell(lane, describeChannel(view, name, saved), selection.channel === name);
    }
    return { moved, layout, places, facts };
  }

  tell(element, label, pressed) {
    element.setAttribute("aria-label", label);
    if (this.live) element.setAttribute("aria-pressed", String(pressed));
  }

  drawChannel(name, { view, before, facts, layout, places, selected, traced, pointed, saved }) {
    const channel = layout.channels[name];
    const { queue, priority, from, to } = view.channels[name];
    const blocked = view.subtasks[to].inputs[name]?.blocked ?? false;
    const overtaking = (checkpoint) => ({ id: priorityId(name, checkpoint), checkpoint });
    const passed = facts.passed.has(name) ? overtaking(facts.passed.get(name)) : null;
    const active = facts.taken.has(name) || passed !== null;
    const results = emitsResults(view, from);
    const ghost = facts.taken.has(name) ? before?.channels[name]?.queue[0] : null;
    const at = placeQueue({ queue, lane: channel, layout, results, blocked, ghost, priority: priority.map(overtaking), passed });
    const lostQueue = facts.failed ? before?.channels[name]?.queue ?? [] : [];
    const lost = lostQueue.length ? placeQueue({ queue: lostQueue, lane: channel, layout, results, blocked: false }).map((one) => ({ ...one, kind: "lost" })) : [];
    places.set(name, at);
    const fresh = facts.overtook.has(name) ? new Set([...facts.emitted, priorityId(name, facts.overtook.get(name))]) : facts.emitted;
    const made = layout.density.glyph ? madeBoxes(channel, at, fresh, layout) : [];
    setHtml(this.unders.get(name), underHtml(channel, { active, blocked, made, layout }));
    const [ports, waiting] = this.overs.get(name).children;
    setHtml(ports, portsHtml(channel, { active, blocked, layout }));
    setHtml(waiting, queueHtml(channel, [...at, ...lost], layout, { traced, pointed, saved }));
    this.lanes.get(name).classList.toggle("selected", selected);
    this.lanes.get(name).classList.toggle("pointed", pointed === name);
  }

  /** Puts cards, lanes and headings where a new layout wants them. */
  place(layout, zoom) {
    this.layout = layout;
    this.places = new Map();
    const { width, height } = layout;
    for (const svg of [this.under, this.over]) {
      svg.setAttribute("width", width);
      svg.setAttribute("height", height);
    }
    Object.assign(this.inside.style, { width: `${width}px`, height: `${height}px`, transform: zoom === 1 ? "" : `scale(${zoom})` });
    this.stage.style.height = layout.vertical ? `${Math.ceil(height * zoom)}px` : "";
    this.stage.classList.toggle("vertical", layout.vertical);
    this.onPlace(layout, zoom);

    keyedChildren(this.items, this.lanes, Object.keys(layout.channels), (id) => this.item("channel", id));
    keyedChildren(this.items, this.cards, Object.keys(layout.cards), (id) => this.item("card", id));
    keyedChildren(this.under, this.unders, Object.keys(layout.channels), () => svgElement("g"));
    keyedChildren(this.over, this.overs, Object.keys(layout.channels), (id) => {
      const group = svgElement("g", { "data-channel": id });
      group.append(svgElement("g"), svgElement("g", { class: "queue" }));
      return group;
    });
    for (const [id, card] of this.cards) box(card, layout.cards[id]);
    for (const [id, lane] of this.lanes) box(lane, layout.channels[id].lane);

    const heading = (x, y, wide, className, markup) => ({ x, y, wide, className, markup });
    const lines = layout.twoLines ? " two-lines" : "";
    const all = layout.columns.map((column) => heading(column.x, column.y ?? 6, lines ? column.wide : column.width, `head-column${lines}`, headingHtml(column.vertices)));
    if (!layout.vertical) for (const edge of layout.edges) all.push(heading(edge.x + 14, 6, edge.width - 20, "head-edge", edgeHtml(edge.edges)));
    this.heads.replaceChildren(...all.map((one) => {
      const element = document.createElement("div");
      element.className = one.className;
      setHtml(element, one.markup);
      Object.assign(element.style, { left: `${one.x}px`, top: `${one.y}px`, width: `${one.wide}px` });
      return element;
    }));
  }

  item(kind, id) {
    const element = document.createElement(this.live ? "button" : "div");
    element.className = kind;
    if (this.live) Object.assign(element, { type: "button", tabIndex: -1 });
    else element.setAttribute("role", "img");
    element.dataset.item = id;
    element.dataset[kind === "card" ? "subtask" : "channel"] = id;
    return element;
  }
}

/** Where the records of the shown lineage were read: {cards, offsets by split}, or null. */
function originsOf(lineage) {
  if (!lineage?.origins) return null;
  const offsets = new Map();
  for (const { split, offset } of lineage.origins) offsets.set(split, [...(offsets.get(split) ?? []), offset]);
  return { cards: new Set([...offsets.keys()].map((split) => split.slice(0, split.indexOf("/")))), offsets };
}

function box(element, { x, y, width, height }) {
  Object.assign(element.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
}

function describeChannel(view, name, saved) {
  const { queue, priority, to } = view.channels[name];
  const words = queue.slice(0, QUEUE_SPOKEN).map((element) => `${nameOf(element)}${saved.has(element.id) ? " (saved)" : ""}`);
  words.unshift(...priority.map((checkpoint) => `barrier ${checkpoint} before the queue`));
  if (queue.length > QUEUE_SPOKEN) words.push(`${queue.length - QUEUE_SPOKEN} more`);
  const blocked = view.subtasks[to].inputs[name]?.blocked ? ", blocked" : "";
  return `Channel ${arrow(name)}${blocked}: ${words.length ? words.join(", ") : "empty"}`;
}
