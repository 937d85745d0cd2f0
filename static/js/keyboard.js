// Single keys for everything. They can be switched off, and do nothing where text is typed or a control wants the key.

const TYPING = "input:not([type=range]):not([type=checkbox]), textarea, select, [contenteditable]";

/** `on(name)` is called with what a key means; `enabled()` says whether single keys are on. */
export function listen(document, { on, enabled }) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && !event.target.closest?.("dialog, .popover")) on("clear");
    if (!enabled()) return;
    if (event.target.matches?.(TYPING) || event.target.closest?.("dialog, .popover")) return;
    const meaning = meaningOf(event);
    if (!meaning) return;
    event.preventDefault();
    on(meaning);
  });
}

const KEYS = {
  ArrowRight: "step", ArrowLeft: "back", u: "until", f: "faults", "?": "keys", "[": "rail", "]": "inspector",
  // The same on keyboards where brackets need a second hand.
  i: "rail", p: "inspector", t: "table", l: "lineage",
};

function meaningOf(event) {
  const { key, target } = event;
  if (key === " ") return target.closest("button, summary, a, input[type=checkbox]") ? null : "play";
  if ((key === "ArrowRight" || key === "ArrowLeft") && target.matches?.("input[type=range]")) return null;
  if (/^[1-9]$/.test(key)) return `action ${key}`;
  return KEYS[key] ?? null;
}

export const HELP = [
  [["→"], "step"],
  [["←"], "step back"],
  [["space"], "play or pause"],
  [["1", "–", "9"], "take that action"],
  [["u"], "run until…"],
  [["f"], "faults"],
  [["l"], "where the selected or the last result came from"],
  [["Escape"], "clear that"],
  [["t"], "the picture as a table"],
  [["[", "i"], "instructions"],
  [["]", "p"], "inspector"],
  [["Tab", "← → ↑ ↓"], "on the stage: between subtasks and channels, or from message to message"],
  [["?"], "this list"],
];
