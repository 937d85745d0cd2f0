// Beside the lab's text: three things to do first, and the parameters of the job.

import { html, setHtml } from "../svg.js";

let form;
let first;
let read;

export function mount(element, { store, send }) {
  read = () => store.state;
  first = element.querySelector("[data-first]");
  form = element.querySelector("[data-parameters]");
  first.addEventListener("click", (event) => {
    const button = event.target.closest("[data-intent]");
    if (button) send(JSON.parse(button.dataset.intent));
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (form.reportValidity()) send({ type: "start_again", parameters: values() });
  });
  form.addEventListener("input", () => mark());
  pointFrom(element.querySelector(".prose"), Object.keys(store.state.view.subtasks ?? {}), send);
  setHtml(form, formHtml(store.state));
  form.hidden = !store.state.parameters.length && !offersSchemes(store.state);
  mark();
}

/** Names of subtasks in the text point at the stage, on hover and on focus, and select on click. */
function pointFrom(text, ids, send) {
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    const parts = node.textContent.split(/([a-z][\w-]*\[\d+\])/);
    if (!parts.some((part) => ids.includes(part))) continue;
    node.replaceWith(...parts.map((part) => (ids.includes(part) ? reference(part) : part)));
  }
  const point = ({ target }) => {
    if (target.dataset?.subtask) send({ type: "point", item: target.dataset.subtask });
  };
  for (const on of ["mouseover", "focusin"]) text.addEventListener(on, point);
  for (const off of ["mouseout", "focusout"]) text.addEventListener(off, () => send({ type: "point", item: null }));
  text.addEventListener("click", ({ target }) => {
    if (target.dataset.subtask) send({ type: "select", selection: { subtask: target.dataset.subtask, channel: null } });
  });
}

function reference(id) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "ref", textContent: id });
  button.dataset.subtask = id;
  return button;
}

/** The name of the snapshot scheme among the parameters of a run. */
const SCHEME = "@scheme";

/** The scheme of the job itself is not said: it may change with the lab. */
function values() {
  const { parameters, scheme, schemeChosen } = read();
  const chosen = Object.fromEntries(parameters.map(({ name }) => [name, Number(form.elements[name].value)]));
  const select = form.elements[SCHEME];
  if (select && (schemeChosen || select.value !== scheme.name)) chosen[SCHEME] = select.value;
  return chosen;
}

function mark() {
  const { parameters, scheme, schemes } = read();
  const select = form.elements[SCHEME];
  const changed = parameters.some(({ name, value }) => Number(form.elements[name].value) !== value);
  form.classList.toggle("changed", changed || Boolean(select && select.value !== scheme.name));
  if (select) form.querySelector("[data-sentence]").textContent = schemes.find(({ name }) => name === select.value)?.sentence ?? "";
}

/** A choice of one is none. */
const offersSchemes = ({ schemes, scheme }) => schemes.some(({ name }) => name !== scheme?.name);

function schemeHtml({ schemes, scheme }) {
  const options = schemes.some(({ name }) => name === scheme.name) ? schemes : [{ name: scheme.name, label: scheme.name.replaceAll("_", " ") }, ...schemes];
  return html`<label class="wide"><span>Snapshot scheme</span><select name="${SCHEME}" aria-describedby="scheme-sentence">${options.map(({ name, label }) => html`<option value="${name}" ${name === scheme.name ? html`selected` : ""}>${label}</option>`)}</select></label><p class="note" id="scheme-sentence" data-sentence></p>`;
}

function formHtml({ parameters, ...state }) {
  return html`${offersSchemes(state) && schemeHtml(state)}${parameters.map((one) => html`<label><span>${one.label}</span><span class="field">${inputHtml(one)}</span></label>`)}<div class="again"><button class="btn primary" type="submit">Start again with this</button><span class="note">a new run; this one stays</span></div>`;
}

/** A number, or a choice where its values have names. */
function inputHtml({ name, minimum, maximum, value, unit, choices }) {
  if (!choices?.length) return html`<input type="number" name="${name}" min="${minimum}" max="${maximum}" step="1" required value="${value}"><i>${unit}</i>`;
  return html`<select name="${name}">${choices.map((text, i) => html`<option value="${minimum + i}" ${minimum + i === value ? html`selected` : ""}>${text}</option>`)}</select>`;
}

const FIRST_OF_NETWORK = [
  ["Run until a snapshot completes", { type: "run_until", until: { kind: "snapshot_completes" } }],
  ["Run to the end", { type: "run_until", until: { kind: "end" } }],
];

/** By then the channels of a small job hold something. */
const FILLED = 150;

const hasWindows = (view) => view.graph.vertices.some(({ kind }) => kind === "window");

const FIRST = (view) => view.network ? FIRST_OF_NETWORK : [
  hasWindows(view) ? ["Run until a window fires", { type: "run_until", until: { kind: "window_fires" } }] : [`Run until step ${FILLED}`, { type: "run_until", until: { kind: "step", step: FILLED } }],
  ["Take a checkpoint", { type: "checkpoint_through" }],
  [`Fail ${victim(view)}`, { type: "command", command: { kind: "fail", subtask: victim(view) } }],
];

/** The second subtask that keeps state, else the last one. */
function victim(view) {
  const ids = Object.keys(view.subtasks);
  return ids.filter((id) => view.subtasks[id].key_groups)[1] ?? ids[ids.length - 1];
}

export function update(state, changes) {
  if (!["view", "actions", "run", "position"].some((name) => changes.has(name)) || !state.view) return;
  const possible = (kind) => state.actions.commands.find((one) => one.kind === kind)?.possible ?? true;
  const foreign = Boolean(state.run && !state.run.mine);
  const off = [!state.view.network && !hasWindows(state.view) && state.position >= FILLED, !possible("checkpoint"), !possible("fail")];
  setHtml(first, html`<h2>Try this first</h2>${FIRST(state.view).map(([text, intent], i) => html`<button class="btn line" type="button" data-intent="${JSON.stringify(intent)}" ${off[i] || foreign ? html`disabled` : ""}>${text}</button>`)}`);
}
