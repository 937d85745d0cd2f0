// A process network as tables: processes, links with what is on them, and every message, for those who do not see the stage.

import { html, setHtml } from "../svg.js";
import { arrowTable } from "../stage/space_time_chart.js";
import { itemName, networkDiagram, route } from "../stage/network_diagram.js";

let body;

export function mount(element) {
  body = element;
}

export function update({ view, head, tableShown }, changes) {
  if (!["view", "tableShown"].some((name) => changes.has(name))) return;
  body.hidden = !tableShown;
  if (!tableShown) return;
  setHtml(body, html`<table class="table"><caption>Processes after step ${view.step}</caption><thead><tr><th scope="col">process</th><th scope="col">tokens</th><th scope="col">sends made</th><th scope="col">markers owed</th></tr></thead><tbody>${Object.entries(view.processes).map(([id, one]) =>
    html`<tr><th scope="row">${id}</th><td class="num">${one.tokens}</td><td class="num">${one.sent} of ${one.sends}</td><td>${one.owed.length ? one.owed.join(", ") : "none"}</td></tr>`)}</tbody></table><table class="table"><caption>Links after step ${view.step}, head first</caption><thead><tr><th scope="col">link</th><th scope="col">order</th><th scope="col" class="wide">on it</th></tr></thead><tbody>${Object.entries(view.links).map(([name, one]) =>
    html`<tr><th scope="row">${route(name)}</th><td>${one.fifo ? "kept" : "not kept"}</td><td class="text wide">${one.queue.length ? one.queue.map((number) => itemName(view.messages[number])).join(", ") : "nothing"}</td></tr>`)}</tbody></table>${
    arrowTable(networkDiagram(view, head, { whole: true }), `Messages up to step ${view.step}`)}`);
}
