// The page of a report: its run opens in the viewer.

import { open } from "./cards.js";

const root = document.querySelector("[data-csrf]");
root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-open]");
  if (button) open(button, { token: root.dataset.csrf, go: (url) => location.assign(url) });
});
