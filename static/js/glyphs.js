// The shapes of what travels, once as SVG (at rest) and once on a canvas (moving), from the same numbers.
//
// A record is a disc with its key's code, a result a stadium with key and value, a watermark a pentagon that points
// downstream, a status the same pentagon hollow (dashed where it says idle), a barrier a bar as high as the lane with its number on a flag,
// a barrier that overtook a hollow one whose flag points ahead, a cancellation a dashed one, the end of input a square. Everything is drawn about (0, 0). `down` is true where the flow is from top to bottom: the shape stays, its direction turns.

import { html, raw } from "./svg.js";
import { moment, time, watermark, watermarkInWords } from "./format.js";

const HUES = 5;

// Salt and length are chosen so that the commonest airline codes get hues of their own.
const SALT = 15095998;

function hash(text) {
  let x = SALT;
  for (const sign of text) x = Math.imul(x ^ sign.codePointAt(0), 16777619) >>> 0;
  return x ^ (x >>> 15);
}

/** How a key looks, the same on every page: the code decides, hue 0 to 4 helps, `ring` doubles the hues. */
export function keyStyle(key) {
  if (key === null || key === undefined) return { code: "", hue: null, ring: false };
  const slot = (hash(String(key)) >>> 0) % (2 * HUES);
  return { code: codeOf(String(key).replace(/^['"]|['"]$/g, "")), hue: slot % HUES, ring: slot >= HUES };
}

/** Three signs of a key: its beginning, or beginning and end where the end is a number that tells keys apart. */
function codeOf(key) {
  const signs = [...key];
  if (signs.length <= 3) return key;
  return /\d$/.test(key) ? signs.slice(0, 2).join("") + signs[signs.length - 1] : signs.slice(0, 3).join("");
}

const keyClass = ({ hue, ring }) => (hue === null ? "key-none" : `key-${hue}${ring ? " key-ring" : ""}`);

let knownKeys = new Set();

/** The keys that the lab names: results that are keyed no more are coloured by the one that they speak of. */
export function setKeys(names) {
  knownKeys = new Set(names);
}

/** The first quoted word of a result that is one of the lab's keys: ('B6', '02-07 06:00', 14) is about B6. */
function keyIn(text) {
  for (const [, word] of text.matchAll(/['"]([^'"]{1,40})['"]/g)) if (knownKeys.has(word)) return word;
  return null;
}

/** What an element is drawn as. `result`: it was sent by an operator whose output is results. */
export function markOf(element, result = false) {
  const { kind } = element;
  if (kind === "watermark") return { kind, label: watermark(element.timestamp), title: titleOf(element) };
  if (kind === "barrier") return { kind, label: String(element.checkpoint), title: titleOf(element) };
  if (kind === "cancel") return { kind, label: `×${element.checkpoint}`, title: titleOf(element) };
  if (kind === "end") return { kind, label: "", title: titleOf(element) };
  if (kind === "status") return { kind, label: element.text, title: titleOf(element) };
  if (kind === "probe") return { kind, label: "?", title: titleOf(element) };
  const shape = result && element.brief ? "result" : "record";
  const key = element.key ?? (result ? keyIn(element.text) : null);
  if (key === null && shape === "record") return { kind: shape, ...keyStyle(null), code: codeOf(element.brief ?? ""), label: "", title: titleOf(element) };
  return { kind: shape, ...keyStyle(key), label: element.brief ?? "", title: titleOf(element) };
}

/** A barrier that stands before the queue, since it overtook what is in it. */
export const priorityMark = (checkpoint) => ({ kind: "priority", label: String(checkpoint), title: `barrier of checkpoint ${checkpoint}, which overtook what is queued` });

/** The chip at the tail of a queue that does not fit: "+3", with a purple edge if a barrier is among them. */
export const moreMark = (elements) => ({
  kind: "more",
  label: `+${elements.length}`,
  barrier: elements.some((element) => element.kind === "barrier" || element.kind === "cancel"),
  title: elements.map(titleOf).join("\n"),
});

/** The element in words. */
export function titleOf(element) {
  if (element.kind === "watermark") return `watermark ${watermarkInWords(element.timestamp)}`;
  if (element.kind === "barrier") return `barrier of checkpoint ${element.checkpoint}`;
  if (element.kind === "cancel") return `cancellation: checkpoint ${element.checkpoint} is given up`;
  if (element.kind === "end") return "end of input";
  if (element.kind === "status") return element.text === "idle" ? "status idle: its sender fell silent and holds no watermark back" : "status active: its sender woke up";
  if (element.kind === "probe") return `probe, after ${element.text}: is anything left in the loop?`;
  const at = element.timestamp === null ? "" : `, at ${moment(element.timestamp)}`;
  return `record ${element.key === null ? "" : `${element.key}: `}${element.text}${at}`;
}

/** A few words for lists: "UA", "20:05", "barrier 3". */
export function nameOf(element) {
  if (element.kind === "watermark") return `watermark ${watermark(element.timestamp)}`;
  if (element.kind === "barrier") return `barrier ${element.checkpoint}`;
  if (element.kind === "cancel") return `cancellation of checkpoint ${element.checkpoint}`;
  if (element.kind === "end") return "end of input";
  if (element.kind === "status") return `status ${element.text}`;
  if (element.kind === "probe") return "probe";
  return element.key === null ? `record ${element.brief || time(element.timestamp)}` : `record ${element.key}`;
}

const DIGIT = 4.9;
const width = (text) => [...text].reduce((sum, sign) => sum + (":.,–".includes(sign) ? 2.7 : DIGIT), 0);
const pentagon = (mark) => Math.max(31, Math.ceil(width(mark.label)) + 10);
const stadium = (mark) => 16 + Math.max(14, Math.ceil(width(mark.label)) + 7);
const flag = (mark) => Math.max(10, Math.ceil(width(mark.label)) + 4);

/** Length of a mark along its lane. */
export function lengthOf(mark, down = false) {
  switch (mark.kind) {
    case "record": return 17;
    case "result": return down ? 17 : stadium(mark) + 1;
    case "watermark":
    case "status": return down ? 17 : pentagon(mark);
    case "cancel":
    case "barrier": return down ? 15 : flag(mark) + 5;
    case "priority": return down ? 18 : flag(mark) + 10;
    case "more": return down ? 14 : 19;
    default: return 12;
  }
}

/** Outline of a mark as path data, its text and where the text stands. The one place where shapes are defined. */
function shape(mark, down) {
  switch (mark.kind) {
    case "record":
      return { body: "M-8,0a8,8 0 1 0 16,0a8,8 0 1 0 -16,0Z", text: mark.code, x: 0, y: 0.3 };
    case "result": {
      const w = stadium(mark);
      const left = -w / 2;
      const outline = `M${left + 8},-8H${-left - 8}a8,8 0 0 1 0,16H${left + 8}a8,8 0 0 1 0,-16Z`;
      const half = `M${left + 17},-8H${left + 8}a8,8 0 0 0 0,16H${left + 17}Z`;
      return { body: half, outline, text: mark.code, x: left + 9, y: 0.3, value: mark.label, valueX: left + 17 + (w - 18) / 2 };
    }
    case "watermark":
    case "status": {
      const h = pentagon(mark) / 2;
      return down
        ? { body: `M${-h},-8H${h}V3L0,8.5L${-h},3Z`, text: mark.label, x: 0, y: -2.2 }
        : { body: `M${-h},-7H${h - 6}L${h},0L${h - 6},7H${-h}Z`, text: mark.label, x: -2.5, y: 0.3 };
    }
    case "priority": {
      const w = flag(mark);
      const left = -w / 2 - 4.5;
      return down
        ? { body: `M-14,-8.5H14V-5H-14ZM-14,-5V3L${-14 + w / 2},8.5L${-14 + w},3V-5Z`, text: mark.label, x: -14 + w / 2, y: -0.6 }
        : { body: `M${left},-11H${left + 3.5}V11H${left}ZM${left + 3.5},-11H${w / 2}L${w / 2 + 4.5},-5L${w / 2},1H${left + 3.5}Z`, text: mark.label, x: 0, y: -4.8 };
    }
    case "cancel":
    case "barrier": {
      const w = flag(mark);
      return down
        ? { body: `M-14,3H14V6.5H-14ZM-14,3V-8H${-14 + w}V3Z`, text: mark.label, x: -14 + w / 2, y: -2.4 }
        : { body: `M${w / 2 - 2},-11H${w / 2 + 1.5}V11H${w / 2 - 2}ZM${w / 2 - 2},-11H${-w / 2 - 2}V0H${w / 2 - 2}Z`, text: mark.label, x: -2, y: -5.3 };
    }
    case "more":
      return { body: "M-6.5,-7H6.5a2.5,2.5 0 0 1 2.5,2.5V4.5a2.5,2.5 0 0 1 -2.5,2.5H-6.5a2.5,2.5 0 0 1 -2.5,-2.5V-4.5a2.5,2.5 0 0 1 2.5,-2.5Z", text: mark.label, x: 0, y: 0.3 };
    default:
      return { body: "M-5.5,-5.5H5.5V5.5H-5.5Z", text: mark.kind === "probe" ? mark.label : "", x: 0, y: 0.3 };
  }
}

const CLASSES = {
  record: (mark) => `g-key ${keyClass(mark)}`,
  result: (mark) => `g-key ${keyClass(mark)}`,
  watermark: () => "g-time",
  status: ({ label }) => `g-status${label === "idle" ? " g-idle" : ""}`,
  barrier: () => "g-barrier",
  priority: () => "g-priority",
  cancel: () => "g-cancel",
  more: () => "g-more",
  end: () => "g-end",
  probe: () => "g-probe",
};

/** The class of the text in a shape of these classes. */
export const textClass = (kind) => `${kind.includes("key-none") ? "key-none" : kind.split(" ")[0]}-text`;

/** Markup of a mark about (0, 0). */
export function glyph(mark, down = false) {
  const { body, outline, text, x, y, value, valueX } = shape(mark, down);
  const kind = CLASSES[mark.kind](mark);
  return html`${outline && raw(`<path class="g-value ${kind}" d="${outline}"/>`)}${raw(`<path class="${kind}" d="${body}"/>`)}${
    text && html`<text class="g-text ${textClass(kind)}" x="${x}" y="${y}">${text}</text>`
  }${value && html`<text class="g-text g-value-text" x="${valueX}" y="0.3">${value}</text>`}${
    mark.barrier && raw('<path class="g-barrier" d="M-9,-9h3v18h-3z"/>')
  }`;
}

/** A dog-ear: the element became part of a checkpoint in progress. `dense`: on a tick. */
export const savedCorner = (dense) => raw(`<path class="saved-corner" d="${dense ? "M-0.5,-3.8H3.8V0.5Z" : "M2,-10H10V-2Z"}"/>`);

/** A mark of the dense picture: shape and colour only, `size` px high. */
export function tick(mark, size, down = false) {
  const h = size / 2;
  const kind = CLASSES[mark.kind](mark);
  if (mark.kind === "record" || mark.kind === "result") return raw(`<circle class="${kind}" r="${h * 0.9}"/>`);
  if (mark.kind === "watermark" || mark.kind === "status") {
    return raw(`<path class="${kind}" d="${down ? `M${-h},${-h}H${h}L0,${h}Z` : `M${-h},${-h}L${h},0L${-h},${h}Z`}"/>`);
  }
  if (mark.kind === "priority") return raw(`<path class="${kind}" d="${down ? `M${-h - 1},${-h}H${h + 1}L0,${h}Z` : `M${-h},${-h - 1}L${h},0L${-h},${h + 1}Z`}"/>`);
  if (mark.kind === "barrier" || mark.kind === "cancel") {
    return raw(`<path class="${kind}" d="${down ? `M${-size},-1.2h${2 * size}v2.4h${-2 * size}z` : `M-1.2,${-h - 1}h2.4v${size + 2}h-2.4z`}"/>`);
  }
  return raw(`<path class="${kind}" d="M${-h * 0.7},${-h * 0.7}h${h * 1.4}v${h * 1.4}h${-h * 1.4}z"/>`);
}

const TALL = new Set(["barrier", "priority", "cancel"]);

/** A mark the size of a word, for lists and sentences. */
export function inline(mark) {
  const tall = TALL.has(mark.kind);
  const w = tall ? lengthOf(mark) + 2 : lengthOf(mark);
  const h = tall ? 24 : 18;
  return html`<svg class="inline" width="${w}" height="${h}" viewBox="${-w / 2} ${-h / 2} ${w} ${h}" aria-hidden="true">${glyph(mark)}</svg>`;
}

export const inlineKey = (key) => inline({ kind: "record", ...keyStyle(key) });

/** Draws a mark on a canvas about (0, 0). `paint` maps the classes above to {fill, stroke} (tokens_canvas.js). */
export function draw(context, mark, down, paint) {
  const { body, outline, text, x, y, value, valueX } = shape(mark, down);
  const colours = paint(CLASSES[mark.kind](mark));
  const fill = (path, { fill: inside, stroke }) => {
    const area = new Path2D(path);
    context.fillStyle = inside;
    context.fill(area);
    if (stroke === "none") return;
    context.strokeStyle = stroke;
    context.stroke(area);
  };
  context.lineWidth = 1;
  if (outline) fill(outline, paint(`g-value ${CLASSES[mark.kind](mark)}`));
  fill(body, colours);
  if (mark.barrier) fill("M-9,-9h3v18h-3z", paint("g-barrier"));
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = paint.font;
  if (text) {
    context.fillStyle = colours.text;
    context.fillText(text, x, y + 0.6);
  }
  if (value) {
    context.fillStyle = paint.ink;
    context.fillText(value, valueX, 0.9);
  }
}
