// A stack of panels that open and close. A closed one does no work, but its heading still says the one fact that matters.

import { html, icons, setHtml } from "./svg.js";

const PADDING = 24;

/** `panels`: {id: module with mount, update, title, summary}. `kept` remembers which are open. */
export function createInspector(element, panels, context, kept) {
  const entries = Object.entries(panels).map(([id, panel]) => {
    const details = document.createElement("details");
    details.className = "panel";
    details.dataset.panel = id;
    details.open = kept.read(id);
    setHtml(details, html`<summary>${icons.chevron}<b>${panel.title}</b><span class="spring"></span><span class="meta"></span></summary><div class="panel-body"></div>`);
    const [summary, body] = details.children;
    panel.mount(body, context);
    const entry = { id, panel, details, meta: summary.lastElementChild };
    details.addEventListener("toggle", () => {
      kept.write(id, details.open);
      if (details.open) refresh(entry);
    });
    element.append(details);
    return entry;
  });

  const everything = { has: () => true };

  function refresh(entry) {
    const { state } = context.store;
    if (state.view) entry.panel.update(state, everything);
  }

  // Reading a width while drawing would make the browser lay the page out once more per panel.
  const measure = () => context.store.set({ inspectorWidth: Math.max(0, element.clientWidth - PADDING) });
  new ResizeObserver(measure).observe(element);
  measure();

  return {
    update(state, changes) {
      if (!state.inspectorWidth) return;
      for (const { panel, details, meta } of entries) {
        meta.textContent = panel.summary(state);
        if (details.open) panel.update(state, changes);
      }
    },
  };
}
