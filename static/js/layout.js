// Where everything stands: a pure function of the job graph and the size of the stage.
//
// Operators are columns, their subtasks are rows. A channel leaves its sender's port, is routed by a curve and becomes a
// straight lane in front of its receiver's port: the lane is the FIFO queue, head at the port. On narrow screens columns
// become rows and lanes hang down.

const PAD = 14;

/** Three ways to draw cards, from roomy to dense; the first that fits is taken. */
const DENSITIES = [
  { name: "full", head: 24, watermark: 20, pitch: 24, lane: 20, glyph: 1, split: 30, out: 18, keyed: 30, plain: 19, gap: 5 },
  { name: "compact", head: 20, watermark: 17, pitch: 19, lane: 17, glyph: 0.9, split: 17, out: 13, keyed: 0, plain: 0, gap: 4 },
  { name: "dense", head: 19, watermark: 0, pitch: 9, lane: 7, glyph: 0, split: 11, out: 7, keyed: 0, plain: 0, gap: 5 },
];

const SPLITS_SHOWN = 4;

/** A feedback channel goes back below the cards, or left of them; so far apart are two of them, and so many are told apart. */
const BACK = { step: 4, most: 4, margin: 8 };

/** Below this height a heading has one line. */
const LOW = 430;

/** Two drawings may share a page. */
const KEPT = 2;
const kept = new Map();

/** The layout of `view` in a box of `size`; computed once per graph and size. */
export function layoutFor(view, size) {
  const shape = Object.entries(view.subtasks).map(([id, subtask]) => [id, Object.keys(subtask.inputs), Object.keys(subtask.splits).length, subtask.key_groups !== null]);
  const key = JSON.stringify([view.graph, shape, Object.keys(view.channels), size]);
  if (!kept.has(key)) kept.set(key, compute(view, size));
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return kept.get(key);
}

/** Columns of operators from sources to sinks: the longest way to an operator is its depth. */
export function columnsOf(graph) {
  const depth = new Map(graph.vertices.map((vertex) => [vertex.id, 0]));
  for (let round = 0; round < graph.vertices.length; round += 1) {
    for (const edge of graph.edges.filter((one) => !one.feedback)) depth.set(edge.to, Math.max(depth.get(edge.to), depth.get(edge.from) + 1));
  }
  const columns = [];
  for (const vertex of graph.vertices) (columns[depth.get(vertex.id)] ??= []).push(vertex);
  return columns.filter(Boolean);
}

function compute(view, { width, height, vertical }) {
  const columns = columnsOf(view.graph).map((vertices) => ({
    vertices,
    ids: vertices.flatMap((vertex) => idsOf(view, vertex.id)),
  }));
  return vertical ? down(view, columns, width) : across(view, columns, width, height);
}

const idsOf = (view, vertex) =>
  Object.keys(view.subtasks).filter((id) => view.subtasks[id].vertex === vertex).sort((a, b) => view.subtasks[a].index - view.subtasks[b].index);

const outputs = (view, id) => Object.keys(view.channels).filter((name) => view.channels[name].from === id);

function cardHeight(view, id, d) {
  const subtask = view.subtasks[id];
  const inputs = Object.keys(subtask.inputs).length;
  if (inputs) return d.head + d.watermark + inputs * d.pitch + (subtask.key_groups ? d.keyed : d.plain) + 4;
  const splits = Math.min(SPLITS_SHOWN, Object.keys(subtask.splits).length);
  return d.head + splits * d.split + (d.watermark && 17) + outputs(view, id).length * d.out + 6;
}

function across(view, columns, width, height) {
  const top = height < LOW ? 24 : 42;
  const under = backRoom(view);
  const room = height - top - 4 - under;
  const heightOf = (column, d) => column.ids.reduce((sum, id) => sum + cardHeight(view, id, d) + d.gap, 0);
  const d = DENSITIES.find((one) => columns.every((column) => heightOf(column, one) <= room)) ?? DENSITIES[2];
  const tall = Math.max(room, ...columns.map((column) => heightOf(column, d)));

  const roomy = Math.max(0, Math.min(1, (width - 700) / 240));
  const widths = columns.map((column) => cardWidth(view, column, roomy));
  const gaps = columns.slice(1).map((column, i) => (crosses(view, columns[i], column) ? 1.5 : 1));
  const least = widths.reduce((a, b) => a + b, 0) + gaps.length * 86 + 2 * PAD;
  const total = Math.max(width, least);
  const share = (total - widths.reduce((a, b) => a + b, 0) - 2 * PAD) / (gaps.reduce((a, b) => a + b, 0) || 1);

  const layout = { width: total, height: Math.max(height, top + tall + 4 + under), vertical: false, density: d, twoLines: height >= LOW, columns: [], edges: [], cards: {}, channels: {} };
  let x = PAD;
  columns.forEach((column, i) => {
    if (gaps.length === 0) x = (total - widths[0]) / 2;
    layout.columns.push({ x, width: widths[i], wide: widths[i] + (gaps[i] ?? 0) * share * 0.9, vertices: column.vertices });
    const spare = tall - column.ids.reduce((sum, id) => sum + cardHeight(view, id, d), 0);
    let y = top + spare / column.ids.length / 2;
    for (const id of column.ids) {
      const h = cardHeight(view, id, d);
      layout.cards[id] = { x: Math.round(x), y: Math.round(y), width: widths[i], height: h };
      y += h + spare / column.ids.length;
    }
    if (i < gaps.length) {
      layout.edges.push({ x: x + widths[i], width: gaps[i] * share, edges: edgesBetween(view, column, columns[i + 1]) });
      x += widths[i] + gaps[i] * share;
    }
  });
  for (const name of Object.keys(view.channels)) layout.channels[name] = view.channels[name].feedback ? laneBack(view, layout, name) : lane(view, layout, name);
  return layout;
}

function cardWidth(view, column, roomy) {
  const mix = (a, b) => Math.round(a + (b - a) * roomy);
  if (column.ids.some((id) => view.subtasks[id].key_groups)) return mix(152, 186);
  if (column.ids.some((id) => Object.keys(view.subtasks[id].splits).length)) return mix(124, 138); // "cancelled" beside the name
  return mix(116, 150);
}

const edgesBetween = (view, a, b) =>
  view.graph.edges.filter((edge) => a.vertices.some((v) => v.id === edge.from) && b.vertices.some((v) => v.id === edge.to));

const crosses = (view, a, b) => edgesBetween(view, a, b).some((edge) => edge.partitioner !== "forward");

function lane(view, layout, name) {
  const { from, to } = view.channels[name];
  const d = layout.density;
  const a = layout.cards[from];
  const b = layout.cards[to];
  const k = Object.keys(view.subtasks[to].inputs).indexOf(name);
  const outs = outputs(view, from);
  const isSource = Object.keys(view.subtasks[from].inputs).length === 0;
  const startY = isSource
    ? a.y + a.height - 4 - (outs.length - outs.indexOf(name) - 0.5) * d.out
    : a.y + Math.min(a.height / 2, d.head + d.watermark + d.pitch);
  const start = { x: a.x + a.width, y: Math.round(startY) };
  const end = { x: b.x, y: Math.round(b.y + d.head + d.watermark + (k + 0.5) * d.pitch) };
  const gap = end.x - start.x;
  const before = layout.edges.findLast((edge) => edge.x + edge.width <= b.x + 1);
  const local = before ? Math.min(gap, before.width) : gap;
  const turn = end.x - local + Math.max(30, Math.min(64, local * 0.25));
  const bend = turn - start.x;
  const points = sample(start, { x: start.x + bend * 0.55, y: start.y }, { x: turn - bend * 0.5, y: end.y }, { x: turn, y: end.y });
  points.push(end);
  return {
    start, end, ...measured(points),
    curve: `M${start.x},${start.y}C${start.x + bend * 0.55},${start.y} ${turn - bend * 0.5},${end.y} ${turn},${end.y}H${end.x}`,
    lane: { x: turn, y: end.y - d.lane / 2, width: end.x - turn, height: d.lane },
    room: end.x - turn,
  };
}

const backNames = (view) => Object.keys(view.channels).filter((name) => view.channels[name].feedback);

const backRoom = (view) => (backNames(view).length ? BACK.margin + BACK.step * Math.min(BACK.most, backNames(view).length) : 0);

/** How far a feedback channel is moved aside for the others. */
const aside = (view, name) => BACK.step * (backNames(view).indexOf(name) % BACK.most);

/** Out at the sender's right, below all cards, up in front of the receiver's column, and into its lane. */
function laneBack(view, layout, name) {
  const { from, to } = view.channels[name];
  const d = layout.density;
  const a = layout.cards[from];
  const b = layout.cards[to];
  const k = Object.keys(view.subtasks[to].inputs).indexOf(name);
  const off = aside(view, name);
  const start = { x: a.x + a.width, y: Math.round(a.y + a.height - 8) };
  const end = { x: b.x, y: Math.round(b.y + d.head + d.watermark + (k + 0.5) * d.pitch) };
  const before = layout.edges.findLast((edge) => edge.x + edge.width <= b.x + 1);
  const turn = end.x - (before ? before.width * 0.6 : 60);
  const corners = [
    start, { x: start.x + 8 + off, y: start.y }, { x: start.x + 8 + off, y: layout.height - 6 - off },
    { x: turn - 8 - off, y: layout.height - 6 - off }, { x: turn - 8 - off, y: end.y }, { x: turn, y: end.y }, end,
  ];
  return { ...along(corners), lane: { x: turn, y: end.y - d.lane / 2, width: end.x - turn, height: d.lane }, room: end.x - turn };
}

/** A channel along straight lines. */
function along(corners) {
  return { start: corners[0], end: corners.at(-1), ...measured(corners), curve: `M${corners.map(({ x, y }) => `${x},${y}`).join("L")}` };
}

const CARD_LEAST = 116;
const CARD_MOST = 240;
const ROW_GAP = 8;
const WIDEST_LANE = 34;

const cardAcross = (total, n) => Math.min(CARD_MOST, (total - 16 - (n - 1) * ROW_GAP) / n);

function down(view, columns, width) {
  const pad = 8;
  const widest = Math.max(...columns.map((column) => column.ids.length));
  const total = Math.max(width, widest * CARD_LEAST + (widest - 1) * ROW_GAP + 2 * pad);
  const narrowest = Math.min(...columns.flatMap((column) => column.ids.map((id) => {
    const inputs = Object.keys(view.subtasks[id].inputs).length;
    return inputs ? cardAcross(total, column.ids.length) / inputs - 4 : WIDEST_LANE;
  })));
  const glyph = narrowest < WIDEST_LANE / 2 ? 0 : Math.min(1, narrowest / WIDEST_LANE);
  const d = { ...DENSITIES[0], glyph, lane: glyph ? 20 : 7, pitch: 20, keyed: 36, plain: 18, split: 28, out: 0 };
  const layout = { width: total, height: 0, vertical: true, density: d, twoLines: false, columns: [], edges: [], cards: {}, channels: {} };
  let y = 26;
  let gapAbove = 0;
  columns.forEach((column, i) => {
    layout.columns.push({ x: pad, y: i ? y - gapAbove + 10 : 5, width: total - 2 * pad, vertices: column.vertices });
    const n = column.ids.length;
    const w = cardAcross(total, n);
    const left = (total - n * w - (n - 1) * ROW_GAP) / 2;
    const h = Math.max(...column.ids.map((id) => cardHeight(view, id, d) + (Object.keys(view.subtasks[id].splits).length ? 18 : 0)));
    column.ids.forEach((id, j) => {
      layout.cards[id] = { x: Math.round(left + j * (w + ROW_GAP)), y, width: Math.round(w), height: h };
    });
    y += h;
    gapAbove = i < columns.length - 1 && crosses(view, column, columns[i + 1]) && n > 1 ? 176 : 140;
    if (i < columns.length - 1) y += gapAbove;
  });
  layout.height = y + 10 + backRoom(view);
  for (const name of Object.keys(view.channels)) layout.channels[name] = view.channels[name].feedback ? hangingBack(view, layout, name) : hangingLane(view, layout, name);
  return layout;
}

function hangingLane(view, layout, name) {
  const { from, to } = view.channels[name];
  const a = layout.cards[from];
  const b = layout.cards[to];
  const ins = Object.keys(view.subtasks[to].inputs);
  const outs = outputs(view, from);
  const start = { x: Math.round(a.x + (a.width * (outs.indexOf(name) + 0.5)) / outs.length), y: a.y + a.height };
  const end = { x: Math.round(b.x + (b.width * (ins.indexOf(name) + 0.5)) / ins.length), y: b.y };
  const wide = Math.min(WIDEST_LANE, b.width / ins.length - 4);
  const turn = start.y + Math.min(56, (end.y - start.y) * 0.36);
  const bend = turn - start.y;
  const points = sample(start, { x: start.x, y: start.y + bend * 0.6 }, { x: end.x, y: turn - bend * 0.6 }, { x: end.x, y: turn });
  points.push(end);
  return {
    start, end, ...measured(points),
    curve: `M${start.x},${start.y}C${start.x},${start.y + bend * 0.6} ${end.x},${turn - bend * 0.6} ${end.x},${turn}V${end.y}`,
    lane: { x: end.x - wide / 2, y: turn, width: wide, height: end.y - turn },
    room: end.y - turn,
  };
}

/** Out below the sender, up at the left edge, and down into the lane above the receiver. */
function hangingBack(view, layout, name) {
  const { from, to } = view.channels[name];
  const a = layout.cards[from];
  const b = layout.cards[to];
  const ins = Object.keys(view.subtasks[to].inputs);
  const outs = outputs(view, from);
  const off = aside(view, name) / 2;
  const start = { x: Math.round(a.x + (a.width * (outs.indexOf(name) + 0.5)) / outs.length), y: a.y + a.height };
  const end = { x: Math.round(b.x + (b.width * (ins.indexOf(name) + 0.5)) / ins.length), y: b.y };
  const wide = Math.min(WIDEST_LANE, b.width / ins.length - 4);
  const turn = end.y - 84;
  const corners = [
    start, { x: start.x, y: start.y + 10 + off }, { x: 1 + off, y: start.y + 10 + off }, { x: 1 + off, y: turn - 10 - off },
    { x: end.x, y: turn - 10 - off }, { x: end.x, y: turn }, end,
  ];
  return { ...along(corners), lane: { x: end.x - wide / 2, y: turn, width: wide, height: end.y - turn }, room: end.y - turn };
}

const SAMPLES = 24;

function sample(p0, p1, p2, p3) {
  const points = [];
  for (let i = 0; i <= SAMPLES; i += 1) {
    const t = i / SAMPLES;
    const u = 1 - t;
    const mix = (axis) => u * u * u * p0[axis] + 3 * u * u * t * p1[axis] + 3 * u * t * t * p2[axis] + t * t * t * p3[axis];
    points.push({ x: mix("x"), y: mix("y") });
  }
  return points;
}

function measured(points) {
  const lengths = [0];
  for (let i = 1; i < points.length; i += 1) {
    lengths.push(lengths[i - 1] + Math.hypot(points[i].x - points[i - 1].x, points[i].y - points[i - 1].y));
  }
  return { points, lengths, length: lengths[lengths.length - 1] };
}

/** The point of a channel `distance` px before its head. Negative distances lie beyond the port, in the card. */
export function pointBefore(channel, distance) {
  const { points, lengths, length } = channel;
  const s = length - distance;
  let i = lengths.length - 2;
  while (i > 0 && lengths[i] > s) i -= 1;
  const part = (s - lengths[i]) / (lengths[i + 1] - lengths[i] || 1);
  const a = points[i];
  const b = points[i + 1];
  const t = Math.max(part, 0);
  return { x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t };
}
