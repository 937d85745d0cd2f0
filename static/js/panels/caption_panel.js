// What just happened, in one sentence; and what went wrong, where something did.

import { html, icons, setHtml } from "../svg.js";
import { count, list } from "../format.js";

let parts;

export function mount(element, { send }) {
  setHtml(element, html`<p class="said" aria-live="polite" aria-atomic="true"><span class="number"></span><span class="sentence"></span></p><p class="aside" role="status"></p><p class="vh" role="status" data-news></p><div class="error" role="alert" hidden><p></p><button class="btn line" type="button" data-close>Close</button></div>`);
  const find = (selector) => element.querySelector(selector);
  parts = { said: find(".said"), number: find(".number"), sentence: find(".sentence"), aside: find(".aside"), news: find("[data-news]"), error: find(".error"), text: find(".error p") };
  element.addEventListener("click", (event) => {
    if (event.target.closest("[data-close]")) send({ type: "dismiss" });
    if (event.target.closest("[data-clear]")) send({ type: "forget_lineage" });
    if (event.target.closest("[data-reload]")) location.reload();
  });
}

export function update(state, changes) {
  if (changes.has("last") || changes.has("view")) {
    setHtml(parts.number, html`${state.position}`);
    setHtml(parts.sentence, html`${state.last?.say || "Nothing has happened yet. Step, or choose what happens first."}`);
  }
  if (changes.has("play")) parts.said.setAttribute("aria-live", state.play.state === "playing" && state.play.rate > 1 ? "off" : "polite");
  if (["play", "connection", "run", "position", "head", "waiting", "lineage", "invariants"].some((name) => changes.has(name))) setHtml(parts.aside, aside(state));
  if (changes.has("news")) parts.news.textContent = state.news;
  if (changes.has("error")) showError(state.error);
}

function aside({ connection, play, run, position, head, lineage, invariants, rules }) {
  if (connection.status === "blocked") {
    return html`<b>Websockets seem to be blocked here.</b> The page cannot reach its run through this network or proxy; the picture stays as it is. Still trying.`;
  }
  if (connection.status === "lost") return html`<b>Connection lost.</b> The picture stays; trying again ${connection.detail}.`;
  if (connection.status === "closed") return html`<b>The connection was ended.</b> Reload the page to come back to this run.`;
  if (run && !run.mine) return html`You watch a run that belongs to somebody else. A share link makes a copy that you can drive.`;
  if (lineage) return lineageHtml(lineage);
  const broken = invariants.find((one) => one.state === "violated" && one.step === position);
  if (broken) return html`<b class="bad">Violated here:</b> ${rules.find((rule) => rule.name === broken.name)?.title ?? broken.name}. ${broken.sentence}`;
  if (play.state === "running") return html`Running…`;
  if (play.why) return html`Stopped: ${play.why}.`;
  if (position < head) return html`The run was taken up to step ${head}. Step follows it; any other choice starts a branch.`;
  return "";
}

const OFFSETS_SAID = 6;

/** "Selected … built from 3 records: offsets 1, 2 and 4 of JFK." */
function lineageHtml({ state, label, origins, sentence }) {
  const clear = html`<button class="ref" type="button" data-clear>clear</button>`;
  if (state === "refused") return html`<span class="lineage"><span class="bad">${sentence}</span>${clear}</span>`;
  if (!origins) return html`Looking where <code>${label}</code> came from…`;
  const splits = new Map();
  for (const { split, offset } of origins) {
    const name = split.slice(split.indexOf("/") + 1);
    splits.set(name, [...(splits.get(name) ?? []), offset]);
  }
  const said = [...splits].map(([name, offsets]) => `${offsets.length > OFFSETS_SAID ? `${offsets.slice(0, OFFSETS_SAID - 1).join(", ")} and ${offsets.length - OFFSETS_SAID + 1} more` : list(offsets.map(String))} of ${name}`);
  return html`<span class="lineage"><span><code>${label}</code> was made of ${count(origins.length, "record")}: ${origins.length === 1 ? "offset" : "offsets"} ${said.join("; ")}</span>${clear}</span>`;
}

function showError(error) {
  parts.error.hidden = !error;
  if (!error) return;
  setHtml(parts.text, html`${icons.cross}<b>${error.sentence}</b> ${error.place ? html`<code>${error.place}</code> ` : ""}${error.mend} ${
    error.reload ? html`<button class="btn line" type="button" data-reload>Reload</button>` : ""}`);
}
