// Moving tokens. Queues at rest are SVG; while a step moves them, this canvas draws them along their channels.
//
// Each kind of token is drawn once and kept as a picture; a frame then costs one `drawImage` per token.

import { draw, lengthOf, textClass } from "./glyphs.js";
import { pointBefore } from "./layout.js";

const PROBED = ["g-key key-none", "g-time", "g-barrier", "g-priority", "g-cancel", "g-more", "g-end", "g-probe", "g-status", "g-status g-idle"];
for (let hue = 0; hue < 5; hue += 1) PROBED.push(`g-key key-${hue}`, `g-key key-${hue} key-ring`);

/** Colours of the glyph classes as the style sheets resolve them now. */
export function readPalette(document) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "vh");
  const names = PROBED.flatMap((name) => [name, `g-value ${name}`]);
  svg.innerHTML = names.map((name) => `<path class="${name}"/><text class="g-text ${textClass(name.replace("g-value ", ""))}">0</text>`).join("") + '<text class="g-text g-value-text">0</text>';
  document.body.append(svg);
  const colours = new Map();
  names.forEach((name, i) => {
    const { fill, stroke } = getComputedStyle(svg.children[2 * i]);
    colours.set(name, { fill, stroke, text: getComputedStyle(svg.children[2 * i + 1]).fill });
  });
  const value = getComputedStyle(svg.lastElementChild);
  const paint = (name) => colours.get(name) ?? colours.get("g-key key-none");
  paint.font = `${value.fontWeight} ${value.fontSize} ${value.fontFamily}`;
  paint.ink = value.fill;
  svg.remove();
  return paint;
}

const ease = (t) => (t < 0.5 ? 2 * t * t : 1 - (2 - 2 * t) ** 2 / 2);

export class TokensCanvas {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.sprites = new Map();
    this.moves = [];
    this.frame = 0;
    this.onDone = null;
  }

  /** Size of the stage in its own px, and how many device px each of them has. */
  resize(width, height, ratio) {
    const [w, h] = [Math.ceil(width * ratio), Math.ceil(height * ratio)];
    if (this.canvas.width === w && this.canvas.height === h && this.ratio === ratio) return;
    this.canvas.width = w;
    this.canvas.height = h;
    this.ratio = ratio;
    this.sprites.clear();
  }

  /** Forgets all pictures, since the theme changed. */
  repaint() {
    this.paint = null;
    this.sprites.clear();
  }

  sprite(mark, down) {
    const key = `${mark.kind} ${mark.code} ${mark.hue} ${mark.ring} ${mark.label} ${down}`;
    let picture = this.sprites.get(key);
    if (picture) return picture;
    this.paint ??= readPalette(document);
    const reach = Math.ceil(Math.max(lengthOf(mark, down), 36) / 2) + 3;
    picture = document.createElement("canvas");
    picture.width = picture.height = Math.ceil(2 * reach * this.ratio);
    picture.reach = reach;
    const context = picture.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, picture.width / 2, picture.height / 2);
    draw(context, mark, down, this.paint);
    this.sprites.set(key, picture);
    return picture;
  }

  /**
   * Moves tokens for `duration` ms, then calls `onDone`. A move: {mark, channel, from, to, fade, hop, scale, down}, with
   * distances before the channel's head, `fade` true for what leaves the channel, and how many px it hops over the others.
   */
  run(moves, duration, onDone) {
    this.stop();
    if (!moves.length || duration <= 0) {
      onDone();
      return;
    }
    this.moves = moves;
    this.onDone = onDone;
    const start = performance.now();
    const next = (now) => {
      const t = Math.min(1, Math.max(0, (now - start) / duration));
      this.drawAt(ease(t));
      if (t < 1) this.frame = requestAnimationFrame(next);
      else this.stop();
    };
    this.frame = requestAnimationFrame(next);
    this.drawAt(0);
  }

  /** Ends the motion at once, as if it had arrived. */
  stop() {
    cancelAnimationFrame(this.frame);
    const done = this.onDone;
    this.moves = [];
    this.onDone = null;
    if (this.context) this.clear();
    done?.();
  }

  clear() {
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
  }

  drawAt(t) {
    const { context, ratio } = this;
    this.clear();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const { mark, channel, from, to, fade, hop = 0, scale = 1, down = false } of this.moves) {
      const at = pointBefore(channel, from + (to - from) * t);
      const jump = hop * Math.sin(Math.PI * t);
      const [x, y] = down ? [at.x - jump, at.y] : [at.x, at.y - jump];
      const picture = this.sprite(mark, down);
      const side = 2 * picture.reach * scale;
      context.globalAlpha = fade ? Math.max(0, 1 - t * 1.15) : 1;
      context.drawImage(picture, x - side / 2, y - side / 2, side, side);
    }
    context.globalAlpha = 1;
  }
}
