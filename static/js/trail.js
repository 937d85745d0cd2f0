// What each subtask has gone through in event time, kept from the steps that this page has folded: the records that it took,
// where its watermark stood between them, which windows were opened, merged, fired and removed; and which elements
// snapshots saved.
//
// A trail covers the steps from `since` to `upto`. Going back inside it keeps it; what is drawn then ends at the position.
// A view from outside replaces it: nothing is known of what happened before.

import { timeValue } from "./format.js";

export const KEPT = 200;

/** A trail that knows nothing before `step`. */
export const startTrail = (step) => ({ since: step, upto: step, tracks: new Map(), saved: [] });

/** The trail when the page shows a view of `step` that it did not fold itself. */
export const jumpTrail = (trail, step) => (step >= trail.since && step <= trail.upto ? trail : startTrail(step));

const newTrack = () => ({ taken: 0, points: [], line: [], windows: new Map() });
const nameOf = (key, start, end) => `${key} ${start}:${end}`;

/** Adds steps in a row to the trail. Tracks grow in place; the wrapper is new, so that listeners see the change. */
export function followTrail(trail, steps) {
  const from = steps[0].step - 1;
  let { since, tracks, saved } = from >= trail.since && from <= trail.upto ? trail : startTrail(from);
  if (from < trail.upto) {
    for (const track of tracks.values()) cutAfter(track, from);
    saved = upTo(saved, from);
  }
  const at = (id) => {
    let track = tracks.get(id);
    if (!track) tracks.set(id, (track = newTrack()));
    return track;
  };
  for (const { step, events } of steps) {
    for (const event of events) {
      if (event.e === "Deployed") {
        since = step;
        tracks = new Map();
      } else if (event.e === "ElementsSaved") {
        saved.push({ step, ...event });
        if (saved.length > 1.5 * SAVED_KEPT) saved = saved.slice(-SAVED_KEPT);
      } else NOTES[event.e]?.(at, event, step);
    }
  }
  return { since, upto: steps[steps.length - 1].step, tracks, saved };
}

const SAVED_KEPT = 4000;

const NOTES = {
  ElementTaken(at, { channel, id, kind, key, timestamp }, step) {
    if (kind !== "record") return;
    const track = at(channel.slice(channel.indexOf(">") + 1));
    track.taken += 1;
    track.points.push({ n: track.taken, step, id, key, time: timeValue(timestamp), late: null });
    if (track.points.length > 1.5 * KEPT) forget(track);
  },
  RecordRead(at, { subtask, split, offset, text, timestamp }, step) {
    const track = at(subtask);
    track.taken += 1;
    track.points.push({ n: track.taken, step, id: `${split}@${offset}`, key: null, text, time: timeValue(timestamp), late: null });
    if (track.points.length > 1.5 * KEPT) forget(track);
  },
  RecordLate(at, event, step) {
    const { points } = at(event.subtask);
    const last = points[points.length - 1];
    if (last?.step === step) last.late = { key: event.key, timestamp: event.timestamp, watermark: event.watermark };
  },
  WatermarkAdvanced(at, { subtask, old, new: now }, step) {
    const track = at(subtask);
    track.line.push({ n: track.taken, step, old: timeValue(old), value: timeValue(now) });
    if (track.line.length > 3 * KEPT) track.line.splice(0, KEPT);
  },
  StatePut(at, { subtask, name, key, window }, step) {
    if (window && name === "window-contents") openWindow(at(subtask), key, window, step);
  },
  WindowsMerged(at, { subtask, key, merged, start, end }, step) {
    const track = at(subtask);
    for (const [from, to] of merged) {
      const window = track.windows.get(nameOf(key, from, to));
      if (window && !window.gone && (from !== start || to !== end)) window.gone = { n: track.taken, step, why: "merged" };
    }
    openWindow(track, key, [start, end], step);
  },
  WindowFired(at, { subtask, key, start, end }, step) {
    const track = at(subtask);
    openWindow(track, key, [start, end], step).fired.push({ n: track.taken, step });
  },
  WindowCleaned(at, { subtask, key, start, end }, step) {
    const track = at(subtask);
    const window = track.windows.get(nameOf(key, start, end));
    if (window && !window.gone) window.gone = { n: track.taken, step, why: "removed" };
  },
};

function openWindow(track, key, [start, end], step) {
  const name = nameOf(key, start, end);
  let window = track.windows.get(name);
  if (!window || window.gone) {
    window = { key, start: timeValue(start), end: timeValue(end), opened: { n: track.taken, step }, fired: [], gone: null };
    track.windows.set(name, window);
  }
  return window;
}

/** Drops what lies before the records that are kept. */
function forget(track) {
  track.points.splice(0, track.points.length - KEPT);
  const first = track.points[0].n;
  for (const [name, window] of track.windows) if (window.gone && window.gone.n < first) track.windows.delete(name);
}

const upTo = (list, step) => list.filter((one) => one.step <= step);

/** Forgets what happened after `step`: the run takes another way from there, or the same way again. */
function cutAfter(track, step) {
  track.points = upTo(track.points, step);
  track.line = upTo(track.line, step);
  track.taken = track.points.length ? track.points[track.points.length - 1].n : 0;
  for (const [name, window] of track.windows) {
    if (window.opened.step > step) track.windows.delete(name);
    else {
      window.fired = upTo(window.fired, step);
      if (window.gone && window.gone.step > step) window.gone = null;
    }
  }
}

/** The last records that were late anywhere, at `step`: [{subtask, key, timestamp, watermark}], the last first. */
export function lateAt(trail, step, most) {
  const found = [];
  for (const [subtask, track] of trail.tracks) for (const point of track.points) if (point.late && point.step <= step) found.push({ step: point.step, subtask, ...point.late });
  return found.sort((a, b) => b.step - a.step).slice(0, most).map(({ step: _, ...late }) => late);
}

/** What is known of a subtask at `step`: {since, points, line, windows}, at most the last 200 records. */
export function trackAt(trail, id, step) {
  const track = trail.tracks.get(id) ?? newTrack();
  const windows = [];
  for (const window of track.windows.values()) {
    if (window.opened.step > step) continue;
    windows.push({ ...window, fired: upTo(window.fired, step), gone: window.gone && window.gone.step <= step ? window.gone : null });
  }
  return { since: trail.since, points: upTo(track.points, step).slice(-KEPT), line: upTo(track.line, step), windows };
}
