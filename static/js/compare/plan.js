// The commands that both runs get: what became of each, a way to take it out, and a way to add one at the cursor.

import { html, setHtml } from "../svg.js";
import { count, list, number } from "../format.js";

/** Another address: the same comparison, with `change(query)` made, at the same cursor. */
function address(state, change) {
  const query = new URLSearchParams(state.query);
  change(query);
  query.set("by", state.by);
  query.set("at", state.at);
  return `${state.urls.page}?${query}`;
}

function without(query, text) {
  const kept = query.getAll("do").filter((one) => one !== text);
  query.delete("do");
  for (const one of kept) query.append("do", one);
}

/** What to do first where nothing is given: a checkpoint at a third of the input and a failure at two thirds. */
export function drawFirst(element, state) {
  const { summary, victim } = state;
  element.hidden = !summary || summary.plan.length > 0;
  if (element.hidden) return;
  const entries = summary.by.input.length - 1;
  const [third, twoThirds] = [Math.ceil(entries / 3), Math.ceil((2 * entries) / 3)];
  const both = address({ ...state, by: "input", at: twoThirds }, (query) => {
    query.append("do", `checkpoint@${third}`);
    query.append("do", `fail,subtask=${victim}@${twoThirds}`);
  });
  setHtml(element, html`<span>Neither run is disturbed, so there is nothing to compare yet.</span> <a class="btn primary" href="${both}">Add a checkpoint and a failure</a>`);
}

export function drawPlan(element, state) {
  const { summary, targets } = state;
  const commands = summary?.plan ?? [];
  setHtml(element, html`${commands.length
    ? html`<ol>${commands.map((one) => html`<li><span><b>${one.words}</b> when ${count(one.position, "entry", "entries")} of input were read: ${fate(one)}</span> <a class="btn" href="${address(state, (query) => without(query, one.text))}" aria-label="Take out: ${one.words}">Take out</a></li>`)}</ol>`
    : html`<p>${summary ? "None yet. Without a checkpoint both schemes do the same." : "…"}</p>`}<form data-add><label><span class="vh">Command</span><select name="command">${options(targets)}</select></label> <button class="btn line">Give it where the cursor stands</button></form>`);
}

function fate({ given, why }) {
  if (given[0] !== null && given[1] !== null) return html`step <span class="num">${number(given[0])}</span> of A, step <span class="num">${number(given[1])}</span> of B.`;
  return list(given.map((step, i) => (step === null ? `not given in ${"AB"[i]}: ${why[i].replace(/\.$/, "")}` : `step ${number(step)} of ${"AB"[i]}`))) + ".";
}

const SIZES_SHOWN = 4;

function options({ savepoint, stop, refuse_upload: refuse, fail, rescale, rescale_from_checkpoint: fromCheckpoint }) {
  const sizes = ({ parallelism, maximum }) => Array.from({ length: Math.min(SIZES_SHOWN, maximum) }, (_, i) => i + 1).filter((n) => n !== parallelism);
  const value = (text) => encodeURIComponent(text).replaceAll("%5B", "[").replaceAll("%5D", "]");
  return html`<option value="checkpoint">Trigger a checkpoint</option>${savepoint && html`<option value="savepoint">Take a savepoint</option>`}${
    stop && html`<option value="stop,drain=false">Stop with a savepoint</option><option value="stop,drain=true">Stop with a savepoint, drained</option>`}${(fail?.subtasks ?? []).map((id) => html`<option value="fail,subtask=${value(id)}">Fail ${id}</option>`)}${(rescale?.operators ?? []).flatMap((operator) =>
    sizes(operator).map((n) => html`<option value="rescale,operator=${value(operator.id)},parallelism=${n}">Rescale ${operator.id} to ${n}</option>`))}${(fromCheckpoint?.operators ?? []).flatMap((operator) =>
    sizes(operator).map((n) => html`<option value="rescale_from_checkpoint,operator=${value(operator.id)},parallelism=${n}">Rescale ${operator.id} to ${n} from the last checkpoint</option>`))}${(refuse?.subtasks ?? []).map((id) => html`<option value="refuse_upload,subtask=${value(id)}">Refuse the next snapshot of ${id}</option>`)}`;
}

/** The address with a command at the cursor. By steps the moment is that of run A. */
export function withCommand(state, command) {
  const { position, since } = state.shown.sides[0];
  const length = state.summary.by.input.length;
  const steps = state.by === "steps" || state.at === length ? since : 0;
  return address(state, (query) => query.append("do", `${command}@${position}${steps ? `+${steps}` : ""}`));
}
