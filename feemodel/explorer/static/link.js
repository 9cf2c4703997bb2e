/** The state of the page as a link, and back. */

import { $, note } from "./dom.js";
import { big, wireOf } from "./numbers.js";
import { COSTS, defaultValues, fields, FORMS, known, pointOf, RANGES, SCALES, state } from "./state.js";

const LONGEST_SUBJECT = 6000; // characters that a link carries
const LETTERS = "ABCDEF"; // of pinned runs

/** Choices of the curve: what is usual, and what is allowed. */
const CHOICES = {
  axis: { usual: "compressedSize", allowed: () => [...fields.keys()] },
  range: { usual: "near", allowed: () => Object.keys(RANGES) },
  x: { usual: "", allowed: () => Object.keys(SCALES) },
  y: { usual: "linear", allowed: () => Object.keys(SCALES) },
};

/** Inputs that hold text, by their id, and what they hold usually. */
const TEXTS = { subject: "", gasEstimate: "", gasUsed: "", at: "", given: "", starknet: "", rate: "", currency: "USD" };

export const nextLetter = () => [...LETTERS].find((letter) => !state.pins.some((pin) => pin.letter === letter));

function encoded(point) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(point)) {
    const isQuantity = fields.get(name)?.kind === "quantity" && value !== null;
    parameters.set(name, value === null ? "none" : isQuantity ? big(value).toString() : String(value));
  }
  return parameters;
}

/** The point of link parameters over the defaults; what cannot be read is added to `unread`. */
function decoded(parameters, unread) {
  const choice = (name, allowed, usual) => {
    const chosen = parameters.get(name) ?? usual;
    if (chosen in allowed) return chosen;
    unread.push(`${name}=${chosen}`);
    return usual;
  };
  const values = defaultValues();
  const found = {
    pricing: choice("pricing", FORMS, known.server.pricing),
    variableCostFrom: choice("variableCostFrom", COSTS, "announced"),
    values,
  };
  for (const field of fields.values()) {
    const text = parameters.get(field.name);
    if (text === null) continue;
    try {
      values[field.name] = text === "none" && field.nullable ? null : wireOf({ ...field, decimals: 0 }, text);
    } catch {
      unread.push(`${field.name}=${text}`);
    }
  }
  return found;
}

export function link() {
  const parameters = encoded(pointOf());
  for (const [name, { usual }] of Object.entries(CHOICES)) {
    if (state[name] !== usual) parameters.set(name, state[name]);
  }
  for (const [id, usual] of Object.entries(TEXTS)) {
    const text = $(id).value.trim();
    if (text !== usual && text.length <= LONGEST_SUBJECT) parameters.set(id, text);
  }
  if (state.month) parameters.set("month", Object.values(state.month).join(" "));
  for (const { letter, point } of state.pins) parameters.append("pin", `run=${letter}&${encoded(point)}`);
  return `#${parameters}`;
}

let timer = 0;

/** Put the state into the address bar soon: browsers allow only so many changes a second. */
export function rememberLink() {
  clearTimeout(timer);
  timer = setTimeout(() => history.replaceState(null, "", link()), 250);
}

export async function copyLink() {
  history.replaceState(null, "", link());
  try {
    await navigator.clipboard.writeText(location.href);
    note($("subject").value.length > LONGEST_SUBJECT ? "Link copied, without the long transaction" : "Link copied");
  } catch {
    note("The address bar holds the link");
  }
}

/** Take the state from the address bar. */
export function readLink() {
  const parameters = new URLSearchParams(location.hash.slice(1)), unread = [];
  Object.assign(state, decoded(parameters, unread));
  for (const [name, { usual, allowed }] of Object.entries(CHOICES)) {
    state[name] = allowed().includes(parameters.get(name)) ? parameters.get(name) : usual;
  }
  for (const [id, usual] of Object.entries(TEXTS)) $(id).value = parameters.get(id) ?? usual;
  state.month = monthOf(parameters.get("month"), unread);
  state.pins = parameters.getAll("pin").map((text, index) => {
    const inner = new URLSearchParams(text);
    return { letter: inner.get("run") ?? LETTERS[index], point: pointOf(decoded(inner, unread)) };
  }).filter(({ letter }, index) => LETTERS.includes(letter) && index < LETTERS.length);
  note(unread.length ? `Not read from the link: ${unread.join(", ").slice(0, 200)}` : "");
}

/** The choices of a month, in the order of `feemodel_presets`. */
function monthOf(text, unread) {
  if (text === null) return null;
  const parts = text.split(" "), choices = Object.entries(known.month.choices);
  const chosen = choices.map(([name, values], index) => [name, values.find((value) => String(value) === parts[index])]);
  if (parts.length === choices.length && chosen.every(([, value]) => value !== undefined)) return Object.fromEntries(chosen);
  unread.push(`month=${text}`);
  return null;
}
