// Where the elements of a queue stand in their lane, head first.

import { lengthOf, markOf, moreMark, priorityMark } from "../glyphs.js";

const HEAD_ROOM = 6;
const GATE_ROOM = 20;
const BETWEEN = 2;
const DENSE_LENGTH = 6;

/** Length of a mark in this layout: shapes shrink with the density, the dense picture has ticks only. */
export function markLength(mark, layout) {
  const { glyph } = layout.density;
  return glyph ? lengthOf(mark, layout.vertical) * glyph : DENSE_LENGTH;
}

/** The name under which a barrier that overtook is drawn: it has no number in its channel. */
export const priorityId = (channel, checkpoint) => `${channel}!${checkpoint}`;

/**
 * Places [{id, mark, distance, length}] for one channel; `distance` is from the head to the mark's middle.
 * `ghost` is the element that this step took: it keeps its place, as an outline, and the rest stands behind it.
 * Barriers that overtook (`priority`: {id, checkpoint}) stand before the queue; `passed` is such a ghost.
 */
export function placeQueue({ queue, lane, layout, results, blocked, ghost, priority = [], passed = null }) {
  const places = [];
  let at = blocked ? GATE_ROOM : HEAD_ROOM;
  const put = (id, mark, kind) => {
    const length = markLength(mark, layout);
    places.push({ id, mark, kind, distance: at + length / 2, length });
    at += length + BETWEEN;
  };
  if (passed) put(`${passed.id}-taken`, priorityMark(passed.checkpoint), "ghost");
  for (const { id, checkpoint } of priority) put(id, priorityMark(checkpoint), "queued");
  if (ghost) put(`${ghost.id}-taken`, markOf(ghost, results), "ghost");
  const marks = queue.map((element) => markOf(element, results));
  const room = lane.room - 4;
  let shown = marks.length;
  const total = (n) => marks.slice(0, n).reduce((sum, mark) => sum + markLength(mark, layout) + BETWEEN, at);
  if (total(shown) > room + 8) {
    const chip = layout.density.glyph ? 19 * layout.density.glyph : DENSE_LENGTH;
    while (shown > 1 && total(shown) + chip > room) shown -= 1;
  }
  for (let i = 0; i < shown; i += 1) put(queue[i].id, marks[i], "queued");
  if (shown < queue.length) put("more", moreMark(queue.slice(shown)), "more");
  return places;
}
