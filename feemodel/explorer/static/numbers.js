/** Numbers as text. Quantities of the server are hexadecimal text of any size. */

export const big = (quantity) => (quantity.startsWith("-") ? -BigInt(quantity.slice(1)) : BigInt(quantity));
export const wei = (quantity) => Number(big(quantity));

const formats = new Map(); // creating a format takes longer than using it

function written(number, options = {}) {
  const key = JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat("en-US", options));
  return formats.get(key).format(number);
}

export const grouped = (whole) => written(typeof whole === "string" ? big(whole) : whole);
export const digits = (number, count = 4) => written(number, { maximumSignificantDigits: count });
export const share = (part) => written(part, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });

const UNITS = [
  { name: "ETH", size: 1e18, from: 1e14 },
  { name: "gwei", size: 1e9, from: 1e5 },
  { name: "wei", size: 1, from: 0 },
];

/** The unit in which an amount of wei is shown. */
export const unitFor = (amount) => UNITS.find(({ from }) => Math.abs(amount) >= from);

export function inUnit(quantity, unit) {
  if (unit.size === 1) return grouped(quantity);
  const number = wei(quantity) / unit.size, size = Math.abs(number);
  if (size < 0.01) return digits(number, 2);
  const decimals = size >= 1000 ? 0 : size >= 1 ? 2 : 4;
  return written(number, { minimumFractionDigits: Math.min(decimals, 2), maximumFractionDigits: decimals });
}

export function money(quantity) {
  const unit = unitFor(wei(quantity));
  return `${inUnit(quantity, unit)} ${unit.name}`;
}

/** An amount of wei as exact decimal text in ETH. */
export function exactEth(quantity) {
  const [, whole, fraction] = /^(\d+)(\d{18})$/.exec(big(quantity).toString().padStart(19, "0"));
  return `${grouped(BigInt(whole))}.${fraction}`.replace(/\.?0+$/, "") + " ETH";
}

/** A ratio such as "1.20×". */
export function times(number) {
  if (number === null) return "–";
  const decimals = number < 0.1 ? 4 : number < 10 ? 2 : number < 1000 ? 1 : 0;
  return `${written(number, { minimumFractionDigits: Math.min(decimals, 2), maximumFractionDigits: decimals })}×`;
}

/** A number beside an axis. */
export function tickText(number) {
  if (number !== 0 && Math.abs(number) < 1e-4) return number.toExponential();
  return Math.abs(number) >= 10000 ? written(number, { notation: "compact", maximumSignificantDigits: 4 }) : digits(number);
}
