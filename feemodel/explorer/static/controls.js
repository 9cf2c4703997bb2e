/** The controls of what a fee is computed from: a number and a slider for each field, and presets of several. */

import { $, el, radios, refuse } from "./dom.js";
import { hex, lower, numberOf, textOf, wireOf, withUnit } from "./numbers.js";
import { activeFields, axes, changed, COSTS, fields, FORMS, known, RANGES, SCALES, state, xScale } from "./state.js";

const STEPS = 1000; // of a slider
const COST_HINTS = {
  announced: "From the blocks’ pricing record: it does not depend on the L1 fees above.",
  l1: "As the coordinator would announce it at the L1 fees above.",
};

const controls = new Map(); // name of a field → its elements

function fromSlider({ slider: { low, high, scale }, kind }, steps) {
  const part = steps / STEPS;
  if (scale === "linear") return Math.round((low + (high - low) * part) * 100) / 100;
  const value = Number((low * (high / low) ** part).toPrecision(3));
  return kind === "real" ? value : Math.round(value);
}

function toSlider({ slider: { low, high, scale } }, number) {
  if (!(number > low)) return 0;
  const part = scale === "linear" ? (number - low) / (high - low) : Math.log(number / low) / Math.log(high / low);
  return Math.round(Math.min(1, part) * STEPS);
}

function buildControl(field) {
  const id = `field-${field.name}`;
  const number = el("input", { id, type: "text", inputMode: "decimal", autocomplete: "off", "aria-describedby": `${id}-error` });
  const range = el("input", { id: `${id}-slider`, type: "range", min: "0", max: String(STEPS), "aria-label": `${field.label}, slider` });
  const error = el("p", { id: `${id}-error`, className: "error", hidden: true });
  const unit = el("span", {}, field.unit === "1" ? "" : field.shown);
  const node = el("div", { className: "control" }, el("label", { htmlFor: id }, field.label),
    el("div", { className: "number" }, number, unit), range, error);
  const control = { node, number, range, error, none: null };
  range.addEventListener("input", () => {
    const value = fromSlider(field, Number(range.value));
    change(field, field.kind === "quantity" ? hex(BigInt(value)) : value, range);
  });
  number.addEventListener("input", () => {
    try {
      change(field, wireOf(field, number.value), number);
    } catch (problem) {
      refuse(number, error.id, problem.message);
    }
  });
  number.addEventListener("change", () => number.hasAttribute("aria-invalid") || showValue(field));
  if (field.nullable) {
    control.none = el("input", { type: "checkbox" });
    control.none.addEventListener("input", () => change(field, control.none.checked ? null : field.default));
    node.append(el("label", { className: "none" }, control.none, `No ${lower(field.label)}`));
  }
  controls.set(field.name, control);
  $(`group-${field.group}`).append(node);
}

/** Show the value of a field; the part of its control that is being moved stays as it is. */
function showValue(field, moved) {
  const { number, range, error, none } = controls.get(field.name), value = state.values[field.name];
  if (number !== moved) number.value = textOf(field, value);
  if (range !== moved) range.value = String(toSlider(field, numberOf(field, value)));
  range.setAttribute("aria-valuetext", withUnit(field, value));
  number.disabled = range.disabled = value === null;
  if (none) none.checked = value === null;
  refuse(number, error.id, "");
}

function change(field, value, moved) {
  state.values[field.name] = value;
  showValue(field, moved);
  showPresets();
  changed();
}

/** Show an error of the server at the field that it names, and return it as a sentence. */
export function showError(message) {
  for (const { number, error } of controls.values()) {
    if (error.dataset.isOfServer) refuse(number, error.id, "");
    delete error.dataset.isOfServer;
  }
  if (!message) return "";
  const [, name, reason] = /^\w+\.(\w+)(?:\[\d+\])?: (.*)$/s.exec(message) ?? [];
  if (!controls.has(name)) return message;
  const { number, error } = controls.get(name);
  if (error.hidden) {
    refuse(number, error.id, reason);
    error.dataset.isOfServer = "true";
  }
  return `${fields.get(name).label}: ${reason}`;
}

const option = (value, text) => el("option", { value }, text);

function buildPresets() {
  const custom = () => el("option", { value: "", disabled: true }, "your own numbers");
  $("chain").replaceChildren(option("server", "this server, now"), ...known.chains.map(({ name }) => option(name, name)), custom());
  $("day").replaceChildren(...known.days.map(({ name, label, date }) => option(name, `${label}, ${date}`)), custom());
  $("chain").addEventListener("input", () => take(chainNamed($("chain").value)));
  $("day").addEventListener("input", () => take(known.days.find(({ name }) => name === $("day").value)));
}

const chainNamed = (name) => (name === "server" ? known.server : known.chains.find((chain) => chain.name === name));

function take(preset) {
  for (const [name, value] of Object.entries(preset)) if (fields.has(name)) state.values[name] = value;
  showControls();
  changed();
}

/** Show which presets the numbers are those of. */
function showPresets() {
  const active = new Set(activeFields().map(({ name }) => name));
  const matches = (preset) => Object.entries(preset).every(([name, value]) => !active.has(name) || state.values[name] === value);
  const chosen = chainNamed($("chain").value);
  if (!chosen || !matches(chosen)) {
    $("chain").value = matches(known.server) ? "server" : (known.chains.find(matches)?.name ?? "");
  }
  const chain = chainNamed($("chain").value), day = known.days.find(matches);
  $("chain-source").textContent = !chain ? "" : chain.source ? `${chain.source}, ${chain.date}` : "What this server prices with.";
  $("day").value = day?.name ?? "";
  $("day-source").textContent = day?.source ?? "";
}

const choices = [];

function choice(id, options, name, value = () => state[name]) {
  const show = radios(id, options, (chosen) => {
    state[name] = chosen;
    showControls({ keepsRefused: true });
    changed();
  });
  choices.push(() => show(value()));
}

export function buildControls() {
  for (const field of fields.values()) buildControl(field);
  buildPresets();
  choice("pricing", FORMS, "pricing");
  choice("costs", COSTS, "variableCostFrom");
  choice("range", RANGES, "range");
  choice("x", SCALES, "x", xScale);
  choice("y", SCALES, "y");
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("axis").addEventListener("input", () => {
    Object.assign(state, { axis: $("axis").value, x: "" });
    showControls({ keepsRefused: true });
    changed();
  });
}

/** Show the state on every control; `keepsRefused` leaves text that was refused in its field. */
export function showControls({ keepsRefused = false } = {}) {
  const active = new Set(activeFields().map(({ name }) => name)), isByByte = state.pricing === "cost-per-byte";
  for (const field of fields.values()) {
    const { node, number } = controls.get(field.name);
    node.hidden = !active.has(field.name);
    if (!keepsRefused || !number.hasAttribute("aria-invalid")) showValue(field);
  }
  if (!axes().some(({ name }) => name === state.axis)) state.axis = "compressedSize";
  $("axis").replaceChildren(...axes().map(({ name, label }) => option(name, lower(label))));
  $("axis").value = state.axis;
  for (const show of choices) show();
  $("costs-from").hidden = !isByByte;
  $("costs-hint").textContent = COST_HINTS[state.variableCostFrom];
  $("l1-hint").textContent = !isByByte
    ? "They set what the fee has to recover. The blob base fee is read by the other rollups only."
    : state.variableCostFrom === "l1" ? "They set the variable cost, and what the fee has to recover."
      : "They set what the fee has to recover, not the fee.";
  showPresets();
}
