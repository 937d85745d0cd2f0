// The words of the websocket, mirrored from streamlab/runs/protocol.py. Builders only: nothing here knows a socket.

export const VERSION = 1;

/** Events that the browser lets the server send before it has drawn anything of them. */
export const CREDIT = 4000;

export const hello = (have, credit = CREDIT) => ({ type: "hello", protocol: VERSION, credit, have });
export const credit = (n) => ({ type: "credit", n });
export const step = (at, count = 1) => ({ type: "step", ...at, count });
export const choose = (at, action) => ({ type: "choose", ...at, action });
export const command = (at, what) => ({ type: "command", ...at, command: what });
export const runUntil = (at, until) => ({ type: "run_until", ...at, until });
export const play = (at, rate) => ({ type: "play", ref: at.ref, rate });
export const pause = (at) => ({ type: "pause", ref: at.ref });
export const rate = (value) => ({ type: "rate", rate: value });
export const explain = (ref, { subtask, key, window }) => ({ type: "explain", ref, subtask, key, window });
export const explainLate = (ref, { subtask, timestamp, watermark }) => ({ type: "explain_late", ref, subtask, timestamp, watermark });
export const lineage = (ref, element) => ({ type: "lineage", ref, element });
export const watch = (ref, name, on) => ({ type: "watch", ref, name, on });
export const spaceTime = (ref, checkpoint) => ({ type: "space_time", ref, checkpoint });
export const seek = (at, target) => ({ type: "seek", ref: at.ref, step: target });

/** The message in a frame of text, or null where it is none. */
export function parse(text) {
  try {
    const message = JSON.parse(text);
    return message && typeof message.type === "string" ? message : null;
  } catch {
    return null;
  }
}

/** How much of the granted credit a message used: its events; a view counts as one. */
export function cost(message) {
  if (message.type === "view") return 1;
  if (message.type !== "steps") return 0;
  return message.steps.reduce((sum, one) => sum + one.events.length, 0);
}
