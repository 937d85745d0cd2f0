// What can happen next, numbered, and what cannot, with the reason.

import { arrow, emitsResults, isOver, senderOf } from "../selectors.js";
import { html, icons, setHtml } from "../svg.js";
import { inline, markOf, priorityMark } from "../glyphs.js";

const NUMBERED = 9;

let body;

export function mount(element, { send }) {
  body = element;
  element.addEventListener("click", (event) => {
    const button = event.target.closest("[data-action]");
    if (button && button.getAttribute("aria-disabled") !== "true") send({ type: "choose", action: button.dataset.action });
  });
}

export function update(state, changes) {
  if (!["actions", "position", "head", "play", "run"].some((name) => changes.has(name))) return;
  const { possible, impossible } = state.actions;
  const recorded = state.position < state.head;
  const wait = state.run && !state.run.mine;
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.action : null;
  const changed = setHtml(body, html`<section class="column" aria-labelledby="possible-head"><h2 id="possible-head"><b>Possible next</b> <span>${possible.length}</span><span class="right">${
    possible.length ? (recorded ? "any other starts a branch" : "") : ""}</span></h2>${
    possible.length
      ? html`<ol tabindex="-1">${ordered(possible).map((action, i) => possibleHtml(state, action, i, recorded, wait))}</ol>`
      : html`<p class="none">${state.view && isOver(state.view) ? `${state.view.job ? `The job has finished${state.view.job.reason ? `, ${state.view.job.reason}` : ""}: n` : "N"}othing more can happen.` : "Nothing can happen now."}</p>`
  }</section><section class="column" aria-labelledby="impossible-head"><h2 id="impossible-head"><b>Not possible now</b> <span>${impossible.length}</span></h2>${
    impossible.length
      ? html`<ul tabindex="0" aria-labelledby="impossible-head">${impossible.map((action) => impossibleHtml(state, action))}</ul>`
      : html`<p class="none">Nothing is blocked, full or waiting.</p>`
  }</section>`);
  if (changed && focused !== null) refocus(focused);
}

function refocus(id) {
  const same = [...body.querySelectorAll("[data-action]")];
  (same.find((button) => button.dataset.action === id) ?? same[0])?.focus({ preventScroll: true });
}

/** The one that Step would take comes first. */
export const ordered = (possible) => [...possible].sort((a, b) => b.default - a.default);

function possibleHtml(state, action, i, recorded, wait) {
  const next = action.default;
  return html`<li><button type="button" class="act${next ? " next" : ""}" data-action="${action.id}" aria-disabled="${wait ? "true" : "false"}">${
    i < NUMBERED ? html`<kbd>${i + 1}</kbd>` : html`<span></span>`}<span class="picture">${picture(state.view, action)}</span><span class="what" title="${action.element?.text ?? ""}">${words(action)}</span><span class="hint">${
    next ? (recorded ? "as recorded" : "Step") : ""}</span></button></li>`;
}

const REASONS = { credit: icons.credit, deadlock: icons.credit, alignment: icons.lock, priority: icons.overtake, paused: icons.pause, stopping: icons.stop };

function impossibleHtml(state, action) {
  const { reason } = action;
  return html`<li class="act off" title="${action.label}: ${reason.sentence}"><span class="picture">${picture(state.view, action)}</span><span class="what">${words(action, false)}</span><span class="reason ${reason.code}">${REASONS[reason.code] ?? icons.wait}<span>${reason.sentence}</span></span></li>`;
}

/** The label, its route in a lighter tone: what moves matters more than where. */
function words({ label, channel }, withRoute = true) {
  const route = channel ? arrow(channel) : "";
  if (!route || !label.endsWith(route)) return label;
  return html`${label.slice(0, -route.length)}${withRoute ? html`<i>${route}</i>` : ""}`;
}

const OTHERS = {
  read: icons.read, ack: icons.up, trigger: icons.down, restart: icons.again, clock: icons.wait, timer: icons.wait,
  upload: icons.upload, switch: icons.overtake, expire: icons.wait, abort: icons.cross,
};

function picture(view, action) {
  if (action.message) return inline(action.message.marker ? { kind: "barrier", label: String(action.message.marker) } : { kind: "record", code: String(action.message.tokens), hue: null });
  if (action.element) return inline(markOf(action.element, action.channel ? emitsResults(view, senderOf(action.channel)) : false));
  if (action.kind === "trigger") return inline({ kind: "barrier", label: String(action.checkpoint) });
  if (action.kind === "barrier") return inline(priorityMark(action.checkpoint));
  return OTHERS[action.kind] ?? icons.step;
}
