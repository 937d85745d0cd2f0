// What the page asks the server about its run: why a window has not fired, why a record was late, where a result came from.
//
// One question is under way at a time, and the last one that was wanted follows it. An explanation that stays open is asked for
// again where the run comes to rest at another step.

import * as wire from "./protocol.js";

const SETTLE = 150;
const ANSWER_WITHIN = 30_000;

const BUILD = {
  window: (ref, { subtask, key, window }) => wire.explain(ref, { subtask, key, window }),
  late: (ref, { subtask, timestamp, watermark }) => wire.explainLate(ref, { subtask, timestamp, watermark }),
  lineage: (ref, { element }) => wire.lineage(ref, element),
  diagram: (ref, { checkpoint }) => wire.spaceTime(ref, checkpoint),
};
/** Where the answer to each kind is kept. */
const PLACE = { window: "question", late: "question", lineage: "lineage", diagram: "diagram" };

export function createQuestions({ store, send, newRef }) {
  let pending = null;
  let next = null;
  let timer = 0;
  let patience = 0;

  const isWanted = (asked) => store.state[PLACE[asked.kind]]?.number === asked.number;
  const keep = (asked, patch) => {
    if (isWanted(asked)) store.set({ [PLACE[asked.kind]]: { ...store.state[PLACE[asked.kind]], ...patch } });
  };

  /** `asked`: {kind, ...what BUILD needs}; what is known of it appears in the state at once. */
  function ask(asked) {
    const entry = { ...asked, number: newRef(), state: "asking", step: store.state.position };
    store.set({ [PLACE[asked.kind]]: entry });
    request(entry);
  }

  function request(entry) {
    if (store.state.runId === null) keep(entry, { state: "refused", sentence: "Take a step first: only a run can be asked." });
    else if (pending) next = entry;
    else if (send(BUILD[entry.kind](entry.number, entry))) {
      pending = entry;
      clearTimeout(patience);
      patience = setTimeout(lost, ANSWER_WITHIN);
    } else keep(entry, { state: "refused", sentence: "The connection is lost; the question was not sent." });
  }

  function settled() {
    clearTimeout(patience);
    pending = null;
    const entry = next;
    next = null;
    if (entry && isWanted(entry)) request(entry);
  }

  function lost() {
    if (pending) keep(pending, { state: "refused", sentence: "No answer came. Ask again." });
    settled();
  }

  return {
    ask,
    drop: (place) => store.set({ [place]: null }),
    /** True where the message answers a question, so that nobody else looks at it. */
    onMessage(message) {
      if (!pending || message.ref !== pending.number) return false;
      const entry = pending;
      if (message.type === "explanation") keep(entry, { state: "answered", step: message.step, facts: message.facts, steps: message.steps });
      else if (message.type === "lineage") keep(entry, { state: "answered", step: message.step, origins: message.origins, elements: new Set([entry.element, ...message.elements]) });
      else if (message.type === "space_time") keep(entry, { ...message, state: "answered" });
      else if (message.type === "error") keep(entry, { state: "refused", sentence: `${message.sentence} ${message.mend}` });
      else return false;
      settled();
      return true;
    },
    /** The run has moved or stopped: an open explanation of a window is about another step now. */
    moved() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const { question, position, play } = store.state;
        if (question?.kind === "window" && question.state !== "asking" && question.step !== position && play.state === "paused") {
          const again = { ...question, number: newRef(), state: "asking", step: position };
          store.set({ question: again });
          request(again);
        }
      }, SETTLE);
    },
    lost,
  };
}
