// Searches over all interleavings: what is asked, how far the search is, what came out. The form is made once and keeps what
// was typed; only what depends on the run is drawn again.

import { html, icons, setHtml } from "../svg.js";
import { count } from "../format.js";

export const title = "Explorer";

export function summary({ exploration }) {
  if (!exploration) return "all interleavings";
  const { state, counts, outcome, place } = exploration;
  switch (state) {
    case "waiting": return place ? `waiting, ${place - 1} before it` : "waiting";
    case "running": return counts ? `${number(counts.states)} states…` : "starting…";
    case "violated": return `violated in ${count(outcome.steps.length, "step")}`;
    case "exhausted": return `exhausted, ${number(counts.states)} states`;
    case "bound reached": return `bound reached: ${outcome.bound}`;
    default: return "no result";
  }
}

const number = (n) => n.toLocaleString("en");

let parts;
let read;
let tell;
/** What the form was made for: the offer, and the subtasks and operators that commands can name. */
let made = { offer: null, names: "" };

export function mount(element, { store, send }) {
  read = () => store.state;
  tell = send;
  setHtml(element, html`<p class="note">A run is one order of events out of many. The explorer looks at all of them, and says whether one breaks an invariant.</p><div class="found"></div><details class="ask-explorer"><summary class="btn line"></summary><form class="explorer"></form></details>`);
  parts = { found: element.querySelector(".found"), ask: element.querySelector(".ask-explorer"), opener: element.querySelector("summary"), form: element.querySelector("form") };
  parts.ask.open = true;
  element.addEventListener("click", ({ target }) => {
    if (target.closest("[data-stop]")) tell({ type: "stop_exploration" });
    if (target.closest("[data-open]")) tell({ type: "open_exploration" });
  });
  parts.form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!read().exploring && parts.form.reportValidity()) tell({ type: "explore", from: chosenStep(), request: request() });
  });
  parts.form.addEventListener("change", () => showWhatCounts());
}

export function update(state, changes) {
  if (changes.has("offer") || changes.has("view")) makeForm(state);
  if (!state.offer) return;
  if (changes.has("position") || changes.has("offer") || changes.has("view")) {
    setHtml(parts.form.querySelector("[data-here]"), html`step ${state.position}, where the run is now`);
  }
  if (["exploration", "offer", "runId", "exploring"].some((name) => changes.has(name))) showFound(state);
}

// ---- the form ---------------------------------------------------------------------------------------

const WAYS = {
  "breadth first": "breadth first: the shortest",
  "depth first": "depth first: fewer transitions",
  "random walks": "random walks: proves nothing",
};

/** Made again where the job has other subtasks than before; what was chosen stays. */
function makeForm({ offer, view, mutant, actions }) {
  if (!offer) return;
  const subtasks = Object.keys(view.subtasks ?? {}); // a network of processes has none, and takes no commands
  const operators = actions.commands.find((one) => one.kind === "rescale")?.operators ?? [];
  const names = JSON.stringify([subtasks, operators.map((one) => one.id)]);
  if (made.offer === offer && made.names === names) return;
  const kept = made.offer === offer ? new FormData(parts.form) : null;
  made = { offer, names };
  const { limits } = offer;
  const followed = view.network ? offer.mutants.find((one) => one.protocol === view.network.protocol)?.name : mutant?.name;
  const option = (value, text, chosen) => html`<option value="${value}" ${chosen ? html`selected` : ""}>${text}</option>`;
  const numeric = (name, label, value, most, least = 0, required = true) => html`<label class="field-row" data-for="${name}"><span>${label}</span><input type="number" name="${name}" min="${least}" max="${most}" step="1" value="${value}" ${required ? html`required` : html`placeholder="none"`}></label>`;
  const victim = subtasks.find((id) => view.subtasks[id].key_groups) ?? subtasks[0];
  setHtml(parts.form, html`<fieldset><legend>Look for a violation of</legend>${offer.invariants.map((rule, i) =>
    html`<label class="tick" title="${rule.explanation}"><input type="checkbox" name="invariants" value="${rule.name}" ${i === 0 ? html`checked` : ""}><span>${rule.title}</span></label>`)}<p class="note bad" data-none hidden>Choose at least one.</p></fieldset><fieldset><legend>Protocol</legend><label class="field-row"><span class="vh">Protocol</span><select name="mutant">${offer.right ? option("", "the right one", !followed) : ""}${offer.mutants.map((one) => option(one.name, `wrong: ${one.title.toLowerCase()}`, one.name === followed))}</select></label><p class="note" data-mutant></p></fieldset>${subtasks.length ? html`<fieldset><legend>At any time, at most</legend>${
    numeric("checkpoints", "checkpoints", 1, limits.times)}${numeric("failures", "failures of", 1, limits.times)}<label class="field-row under"><span class="vh">The subtask that fails</span><select name="victim">${subtasks.map((id) => option(id, id, id === victim))}</select></label>${
    operators.length ? html`${numeric("rescales", "rescales of", 0, limits.times)}<span class="field-row under"><select name="operator" aria-label="The operator that is rescaled">${operators.map((one) => option(one.id, one.id, one.id === view.subtasks[victim]?.vertex))}</select><span>to</span><input type="number" name="parallelism" aria-label="its new parallelism" min="1" max="8" step="1" value="2" required></span>` : ""}</fieldset>` : ""}<fieldset><legend>Search</legend><label class="field-row"><span class="vh">Way</span><select name="way">${offer.ways.map((way) => option(way, WAYS[way] ?? way, way === offer.ways[0]))}</select></label>${
    numeric("states", "distinct states, at most", Math.min(100_000, limits.states), limits.states, 1)}${numeric("depth", "steps in a row, at most", "", limits.depth, 1, false)}${numeric("walks", "walks", Math.min(1000, limits.walks), limits.walks, 1)}${numeric("walk_seed", "seed of the walks", 1, 2 ** 53 - 1)}</fieldset><fieldset><legend>From</legend><label class="tick"><input type="radio" name="place" value="start" checked><span>the beginning</span></label><label class="tick"><input type="radio" name="place" value="here"><span data-here></span></label></fieldset><button class="btn primary" type="submit">Explore</button><p class="note">At most ${count(limits.cpu_seconds, "second")} of one processor.</p>`);
  if (kept) restore(kept);
  showWhatCounts();
}

function restore(kept) {
  for (const control of parts.form.elements) {
    if (!control.name || !(kept.has(control.name) || control.type === "checkbox")) continue;
    if (control.type === "checkbox" || control.type === "radio") control.checked = kept.getAll(control.name).includes(control.value);
    else if (control.tagName !== "SELECT" || [...control.options].some((one) => one.value === kept.get(control.name))) control.value = kept.get(control.name);
  }
}

/** Which fields count for the chosen way, and what the chosen protocol does wrong. */
function showWhatCounts() {
  const { form } = parts;
  const walks = form.elements.way.value === "random walks";
  for (const [name, shown] of [["states", !walks], ["walks", walks], ["walk_seed", walks]]) form.querySelector(`[data-for="${name}"]`).hidden = !shown;
  const mutant = read().offer.mutants.find((one) => one.name === form.elements.mutant.value);
  form.querySelector("[data-mutant]").textContent = mutant ? mutant.explanation : "";
  const none = form.querySelector("[name=invariants]:checked") === null;
  form.querySelector("[data-none]").hidden = !none;
  form.querySelector("[name=invariants]").setCustomValidity(none ? "Choose at least one." : "");
}

const chosenStep = () => (parts.form.elements.place.value === "here" ? read().position : 0);

function request() {
  const { elements } = parts.form;
  const n = (name) => Number(elements[name]?.value || 0);
  const walks = elements.way.value === "random walks";
  const commands = [
    [n("checkpoints"), { kind: "checkpoint" }],
    [n("failures"), { kind: "fail", subtask: elements.victim?.value }],
    [n("rescales"), { kind: "rescale", operator: elements.operator?.value, parallelism: n("parallelism") }],
  ].filter(([times]) => times).map(([times, command]) => ({ command, times }));
  return {
    invariants: new FormData(parts.form).getAll("invariants"),
    mutant: elements.mutant.value,
    commands,
    way: elements.way.value,
    ...(walks ? { walks: n("walks"), walk_seed: n("walk_seed") } : { states: n("states") }),
    ...(elements.depth.value ? { depth: n("depth") } : {}),
  };
}

// ---- how far it is, and what came out ---------------------------------------------------------------

function showFound({ exploration, offer, exploring, runId }) {
  const busy = Boolean(exploration?.active);
  const focused = parts.found.contains(document.activeElement) || (busy && parts.form.contains(document.activeElement));
  setHtml(parts.found, exploration ? html`<section class="exploration" aria-label="Exploration">${asked(exploration, offer, runId)}${exploration.active ? progress(exploration) : result(exploration, runId)}</section>` : "");
  const wasBusy = parts.ask.classList.contains("busy");
  parts.ask.classList.toggle("busy", busy);
  parts.form.querySelector("[type=submit]").setAttribute("aria-disabled", String(exploring));
  setHtml(parts.opener, html`${icons.until}Another search`);
  parts.opener.hidden = !exploration;
  if (exploration && busy !== wasBusy) parts.ask.open = false;
  else if (!exploration) parts.ask.open = true;
  parts.ask.hidden = busy;
  // What had the focus may be gone: it goes on to what can be done now.
  if (focused && !parts.found.contains(document.activeElement)) (parts.found.querySelector("button") ?? parts.opener).focus({ preventScroll: true });
}

/** What was asked, in one sentence. */
function asked({ request: { kind, invariants, mutant, commands, way }, run, step }, offer, runId) {
  const titles = invariants.map((name) => offer.invariants.find((one) => one.name === name)?.title ?? name);
  const wrong = mutant ? offer.mutants.find((one) => one.name === mutant)?.title ?? mutant : "";
  const given = commands.map(({ command, times }) => `${count(times, SAID[command.kind])}${command.subtask ? ` of ${command.subtask}` : command.operator ? ` of ${command.operator} to ${command.parallelism}` : ""}`);
  const where = step === 0 ? "from the beginning" : `from step ${step} of ${run === runId ? "this run" : "another run"}`;
  return html`<p class="note asked"><b>${titles.join("; ")}</b> · ${wrong ? html`wrong protocol: ${wrong.toLowerCase()}` : "right protocol"} ·${kind === "job" ? ` ${given.length ? given.join(", ") : "no commands"} ·` : ""} ${way}, ${where}</p>`;
}

const SAID = { checkpoint: "checkpoint", fail: "failure", rescale: "rescale" };

function progress({ state, place, counts, states_per_second: rate, seconds }) {
  if (state === "waiting") return html`<p>${icons.wait} ${place === null ? "Waiting for its turn." : place === 1 ? "Next in the queue." : html`Waiting: ${count(place - 1, "search", "searches")} before it.`}</p>${stopButton}`;
  if (!counts) return html`<p>${icons.wait} Starting…</p>${stopButton}`;
  return html`${numbers(counts, rate, seconds)}${stopButton}`;
}

const stopButton = html`<button class="btn line" type="button" data-stop>${icons.cross}Stop</button>`;

const numbers = (counts, rate, seconds) => html`<dl class="numbers"><div><dt>distinct states</dt><dd class="num">${number(counts.states)}</dd></div><div><dt>transitions</dt><dd class="num">${number(counts.transitions)}</dd></div><div><dt>longest way</dt><dd class="num">${count(counts.depth, "step")}</dd></div>${rate ? html`<div><dt>states per second</dt><dd class="num">${number(rate)}</dd></div>` : ""}<div><dt>time</dt><dd class="num">${seconds.toFixed(seconds < 10 ? 1 : 0)} s</dd></div></dl>`;

const BOUNDS = {
  states: "the bound on distinct states",
  depth: "the bound on steps in a row",
  walks: "the number of walks",
  time: "the limit of processor time",
  memory: "the limit of memory",
  stopped: "your stop",
  abandoned: "that nobody looked at it any more",
};

function result({ request, state, outcome, counts, error, opened, states_per_second: rate, seconds }, runId) {
  const table = counts ? numbers(counts, rate, seconds) : "";
  if (state === "violated") {
    return html`<p class="verdict violated">${icons.cross}<span><b>Violated</b> after ${count(outcome.steps.length, "step")}: ${outcome.sentence}</span></p>${opened !== null && opened === runId ? html`<p class="note">This run shows it.</p>` : html`<button class="btn primary" type="button" data-open>Open it as a run</button>`}<ol class="trace" tabindex="0" aria-label="The steps to the violation">${outcome.steps.map((step) => html`<li>${step.say}</li>`)}</ol><p class="note">${shortened(outcome)}</p>${table}`;
  }
  if (state === "exhausted") {
    return html`<p class="verdict holds">${icons.check}<span><b>Exhausted</b>: every order of events was looked at, ${count(counts.states, "distinct state").replace(/^\d+/, number(counts.states))}. ${request.kind === "job" ? "Within these commands there" : "There"} is no violation.</span></p>${table}`;
  }
  if (state === "bound reached") {
    return html`<p class="verdict undecided">${icons.wait}<span><b>Bound reached</b>: ${BOUNDS[outcome.bound] ?? outcome.bound} ended the search. There was no violation so far, and nothing is proven.</span></p>${table}`;
  }
  return html`<p class="verdict violated">${icons.cross}<span><b>No result.</b> ${error?.sentence} ${error?.mend}</span></p>`;
}

function shortened({ found, steps, minimal }) {
  const less = found > steps.length ? `The search found ${count(found, "step")}; what is not needed was left out. ` : "";
  return `${less}${minimal ? "None of these steps can be left out." : "There was no time to leave out what is not needed."}`;
}
