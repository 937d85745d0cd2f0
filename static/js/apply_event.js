// The fold: a view and an event give the next view, exactly as the engine's own fold does.
//
// Views are never changed. Whatever an event touches is copied once per batch, everything else is shared with the view
// before, so `previous.subtasks[id] === next.subtasks[id]` means "nothing happened here".

import { NETWORK_FOLDS } from "./apply_network_event.js";

const RESULTS_KEPT = 20;
const CHECKPOINTS_KEPT = 20;

/** A view under construction. `at(...path)` returns the object there, copied first if it belongs to an older view. */
class Draft {
  constructor(view) {
    this.view = { ...view };
    this.own = new Set([this.view]);
  }

  at(...path) {
    let node = this.view;
    for (const name of path) {
      let child = node[name];
      if (!this.own.has(child)) {
        child = Array.isArray(child) ? child.slice() : { ...child };
        node[name] = child;
        this.own.add(child);
      }
      node = child;
    }
    return node;
  }

  subtask(id) {
    return this.at("subtasks", id);
  }

  /** A subtask's part of a checkpoint; null where the checkpoint is no longer kept, or never waited for it. */
  part({ checkpoint, subtask }) {
    if (!this.view.checkpoints[checkpoint]?.subtasks[subtask]) return null;
    return this.at("checkpoints", checkpoint, "subtasks", subtask);
  }
}

const sameMessage = (a, b) => Object.keys(b).every((name) => a[name] === b[name]);

function removeRow(draft, event, table) {
  delete draft.at("subtasks", event.subtask, table)[event.row];
}

const nothing = () => {};

const FOLDS = {
  Deployed(draft, { job, graph, subtasks, channels }) {
    Object.assign(draft.view, { job, graph, subtasks, channels, messages: [] });
  },
  ClockAdvanced(draft, { time }) {
    draft.view.time = time;
  },
  RecordRead(draft, { subtask, split, offset }) {
    draft.at("subtasks", subtask, "splits", split).offset = offset + 1;
    draft.subtask(subtask).read += 1;
  },
  RecordSkipped(draft, { subtask, split, offset }) {
    draft.at("subtasks", subtask, "splits", split).offset = offset + 1;
    draft.subtask(subtask).skipped += 1;
  },
  SplitWatermark(draft, { subtask, split, watermark }) {
    draft.at("subtasks", subtask, "splits", split).watermark = watermark;
  },
  ScriptRead(draft, { subtask, split, offset }) {
    draft.at("subtasks", subtask, "splits", split).offset = offset + 1;
  },
  SplitStatus(draft, { subtask, split, idle }) {
    draft.at("subtasks", subtask, "splits", split).idle = idle;
  },
  SplitPaused(draft, { subtask, split, paused }) {
    draft.at("subtasks", subtask, "splits", split).paused = paused;
  },
  SplitEnded(draft, { subtask, split }) {
    draft.at("subtasks", subtask, "splits", split).ended = true;
  },
  ElementTaken(draft, { channel }) {
    draft.at("channels", channel, "queue").shift();
    draft.at("channels", channel).taken += 1;
  },
  ElementEmitted(draft, { channel, element }) {
    draft.at("channels", channel, "queue").push(element);
  },
  InputWatermark(draft, { subtask, input, watermark }) {
    draft.at("subtasks", subtask, "inputs", input).watermark = watermark;
  },
  InputStatus(draft, { subtask, input, idle }) {
    draft.at("subtasks", subtask, "inputs", input).idle = idle;
  },
  SubtaskStatus(draft, { subtask, idle }) {
    draft.subtask(subtask).idle = idle;
  },
  InputEnded(draft, { subtask, input }) {
    draft.at("subtasks", subtask, "inputs", input).ended = true;
  },
  WatermarkAdvanced(draft, event) {
    draft.subtask(event.subtask).watermark = event.new;
  },
  StatePut(draft, { subtask, row, name, key, key_group, window, entry, value }) {
    draft.at("subtasks", subtask, "state")[row] = { name, key, key_group, window, entry, value };
  },
  StateRemoved: (draft, event) => removeRow(draft, event, "state"),
  TimerSet(draft, { subtask, row, key, time, clock }) {
    draft.at("subtasks", subtask, "timers")[row] = { key, time, clock };
  },
  TimerRemoved: (draft, event) => removeRow(draft, event, "timers"),
  TimerFired: (draft, event) => removeRow(draft, event, "timers"),
  WindowFired: nothing,
  WindowsMerged: nothing,
  WindowCleaned: nothing,
  RecordLate(draft, { subtask }) {
    draft.subtask(subtask).late += 1;
  },
  Warned: nothing,
  ResultWritten(draft, { subtask, index, text }) {
    draft.subtask(subtask).written = index + 1;
    const results = draft.at("subtasks", subtask, "results");
    results.push([index, text]);
    if (results.length > RESULTS_KEPT) results.shift();
  },
  CheckpointTriggered(draft, { checkpoint, kind, subtasks }) {
    const part = () => ({
      status: "waiting", first_barrier: null, snapshot: null, complete: null, uploaded: null, acknowledged: null, dropped: null,
      reason: "", bytes: 0, written: 0, held: 0, saved: 0, saved_bytes: 0, left: 0,
    });
    const checkpoints = draft.at("checkpoints");
    const kept = Object.keys(checkpoints);
    const over = kept.filter((number) => checkpoints[number].status !== "triggered");
    if (kept.length >= CHECKPOINTS_KEPT) delete checkpoints[over.reduce((a, b) => (Number(a) < Number(b) ? a : b))];
    checkpoints[checkpoint] = {
      kind, status: "triggered", failure: "", reason: "", triggered: draft.view.step, ended: null, bytes: 0, written: 0,
      subtasks: Object.fromEntries(subtasks.map((id) => [id, part()])),
    };
  },
  MessageSent(draft, { message }) {
    draft.at("messages").push(message);
  },
  MessageDelivered(draft, { message }) {
    const messages = draft.at("messages");
    const index = messages.findIndex((one) => sameMessage(one, message));
    if (index >= 0) messages.splice(index, 1);
  },
  BarrierArrived(draft, event) {
    const part = draft.part(event);
    if (!part || part.first_barrier !== null) return;
    part.first_barrier = draft.view.step;
    const awaited = Object.keys(draft.view.subtasks[event.subtask].inputs).filter((name) => !draft.view.channels[name].feedback);
    if (awaited.length > 1) part.status = "aligning";
  },
  InputBlocked(draft, { subtask, input, checkpoint }) {
    draft.at("subtasks", subtask, "inputs", input).blocked = true;
    const aligning = draft.view.subtasks[subtask].aligning;
    const received = aligning?.checkpoint === checkpoint ? aligning.received : [];
    draft.subtask(subtask).aligning = { checkpoint, received: [...received, input] };
  },
  InputsReleased(draft, event) {
    Object.assign(draft.part(event) ?? {}, { held: event.held });
    release(draft, event.subtask);
  },
  BarrierOvertook(draft, { channel, checkpoint }) {
    draft.at("channels", channel, "priority").push(checkpoint);
  },
  PriorityBarrierTaken(draft, { channel }) {
    draft.at("channels", channel, "priority").shift();
  },
  AlignmentTimedOut: nothing,
  ElementsSaved(draft, event) {
    const part = draft.part(event);
    if (!part) return;
    part.saved += event.elements.length;
    part.saved_bytes += event.bytes;
    if (draft.view.job.upload_bytes) part.left += event.bytes;
  },
  ChannelStateCompleted(draft, event) {
    Object.assign(draft.part(event) ?? {}, { complete: draft.view.step });
  },
  SnapshotUploaded(draft, event) {
    const status = event.left ? "uploading" : "uploaded";
    Object.assign(draft.part(event) ?? {}, { status, uploaded: draft.view.step, left: event.left });
  },
  UploadRefused(draft, { subtask, pending }) {
    draft.subtask(subtask).upload_refused = pending;
  },
  SnapshotDropped(draft, event) {
    const part = draft.part(event);
    if (!part) return;
    part.status = "dropped";
    if (part.dropped === null) Object.assign(part, { dropped: draft.view.step, reason: event.reason });
  },
  SnapshotDeclined(draft, event) {
    Object.assign(draft.part(event) ?? {}, { status: "declined" });
  },
  SourcesPaused(draft, { checkpoint }) {
    draft.at("job").paused = checkpoint;
  },
  ChannelsDrained: nothing,
  SourcesResumed(draft) {
    draft.at("job").paused = null;
  },
  SnapshotTaken(draft, event) {
    const { bytes, written } = event;
    const left = draft.view.job.upload_bytes ? written : 0;
    Object.assign(draft.part(event) ?? {}, { status: "snapshotted", snapshot: draft.view.step, bytes, written, left });
  },
  SnapshotAcknowledged(draft, event) {
    Object.assign(draft.part(event) ?? {}, { status: "acknowledged", acknowledged: draft.view.step });
  },
  CheckpointCompleted(draft, { checkpoint, bytes, written }) {
    Object.assign(draft.at("checkpoints", checkpoint), { status: "completed", ended: draft.view.step, bytes, written });
    draft.view.last_completed = Math.max(checkpoint, draft.view.last_completed ?? 0);
  },
  CheckpointAborted(draft, { checkpoint, failure, reason }) {
    Object.assign(draft.at("checkpoints", checkpoint), { status: "aborted", failure, reason, ended: draft.view.step });
  },
  SubtaskFailed(draft, { subtask }) {
    for (const id of Object.keys(draft.view.subtasks)) {
      draft.subtask(id).status = id === subtask ? "failed" : "cancelled";
      release(draft, id);
    }
    for (const id of Object.keys(draft.view.channels)) {
      const channel = draft.at("channels", id);
      channel.taken += channel.queue.length;
      channel.queue = [];
      channel.priority = [];
    }
    draft.view.messages = [];
    draft.at("job").paused = null;
  },
  JobStateChanged(draft, { state, reason }) {
    Object.assign(draft.at("job"), { state, reason });
  },
  SubtaskFinished(draft, { subtask }) {
    draft.subtask(subtask).status = "finished";
  },
  LoopEmptied: nothing,
  RescaleRequested: nothing,
  RescaleAborted: nothing,
  Restored: nothing,
  ...NETWORK_FOLDS,
};

function release(draft, id) {
  const subtask = draft.view.subtasks[id];
  for (const [name, input] of Object.entries(subtask.inputs)) {
    if (input.blocked) draft.at("subtasks", id, "inputs", name).blocked = false;
  }
  if (subtask.aligning) draft.subtask(id).aligning = null;
}

function foldInto(draft, event) {
  const fold = FOLDS[event.e];
  if (!fold) throw new Error(`This page does not know the event ${event.e}.`);
  fold(draft, event);
}

/** The view after one event of the step that `view` is at. */
export function applyEvent(view, event) {
  const draft = new Draft(view);
  foldInto(draft, event);
  return draft.view;
}

/** The view after whole steps: [{step, events}, ...], in order. */
export function applySteps(view, steps) {
  if (!steps.length) return view;
  const draft = new Draft(view);
  for (const one of steps) {
    draft.view.step = one.step;
    for (const event of one.events) foldInto(draft, event);
  }
  return draft.view;
}
