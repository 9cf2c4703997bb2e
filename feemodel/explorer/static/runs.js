/** Pinned runs: inputs that are kept, with the fee of each beside that of now. */

import { showControls } from "./controls.js";
import { $, el, note, tableContent } from "./dom.js";
import { nextLetter } from "./link.js";
import { grouped, money, times, withUnit } from "./numbers.js";
import { changed, COSTS, fields, FORMS, PARTS, pointOf, state, takePoint } from "./state.js";

export function wireRuns() {
  $("pin").addEventListener("click", () => {
    const letter = nextLetter();
    if (!letter) return; // a click may come before the button is disabled
    state.pins.push({ letter, point: pointOf() });
    note(`Pinned as ${letter}`);
    changed();
  });
  $("unpin-all").addEventListener("click", () => keep([]));
}

function keep(pins) {
  state.pins = pins;
  changed();
  $("pin").focus();
}

function button(text, label, act) {
  const made = el("button", { type: "button", className: "plain", "aria-label": label }, text);
  made.addEventListener("click", act);
  return made;
}

function head({ letter, point }) {
  if (!letter) return "Now";
  const load = button("Load", `Load run ${letter}`, () => {
    takePoint(point);
    showControls();
    changed();
  });
  const remove = button("Remove", `Remove run ${letter}`, () => keep(state.pins.filter((pin) => pin.letter !== letter)));
  return el("div", {}, el("span", { className: `run-key run-${letter.toLowerCase()}` }, el("i"), letter), el("br"), load, remove);
}

const RESULTS = [
  ["Fee", ({ feeWei }) => money(feeWei.total)],
  ["wei / gas", ({ feePerGas }) => grouped(feePerGas.total)],
  ...["fixed", "size", "margin", "floor"].map((part) => [`${PARTS[part]}, wei / gas`, ({ feePerGas }) => grouped(feePerGas[part])]),
  ["Recovery", ({ recovery }) => times(recovery[0]?.recovery ?? null)],
  ["From the size alone", ({ recovery }) => times(recovery[0]?.sizeRecovery ?? null)],
  ["L1 cost", ({ recovery }) => (recovery[0] ? money(recovery[0].cost) : "–")],
];

/** Inputs that differ between the runs, as rows of text. */
function differences(runs) {
  const rows = [
    ["Form", ...runs.map(({ point }) => FORMS[point.pricing])],
    ["Variable cost from", ...runs.map(({ point }) => COSTS[point.variableCostFrom] ?? "–")],
    ...[...fields.values()].map((field) =>
      [field.label, ...runs.map(({ point }) => (field.name in point ? withUnit(field, point[field.name]) : "–"))]),
  ];
  return rows.filter(([, ...texts]) => new Set(texts).size > 1);
}

export function drawRuns(runs) {
  $("runs-card").hidden = runs.length < 2;
  $("pin").disabled = !nextLetter();
  if (runs.length < 2) return;
  const results = RESULTS.map(([name, text]) => [name, ...runs.map(({ fee }) => (fee ? text(fee) : "no answer"))]);
  const differing = differences(runs).map(([name, now, ...texts]) =>
    [name, now, ...texts.map((text) => el("span", { className: text === now ? "" : "differs" }, text))]);
  const focused = document.activeElement?.getAttribute("aria-label");
  const title = el("th", { scope: "rowgroup", colSpan: runs.length + 1, className: "muted" }, differing.length ? "Inputs that differ" : "All inputs are the same");
  const [, inputs] = tableContent(["", ...runs], differing);
  inputs.prepend(el("tr", {}, title));
  $("runs").replaceChildren(...tableContent(["Run", ...runs.map(head)], results), inputs);
  if (focused) $("runs").querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}
