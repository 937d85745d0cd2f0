// The header: seed, share link, projector, table, keys. The theme has a script of its own, which runs before the page.

import { html, setHtml } from "./svg.js";
import { HELP } from "./keyboard.js";
import { schemeWords } from "./snapshots.js";

export function mountHeader(element, dialog, { store, send, settings }) {
  const find = (name) => element.querySelector(`[data-${name}]`);
  const buttons = { seed: find("seed"), share: find("share"), projector: find("projector"), table: find("table"), keys: find("keys") };

  buttons.seed.addEventListener("click", async () => {
    await copyText(String(store.state.run?.seed ?? store.state.seed));
    flash(buttons.seed, "copied");
  });
  buttons.share.addEventListener("click", () => send({ type: "share" }));
  buttons.projector.addEventListener("click", () => {
    const on = !store.state.projector;
    settings.write("projector", on ? "on" : "off");
    send({ type: "projector", on });
  });
  buttons.table.addEventListener("click", () => send({ type: "show_table", shown: !store.state.tableShown }));
  buttons.keys.addEventListener("click", () => dialog.showModal());

  setHtml(dialog.querySelector("dl"), html`${HELP.map(([keys, text]) => html`<dt>${keys.map((key) => (key === "–" ? "–" : html`<kbd>${key}</kbd> `))}</dt><dd>${text}</dd>`)}`);
  const single = dialog.querySelector("[name=single]");
  single.checked = settings.read("keys") !== "off";
  single.addEventListener("change", () => settings.write("keys", single.checked ? "on" : "off"));

  return {
    update(state, changes) {
      if (changes.has("runId") && state.runId !== null && find("compare")) find("compare").href = state.urls.compare.replace("{run}", state.runId);
      if (changes.has("scheme") && state.scheme) find("scheme").textContent = schemeWords(state.scheme);
      if (changes.has("run")) find("seed-value").textContent = state.run?.seed ?? state.seed ?? "";
      if (changes.has("projector")) {
        document.documentElement.dataset.type = state.projector ? "projector" : "desk";
        buttons.projector.setAttribute("aria-pressed", String(state.projector));
      }
      if (changes.has("tableShown")) buttons.table.setAttribute("aria-pressed", String(state.tableShown));
    },
    shared: () => flash(buttons.share, "link copied"),
  };
}

/** Says what happened on the button itself, for two seconds, and to a screen reader through its live label. */
function flash(button, text) {
  const label = button.querySelector("[data-said]");
  label.textContent = text;
  setTimeout(() => {
    label.textContent = "";
  }, 2000);
}

/** Copies text; pages without the clipboard's leave get it shown for copying by hand. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    window.prompt("Copy this:", text);
  }
}
