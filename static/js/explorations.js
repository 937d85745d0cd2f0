// The visitor's exploration of this lab: asks for one, follows it over a websocket of its own, opens what it found.

const AGAIN_AFTER = 2000;
/** Close codes after which coming back would end the same way: unknown exploration, flood. */
const FINAL = new Set([4004, 4008]);

const RESULTS = {
  violated: ({ outcome }) => `Explorer: violated after ${outcome.steps.length} steps. ${outcome.sentence}`,
  exhausted: ({ counts }) => `Explorer: exhausted, no violation in ${counts.states} states.`,
  "bound reached": ({ outcome }) => `Explorer: bound reached, ${outcome.bound}. Nothing is proven.`,
  failed: ({ error }) => `Explorer: no result. ${error?.sentence ?? ""}`,
};

/** `ask(url, body)` posts and gives null where it was refused, with the reason on the page. */
export function createExplorations({ store, ask, go, fetchJson, Socket = WebSocket }) {
  let socket = null;
  const { urls } = store.state;

  /** What may be asked, and the last one, which may still be under way. */
  async function load() {
    const { lab, runId } = store.state;
    const of = new URLSearchParams({ lab: lab.slug, ...(runId === null ? {} : { run: runId }) });
    const found = await fetchJson(`${urls.explorations}?${of}`);
    if (!found) return;
    store.set({ offer: found.offer, exploration: found.latest });
    if (found.latest?.active) follow(found.latest.id);
  }

  async function start({ from, request }) {
    const { runId, lab } = store.state;
    store.set({ exploring: true });
    const place = runId === null ? { lab: lab.slug } : { run: runId, step: from };
    const made = await ask(urls.explorations, { ...place, request }, "The search could not be started.");
    store.set({ exploring: false });
    if (!made) return;
    show(made);
    follow(made.id);
  }

  function show(exploration) {
    const before = store.state.exploration;
    const ended = !exploration.active && before?.id === exploration.id && before.active;
    store.set({ exploration, ...(ended ? { news: RESULTS[exploration.state](exploration) } : {}) });
  }

  function follow(id) {
    const address = new URL(urls.exploration_socket.replace("{exploration}", id), location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const mine = new Socket(address.href);
    socket?.close();
    socket = mine;
    mine.onmessage = ({ data }) => {
      if (mine !== socket) return;
      const { type, ...message } = JSON.parse(data);
      if (type === "exploration") show(message);
    };
    mine.onclose = ({ code }) => {
      if (mine !== socket) return;
      socket = null;
      if (store.state.exploration?.active && !FINAL.has(code)) setTimeout(() => socket === null && follow(id), AGAIN_AFTER);
    };
  }

  function stop() {
    if (socket?.readyState === 1) socket.send(JSON.stringify({ type: "stop", ref: 0 }));
  }

  async function open() {
    const url = urls.exploration_run.replace("{exploration}", store.state.exploration.id);
    const made = await ask(url, {}, "The violation could not be opened.");
    if (made) go(made.url);
  }

  return { load, start, stop, open };
}
