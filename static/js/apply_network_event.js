// The fold of a process network, exactly as engine/processes/fold.py does it; apply_event.js calls it.

function send(draft, { link, source, target, message }, tokens, marker) {
  draft.at("messages").push({ link, from: source, to: target, tokens, marker, sent: draft.view.step, delivered: null, recorded: [] });
  draft.at("links", link, "queue").push(message);
}

function arrive(draft, { link, message }) {
  draft.at("messages", message).delivered = draft.view.step;
  const queue = draft.at("links", link, "queue");
  queue.splice(queue.indexOf(message), 1);
}

export const NETWORK_FOLDS = {
  TokensSent(draft, event) {
    send(draft, event, event.tokens, 0);
    const process = draft.at("processes", event.source);
    process.tokens = event.left;
    process.sent += 1;
  },
  TokensReceived(draft, event) {
    arrive(draft, event);
    draft.at("processes", event.target).tokens = event.has;
  },
  MarkerSent: (draft, event) => send(draft, event, 0, event.snapshot),
  MarkerReceived: arrive,
  SnapshotStarted() {},
  ProcessRecorded(draft, { snapshot, process, tokens }) {
    const one = draft.at("snapshots", snapshot);
    if (one.started === null) one.started = draft.view.step;
    draft.at("snapshots", snapshot, "processes")[process] = { tokens, step: draft.view.step };
    for (const [name, link] of Object.entries(draft.view.links)) {
      if (link.to === process) draft.at("snapshots", snapshot, "links", name).status = "recording";
    }
  },
  LinkRecorded(draft, { snapshot, link, message, tokens }) {
    draft.at("snapshots", snapshot, "links", link, "held").push(tokens);
    draft.at("messages", message, "recorded").push(snapshot);
  },
  LinkClosed(draft, { snapshot, link }) {
    draft.at("snapshots", snapshot, "links", link).status = "closed";
  },
  MarkersOwed(draft, { process, snapshots }) {
    draft.at("processes", process).owed = snapshots;
  },
  SnapshotCompleted(draft, { snapshot, state, total, occurred, backwards, missed, order, verdict }) {
    Object.assign(draft.at("snapshots", snapshot), {
      ended: draft.view.step,
      outcome: { state, total, occurred, backwards, missed, order, verdict },
    });
  },
  NetworkFinished(draft) {
    draft.at("network").state = "finished";
  },
};
