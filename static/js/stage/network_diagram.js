// From the picture of a process network to a space-time diagram: which lanes, arrows and cuts there are, and what is said of them.

import { count, list } from "../format.js";

/** Steps with room on the axis before it grows. */
const LEAST_STEPS = 12;
/** A longer run is drawn from here before its present; the table has all of it. */
const MOST_STEPS = 120;
const WINDOW = 20;

export const route = (link) => link.replace(">", " → ");

/** `whole`: from the first step on, however long the run is. */
export function networkDiagram(view, head, { whole = false } = {}) {
  const snapshots = Object.entries(view.snapshots);
  const wrongs = new Map();
  for (const [number, { outcome }] of snapshots) {
    for (const message of outcome?.backwards ?? []) wrongs.set(message, ["backwards", number]);
    for (const message of outcome?.missed ?? []) wrongs.set(message, ["missed", number]);
  }
  const from = whole ? 0 : firstStep(view.step);
  const late = (step) => (step === null ? null : Math.max(from, step));
  return {
    lanes: Object.keys(view.processes),
    from,
    to: Math.min(roundUp(Math.max(LEAST_STEPS, head + 1)), from + MOST_STEPS + WINDOW),
    now: view.step,
    arrows: view.messages.map((message, i) => arrowOf(message, i, wrongs.get(i))).filter((arrow) => arrow.delivered === null || arrow.delivered > from).map((arrow) => ({ ...arrow, sent: late(arrow.sent) })),
    cuts: snapshots.filter(([, one]) => one.started !== null).map(([number, one]) => ({
      number: Number(number),
      label_text: `cut ${number}`,
      title: cutSentence(number, one),
      points: Object.fromEntries(Object.entries(one.processes).map(([id, part]) => [id, late(part.step)])),
      values: Object.fromEntries(Object.entries(one.processes).filter(([, part]) => part.step !== null).map(([id, part]) => [id, part.tokens])),
    })),
  };
}

/** 0, until the run is long; then it moves in pieces. */
const firstStep = (step) => (step <= MOST_STEPS ? 0 : Math.floor((step - MOST_STEPS) / WINDOW + 1) * WINDOW);

/** The axis grows in pieces, so that most steps leave everything where it is. */
const roundUp = (n) => (n <= LEAST_STEPS ? LEAST_STEPS : Math.ceil(n / 6) * 6);

function arrowOf(message, i, wrong) {
  const { from, to, tokens, marker, sent, delivered } = message;
  return {
    id: i, from, to, sent, delivered,
    kind: marker ? "marker" : "tokens",
    label: String(marker || tokens),
    held: message.recorded.length > 0,
    wrong: wrong ? wrong[0] : "",
    name: `${marker ? `marker ${marker}` : count(tokens, "token")}, ${from} → ${to}`,
    say: sentenceOf(message, wrong),
  };
}

/** An arrow in words: what it is, when it left and came, and what the snapshots made of it. */
export function sentenceOf({ from, to, tokens, marker, sent, delivered, recorded }, wrong) {
  const arrived = delivered === null ? "and is under way" : `arrived in step ${delivered}`;
  if (marker) return `Marker ${marker} left ${from} in step ${sent} ${delivered === null ? arrived : `and ${arrived} at ${to}`}.`;
  const what = `${from} sent ${count(tokens, "token")} to ${to} in step ${sent}; ${delivered === null ? "still under way" : arrived}.`;
  const kept = recorded.length ? ` Sent before cut ${list(recorded.map(String))} and received after: recorded as state of ${from} → ${to}.` : "";
  if (!wrong) return what + kept;
  const [how, number] = wrong;
  return how === "backwards"
    ? `${what} It crosses cut ${number} backwards: sent after it, received before it.`
    : `${what} It was under way when cut ${number} passed, and is in no record.`;
}

export function cutSentence(number, { processes, ended }) {
  const parts = Object.entries(processes).map(([id, { tokens, step }]) => (step === null ? `${id} not yet` : `${id} recorded ${tokens} in step ${step}`));
  return `Cut ${number}${ended === null ? ", not complete" : ""}: ${parts.join(", ")}.`;
}

/** Where the tokens are now: {processes, links, total, whole}. */
export function conservation(view) {
  const processes = Object.entries(view.processes).map(([id, { tokens }]) => [id, tokens]);
  const links = Object.entries(view.links).map(([name, { queue }]) => [name, queue.reduce((sum, number) => sum + view.messages[number].tokens, 0)]);
  const total = [...processes, ...links].reduce((sum, [, tokens]) => sum + tokens, 0);
  return { processes, links: links.filter(([, tokens]) => tokens), total, whole: view.network.total };
}

/** {kind: "ok" | "never" | "wrong", text} of a completed snapshot. */
export function verdictOf({ outcome }, whole) {
  const text = outcome.verdict.replaceAll(">", " → ");
  if (outcome.backwards.length || outcome.total !== whole) return { kind: "wrong", text };
  return { kind: outcome.occurred === null ? "never" : "ok", text };
}

/** An item on a link in words. */
export const itemName = ({ tokens, marker }) => (marker ? `marker ${marker}` : count(tokens, "token"));
