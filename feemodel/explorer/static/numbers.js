/** Numbers as text, and text as numbers. Quantities of the server are hexadecimal text of any size. */

export const big = (quantity) => (quantity.startsWith("-") ? -BigInt(quantity.slice(1)) : BigInt(quantity));
export const wei = (quantity) => Number(big(quantity));
export const hex = (whole) => `0x${whole.toString(16)}`;

const formats = new Map(); // making a format takes longer than using it

export function written(number, options = {}) {
  const key = JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat("en-US", options));
  return formats.get(key).format(number);
}

export const grouped = (whole) => written(typeof whole === "string" ? big(whole) : whole);
export const digits = (number, count = 4) => written(number, { maximumSignificantDigits: count });
export const share = (part) => written(part, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
export const lower = (label) => label.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());

const UNITS = [
  { name: "ETH", size: 1e18, from: 1e14 },
  { name: "gwei", size: 1e9, from: 1e5 },
  { name: "wei", size: 1, from: 0 },
];

/** The unit in which so many wei are shown. */
export const unitFor = (amount) => UNITS.find(({ from }) => Math.abs(amount) >= from);

export function inUnit(quantity, unit) {
  if (unit.size === 1) return grouped(quantity);
  const number = wei(quantity) / unit.size, size = Math.abs(number);
  if (size === 0) return "0";
  if (size >= 1000) return written(number, { maximumFractionDigits: 0 });
  if (size < 0.01) return digits(number, 2);
  return written(number, { minimumFractionDigits: 2, maximumFractionDigits: size < 1 ? 4 : 2 });
}

export function money(quantity) {
  const unit = unitFor(wei(quantity));
  return `${inUnit(quantity, unit)} ${unit.name}`;
}

/** A whole number over 10^decimals as exact decimal text. */
function decimalText(whole, decimals) {
  const text = whole.toString().padStart(decimals + 1, "0");
  const fraction = decimals ? text.slice(-decimals).replace(/0+$/, "") : "";
  return text.slice(0, text.length - decimals) + (fraction && `.${fraction}`);
}

export const exactEth = (quantity) =>
  `${decimalText(big(quantity), 18).replace(/^\d+/, (whole) => grouped(BigInt(whole)))} ETH`;

/** A ratio such as "1.20×". */
export function times(number) {
  if (number === null) return "–";
  if (number >= 1000) return `${written(number, { maximumFractionDigits: 0 })}×`;
  const decimals = number < 0.1 ? 4 : number < 10 ? 2 : 1;
  return `${written(number, { minimumFractionDigits: Math.min(decimals, 2), maximumFractionDigits: decimals })}×`;
}

/** A number beside an axis. */
export function tickText(number) {
  if (number !== 0 && Math.abs(number) < 1e-4) return number.toExponential();
  if (Math.abs(number) >= 10000) return written(number, { notation: "compact", maximumSignificantDigits: 4 });
  return digits(number);
}

const plain = (text) => text.replace(/[,_\s]/g, "");
const isDecimal = (text) => /^\d+(\.\d*)?$|^\.\d+$/.test(text);

/** A price that was typed: null for none, NaN where it cannot be read. */
export function priceOf(text) {
  const number = plain(text);
  if (!number) return null;
  return isDecimal(number) && Number(number) > 0 ? Number(number) : NaN;
}

/** A whole number that was typed, as a quantity. */
export function quantityOf(text, label) {
  if (!/^\d+$/.test(plain(text))) throw new Error(`${label}: expected a whole number.`);
  return hex(BigInt(plain(text)));
}

/** A field's text as the server takes it; throws an error that says what is expected. */
export function wireOf(field, text) {
  const number = plain(text);
  if (!isDecimal(number)) throw new Error("Expected a number of at least 0.");
  if (field.kind === "real") return Number(number);
  const [whole, fraction = ""] = number.split(".");
  const kept = fraction.replace(/0+$/, "");
  if (kept.length > field.decimals) {
    throw new Error(field.decimals ? `Expected at most ${field.decimals} decimals: a wei is whole.` : "Expected a whole number.");
  }
  const value = BigInt((whole || "0") + kept.padEnd(field.decimals, "0"));
  return field.kind === "bytes" ? Number(value) : hex(value);
}

/** A field's value as exact text, as it is typed. */
export function textOf(field, value) {
  if (value === null || value === undefined) return "";
  if (field.kind === "real") return String(value);
  return decimalText(field.kind === "bytes" ? BigInt(value) : big(value), field.decimals);
}

/** A field's value as a double in wei, gas or bytes; NaN for none. */
export function numberOf(field, value) {
  if (value === null || value === undefined) return NaN;
  return field.kind === "quantity" ? wei(value) : value;
}

export const inShown = (field, value) => numberOf(field, value) / 10 ** field.decimals;
const unitOf = (field) => (field.unit === "1" ? "" : ` ${field.shown}`);

export function withUnit(field, value) {
  if (value === null || value === undefined) return "none";
  return textOf(field, value).replace(/^\d{5,}/, (whole) => grouped(BigInt(whole))) + unitOf(field);
}

/** A value along a curve, rounded: the axis is cut into steps that are not round numbers. */
export function nearly(field, value) {
  const isWhole = !field.decimals && field.kind !== "real";
  return isWhole ? withUnit(field, value) : digits(inShown(field, value)) + unitOf(field);
}
