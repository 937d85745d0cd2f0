// Rules that must hold in this run: each can be switched on, also afterwards, and says where it was broken and why.

import { html, icons, setHtml } from "../svg.js";
import { count } from "../format.js";

export const title = "Invariants";

export function summary({ invariants }) {
  const n = (state) => invariants.filter((one) => one.state === state).length;
  const violated = invariants.filter((one) => one.state === "violated");
  if (violated.length) return `${violated.length} violated, step ${Math.min(...violated.map((one) => one.step))}`;
  if (!invariants.length) return "none on";
  if (n("checking")) return "checking…";
  return [[n("holds"), "hold", "holds"], [n("undecided"), "undecided", "undecided"], [n("refused"), "not judged", "not judged"]]
    .filter(([k]) => k).map(([k, many, one]) => `${k} ${k === 1 ? one : many}`).join(", ");
}

let body;

export function mount(element, { send }) {
  body = element;
  element.addEventListener("change", ({ target }) => {
    if (target.dataset.invariant) send({ type: "watch", name: target.dataset.invariant, on: target.checked });
  });
  element.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-seek]");
    if (button) send({ type: "seek", step: Number(button.dataset.seek) });
  });
}

export function update(state, changes) {
  if (!["invariants", "head", "position", "run", "switched"].some((name) => changes.has(name))) return;
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset : null;
  const foreign = Boolean(state.run && !state.run.mine);
  const changed = setHtml(body, html`<ul class="rules">${state.rules.map((rule) => row(rule, state, foreign))}</ul>`);
  if (changed && focused) {
    const name = focused.invariant ?? focused.of;
    body.querySelector(focused.invariant ? `[data-invariant="${CSS.escape(name)}"]` : `[data-of="${CSS.escape(name ?? "")}"]`)?.focus({ preventScroll: true });
  }
}

function row({ name, title: text, explanation }, state, foreign) {
  const judged = state.invariants.find((one) => one.name === name);
  return html`<li class="${judged?.state ?? "off"}"><label><input type="checkbox" data-invariant="${name}" aria-describedby="rule-${name}" ${judged || state.switched.has(name) ? html`checked` : ""} ${foreign ? html`disabled` : ""}><b>${text}</b></label><p class="note" id="rule-${name}">${explanation}</p>${judged && html`<p class="verdict">${verdict(judged, state)}</p>`}</li>`;
}

function verdict({ name, state: how, step, checked, sentence }, { head, position }) {
  switch (how) {
    case "violated": return html`${icons.cross}<span><b>Violated</b> at ${step === position ? html`this step` : html`<button class="ref" type="button" data-seek="${step}" data-of="${name}">step ${step}</button>`}: ${sentence}</span>`;
    case "holds": return html`${icons.check}<span>Holds at ${head ? `every one of ${count(head, "step")}` : "the beginning"}.</span>`;
    case "undecided": return html`${icons.wait}<span>Not decided yet: it is judged when the job has finished.</span>`;
    case "checking": return html`${icons.wait}<span>Checking step ${checked.toLocaleString("en")} of ${head.toLocaleString("en")}…</span>`;
    default: return html`${icons.cross}<span>Cannot be judged: ${sentence}</span>`;
  }
}
