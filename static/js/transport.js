// The websocket of one run: connects, says hello, grants credit, comes back after a loss. Knows no page and no view.

import { CREDIT, cost, credit, hello, parse } from "./protocol.js";

const BLOCKED_AFTER = 5000;
const FIRST_WAIT = 400;
const LONGEST_WAIT = 15_000;
const PING_EVERY = 25_000;

/** Close codes after which coming back would end the same way: old page, unknown run, flood. */
const FINAL = new Set([4002, 4004, 4008]);

/** Credit is handed back in portions, so that not every frame is answered by a message. */
const PORTION = CREDIT / 8;

/** Wait before attempt n, drawn from its upper half, so that a class that lost its Wi-Fi does not return as one. */
export function backoff(attempt, random = Math.random) {
  const most = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempt);
  return most / 2 + (random() * most) / 2;
}

/**
 * `have()` is the step that the page's view is at, or null. `onMessage(message)` gets every message of the server,
 * `onStatus(status, detail)` one of "connecting", "open", "lost",
 * "blocked", "closed".
 */
export function createTransport({ have, onMessage, onStatus, Socket = WebSocket }) {
  let socket = null;
  let url = null;
  let attempt = 0;
  let everOpen = false;
  let used = 0;
  const timers = { retry: 0, blocked: 0, ping: 0 };

  function connect(to) {
    close();
    url = to;
    attempt = 0;
    everOpen = false;
    open();
  }

  function open() {
    onStatus(attempt ? "lost" : "connecting", attempt ? "now" : "");
    const mine = new Socket(url);
    socket = mine;
    if (!everOpen && !timers.blocked) timers.blocked = setTimeout(() => onStatus("blocked", ""), BLOCKED_AFTER);
    mine.onopen = () => {
      if (mine !== socket) return;
      clearTimeout(timers.blocked);
      timers.blocked = 0;
      everOpen = true;
      used = 0;
      send(hello(have()));
      clearInterval(timers.ping);
      timers.ping = setInterval(() => send({ type: "ping", ref: 0 }), PING_EVERY);
    };
    mine.onmessage = ({ data }) => {
      if (mine === socket) receive(data);
    };
    mine.onclose = ({ code }) => {
      if (mine === socket) lost(code);
    };
  }

  function receive(data) {
    const message = parse(data);
    if (!message) return;
    if (message.type === "welcome") {
      attempt = 0;
      onStatus("open", "");
    }
    onMessage(message);
    used += cost(message);
    if (used >= PORTION) {
      send(credit(used));
      used = 0;
    }
  }

  function lost(code) {
    socket = null;
    clearInterval(timers.ping);
    if (FINAL.has(code)) {
      clearTimeout(timers.blocked);
      onStatus("closed", "");
      return;
    }
    const wait = backoff(attempt);
    attempt += 1;
    if (everOpen) onStatus("lost", `in ${Math.max(1, Math.round(wait / 1000))} s`);
    clearTimeout(timers.retry);
    timers.retry = setTimeout(open, wait);
  }

  /** False when there is no open socket: the caller decides what becomes of the message. */
  function send(message) {
    if (!socket || socket.readyState !== 1) return false;
    socket.send(JSON.stringify(message));
    return true;
  }

  function close() {
    clearTimeout(timers.retry);
    clearTimeout(timers.blocked);
    clearInterval(timers.ping);
    timers.blocked = 0;
    const old = socket;
    socket = null;
    old?.close();
  }

  /** Tries at once: the network is back, or the page is seen again. */
  function retryNow() {
    if (!url || socket) return;
    clearTimeout(timers.retry);
    open();
  }

  return { connect, send, close, retryNow };
}
