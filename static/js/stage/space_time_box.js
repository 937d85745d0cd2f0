// A space-time diagram on a page: it scrolls, tells what is pointed at or reached with the arrow keys, and leads to steps.
//
// `parts`: {box, names, readout}, elements of the panel. `words(step)` tells a step, `hint` what can be done here.

import { html, setHtml } from "../svg.js";
import { arrowAt, layoutSpaceTime, stepAt } from "./space_time.js";
import { laneNames, spaceTimeChart } from "./space_time_chart.js";

const NEAR = 8;
const WAYS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

export function createSpaceTimeBox({ parts, seek, words, hint }) {
  const { box, names, readout } = parts;
  /** The arrow and the step that are looked at. */
  const looked = { arrow: null, step: null };
  let drawn = null;
  let room = { width: 0, height: 0 };
  let scrolledTo = null;

  box.addEventListener("keydown", onKey);
  box.addEventListener("pointermove", (event) => drawn && look(under(event)));
  box.addEventListener("pointerleave", () => look({ arrow: null, step: null }));
  box.addEventListener("click", (event) => {
    if (!drawn) return;
    const at = under(event);
    look(at);
    if (at.arrow === null) seek(at.step);
  });

  /** Draws the diagram in `space` {width, height}; `notes` stand under the names of the lanes. */
  function show(diagram, space, { zoom = 1, notes = {}, namesWidth }) {
    room = space;
    const layout = layoutSpaceTime(diagram, { width: space.width / zoom, height: space.height / zoom });
    drawn = { diagram, layout, zoom };
    if (looked.arrow !== null && !at(looked.arrow)) looked.arrow = null;
    setHtml(names, laneNames(layout, notes, { width: namesWidth, zoom }));
    paint();
    follow();
  }

  const at = (id) => drawn.diagram.arrows.find((arrow) => arrow.id === id);

  function paint() {
    const { diagram, layout, zoom } = drawn;
    setHtml(box, spaceTimeChart(diagram, layout, { chosen: looked.arrow, hovered: looked.step, zoom }));
    const arrow = looked.arrow === null ? null : at(looked.arrow);
    setHtml(readout, arrow ? html`<b>${arrow.name}</b> ${arrow.say}` : looked.step === null ? hint : html`<b>Step ${looked.step}</b> ${words(looked.step)}`);
  }

  /** The present stays in sight where the diagram is wider than its place. */
  function follow() {
    const { layout, zoom, diagram } = drawn;
    if (scrolledTo === diagram.now || layout.width * zoom <= room.width + 1) return;
    scrolledTo = diagram.now;
    const x = layout.x(diagram.now) * zoom;
    if (x < box.scrollLeft + 40 || x > box.scrollLeft + room.width - 40) box.scrollLeft = x - room.width * 0.7;
  }

  function under(event) {
    const { left, top } = box.getBoundingClientRect();
    const [x, y] = [(event.clientX - left + box.scrollLeft) / drawn.zoom, (event.clientY - top + box.scrollTop) / drawn.zoom];
    return { arrow: arrowAt(drawn.layout, x, y, NEAR)?.id ?? null, step: stepAt(drawn.diagram, drawn.layout, x) };
  }

  function look(next) {
    if (!drawn || (next.arrow === looked.arrow && next.step === looked.step)) return;
    Object.assign(looked, next);
    paint();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !drawn) return;
    const { arrows, now } = drawn.diagram;
    const way = WAYS[event.key];
    const here = arrows.findIndex((arrow) => arrow.id === looked.arrow);
    if (event.key === "Enter" && here >= 0) {
      const { sent, delivered } = arrows[here];
      seek(now === sent && delivered !== null ? delivered : sent);
    } else if (event.key === "Escape" && here >= 0) look({ arrow: null, step: null });
    else if (way && arrows.length) {
      const next = here < 0 ? (way < 0 ? arrows.length - 1 : 0) : Math.max(0, Math.min(arrows.length - 1, here + way));
      look({ arrow: arrows[next].id, step: null });
      bringIntoSight(arrows[next].id);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function bringIntoSight(id) {
    const { layout, zoom } = drawn;
    const { x0, x1 } = layout.arrows.find((arrow) => arrow.id === id);
    if (x0 * zoom < box.scrollLeft || x1 * zoom > box.scrollLeft + room.width) box.scrollLeft = x0 * zoom - 30;
  }

  return { show };
}
