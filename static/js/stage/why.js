// The server's facts as sentences whose names are links: hover and focus point at the stage, a click selects there.

import { html } from "../svg.js";
import { arrow } from "../selectors.js";

const escapeRule = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const names = new WeakMap();

/** Every name of this view that a sentence may hold: [{rule, name -> item}]. */
function namesOf(view) {
  let known = names.get(view.graph);
  if (!known) {
    const items = new Map();
    for (const [id, subtask] of Object.entries(view.subtasks)) {
      items.set(id, id);
      for (const split of Object.values(subtask.splits)) items.set(split.name, id);
    }
    for (const channel of Object.keys(view.channels)) items.set(arrow(channel), channel);
    const longest = [...items.keys()].sort((a, b) => b.length - a.length);
    known = { items, rule: new RegExp(`(?<![\\w/-])(${longest.map(escapeRule).join("|")})(?![\\w/-])`) };
    names.set(view.graph, known);
  }
  return known;
}

const AN_ELEMENT = /(the watermark \S+)(?= is (?:first|number))/;
const A_SPAN = /^(\S+–\S+?)(?= (?:fires|of|is)\b)/;

const link = (text, item) => html`<button class="ref" type="button" data-item="${item}">${text}</button>`;

/** The parts of a sentence, with links where it names what is on the stage. */
export function linked(view, { sentence, kind, id }) {
  const { items, rule } = namesOf(view);
  const own = kind === "element" ? [AN_ELEMENT, id] : kind === "window" ? [A_SPAN, id.slice(0, id.indexOf("/"))] : null;
  const byName = (text) => text.split(rule).map((part) => (items.has(part) ? link(part, items.get(part)) : part));
  if (!own || !own[0].test(sentence)) return html`${byName(sentence)}`;
  const [before, name, after] = sentence.split(own[0]);
  return html`${byName(before)}${link(name, own[1])}${byName(after)}`;
}

/** Links in `element` point and select. A link to an element of a queue points at it and selects its channel. */
export function pointFrom(element, send, read) {
  const itemAt = ({ target }) => target.closest?.("[data-item]")?.dataset.item ?? null;
  for (const on of ["mouseover", "focusin"]) element.addEventListener(on, (event) => itemAt(event) && send({ type: "point", item: itemAt(event) }));
  for (const off of ["mouseout", "focusout"]) element.addEventListener(off, (event) => itemAt(event) && send({ type: "point", item: null }));
  element.addEventListener("click", (event) => {
    const item = itemAt(event);
    if (item === null) return;
    const { view, selection } = read();
    if (view.subtasks[item]) send({ type: "select", selection: { subtask: item, channel: null } });
    else {
      const channel = view.channels[item] ? item : item.slice(0, item.lastIndexOf(":"));
      if (view.channels[channel]) send({ type: "select", selection: { subtask: selection.subtask, channel } });
    }
  });
}
