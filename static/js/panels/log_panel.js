// The run so far as sentences, newest first. After a jump only the steps that this page has seen are known.

import { html, setHtml } from "../svg.js";
import { count } from "../format.js";

const SHOWN = 60;

export const title = "Log";

export const summary = ({ position }) => count(position, "step");

let body;

export function mount(element) {
  body = element;
}

export function update({ position, log }, changes) {
  if (!["position", "log"].some((name) => changes.has(name))) return;
  const rows = [];
  let unknown = 0;
  let step = position;
  for (; step >= 1 && rows.length < SHOWN; step -= 1) {
    const say = log.sentences.get(step);
    if (say === undefined) {
      unknown += 1;
      continue;
    }
    if (unknown) rows.push(gap(step + 1, unknown));
    unknown = 0;
    rows.push(html`<li><span class="num">${step}</span><span>${say}</span></li>`);
  }
  if (unknown) rows.push(gap(step + 1, unknown));
  setHtml(body, rows.length ? html`<ol class="log" reversed>${rows}</ol>` : html`<p class="note">Every step writes its sentence here.</p>`);
}

const gap = (first, n) => html`<li class="gap"><span></span><span>${n === 1 ? `step ${first}` : `steps ${first} to ${first + n - 1}`}: passed without being shown</span></li>`;
