// What each message of the server makes of the state: (state, message) -> patch. Pure; nothing is sent from here.

import { applySteps } from "./apply_event.js";
import { followTrail, jumpTrail, startTrail } from "./trail.js";

const SENTENCES_KEPT = 20_000;

/** Sentences by step. The map grows in place; the wrapper is new, so that listeners see the change. */
function remember(log, entries) {
  for (const [step, say] of entries) log.sentences.set(step, say);
  while (log.sentences.size > SENTENCES_KEPT) log.sentences.delete(log.sentences.keys().next().value);
  return { sentences: log.sentences };
}

/** Why the run stopped is told until it moves again. */
const movedOn = ({ play }) => (play.why ? { play: { ...play, why: "" } } : {});

const RECEIVERS = {
  welcome(state, { run, time_zone_minutes: zone }) {
    const patch = { run, head: run.head, zone };
    if (!state.run || state.run.id !== run.id) Object.assign(patch, { marks: [], trail: startTrail(run.position), question: null, lineage: null, diagram: null });
    return patch;
  },

  view(state, { step, head, view, actions, say }) {
    return {
      view,
      before: null,
      last: { step, say, action: null, events: [] },
      position: step,
      trail: jumpTrail(state.trail, step),
      head,
      actions: actions ?? state.actions,
      log: say && step > 0 ? remember(state.log, [[step, say]]) : state.log,
      ...movedOn(state),
      ...keepSelection(state, view),
    };
  },

  steps(state, { head, steps, actions, marks }) {
    const patch = { head, ...(steps.length ? movedOn(state) : {}) };
    if (actions) patch.actions = actions;
    if (marks?.length) patch.marks = merged(state.marks, marks);
    if (!steps.length) return patch;
    if (steps[0].step !== state.position + 1) return { outOfStep: true };
    const last = steps[steps.length - 1];
    const before = applySteps(state.view, steps.slice(0, -1));
    const view = applySteps(before, [last]);
    return {
      ...patch,
      view,
      before,
      last,
      position: last.step,
      trail: followTrail(state.trail, steps),
      log: remember(state.log, steps.map((one) => [one.step, one.say])),
      ...(view.graph === state.view.graph ? {} : { lineage: null, question: null, ...keepSelection(state, view) }),
    };
  },

  marks: (_, { marks }) => ({ marks }),

  invariants(state, { on }) {
    const known = new Set(state.invariants.filter((one) => one.state === "violated").map((one) => one.name));
    const fresh = on.find((one) => one.state === "violated" && !known.has(one.name));
    const rule = fresh && state.rules.find((one) => one.name === fresh.name);
    return {
      invariants: on,
      switched: new Set(on.map((one) => one.name)),
      ...(fresh ? { news: `Violated at step ${fresh.step}: ${rule?.title ?? fresh.name}. ${fresh.sentence}` } : {}),
    };
  },

  status(state, { state: now, rate, head, why }) {
    const play = { state: now, rate: rate || state.play.rate, why: now === "paused" && why !== "paused" ? why || "" : "" };
    return { play, head: head ?? state.head };
  },

  error: (_, { sentence, place, mend, code }) => ({ error: { sentence, place, mend, code, reload: code === "old_page" } }),
};

/** A selection that survives: a rescale or a jump may take the selected subtask away. */
function keepSelection({ selection }, view) {
  if (!view.subtasks) return {};
  const subtask = view.subtasks[selection.subtask] ? selection.subtask : firstChoice(view);
  const channel = view.channels[selection.channel] ? selection.channel : null;
  return subtask === selection.subtask && channel === selection.channel ? {} : { selection: { subtask, channel } };
}

/** The subtask whose state is shown first: the first that keeps keyed state. */
export function firstChoice(view) {
  const ids = Object.keys(view.subtasks ?? {});
  return ids.find((id) => view.subtasks[id].key_groups) ?? ids[0] ?? null;
}

function merged(old, fresh) {
  const last = old.length ? old[old.length - 1][0] : -1;
  if (fresh[0][0] > last) return [...old, ...fresh];
  const known = new Set(old.map((mark) => mark.join(" ")));
  return [...old, ...fresh.filter((mark) => !known.has(mark.join(" ")))].sort((a, b) => a[0] - b[0]);
}

/** The patch that a message makes; {} for those that change nothing here. */
export function receive(state, message) {
  return RECEIVERS[message.type]?.(state, message) ?? {};
}
