/** The fee of the chosen inputs, its parts, how much of its L1 cost it recovers, and the fee as a function of one input. */

import { drawChart } from "./chart.js";
import { fields, fromServer, isValid, point, toServer, withUnit } from "./controls.js";
import { $, announce, el, fillTable, key } from "./dom.js";
import { big, digits, exactEth, grouped, inUnit, money, share, times, unitFor, wei } from "./numbers.js";
import { keepUpToDate } from "./server.js";

export const PARTS = { base: "Base fee", fixed: "Fixed", size: "Size", margin: "Margin", floor: "Minimum price" };
const POINTS = 121;

export function startFee() {
  keepUpToDate($("fee-card"), () => (isValid() ? [["feemodel_fee", point()]] : null), ([fee]) => drawFee(fee));
  keepUpToDate($("curve-card"), () => (isValid() ? [["feemodel_fee", point(), ...curve()], ["feemodel_fee", point()]] : null),
    ([along, fee]) => drawCurve(along, fee));
}

function drawFee({ feeWei, feePerGas, shares, inputs, recovery }) {
  const { total } = feeWei, unit = unitFor(wei(total));
  $("fee-figure").textContent = inUnit(total, unit);
  $("fee-unit").textContent = unit.name;
  $("fee-eth").textContent = exactEth(total);
  $("fee-sub").textContent = `${grouped(feePerGas.total)} wei / gas × ${grouped(inputs.gas)} gas`;
  fillTable($("parts"), "Parts of the fee", ["Part", "wei / gas", unit.name, "Share"], [
    ...Object.keys(PARTS).filter((name) => big(feePerGas[name]) !== 0n).map((name) =>
      [[key(name), PARTS[name]], grouped(feePerGas[name]), inUnit(feeWei[name], unit), share(shares[name])]),
    ["Total", grouped(feePerGas.total), inUnit(total, unit), ""],
  ]);
  $("recovery").replaceChildren(recovery ? recovered(recovery) : el("p", { className: "hint" }, "It needs the L1 fees."));
  const first = recovery ? `, its part for the size is ${times(recovery.recovery)} its L1 cost` : "";
  announce(`Fee ${money(total)}${first}.`);
}

function recovered({ basis, cost, costPerByte, recovery, totalRecovery }) {
  const isCovered = recovery === null || recovery >= 1; // the fixed part pays for L2
  const row = (name, value) => [el("dt", {}, name), el("dd", {}, value)];
  return el("div", { className: "recovered" },
    el("p", { className: "figure" }, times(recovery), " ",
      el("span", { className: `verdict ${isCovered ? "good" : "bad"}` }, isCovered ? "✓ covers L1" : "✗ falls short of L1")),
    el("p", { className: "sub" }, `by the part for the size, of ${money(cost)}: ${basis}`),
    el("dl", {}, ...row("Whole fee / L1 cost", times(totalRecovery)),
      ...row("L1 cost of a byte", `${digits(costPerByte / 1e9, 5)} gwei`)));
}

/** The input of a curve and its values around the chosen one; the ends are whole decades, so that small moves keep them. */
function curve() {
  const { name, low, high, scale, input, isWhole, kind } = fields.get($("axis").value), value = input.valueAsNumber;
  let [from, to] = [low, Math.max(high, value || 0)];
  if (scale === "log" && value > 0) {
    const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
    [from, to] = [Math.max(decade / 10, Number(input.min), isWhole ? 1 : 0), decade * 100];
  }
  const at = (part) => (scale === "log" ? from * (to / from) ** part : from + (to - from) * part);
  const numbers = [...Array(POINTS).keys()].map((place) => at(place / (POINTS - 1))).map((one) => (kind === "bytes" || isWhole ? Math.round(one) : one));
  if (value > from && value < to) numbers.push(value);
  const values = numbers.sort((a, b) => a - b).map((one) => toServer(fields.get(name), one));
  return [name, [...new Set(values)]];
}

function drawCurve({ axis, values, feeWei, feePerGas, recovery: found }, { inputs, feeWei: { total } }) {
  const field = fields.get(axis), x = values.map((value) => fromServer(field, value)), here = fromServer(field, inputs[axis]);
  const totals = feeWei.map(wei);
  const unit = unitFor(wei(total)), inUnits = (amounts) => amounts.map((amount) => amount / unit.size);
  const gas = values.map((value) => wei(axis === "gas" ? value : inputs.gas));
  const present = Object.keys(PARTS).filter((name) => feePerGas[name].some((part) => big(part) !== 0n));
  const parts = present.map((name) => ({ name, amounts: inUnits(feePerGas[name].map((part, index) => wei(part) * gas[index])) }));
  const panels = [{ title: "fee", unit: unit.name, height: found ? 250 : 380, lines: [
    ...partLines(parts, inUnits(totals)),
    { name: "Whole fee", values: inUnits(totals), key: "ink", width: 2 },
  ] }];
  if (found) {
    panels.push({ title: `recovery – ${found.basis}`, unit: "× L1 cost", height: 130, log: true, lines: [
      { values: found.recovery.map(() => 1), key: "bad", width: 1.25, dash: [3, 3] },
      { name: "Recovery", values: found.recovery, key: "size" },
      { name: "Whole fee", values: found.totalRecovery, key: "ink", width: 2 },
    ] });
  }
  const nearest = x.reduce((best, value, index) => (Math.abs(value - here) < Math.abs(x[best] - here) ? index : best), 0);
  drawChart($("curve"), {
    x, xName: field.label, xUnit: field.unit, xText: (value) => `${digits(value)} ${field.unit ?? ""}`.trim(), scale: field.scale, panels, index: nearest,
    xTitle: `${field.label.toLowerCase()}${field.unit ? ` [${field.unit}]` : ""}`,
  });
}

/** Parts stacked on each other, drawn from the top down. */
function partLines(parts, totals) {
  let below = totals.map(() => 0);
  const lines = parts.map(({ name, amounts }) => {
    // A margin below 1 reduces the fee: the top of the stack stays empty.
    below = below.map((value, index) => Math.min(value + Math.max(0, amounts[index]), Math.max(totals[index], value)));
    return { name: PARTS[name], numbers: amounts, key: name, values: below, width: 0, fill: 80 };
  });
  return lines.reverse();
}
