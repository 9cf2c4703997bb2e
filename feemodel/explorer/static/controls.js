/** The inputs of a fee: a number and a slider for each field, and presets of several fields. */

import { $, el, say } from "./dom.js";
import { digits, wei } from "./numbers.js";

const STEPS = 1000; // of a slider

/** The fields by name: label, unit, kind, range of the slider, and input. Their numbers are in the unit of the page. */
export const fields = new Map();

/** Whether the server takes a field as a quantity in wei or gas; other fields are plain numbers. */
const isQuantity = ({ kind }) => kind === undefined;
const factor = ({ unit }) => (unit?.startsWith("gwei") ? 1e9 : 1);

const pricing = () => document.querySelector("[name=pricing]:checked").value;
export const isActive = ({ input }) => !input.matches(":disabled");
export const toServer = (field, number) =>
  (isQuantity(field) ? `0x${BigInt(Math.round(number * factor(field))).toString(16)}` : Number(number));
export const fromServer = (field, value) => (isQuantity(field) ? wei(value) / factor(field) : value);
export const withUnit = (field, number) => `${digits(number, 10)} ${field.unit ?? ""}`.trim();

/** The inputs of a fee, as the methods take them. */
export function point() {
  const found = { pricing: pricing() };
  for (const field of [...fields.values()].filter(isActive)) {
    const { value } = field.input;
    found[field.name] = toServer(field, value);
  }
  return found;
}

export const isValid = () => !$("controls").matches(":invalid");

function fromSlider({ low, high, scale }, steps) {
  const part = steps / STEPS;
  const value = scale === "linear" ? low + (high - low) * part : low * (high / low) ** part;
  return Number(value.toPrecision(3));
}

function toSlider({ low, high, scale }, number) {
  if (!(number > low)) return 0;
  return STEPS * (scale === "linear" ? (number - low) / (high - low) : Math.log(number / low) / Math.log(high / low));
}

function buildControl(node) {
  const { name, unit, kind, low, high, scale = "log", min = 0 } = node.dataset, text = node.textContent;
  node.replaceChildren($("control").content.cloneNode(true));
  const [label, , slider, error] = node.children, [input, unitText] = node.querySelector(".number").children;
  const field = { name, unit, kind, scale, label: text, low: Number(low), high: Number(high), input, slider,
    isWhole: kind !== "ratio" && !unit.startsWith("gwei") };
  label.textContent = text;
  unitText.textContent = unit ?? "";
  error.id = `${name}-error`;
  label.htmlFor = name;
  Object.assign(input, { id: name, name, min, step: field.isWhole ? 1 : kind ? "any" : 1 / factor(field), required: true });
  input.setAttribute("aria-describedby", error.id);
  slider.ariaLabel = `${text}, slider`;
  slider.addEventListener("input", () => {
    const value = fromSlider(field, slider.valueAsNumber);
    input.value = field.isWhole ? Math.round(value) : value;
  });
  fields.set(name, field);
  $("axis").append(el("option", { value: name }, text.toLowerCase().replace(/\bl([12])\b/g, "L$1")));
}

/** Set fields, and the form of the fee, to the values of a preset. */
export function take(preset) {
  for (const field of fields.values()) {
    if (field.name in preset) field.input.value = fromServer(field, preset[field.name]);
  }
  if (preset.pricing) document.querySelector(`[name=pricing][value=${preset.pricing}]`).checked = true;
}

function buildPresets(id, presets, options) {
  const select = $(id), named = new Map(presets.map((preset) => [preset.name, preset]));
  select.append(...options);
  select.addEventListener("input", () => take(named.get(select.value) ?? {}));
  return () => {
    const preset = named.get(select.value);
    const isChanged = ({ name, input }) => preset && name in preset && Number(input.value) !== fromServer(fields.get(name), preset[name]);
    if ([...fields.values()].some(isChanged) || (preset?.pricing ?? pricing()) !== pricing()) select.value = "";
    $(`${id}-source`).textContent = [named.get(select.value)?.source, named.get(select.value)?.date].filter(Boolean).join(", ");
  };
}

/** Build the controls with their defaults: the server's own costs, and the L1 fees of a median day. */
export function buildControls(presets) {
  for (const node of document.querySelectorAll(".control")) buildControl(node);
  const server = presets.server && { ...presets.server, name: "server", source: "What this server prices with" };
  const chosen = server ?? presets.chains[0];
  if (!server) $("chain").options[0].remove();
  const showChain = buildPresets("chain", [...(server ? [server] : []), ...presets.chains], presets.chains.map(({ name }) => el("option", { value: name }, name)));
  const showDay = buildPresets("day", presets.days, presets.days.map(({ name, label, date }) => el("option", { value: name }, `${label}, ${date}`)));
  take(Object.fromEntries(presets.fields.map(({ name, default: value }) => [name, value]).filter(([, value]) => value !== null)));
  take(presets.days.find(({ name }) => name === "median-day"));
  take(chosen);
  $("chain").value = chosen.name;
  $("day").value = "median-day";
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("input", () => {
    showChain();
    showDay();
    showControls();
  });
}

/** Show only what applies to the chosen chain and form, and what the browser says of each number. */
function showControls() {
  $("forms").hidden = $("chain").value !== ""; // a chain has one form
  for (const node of document.querySelectorAll("[data-pricing]")) node.hidden = node.disabled = node.dataset.pricing !== pricing();
  for (const field of fields.values()) {
    const { input, slider } = field;
    say($(`${field.name}-error`), isActive(field) ? input.validationMessage : "");
    input.ariaInvalid = String(Boolean(isActive(field) && input.validationMessage));
    if (slider !== document.activeElement) slider.value = toSlider(field, input.valueAsNumber);
    slider.setAttribute("aria-valuetext", withUnit(field, input.valueAsNumber));
  }
  for (const option of $("axis").options) option.hidden = option.disabled = !isActive(fields.get(option.value));
  if (!$("axis").value || $("axis").selectedOptions[0].disabled) $("axis").value = "compressedSize";
}
