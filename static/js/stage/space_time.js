// Where everything of a space-time diagram lies: lanes as rows, steps to the right, an arrow per message, a line per cut.
// Pure: numbers in, numbers out. It knows neither networks nor jobs.
//
// A diagram: {lanes: [id], from, to, now, arrows: [{id, from, to, sent, delivered}], cuts: [{number, points: {lane: step}}]}.
// `leastUnit` is the width of a step below which the diagram scrolls. `from` and `to` are the first and the last step with room on the axis, `now` the step that is shown; `delivered` is null for what
// is under way, and a lane without a point has not been cut yet.

export const LEFT = 26;
const RIGHT = 26;
const AXIS = 18;
const FLAG = 14;
const LEAST_UNIT = 15;
const MOST_UNIT = 64;
const LEAST_ROW = 34;
const MOST_ROW = 108;
/** How far towards its receiver a message that is under way is drawn. */
const UNDER_WAY = 0.62;

/** {width, height, x, lanes: {id: y}, arrows, cuts, ticks, row}; `room` is what there is on the page. */
export function layoutSpaceTime(diagram, room) {
  const steps = Math.max(1, diagram.to - diagram.from);
  const unit = Math.max(diagram.leastUnit ?? LEAST_UNIT, Math.min(MOST_UNIT, (room.width - LEFT - RIGHT) / steps));
  const x = (step) => tenth(LEFT + (step - diagram.from) * unit);
  const top = 8 + FLAG * Math.max(1, diagram.cuts.length > 3 ? 3 : diagram.cuts.length);
  const row = Math.max(LEAST_ROW, Math.min(MOST_ROW, (room.height - top - AXIS) / diagram.lanes.length));
  const lanes = Object.fromEntries(diagram.lanes.map((id, i) => [id, tenth(top + row * (i + 0.5))]));
  const bottom = top + row * diagram.lanes.length;
  const place = { x, lanes, now: diagram.now, unit };
  return {
    width: Math.max(room.width, tenth(LEFT + steps * unit + RIGHT)),
    height: Math.ceil(bottom + AXIS),
    top, bottom, row, unit, x, lanes,
    arrows: diagram.arrows.map((arrow) => ({ ...arrow, ...arrowPlace(arrow, place) })),
    cuts: diagram.cuts.map((cut, i) => ({ ...cut, ...cutPlace(cut, diagram.lanes, place, { top, bottom, row: i % 3 }) })),
    ticks: ticksOf(diagram.from, diagram.to, unit),
  };
}

const tenth = (n) => Math.round(n * 10) / 10;

function arrowPlace({ from, to, sent, delivered }, { x, lanes, now, unit }) {
  const [x0, y0] = [x(sent), lanes[from]];
  const open = delivered === null;
  const y1 = open ? tenth(y0 + (lanes[to] - y0) * UNDER_WAY) : lanes[to];
  const x1 = open ? Math.max(x0 + 6, x(now) + Math.min(8, unit / 3)) : x(delivered);
  return { x0, y0, x1, y1, open, loop: from === to };
}

/** The line through the lanes: a point where a lane was cut, and the present where it has not been. */
function cutPlace({ points }, ids, { x, lanes, now, unit }, { top, bottom, row }) {
  const at = ids.map((id) => ({ id, x: points[id] === null || points[id] === undefined ? x(now) + unit * 0.6 : x(points[id]), y: lanes[id], done: points[id] !== null && points[id] !== undefined }));
  const segments = at.slice(1).map((end, i) => ({ x0: at[i].x, y0: at[i].y, x1: end.x, y1: end.y, done: at[i].done && end.done }));
  const [first, last] = [at[0], at[at.length - 1]];
  segments.unshift({ x0: first.x, y0: top - 4, x1: first.x, y1: first.y, done: first.done });
  segments.push({ x0: last.x, y0: last.y, x1: last.x, y1: bottom, done: last.done });
  return { segments, dots: at.filter((one) => one.done), label: { x: first.x, y: 8 + FLAG * row } };
}

/** Every step where there is room for its number, else every second, fifth … */
function ticksOf(from, to, unit) {
  const every = [1, 2, 5, 10, 20, 50, 100].find((n) => n * unit >= 24) ?? 200;
  const found = [];
  for (let step = Math.ceil(from / every) * every; step <= to; step += every) found.push(step);
  return found;
}

/** The step of a place on the axis, within the diagram. */
export const stepAt = (diagram, layout, px) =>
  Math.max(diagram.from, Math.min(diagram.to, Math.round(diagram.from + (px - LEFT) / layout.unit)));

/** The arrow nearest to a point, not farther than `most` px; null where there is none. */
export function arrowAt(layout, px, py, most = 9) {
  let best = null;
  let least = most;
  for (const arrow of layout.arrows) {
    const distance = distanceTo(arrow, px, py);
    if (distance < least) [best, least] = [arrow, distance];
  }
  return best;
}

function distanceTo({ x0, y0, x1, y1 }, px, py) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along = Math.max(0, Math.min(1, ((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(px - x0 - along * dx, py - y0 - along * dy);
}
