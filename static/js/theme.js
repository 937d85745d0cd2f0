// Light or dark, before the first paint: what the visitor chose, else what the system prefers. Not a module, since
// modules run after the page was drawn.
(function () {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };
  const apply = () => {
    root.dataset.theme = kept("streamlab-theme") || (system.matches ? "dark" : "light");
  };
  apply();
  system.addEventListener("change", apply);
  if (kept("streamlab-projector") === "on") root.dataset.type = "projector";
  document.addEventListener("click", (event) => {
    if (!event.target.closest || !event.target.closest("[data-theme-toggle]")) return;
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("streamlab-theme", next);
    } catch {
      // Private windows may refuse; the choice then lasts as long as the page.
    }
    root.dataset.theme = next;
  });
})();
