// What each snapshot of a network has recorded so far: the tokens of the processes, the state of the links, and what it is worth.

import { html, icons, setHtml } from "../svg.js";
import { count } from "../format.js";
import { itemName, route, verdictOf } from "../stage/network_diagram.js";

export const title = "Snapshots";

const begun = (view) => Object.entries(view.snapshots).filter(([, one]) => one.started !== null);

export function summary({ view }) {
  const all = begun(view);
  if (!all.length) return "none yet";
  const [number, newest] = all[all.length - 1];
  if (newest.ended !== null) return `${number} complete`;
  const done = Object.values(newest.processes).filter((part) => part.step !== null).length;
  return `${number} under way, ${done} of ${Object.keys(newest.processes).length} recorded`;
}

let body;

export function mount(element) {
  body = element;
}

export function update({ view }, changes) {
  if (!changes.has("view")) return;
  const all = begun(view);
  setHtml(body, all.length ? html`${all.reverse().map(([number, one]) => snapshotHtml(view, number, one))}` : html`<p class="note">No snapshot yet. ${Object.entries(view.snapshots).map(([number, { initiators }]) => `Snapshot ${number} may be started by ${initiators.join(" or ")}.`).join(" ")}</p>`);
}

function snapshotHtml(view, number, one) {
  const links = Object.entries(one.links);
  const held = links.reduce((sum, [, link]) => sum + link.held.reduce((a, b) => a + b, 0), 0);
  const own = Object.values(one.processes).reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
  return html`<h3>Snapshot ${number}${one.ended === null ? ", under way" : ""}</h3><table class="table"><caption class="vh">What snapshot ${number} has recorded</caption><thead><tr><th scope="col">of</th><th scope="col" class="right">recorded</th><th scope="col" class="wide">state</th></tr></thead><tbody>${Object.entries(one.processes).map(([id, { tokens, step }]) =>
    html`<tr class="${step === view.step ? "changed" : ""}"><th scope="row">${id}</th><td class="num right">${tokens ?? "–"}</td><td class="wide">${step === null ? "has not recorded" : `in step ${step}`}</td></tr>`)}${links.map(([name, link]) =>
    html`<tr><th scope="row">${route(name)}</th><td class="num right">${link.held.length ? link.held.join(" + ") : link.status === "waiting" ? "–" : "0"}</td><td class="wide">${STATES[link.status]}</td></tr>`)}<tr><th scope="row">together</th><td class="num right">${own + held}</td><td class="wide">${one.ended === null ? `so far, of ${view.network.total}` : html`of ${count(view.network.total, "token")} ${own + held === view.network.total ? icons.check : html`<span class="bad">${icons.cross}</span>`}`}</td></tr></tbody></table>${one.outcome ? outcomeHtml(view, one) : ""}`;
}

const STATES = { waiting: "its receiver has not recorded", recording: "records until the marker comes", closed: "complete" };

function outcomeHtml(view, one) {
  const { kind, text } = verdictOf(one, view.network.total);
  const { order } = one.outcome;
  return html`<div class="why ${kind}"><p>${text}</p>${order.length ? html`<p class="note">An order of the same actions in which the network is in this state: ${order.map((action, i) => html`${i ? ", " : ""}${words(action)}`)}.</p>` : ""}${
    one.outcome.missed.length ? html`<p class="note">In no record: ${one.outcome.missed.map((number) => `${itemName(view.messages[number])} of ${route(view.messages[number].link)}`).join(", ")}.</p>` : ""}</div>`;
}

/** "P sends", "R > P delivers". */
function words(action) {
  const [kind, rest] = [action.slice(0, action.indexOf(":")), action.slice(action.indexOf(":") + 1)];
  return kind === "send" ? `${rest} sends` : `${route(rest)} delivers`;
}
