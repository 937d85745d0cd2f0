// Markup as text, escaped where values enter it. Panels build whole fragments and hand them to `setHtml`, which touches
// the page only when the text differs from what is there: a step that changes one card leaves the others, and the focus
// inside them, alone.

class Markup {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text) => String(text).replace(/[&<>"']/g, (sign) => ENTITIES[sign]);

function inserted(value) {
  if (value === null || value === undefined || value === false) return "";
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(inserted).join("");
  return escape(value);
}

/** Template tag for HTML and SVG alike: html`<b>${name}</b>`. Lists are joined; null, undefined and false vanish. */
export function html(strings, ...values) {
  let text = strings[0];
  for (let i = 0; i < values.length; i += 1) text += inserted(values[i]) + strings[i + 1];
  return new Markup(text);
}

/** Text that is markup already: constants of this code, never data. */
export const raw = (text) => new Markup(text);

const shown = new WeakMap();

/** Puts `markup` into `element` unless it is there already. True when it changed. */
export function setHtml(element, markup) {
  const text = String(markup);
  if (shown.get(element) === text) return false;
  shown.set(element, text);
  element.innerHTML = text;
  return true;
}

const NAMESPACE = "http://www.w3.org/2000/svg";

/** A new SVG element with attributes. */
export function svgElement(name, attributes = {}) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  return element;
}

/** Keeps one child per id in `parent`, in the order of `ids`: makes what is missing, removes what is gone. */
export function keyedChildren(parent, known, ids, make) {
  const wanted = new Set(ids);
  for (const [id, element] of known) {
    if (!wanted.has(id)) {
      element.remove();
      known.delete(id);
    }
  }
  for (const id of ids) {
    if (known.has(id)) continue;
    const element = make(id);
    known.set(id, element);
    parent.append(element);
  }
}

const icon = (body) =>
  raw(
    `<svg class="icon" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.35" stroke-linecap="round"` +
      ` stroke-linejoin="round" aria-hidden="true">${body}</svg>`,
  );

export const icons = {
  back: icon('<path d="M11.5 3.5 5.5 8l6 4.5zM4 3.5v9" fill="currentColor"/>'),
  step: icon('<path d="M4.5 3.5l6 4.5-6 4.5zM12 3.5v9" fill="currentColor"/>'),
  play: icon('<path d="M5 3l7.5 5L5 13z" fill="currentColor"/>'),
  pause: icon('<path d="M5.5 3.5v9M10.5 3.5v9" stroke-width="2.2"/>'),
  until: icon('<path d="M3 8h7M7.5 5.5 10 8l-2.5 2.5M13 3.5v9"/>'),
  fault: icon('<path d="M8.8 2 4 9h4l-.8 5L12 7H8z"/>'),
  lock: icon('<rect x="3.8" y="7.2" width="8.4" height="6" rx="1" fill="currentColor"/><path d="M5.6 7V5.4a2.4 2.4 0 0 1 4.8 0V7"/>'),
  credit: icon('<path d="M2.5 5.5h2v5h-2zM7 5.5h2v5H7zM11.5 5.5h2v5h-2z" fill="currentColor" stroke="none"/>'),
  wait: icon('<circle cx="8" cy="8" r="5.3"/><path d="M8 5v3.2l2 1.3"/>'),
  check: icon('<path d="m3.5 8.5 3 3 6-7"/>'),
  cross: icon('<path d="m4 4 8 8M12 4l-8 8"/>'),
  up: icon('<path d="M8 12.5v-8M4.8 7.5 8 4.3l3.2 3.2"/>'),
  read: icon('<path d="M2.5 4.5h6M2.5 8h4M2.5 11.5h6M9 8h4.5M11.3 5.8 13.5 8l-2.2 2.2"/>'),
  down: icon('<path d="M8 3.5v8M4.8 8.5 8 11.7l3.2-3.2"/>'),
  again: icon('<path d="M12.6 9.5A4.9 4.9 0 1 1 12.3 6M12.8 3v3.2H9.6"/>'),
  chevron: icon('<path d="m5 6.5 3 3 3-3"/>'),
  rail: icon('<rect x="2.5" y="3" width="11" height="10" rx="1.5"/><path d="M6.5 3v10"/>'),
  fork: icon('<path d="M4 3v10M4 8h4.5a2 2 0 0 1 2 2v3"/>'),
  scale: icon('<path d="M2.5 5h7M2.5 11h11M9.5 5h4M6 3v4M11 9v4"/>'),
  pin: icon('<path d="M6 2.5h4M6.8 2.5v4L5 9h6L9.2 6.5v-4M8 9v4.5"/>'),
  store: icon('<path d="M3.5 5c0-2 9-2 9 0v6c0 2-9 2-9 0zM3.5 5c0 2 9 2 9 0"/>'),
  upload: icon('<path d="M3 12.8h10M8 10V3.5M5 6.3l3-2.8 3 2.8"/>'),
  overtake: icon('<path d="M2 10.5h4M8.5 10.5h3M3 8C5 3.5 10 3.5 12.8 7.5M12.9 4.5v3.2H9.8"/>'),
  stop: icon('<rect x="4" y="4" width="8" height="8" rx="1" fill="currentColor"/>'),
  table: icon('<rect x="2.5" y="3" width="11" height="10" rx="1"/><path d="M2.5 6.5h11M2.5 9.8h11M6.5 6.5V13"/>'),
};
