// Questions to a view about snapshots: what each subtask's part of a checkpoint went through, and how the job takes them.
//
// The picture keeps steps, sizes and reasons. Which elements were saved is known from the steps that this page has folded
// (trail.js), and is left out where it has not seen them.

import { bytes, count, list } from "./format.js";

/** Why a part is given up, in words; the names are those of Flink's CheckpointFailureReason. */
export const FAILURES = {
  CHECKPOINT_EXPIRED: "it was not complete within the checkpoint timeout",
  CHECKPOINT_SUBSUMED: "a newer checkpoint was complete first",
  CHECKPOINT_ASYNC_EXCEPTION: "the storage refused a snapshot",
  CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER: "a subtask before it had given the checkpoint up",
  CHECKPOINT_DECLINED_SUBSUMED: "a barrier of a newer checkpoint came before all of its own",
  TASK_FAILURE: "a subtask failed",
  CHECKPOINT_LOOP_NOT_DRAINED: "a loop went on while the sources paused, and did not run empty",
  FINALIZE_CHECKPOINT_FAILURE: "the checkpoint could not be stored",
};

/** A reason in words, with its name. */
export const failureWords = (name) => (FAILURES[name] ? `${FAILURES[name]} (${name})` : name);

/** Checkpoints in progress, the oldest first: [[number, checkpoint]]. */
export const inProgress = (view) => Object.entries(view.checkpoints).filter(([, one]) => one.status === "triggered");

/** The elements that checkpoints in progress have saved, by id: number of the checkpoint. */
export function savedElements(view, trail) {
  const saved = new Map();
  const live = new Set(inProgress(view).map(([number]) => Number(number)));
  if (!live.size) return saved;
  for (const note of trail.saved) {
    if (note.step > view.step) break;
    if (live.has(note.checkpoint)) for (const id of note.elements) saved.set(id, note.checkpoint);
  }
  return saved;
}

/** What all parts held, saved and copied together. */
export function totals(checkpoint) {
  const sum = { held: 0, saved: 0, saved_bytes: 0, bytes: 0, written: 0 };
  for (const part of Object.values(checkpoint.subtasks)) for (const name of Object.keys(sum)) sum[name] += part[name];
  return sum;
}

/** A part up to the end of its checkpoint: barriers of one that was given up still arrive. */
function within({ ended }, part) {
  if (ended === null) return part;
  const steps = ["first_barrier", "snapshot", "complete", "uploaded", "acknowledged"];
  return { ...part, ...Object.fromEntries(steps.map((name) => [name, part[name] !== null && part[name] <= ended ? part[name] : null])) };
}

const OVER = new Set(["dropped", "declined"]);

/**
 * The phases of one part, in order: [{kind, from, to, open, sentence}], from and to as steps. An open phase ends at `now`.
 * kind: waiting, aligning, collecting (as aligning, but nothing waits), copied, channel (state), upload, answer, given-up.
 */
export function phasesOf(view, number, id) {
  const one = view.checkpoints[number];
  const part = within(one, one.subtasks[id]);
  const over = OVER.has(part.status);
  const now = one.ended ?? view.step;
  const end = over ? part.dropped ?? now : now;
  const live = one.status === "triggered" && !over;
  const phases = [];
  const add = (kind, from, to, sentence) => {
    const open = to === null;
    phases.push({ kind, from, to: open ? Math.max(from, end) : to, open, sentence: sentence(count(Math.max(0, (to ?? end) - from), "step"), open && live, to) });
  };
  const isSource = !Object.keys(view.subtasks[id]?.inputs ?? {}).length;
  const what = isSource || view.job.scheme === "stop_the_world" ? "to be asked for its part" : "for its first barrier";

  const first = part.first_barrier ?? part.snapshot;
  add("waiting", one.triggered, first, (steps, on) => (on ? `${id} waits ${what}, ${steps} so far` : first === null ? `${id} waited ${what} in vain` : `${id} waited ${steps} ${what}, until step ${first}`));
  if (part.first_barrier !== null && part.snapshot !== part.first_barrier) {
    const collects = view.job.scheme === "at_least_once" && one.kind !== "savepoint";
    const held = part.held ? `; ${count(part.held, "record")} had to wait` : "";
    if (collects) add("collecting", first, part.snapshot, (steps, on, to) => `${id} ${on ? "waits" : "waited"} ${steps} for its other barriers and ${on ? "blocks" : "blocked"} nothing${to === null ? "" : `, until step ${to}`}`);
    else add("aligning", first, part.snapshot, (steps, on, to) => (on ? `${id} aligns its barriers, ${steps} so far` : `${id} aligned its barriers for ${steps}${to === null ? "" : `, until step ${to}`}${held}`));
  }
  if (part.snapshot !== null) {
    add("copied", part.snapshot, part.snapshot, () => `${id} copied its state in step ${part.snapshot}: ${sizeWords(part)}`);
    const gathers = part.complete !== null || part.saved > 0;
    const gathered = `${count(part.saved, "element")}, ${bytes(part.saved_bytes)}`;
    if (gathers && part.complete !== part.snapshot) add("channel", part.snapshot, part.complete, (steps, on, to) => (on ? `${id} saves what it takes until its last barrier comes, ${steps} so far: ${gathered}` : `${id} gathered channel state for ${steps}${to === null ? "" : `, until step ${to}`}: ${gathered}`));
    else if (part.saved) phases.at(-1).sentence += `, and with it what was in flight: ${gathered}`;
    if (part.uploaded !== null) {
      const loading = part.status === "uploading";
      add("upload", part.snapshot, loading ? null : part.uploaded, (steps, on, to) => (on ? `${id} uploads its part, ${steps} so far: ${bytes(part.left)} are left` : `${id} uploaded its part in ${steps}${to === null ? "" : `, until step ${to}`}`));
    }
  }
  if (part.acknowledged !== null) {
    const sent = Math.max(first ?? one.triggered, part.snapshot ?? 0, part.complete ?? 0, part.uploaded ?? 0);
    add("answer", sent, part.acknowledged, (steps, _, to) => `The coordinator had the answer of ${id} after ${steps}, in step ${to}`);
  }
  if (over) add("given-up", end, end, () => `${id} gave up its part in step ${part.dropped}: ${failureWords(part.reason)}`);
  return phases;
}

/** The state of a part in a word or two, for the end of its row. */
export function partWord(view, number, id) {
  const one = view.checkpoints[number];
  const part = within(one, one.subtasks[id]);
  const inputs = Object.keys(view.subtasks[id]?.inputs ?? {}).length;
  if (one.status !== "triggered" && part.acknowledged === null) return OVER.has(part.status) ? "given up" : "not acked";
  switch (part.status) {
    case "acknowledged": return `acked ${part.acknowledged}`;
    case "uploading": return `${bytes(part.left)} left`;
    case "uploaded":
    case "snapshotted":
      if (part.saved && part.complete === null) return `saved ${part.saved}`;
      return part.status === "uploaded" ? `stored ${part.uploaded}` : `copied ${part.snapshot}`;
    case "aligning": return !view.subtasks[id]?.aligning ? "collecting" : `${view.subtasks[id]?.aligning?.received.length ?? 0} of ${inputs}`;
    case "dropped":
    case "declined": return "given up";
    default: return inputs ? "waiting" : "asked";
  }
}

/** All bytes that a part or a checkpoint refers to, and how much of it is new where that differs. */
export const sizeWords = (one) => (one.written === one.bytes ? bytes(one.bytes) : `${bytes(one.bytes)}, ${bytes(one.written)} of it new`);

/** How a job takes its snapshots, for the header: "unaligned checkpoints, timeout 50 ms". */
export function schemeWords({ name, timeout }) {
  const known = {
    aligned: "aligned checkpoints", unaligned: "unaligned checkpoints", unaligned_after_timeout: `unaligned checkpoints, timeout ${timeout} ms`,
    at_least_once: "checkpoints at least once", none: "no checkpoints", stop_the_world: "stop-the-world snapshots",
  };
  return known[name] ?? name;
}

/** What was held and stored, in words; "" where it was nothing. */
export function totalWords({ held, saved, saved_bytes }) {
  return list([held && `${count(held, "record")} held back`, saved && `${count(saved, "element")} (${bytes(saved_bytes)}) stored as channel state`].filter(Boolean));
}
