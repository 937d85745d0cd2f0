// Questions in the text of a lab: a card each, fetched when the page is there, and again as what its buttons bring about.
//
// The server makes the card; this only reads the form and puts the answer into the page.

import { post } from "./post.js";

/** `where`: () => {run, step} of the run on this page; `go`: to another page; `moved`: a card has changed. */
export function mountCards(root, { token, where, go, moved }) {
  const cards = [...root.querySelectorAll("[data-question]")];
  for (const card of cards) fetchCard(card);

  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-post], [data-open]");
    if (!button) return;
    if (button.dataset.open) open(button, { token, go });
    else change(button.closest("[data-question]"), button.dataset.post, {}, button);
  });
  root.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-answer]");
    if (!form) return;
    event.preventDefault();
    form.dataset.key ||= crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
    const answer = read(form, where());
    change(form.closest("[data-question]"), form.dataset.answer, { key: form.dataset.key, answer }, form.querySelector("[type=submit]"));
  });
  root.addEventListener("change", (event) => {
    const { form, name, type, checked } = event.target;
    if (type !== "checkbox" || !checked || form?.dataset.kind !== "set") return;
    for (const other of form.querySelectorAll("[type=checkbox]")) if ((other.name === "none") !== (name === "none")) other.checked = false;
  });

  async function change(card, url, body, button) {
    if (card.dataset.busy) return;
    card.dataset.busy = "true";
    button.setAttribute("aria-disabled", "true");
    try {
      put(card, (await post(url, body, token)).html);
      card.querySelector(".report, .prompt")?.scrollIntoView({ block: "nearest" });
      card.focus({ preventScroll: true });
      moved();
    } catch (error) {
      say(card, error);
      button.removeAttribute("aria-disabled");
    } finally {
      delete card.dataset.busy;
    }
  }
}

async function fetchCard(card) {
  try {
    const answer = await fetch(card.dataset.question);
    const result = await answer.json();
    if (!answer.ok) throw result.error;
    put(card, result.html);
  } catch (error) {
    card.insertAdjacentHTML("beforeend", '<p class="error" role="alert" data-error hidden></p>');
    say(card, error);
  }
}

function put(card, html) {
  card.innerHTML = html;
  card.tabIndex = -1;
  card.dataset.ready = "true";
}

export function say(card, error) {
  const line = card.querySelector("[data-error]");
  line.textContent = error.sentence ? `${error.sentence} ${error.mend ?? ""}` : "The server did not answer; nothing is lost. Try again in a moment.";
  line.hidden = false;
}

/** The run of a report opens in the viewer. */
export async function open(button, { token, go }) {
  try {
    go((await post(button.dataset.open, {}, token)).url);
  } catch (error) {
    say(button.closest(".question"), error);
  }
}

function read(form, { run, step }) {
  const { kind } = form.dataset;
  const none = Boolean(form.elements.none?.checked);
  if (kind === "set") return { value: [...form.querySelectorAll("[name=value]:checked")].map(({ value }) => value), none };
  if (kind === "table") return { value: Object.fromEntries([...form.querySelectorAll("[data-row]")].map((cell) => [cell.dataset.row, cell.value])) };
  if (kind === "run" || kind === "counterexample") return none ? { none } : { run, step };
  if (kind === "choice") return { value: form.querySelector("[name=value]:checked")?.value ?? null };
  return { value: form.elements.value.value };
}
