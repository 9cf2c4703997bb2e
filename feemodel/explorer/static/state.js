/** What is chosen on the page, and what the server knows. Every choice is part of the link. */

export const FORMS = { "cost-per-byte": "Cost per byte", "verification-cost": "Verification cost" };
export const COSTS = { announced: "Announced", l1: "From L1 fees" };
export const RANGES = { near: "Near", full: "Full" };
export const SCALES = { linear: "Linear", log: "Log" };
export const PARTS = { fixed: "Fixed", size: "Size", margin: "Margin", floor: "Minimum price", base: "Base fee" };

/** The answer of `feemodel_presets`, and its fields by name. */
export const known = {};
export const fields = new Map();

/** `values` has the value of each field; `pins` the pinned runs `{ letter, point }`; `month` a simulated policy. */
export const state = {
  pricing: "", variableCostFrom: "announced", values: {}, axis: "compressedSize", range: "near", x: "", y: "linear",
  pins: [], month: null,
};

export function learn(presets) {
  Object.assign(known, presets);
  for (const field of presets.fields) fields.set(field.name, field);
}

const isByByte = (point) => point.pricing === "cost-per-byte";

/** Whether a field is an input of the form, and of the source of costs, that a point has. */
export const applies = (field, point) =>
  field.forms.includes(point.pricing) && (!isByByte(point) || field.costs.includes(point.variableCostFrom));

export const activeFields = () => [...fields.values()].filter((field) => applies(field, state));

/** The blob base fee is no part of the verification form: only other rollups read it. */
export const axes = () => activeFields().filter(({ name }) => isByByte(state) || name !== "blobBaseFee");

/** The inputs of a fee, as the methods take them. */
export function pointOf({ pricing, variableCostFrom, values } = state) {
  const point = isByByte({ pricing }) ? { pricing, variableCostFrom } : { pricing };
  for (const field of fields.values()) {
    if (applies(field, { pricing, variableCostFrom })) point[field.name] = values[field.name];
  }
  return point;
}

/** Choose the inputs of a point. */
export function takePoint({ pricing, variableCostFrom, ...values }) {
  Object.assign(state, { pricing, variableCostFrom: variableCostFrom ?? state.variableCostFrom });
  Object.assign(state.values, values);
}

export function defaultValues() {
  const day = known.days.find(({ name }) => name === "median-day");
  const entries = [...fields.values()].map((field) =>
    [field.name, known.server[field.name] ?? day[field.name] ?? field.default]);
  return Object.fromEntries(entries);
}

export const xScale = () => state.x || fields.get(state.axis).slider.scale;

const listeners = [];

/** Call back after each change of the state. */
export const onChange = (listener) => listeners.push(listener);

export function changed() {
  for (const listener of listeners) listener();
}
