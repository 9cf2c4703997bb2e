/** The fee of the chosen inputs, its parts, how much of its L1 cost it recovers, and the fee as a function of one input. */

import { drawChart, isWide } from "./chart.js";
import { fields, fromServer, isValid, point, toServer, withUnit } from "./controls.js";
import { $, announce, el, fillTable, key } from "./dom.js";
import { big, digits, exactEth, grouped, inCurrency, inUnit, money, share, times, unitFor, wei } from "./numbers.js";
import { keepUpToDate } from "./server.js";

export const PARTS = { base: "Base fee", fixed: "Fixed", size: "Size", margin: "Margin", floor: "Minimum price" };
const POINTS = 121;

export function startFee() {
  keepUpToDate($("fee-card"), () => (isValid() ? [["feemodel_fee", point()]] : null), ([fee]) => drawFee(fee));
  keepUpToDate($("curve-card"), () => (isValid() ? [["feemodel_curve", curve()], ["feemodel_fee", point()]] : null),
    ([along, fee]) => drawCurve(along, fee));
}

function drawFee({ feeWei, feePerGas, shares, inputs, recovery, variableCost }) {
  const { total } = feeWei, unit = unitFor(wei(total));
  $("fee-figure").textContent = inUnit(total, unit);
  $("fee-unit").textContent = unit.name;
  $("fee-eth").textContent = `${exactEth(total)} ${inCurrency(total)}`;
  $("fee-sub").textContent = `${grouped(feePerGas.total)} wei / gas × ${grouped(inputs.gas)} gas`;
  fillTable($("parts"), "Parts of the fee", ["Part", "wei / gas", unit.name, "Share"], [
    ...Object.keys(PARTS).filter((name) => big(feePerGas[name]) !== 0n).map((name) =>
      [[key(name), PARTS[name]], grouped(feePerGas[name]), inUnit(feeWei[name], unit), share(shares[name])]),
    ["Total", grouped(feePerGas.total), inUnit(total, unit), ""],
  ]);
  drawBar(shares);
  $("recovery").replaceChildren(...(variableCost ? [costOf(variableCost)] : []), ...recovery.map(recovered));
  const first = recovery[0] ? `, its part for the size is ${times(recovery[0].recovery)} its L1 cost` : "";
  announce(`Fee ${money(total)}${first}.`);
}

/** The positive parts as a bar; a margin below 1 takes its hatched share away from the end. */
function drawBar(shares) {
  const names = Object.keys(PARTS), whole = names.reduce((sum, name) => sum + Math.max(0, shares[name]), 0) || 1;
  const piece = (className, width, margin = 0) => {
    const node = el("i", { className });
    Object.assign(node.style, { width: `${(width / whole) * 100}%`, marginLeft: `${(margin / whole) * 100}%` });
    return node;
  };
  $("bar").replaceChildren(
    ...names.filter((name) => shares[name] > 0).map((name) => piece(`part-${name}`, shares[name])),
    ...names.filter((name) => shares[name] < 0).map((name) => piece("part-less", -shares[name], shares[name])));
}

function costOf({ heldBy, recorded }) {
  const field = fields.get("variableCost"), bound = heldBy ? `, limited by the ${fields.get(heldBy).label.toLowerCase()}` : "";
  return el("p", { className: "sub" }, `Variable cost from L1: ${withUnit(field, fromServer(field, recorded))}${bound}`);
}

function recovered({ basis, cost, costPerByte, recovery, totalRecovery, breakEvenMargin }) {
  const isCovered = recovery === null || recovery >= 1; // the fixed part pays for L2
  const row = (name, value) => [el("dt", {}, name), el("dd", {}, value)];
  return el("div", { className: "recovered" },
    el("p", { className: "figure" }, times(recovery), " ",
      el("span", { className: `verdict ${isCovered ? "good" : "bad"}` }, isCovered ? "✓ covers L1" : "✗ falls short of L1")),
    el("p", { className: "sub" }, `by the part for the size, of ${[money(cost), inCurrency(cost)].filter(Boolean).join(" ")}: ${basis}`),
    el("dl", {}, ...row("Whole fee / L1 cost", times(totalRecovery)),
      ...row("Breaks even at a margin of", breakEvenMargin === null ? "none" : String(breakEvenMargin)),
      ...row("L1 cost of a byte", `${digits(costPerByte / 1e9, 5)} gwei`)));
}

/** The inputs of a curve around the chosen value; its ends are whole decades, so that small moves leave them unchanged. */
function curve() {
  const field = fields.get($("axis").value), { name, low, high, scale, input, isWhole } = field, value = input.valueAsNumber;
  let [from, to] = [low, Math.max(high, value || 0)];
  if (scale === "log" && value > 0) {
    const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
    [from, to] = [Math.max(decade / 10, Number(input.min), isWhole ? 1 : 0), decade * 30];
  }
  return { ...point(), axis: name, from: toServer(field, from), to: toServer(field, to), points: POINTS, scale, ...(value > from && value < to ? { at: toServer(field, input.value) } : {}) };
}

function drawCurve({ axis, values, feeWei, feePerGas, recovery: [found] }, { inputs }) {
  const field = fields.get(axis), x = values.map((value) => fromServer(field, value)), here = fromServer(field, inputs[axis]);
  const totals = feeWei.map(wei), isLog = document.querySelector("[name=y]:checked").value === "log";
  const unit = unitFor(isLog ? Math.min(...totals) : Math.max(...totals)), inUnits = (amounts) => amounts.map((amount) => amount / unit.size);
  const gas = values.map((value) => wei(axis === "gas" ? value : inputs.gas));
  const present = Object.keys(PARTS).filter((name) => feePerGas[name].some((part) => big(part) !== 0n));
  const parts = present.map((name) => ({ name, amounts: inUnits(feePerGas[name].map((part, index) => wei(part) * gas[index])) }));
  const panels = [{ title: "fee", unit: unit.name, height: found ? 250 : 380, log: isLog, lines: [
    ...partLines(parts, inUnits(totals), isLog),
    { name: "Whole fee", values: inUnits(totals), key: "ink", width: 2 },
  ] }];
  if (found) {
    panels.push({ title: `recovery – ${found.basis}`, unit: "× L1 cost", height: 130, log: isWide([...found.recovery, ...found.totalRecovery]), lines: [
      { values: found.recovery.map(() => 1), key: "bad", width: 1.25, dash: [3, 3] },
      { name: "Recovery", values: found.recovery, key: "size" },
      { name: "Whole fee", values: found.totalRecovery, key: "ink", width: 2 },
    ] });
  }
  const nearest = x.reduce((best, value, index) => (Math.abs(value - here) < Math.abs(x[best] - here) ? index : best), 0);
  drawChart($("curve"), {
    x, xName: field.label, xUnit: field.unit, xText: (value) => `${digits(value)} ${field.unit ?? ""}`.trim(), scale: field.scale, panels, here, index: nearest,
    xTitle: `${field.label.toLowerCase()}${field.unit ? ` [${field.unit}]` : ""}`,
  });
}

/** Parts stacked on each other, drawn from the top down; on a log scale, each part separately, because a stack would mislead. */
function partLines(parts, totals, isLog) {
  let below = totals.map(() => 0);
  const lines = parts.map(({ name, amounts }) => {
    // A margin below 1 reduces the fee: the top of the stack stays empty.
    below = below.map((value, index) => Math.min(value + Math.max(0, amounts[index]), Math.max(totals[index], value)));
    const least = Math.min(...totals) / 10; // smaller parts would press the fees together
    const drawing = isLog ? { values: amounts.map((one) => (one > least ? one : null)) } : { values: below, width: 0, fill: 80 };
    return { name: PARTS[name], numbers: amounts, key: name, ...drawing };
  });
  return lines.reverse();
}
