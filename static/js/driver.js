// From what a visitor wants (an intent such as {type: "step"}) to what is asked of the server, and to what changes here.
//
// Before there is a run the page shows the lab's first picture. The first driving intent makes the run, connects, and is
// sent when the socket is open: opening a page writes nothing.

import * as wire from "./protocol.js";
import { bar } from "./barred.js";
import { receive } from "./messages.js";
import { createQuestions } from "./questions.js";
import { createExplorations } from "./explorations.js";

const MOST_QUEUED = 12;
const ANSWER_WITHIN = 15_000;
const INTERRUPTED = "the connection was lost while the run was playing, and a run without its owner stands still";
const NOT_YOURS = {
  sentence: "This run belongs to somebody else: it can be watched, but only its owner drives and shares it.",
  place: "",
  mend: "Open the lab for a run of your own, or ask the owner for a share link.",
};

export function createDriver({ store, transport, post, go, copy, fetchJson }) {
  let ref = 0;
  let waiting = null;
  let queued = 0;
  let late = 0;
  let later = [];
  /** It played when the connection was lost. */
  let interrupted = false;

  const newRef = () => {
    ref += 1;
    return ref;
  };
  const at = () => {
    const { head, position } = store.state;
    return { ref: newRef(), head, position };
  };
  const questions = createQuestions({ store, send: transport.send, newRef });
  const explorations = createExplorations({ store, ask: (...asked) => ask(...asked), go, fetchJson });

  /** Sends a request that will be answered by `done`, `branched` or `error`. */
  function request(build) {
    const place = at();
    if (!transport.send(build(place))) return false;
    waiting = place.ref;
    clearTimeout(late);
    late = setTimeout(() => settle(waiting), ANSWER_WITHIN);
    return true;
  }

  function settle(answered) {
    if (answered !== waiting) return;
    waiting = null;
    clearTimeout(late);
    if (queued) {
      const count = queued;
      queued = 0;
      request((place) => wire.step(place, count));
    }
  }

  const isPlaying = () => store.state.play.state !== "paused";

  /** For what is asked of the picture as it stands: first the run stands still, and earlier requests are answered. */
  function fromHere(build) {
    if (isPlaying()) request(wire.pause);
    if (waiting === null) request(build);
    else if (later.length < MOST_QUEUED) later.push(() => request(build));
  }

  const driving = {
    step() {
      if (isPlaying()) request(wire.pause);
      else if (waiting === null) request((place) => wire.step(place));
      else queued = Math.min(MOST_QUEUED, queued + 1);
    },
    choose: ({ action }) => fromHere((place) => wire.choose(place, action)),
    run_until: ({ until }) => fromHere((place) => wire.runUntil(place, until)),
    // Counts for wherever a playing run is when it arrives.
    command: ({ command }) => request((place) => wire.command(place, command)),
    play: () => transport.send(wire.play(at(), store.state.play.rate)),
    pause: () => request(wire.pause),
    seek: ({ step }) => transport.send(wire.seek(at(), step)),
    watch: ({ name, on }) => transport.send(wire.watch(newRef(), name, on)),
    back: () => {
      if (store.state.position > 0) transport.send(wire.seek(at(), store.state.position - 1));
    },
    /** Command, then run until it has had its effect: one button of the first visit. */
    checkpoint_through() {
      driving.command({ command: { kind: "checkpoint" } });
      driving.run_until({ until: { kind: "checkpoint_completes" } });
    },
    share: () => share(),
  };

  const local = {
    select: ({ selection }) => store.set({ selection }),
    point: ({ item }) => store.set({ pointed: item ?? null }),
    ask: ({ question }) => questions.ask(question),
    forget: () => questions.drop("question"),
    lineage: ({ element, label }) => questions.ask({ kind: "lineage", element, label }),
    diagram: ({ checkpoint }) => questions.ask({ kind: "diagram", checkpoint }),
    forget_lineage: () => questions.drop("lineage"),
    select_checkpoint: ({ checkpoint }) => store.set({ checkpoint }),
    explore: (asked) => explorations.start(asked),
    stop_exploration: () => explorations.stop(),
    open_exploration: () => explorations.open(),
    dismiss: () => store.set({ error: null }),
    show_table: ({ shown }) => store.set({ tableShown: shown }),
    projector: ({ on }) => store.set({ projector: on }),
    rate({ rate }) {
      store.set({ play: { ...store.state.play, rate } });
      if (store.state.play.state === "playing") transport.send(wire.rate(rate));
    },
    start_again: ({ parameters }) => ask(store.state.urls.new, { parameters }, "The run could not be started.").then((made) => made && go(made.url)),
  };

  /** POSTs; null where it was refused, and the reason stands in the error strip. */
  async function ask(url, body, sentence) {
    try {
      return await post(url, body);
    } catch (error) {
      store.set({ error: { sentence: error.sentence ?? sentence, place: error.place ?? "", mend: error.mend ?? "Try again in a moment." } });
      return null;
    }
  }

  let making = null;

  /** Makes the run, once, and connects to it. */
  function ensureRun() {
    making ??= ask(store.state.urls.create, {}, "The run could not be started.").then((made) => {
      if (!made) {
        making = null;
        later = [];
        return;
      }
      open(made.run, made.url);
    });
  }

  function open(run, url) {
    const { urls } = store.state;
    store.set({ runId: run });
    if (url) history.replaceState(null, "", url);
    const address = new URL(urls.socket.replace("{run}", run), location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    transport.connect(address.href);
  }

  async function share() {
    const { urls, runId, position } = store.state;
    const link = await ask(urls.share.replace("{run}", runId), { step: position }, "The link could not be made.");
    if (link) await copy(new URL(link.url, location.href).href);
  }

  function send(intent) {
    if (local[intent.type]) {
      local[intent.type](intent);
      return;
    }
    const drive = driving[intent.type];
    if (store.state.run && !store.state.run.mine) {
      if (["share", "command", "run_until"].includes(intent.type)) store.set({ error: NOT_YOURS }); // the others look disabled
      return;
    }
    if (intent.type === "watch") {
      const switched = new Set(store.state.switched);
      if (intent.on) switched.add(intent.name);
      else switched.delete(intent.name);
      store.set({ switched });
    }
    if (store.state.runId === null) {
      if (["back", "seek", "pause"].includes(intent.type)) return;
      later.push(() => drive(intent));
      ensureRun();
    } else if (store.state.connection.status !== "open" && intent.type !== "share") {
      store.set({ waiting: ref });
      if (later.length < MOST_QUEUED && store.state.connection.status === "connecting") later.push(() => drive(intent));
    } else drive(intent);
  }

  function onMessage(message) {
    if (questions.onMessage(message)) return;
    const { outOfStep, ...patch } = receive(store.state, message);
    if (outOfStep) {
      transport.send(wire.seek(at(), message.to));
      return;
    }
    if (patch.actions) patch.actions = bar(patch.actions, store.state.asked?.forbidden);
    store.set(message.type === "status" ? afterLoss(patch) : patch);
    questions.moved();
    if (message.type === "error" && message.ref !== null) settle(message.ref);
    if (message.type === "done") settle(message.ref);
    if (message.type === "branched") {
      settle(message.ref);
      queued = 0;
      open(message.run, store.state.urls.run.replace("{run}", message.run));
    }
    // What was wanted before the socket was open goes out one answer at a time, each from the place the last one led to.
    const ready = store.state.view && (message.type === "view" || message.type === "done" || message.type === "steps");
    if (ready && waiting === null && later.length) later.shift()();
  }

  /** The first status after a loss: a run that played before it and stands still now says why. */
  function afterLoss(patch) {
    const silent = interrupted && patch.play.state === "paused" && !patch.play.why;
    interrupted = false;
    return silent ? { ...patch, play: { ...patch.play, why: INTERRUPTED } } : patch;
  }

  function onStatus(status, detail) {
    store.set({ connection: { status, detail } });
    if (status === "lost") {
      interrupted ||= isPlaying();
      questions.lost();
      waiting = null;
      queued = 0;
      store.set({ play: { ...store.state.play, state: "paused", why: "" } });
    }
  }

  return { send, onMessage, onStatus, open, loadExplorations: explorations.load };
}
