// Numbers and times as the page shows them. Event time is shown in the lab's zone, never in the browser's: the same run
// reads the same in Hanoi and in New York.

export const UNKNOWN = "––:––";
const DAY = 86_400_000;
const MINUTE = 60_000;

/** Below this a timestamp is taken for a plain number of a small example, not for a moment after 1970. */
const FIRST_CALENDAR_TIME = 10_000_000_000;

/** Whether a timestamp is shown as a number. */
export const isPlain = (ms) => shown.format === "milliseconds" || Math.abs(ms) < FIRST_CALENDAR_TIME;

const shown = { zone: 0, format: "time" };

/** How the lab shows event time: minutes to add to UTC, and "time", "day and time" or "milliseconds". */
export function setTimes(how) {
  Object.assign(shown, how);
}

/** A timestamp as a number; the ends of event time as infinities. Integers beyond 2^53 travel as text. */
export function timeValue(time) {
  if (time === "-inf" || time === null || time === undefined) return -Infinity;
  if (time === "+inf") return Infinity;
  return Number(time);
}

const two = (n) => String(n).padStart(2, "0");

function clock(ms) {
  const local = ((ms + shown.zone * MINUTE) % DAY + DAY) % DAY;
  const hours = two(Math.floor(local / 3_600_000));
  const text = `${hours}:${two(Math.floor(local / MINUTE) % 60)}`;
  const rest = local % MINUTE;
  if (!rest) return text;
  const seconds = `${text}:${two(Math.floor(rest / 1000))}`;
  return rest % 1000 ? `${seconds}.${String(rest % 1000).padStart(3, "0")}` : seconds;
}

/** A moment of event time: "20:05", "20:05:30", a plain number in small examples, "––:––" when unknown, "end". */
export function time(value) {
  const ms = timeValue(value);
  if (ms === -Infinity) return UNKNOWN;
  if (ms === Infinity) return "end";
  if (isPlain(ms)) return ms.toLocaleString("en").replaceAll(",", "\u2009").replace("-", "−");
  return clock(ms);
}

/** A watermark w says: nothing at or before w follows. One whose last millisecond ends a minute is shown as the minute
 *  that begins: 20:04:59.999 reads 20:05, the moment from which records may still come. */
export function watermark(value) {
  const ms = timeValue(value);
  if (Number.isFinite(ms) && !isPlain(ms) && (ms + 1) % MINUTE === 0) return time(ms + 1);
  return time(value);
}

/** Like `watermark`, with infinity by its sign, for tables and sentences. */
export function watermarkInWords(value) {
  const ms = timeValue(value);
  if (ms === -Infinity) return "−∞";
  if (ms === Infinity) return "+∞, the end";
  return `${watermarkDay(value)} ${watermark(value)}`.trim();
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Date and time for tooltips: "26 Jan 2013, 20:05". */
export function moment(value) {
  const ms = timeValue(value);
  if (!Number.isFinite(ms) || isPlain(ms)) return time(value);
  const local = new Date(ms + shown.zone * MINUTE);
  return `${local.getUTCDate()} ${MONTHS[local.getUTCMonth()]} ${local.getUTCFullYear()}, ${clock(ms)}`;
}

/** The day of a moment, "7 Feb", in labs whose data cover several; else "". */
export function day(value) {
  const ms = timeValue(value);
  if (shown.format !== "day and time" || !Number.isFinite(ms) || isPlain(ms)) return "";
  const local = new Date(ms + shown.zone * MINUTE);
  return `${local.getUTCDate()} ${MONTHS[local.getUTCMonth()]}`;
}

/** The day of a watermark; see `watermark`. */
export function watermarkDay(value) {
  const ms = timeValue(value);
  return day((ms + 1) % MINUTE === 0 ? ms + 1 : ms);
}

/** "7 Feb 14:00", or "14:00" in labs of one day: for sentences and tables. */
export const dayTime = (value) => `${day(value)} ${time(value)}`.trim();

/** [start, end) of a window: "19:00–20:00", "7 Feb 23:00–0:00". */
export const span = (window) => (window ? `${dayTime(window[0])}–${time(window[1])}` : "");

const UNITS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 5e3, 15e3, 6e4, 3e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5];

const FINEST_CLOCK_UNIT = 15 * MINUTE;

/** The distance of ticks on an axis of event time from `low` to `high`: about three of them. */
export function axisUnit(low, high, most = 3) {
  const least = isPlain(low) ? 1 : FINEST_CLOCK_UNIT;
  return UNITS.find((size) => size >= least && (high - low) / size <= most) ?? Math.ceil((high - low) / most / DAY) * DAY;
}

/** "1 step", "2 steps". */
export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** 12 345 with thin spaces. */
export const number = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u2009");

/** ["a", "b", "c"] as "a, b and c". */
export function list(names, last = "and") {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} ${last} ${names[names.length - 1]}`;
}

const FRACTIONS = { 0.25: "¼", 0.5: "½" };

/** Steps per second as the speed control says it. */
export const rate = (value) => (value >= 1000 ? "max" : `${FRACTIONS[value] ?? value} /s`);

/** Bytes for people. */
export function bytes(n) {
  if (n < 1000) return `${n} B`;
  return n < 1_000_000 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1_000_000).toFixed(1)} MB`;
}
