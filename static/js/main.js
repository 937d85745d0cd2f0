// Wiring only: reads what the server put into the page, makes the store, mounts the panels, connects them to the run.

import { createStore, drawOnChange } from "./store.js";
import { createTransport } from "./transport.js";
import { createDriver } from "./driver.js";
import { createInspector } from "./inspector.js";
import { copyText, mountHeader } from "./header.js";
import { listen } from "./keyboard.js";
import { firstChoice } from "./messages.js";
import { bar } from "./barred.js";
import { mountCards } from "./cards.js";
import { post } from "./post.js";
import { setTimes } from "./format.js";
import { setKeys } from "./glyphs.js";
import { settings } from "./settings.js";
import { resultToTrace } from "./selectors.js";
import { startTrail } from "./trail.js";
import * as stage from "./panels/stage_panel.js";
import * as table from "./panels/table_panel.js";
import * as caption from "./panels/caption_panel.js";
import * as actions from "./panels/actions_panel.js";
import * as transportPanel from "./panels/transport_panel.js";
import * as timeline from "./panels/timeline_panel.js";
import * as rail from "./panels/rail_panel.js";
import * as eventTime from "./panels/event_time_panel.js";
import * as state from "./panels/state_panel.js";
import * as checkpoints from "./panels/checkpoints_panel.js";
import * as invariants from "./panels/invariants_panel.js";
import * as explorer from "./panels/explorer_panel.js";
import * as keyGroups from "./panels/key_groups_panel.js";
import * as results from "./panels/results_panel.js";
import * as log from "./panels/log_panel.js";
import * as network from "./panels/network_panel.js";
import * as networkTable from "./panels/network_table_panel.js";
import * as spaceTime from "./panels/space_time_panel.js";
import * as snapshots from "./panels/snapshots_panel.js";

const boot = JSON.parse(document.getElementById("boot").textContent);
const byId = (id) => document.getElementById(id);
const root = document.documentElement;
const { preview } = boot;
const SCHEME = "@scheme";
const isNetwork = boot.lab.kind === "network";
setTimes({ zone: boot.time_zone_minutes, format: boot.time_format });
setKeys(Object.keys(boot.keys ?? {}));

/** The picture in the page is the beginning of a run; where the visitor left it comes over the socket. */
const firstSentence = boot.run === null ? preview.say ?? "" : "Opening your run where you left it…";

const store = createStore({
  lab: boot.lab,
  urls: boot.urls,
  parameters: boot.parameters.map((one) => ({ ...one, value: boot.values?.[one.name] ?? one.default })),
  scheme: preview.scheme,
  schemes: boot.schemes,
  schemeChosen: SCHEME in (boot.values ?? {}),
  seed: boot.seed,
  runId: boot.run,
  run: null,
  view: preview.view,
  before: null,
  last: { step: preview.step, say: firstSentence, action: null, events: [] },
  position: preview.step,
  head: preview.head,
  actions: bar(preview.actions, boot.question?.forbidden),
  marks: preview.marks ?? [],
  mutant: boot.mutant,
  rules: boot.rules,
  invariants: [],
  switched: new Set(),
  offer: null,
  exploration: null,
  exploring: false,
  news: "",
  log: { sentences: new Map(preview.step && preview.say ? [[preview.step, preview.say]] : []) },
  play: { state: "paused", rate: 2, why: "" },
  connection: { status: boot.run === null ? "none" : "connecting", detail: "" },
  waiting: null,
  error: null,
  selection: { subtask: firstChoice(preview.view), channel: null },
  pointed: null,
  trail: startTrail(preview.step),
  question: null,
  lineage: null,
  diagram: null,
  checkpoint: null,
  tableShown: false,
  projector: settings.read("projector") === "on",
  theme: root.dataset.theme,
  inspectorWidth: 0,
  zone: boot.time_zone_minutes,
  asked: boot.question,
});

let driver;
let header;
const transport = createTransport({
  have: () => (store.state.run?.id === store.state.runId ? store.state.position : null),
  onMessage: (message) => driver.onMessage(message),
  onStatus: (status, detail) => driver.onStatus(status, detail),
});
driver = createDriver({
  store,
  transport,
  post: (url, body) => post(url, body, boot.csrf),
  go: (url) => location.assign(url),
  copy: async (address) => {
    await copyText(address);
    header.shared();
  },
  fetchJson: async (url) => (await fetch(url)).json().catch(() => null),
});
const { send } = driver;
const CLOSED_AT_FIRST = new Set(["invariants", "explorer", "spacetime"]);
const context = { store, send };

const panels = [
  [isNetwork ? network : stage, "stage-panel"], [isNetwork ? networkTable : table, "table-panel"], [caption, "caption"], [actions, "actions"],
  [transportPanel, "transport"], [timeline, "timeline"], [rail, "rail"],
];
for (const [panel, id] of panels) panel.mount(byId(id), context);
header = mountHeader(byId("head"), byId("keys"), { ...context, settings });
const sections = isNetwork
  ? { snapshots, invariants, explorer, log }
  : { time: eventTime, state, checkpoints, spacetime: spaceTime, invariants, explorer, groups: keyGroups, results, log };
const inspector = createInspector(byId("inspector"), sections, context, {
  read: (id) => (settings.read(`panel-${id}`) ?? (CLOSED_AT_FIRST.has(id) ? "closed" : "open")) !== "closed",
  write: (id, open) => settings.write(`panel-${id}`, open ? "open" : "closed"),
});

const rails = byId("rail");
mountCards(rails, {
  token: boot.csrf,
  where: () => ({ run: store.state.runId, step: store.state.position }),
  go: (url) => location.assign(url),
  moved: showProgress,
});
rails.addEventListener("click", (event) => {
  const button = event.target.closest("[data-until]");
  if (button) send(JSON.parse(button.dataset.until));
});

/** Points of each part, where its title stands. */
async function showProgress() {
  const places = [...rails.querySelectorAll("[data-progress]")];
  if (!places.length) return;
  const answer = await fetch(boot.urls.progress);
  if (!answer.ok) return;
  const { parts } = await answer.json();
  for (const place of places) {
    const part = parts.find((one) => one.part === place.dataset.progress);
    place.textContent = part ? `${part.answered} of ${part.questions} answered, ${part.points} of ${part.of} points` : "";
  }
}
showProgress();

const app = byId("app");
function fold(side, folded = !app.classList.contains(`${side}-folded`)) {
  app.classList.toggle(`${side}-folded`, folded);
  for (const button of document.querySelectorAll(`[data-fold="${side}"]`)) button.setAttribute("aria-expanded", String(!folded));
}
function foldAndKeep(side) {
  fold(side);
  settings.write(side, app.classList.contains(`${side}-folded`) ? "folded" : "open");
}
/** A projector gets the whole width for the stage; what was open before comes back afterwards. */
function foldForType(projector) {
  for (const side of ["rail", "inspector"]) fold(side, projector || settings.read(side) === "folded");
}

function draw(now, changes) {
  if (changes.has("projector")) foldForType(now.projector);
  if (changes.has("zone")) setTimes({ zone: now.zone });
  for (const [panel] of panels) panel.update(now, changes);
  header.update(now, changes);
  inspector.update(now, changes);
  if (!root.dataset.ready && (now.connection.status === "open" || now.runId === null)) {
    root.dataset.ready = "true";
    performance.mark("ready");
  }
  root.dataset.connection = now.connection.status;
}

draw(store.state, { has: () => true });
drawOnChange(store, draw);

new MutationObserver(() => store.set({ theme: root.dataset.theme })).observe(root, { attributeFilter: ["data-theme"] });
addEventListener("online", () => transport.retryNow());

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-fold]");
  if (button) foldAndKeep(button.dataset.fold);
});

function traceResult() {
  if (isNetwork) return;
  const { view, selection, lineage } = store.state;
  const result = resultToTrace(view, selection);
  if (lineage) send({ type: "forget_lineage" });
  else if (result) send({ type: "lineage", ...result });
}

listen(document, {
  enabled: () => settings.read("keys") !== "off" && !byId("keys").open,
  on(meaning) {
    const [name, n] = meaning.split(" ");
    if (name === "play") send({ type: store.state.play.state === "paused" ? "play" : "pause" });
    else if (name === "action") {
      const action = actions.ordered(store.state.actions.possible)[n - 1];
      if (action) send({ type: "choose", action: action.id });
    } else if (name === "until" || name === "faults") transportPanel.openMenu(name);
    else if (name === "keys") byId("keys").showModal();
    else if (name === "rail" || name === "inspector") foldAndKeep(name);
    else if (name === "clear") {
      if (store.state.lineage) send({ type: "forget_lineage" });
    } else if (name === "lineage") traceResult();
    else if (name === "table") send({ type: "show_table", shown: !store.state.tableShown });
    else send({ type: name });
  },
});

if (boot.run !== null) driver.open(boot.run);
driver.loadExplorations();
