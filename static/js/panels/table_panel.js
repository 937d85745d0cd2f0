// The picture as tables: every subtask and every channel with its queue, for those who do not see the stage.

import { arrow, checkpointStatus, holders, isPaused, openWindows, senderOf, splitWord } from "../selectors.js";
import { html, setHtml } from "../svg.js";
import { nameOf } from "../glyphs.js";
import { savedElements } from "../snapshots.js";
import { list, watermark, watermarkInWords } from "../format.js";

const QUEUE_SHOWN = 30;

let body;

export function mount(element, { send }) {
  body = element;
  element.addEventListener("click", (event) => {
    const button = event.target.closest("[data-subtask]");
    if (button) send({ type: "select", selection: { subtask: button.dataset.subtask, channel: null } });
  });
}

export function update({ view, tableShown, selection, trail }, changes) {
  if (!["view", "tableShown", "selection", "trail"].some((name) => changes.has(name))) return;
  body.hidden = !tableShown;
  if (!tableShown) return;
  const saved = savedElements(view, trail);
  setHtml(body, html`<table class="table"><caption>Subtasks after step ${view.step}</caption><thead><tr><th scope="col">subtask</th><th scope="col">status</th><th scope="col">watermark</th><th scope="col">held back by</th><th scope="col">checkpoint</th><th scope="col">key groups</th><th scope="col">open windows</th><th scope="col">late</th></tr></thead><tbody>${Object.keys(view.subtasks).map((id) => subtaskRow(view, id, selection))}</tbody></table><table class="table"><caption>Channels after step ${view.step}, head of the queue first</caption><thead><tr><th scope="col">channel</th><th scope="col">watermark</th><th scope="col">state</th><th scope="col">queue</th></tr></thead><tbody>${Object.keys(view.channels).map((name) => channelRow(view, name, saved))}</tbody></table>`);
}

function subtaskRow(view, id, selection) {
  const one = view.subtasks[id];
  const splits = Object.values(one.splits).map((split) => `${split.name} ${split.ended ? "ended" : `${split.offset} of ${split.length}`}${splitWord(split) ? ` ${splitWord(split)}` : ""}`);
  return html`<tr><th scope="row"><button type="button" data-subtask="${id}" aria-pressed="${String(selection.subtask === id)}">${id}</button></th><td>${one.status}${one.idle ? ", idle" : ""}${isPaused(view, id) ? ", paused" : ""}${one.upload_refused ? ", the storage refuses its next snapshot" : ""}${splits.length ? html`, ${splits.join(", ")}` : ""}</td><td class="num">${watermarkInWords(one.watermark)}</td><td>${list(holders(one).map(senderOf))}</td><td>${checkpointStatus(view, id)?.text ?? ""}</td><td class="num">${one.key_groups ? `${one.key_groups[0]}–${one.key_groups[1]}` : ""}</td><td class="num">${one.key_groups ? openWindows(one).length : ""}</td><td class="num">${one.key_groups ? one.late : ""}</td></tr>`;
}

function channelRow(view, name, saved) {
  const channel = view.channels[name];
  const input = view.subtasks[channel.to].inputs[name];
  const words = [...channel.priority.map((checkpoint) => `barrier ${checkpoint} before the queue`), ...channel.queue.slice(0, QUEUE_SHOWN).map((element) => `${nameOf(element)}${saved.has(element.id) ? " (saved)" : ""}`)];
  if (channel.queue.length > QUEUE_SHOWN) words.push(`${channel.queue.length - QUEUE_SHOWN} more`);
  const state = input?.blocked ? "blocked" : input?.ended ? "ended" : input?.idle ? "idle" : channel.queue.length >= channel.capacity ? "full" : "open";
  return html`<tr><th scope="row">${arrow(name)}</th><td class="num">${input ? watermark(input.watermark) : ""}</td><td>${state}</td><td class="text">${words.length ? words.join(", ") : "empty"}</td></tr>`;
}
