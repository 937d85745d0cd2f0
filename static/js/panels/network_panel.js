// The stage of a process network: a space-time diagram of the whole run, and beside it the network as a graph with what is on its links.

import { arrow as arrowText, isOver } from "../selectors.js";
import { html, icons, setHtml } from "../svg.js";
import { count } from "../format.js";
import { createSpaceTimeBox } from "../stage/space_time_box.js";
import { conservation, cutSentence, networkDiagram, verdictOf } from "../stage/network_diagram.js";
import { networkGraph } from "../stage/network_graph.js";

const PROJECTOR_SCALE = 1.35;
const GRAPH = 212;
const MOST_GRAPH = 260;
/** Room under the graph for its sum. */
const SUM = 62;
const NAMES = 46;

const room = { width: 0, height: 0, side: GRAPH, sideHeight: GRAPH, stacked: false };
let parts;
let read;
let box;

export function mount(element, { store, send }) {
  read = () => store.state;
  setHtml(element, html`<div class="net-stage"><div class="st-panel"><div class="st-names" aria-hidden="true"></div><div class="st-box" tabindex="0" role="img"></div></div><div class="net-side"><div class="net-graph"></div><p class="net-sum"></p></div></div><p class="st-readout" role="status"></p><ul class="st-verdicts" aria-label="Verdicts" tabindex="0"></ul><ul class="legend" aria-label="Legend"></ul>`);
  const find = (selector) => element.querySelector(selector);
  parts = { box: find(".st-box"), names: find(".st-names"), graph: find(".net-graph"), side: find(".net-side"), sum: find(".net-sum"), readout: find(".st-readout"), verdicts: find(".st-verdicts"), legend: find(".legend") };
  box = createSpaceTimeBox({
    parts,
    seek: (step) => step <= read().head && step !== read().position && send({ type: "seek", step }),
    words: (step) => read().log.sentences.get(step) ?? (step > read().position ? "lies ahead." : step ? "was passed without being shown." : "is the beginning."),
    hint: html`Each arrow is a message. Point at one, or go through them with the arrow keys; a click beside them goes to that step.`,
  });
  const measure = () => Object.assign(room, { width: parts.box.clientWidth, height: parts.box.clientHeight, side: parts.side.clientWidth, sideHeight: parts.side.clientHeight, stacked: parts.side.offsetTop > parts.box.offsetTop + 20 });
  new ResizeObserver(() => {
    measure();
    draw(read());
  }).observe(parts.box);
  measure();
  setHtml(parts.legend, html`${LEGEND.map(([picture, text]) => html`<li>${picture}${text}</li>`)}`);
}

export function update(state, changes) {
  if (["view", "head", "log", "projector", "tableShown"].some((name) => changes.has(name))) draw(state);
}

function draw(state) {
  const { view, head } = state;
  if (!room.width) return;
  const zoom = state.projector ? PROJECTOR_SCALE : 1;
  const diagram = networkDiagram(view, head);
  const notes = Object.fromEntries(diagram.lanes.map((id) => [id, view.processes[id].tokens]));
  box.show(diagram, { width: room.width, height: Math.max(0, room.height - 4) }, { zoom, notes, namesWidth: NAMES });
  parts.box.setAttribute("aria-label", spoken(view, diagram));
  const side = Math.max(130, Math.min(room.side, room.stacked ? MOST_GRAPH : room.sideHeight - SUM, MOST_GRAPH));
  setHtml(parts.graph, networkGraph(view, { width: side, height: side, acted: actedIn(state) }));
  setHtml(parts.sum, sumHtml(view));
  setHtml(parts.verdicts, verdictsHtml(view));
}

/** The process that the last step happened at. */
function actedIn({ view, last }) {
  for (const event of last?.events ?? []) if (event.process ?? event.target) return event.e === "TokensSent" || event.e === "MarkerSent" ? event.source : event.process ?? event.target;
  const newest = view.messages.findLast((one) => one.sent === view.step || one.delivered === view.step);
  return newest ? (newest.delivered === view.step ? newest.to : newest.from) : null;
}

// ---- words

function sumHtml(view) {
  const { processes, links, total, whole } = conservation(view);
  const terms = [...processes, ...links.map(([name, tokens]) => [`on ${arrowText(name)}`, tokens])];
  return html`${terms.map(([name, tokens], i) => html`${i ? " + " : ""}<span>${name}&nbsp;<b class="num">${tokens}</b></span>`)} = <span><b class="num">${total}</b> of ${count(whole, "token")} ${total === whole ? icons.check : icons.cross}</span>`;
}

const SIGNS = { ok: icons.check, never: icons.wait, wrong: icons.cross };
const WORDS = { ok: "occurred", never: "never occurred", wrong: "wrong" };

function verdictsHtml(view) {
  const rows = Object.entries(view.snapshots).filter(([, one]) => one.started !== null).reverse().map(([number, one]) => {
    if (one.ended === null) return html`<li><b>${icons.wait}cut ${number}</b><span>${cutSentence(number, one)}${isOver(view) ? " It never will be." : ""}</span></li>`;
    const { kind, text } = verdictOf(one, view.network.total);
    return html`<li class="${kind}"><b>${SIGNS[kind]}${WORDS[kind]}</b><span>${text}</span></li>`;
  });
  return rows.length ? html`${rows}` : html`<li><span>No snapshot has been started. The processes that may start one are among the next actions.</span></li>`;
}

function spoken(view, diagram) {
  const cuts = diagram.cuts.map((cut) => cut.title);
  const under = diagram.arrows.filter((arrow) => arrow.delivered === null).length;
  return `Space-time diagram after step ${view.step}: ${count(diagram.lanes.length, "process", "processes")}, ${count(diagram.arrows.length, "message")}, ${under} under way. ${cuts.join(" ")} Arrow keys go from message to message, Enter to its step.`;
}

const picture = (body, width = 34) => html`<svg width="${width}" height="18" viewBox="0 -9 ${width} 18" aria-hidden="true">${body}</svg>`;
const LEGEND = [
  [picture(html`<g class="st-arrow tokens"><path class="st-shaft" d="M1,0H32"/><path class="st-head" transform="translate(33,0)" d="M0,0L-8.5,-3.7V3.7Z"/><circle class="st-disc" cx="12" r="7.5"/><text class="st-text" x="12" y="0.5">2</text></g>`), "tokens"],
  [picture(html`<g class="st-arrow marker"><path class="st-shaft" d="M1,0H32"/><path class="st-head open" transform="translate(33,0)" d="M-7.5,-4L0,0L-7.5,4"/><rect class="st-flag" x="6" y="-6.5" width="13" height="13" rx="2"/><text class="st-text flag" x="12.5" y="0.5">1</text></g>`), "marker"],
  [picture(html`<path class="st-held" d="M1,0H32"/><g class="st-arrow tokens"><path class="st-shaft" d="M1,0H32"/><circle class="st-ring" cx="15" r="8.4"/><circle class="st-disc" cx="15" r="7.5"/></g>`), "state of a link"],
  [picture(html`<g class="st-cut"><path class="st-line" d="M1,6L14,0L32,-6"/><rect class="st-point" x="12" y="-7" width="4" height="14" rx="1"/></g>`), "cut"],
  [picture(html`<g class="st-arrow tokens under-way"><path class="st-shaft" d="M1,0H20"/><circle class="st-open" cx="20" r="2.6"/></g>`, 26), "under way"],
  [picture(html`<g class="st-arrow tokens wrong"><path class="st-shaft" d="M1,0H30"/><path class="st-cross" d="M11,-4.5l9,9m0,-9l-9,9"/></g>`, 32), "what makes a cut wrong"],
];
