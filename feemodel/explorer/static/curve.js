/** The fee along one input, as a chart, a table and a file. */

import { Chart, color, isWide, logRange } from "./chart.js";
import { $, el, key } from "./dom.js";
import { big, grouped, hex, inShown, lower, money, nearly, numberOf, times, unitFor, wei } from "./numbers.js";
import { fields, PARTS, state, xScale } from "./state.js";

const POINTS = 121;
const TABLE_ROWS = 12;
const STACK = ["base", "fixed", "size", "margin", "floor"];

let runs = [];

/** From where to where the curve runs: around the value, in steps so that small moves leave it still, or everywhere. */
function range() {
  const field = fields.get(state.axis), { low, high, scale } = field.slider, value = numberOf(field, state.values[state.axis]);
  let from = low, to = Math.max(high, value || 0);
  if (state.range === "near" && scale === "log" && value > 0) {
    const decade = Math.floor(Math.log10(value) + 1e-9);
    from = Math.max(10 ** (decade - 1), value >= low ? low : 0);
    to = 10 ** (decade + 1.5);
    if (value <= high) to = Math.min(to, high);
  }
  if (xScale() === "linear" && scale === "log") from = low;
  if (xScale() === "log" && from <= 0) from = high / 1000;
  if (field.kind === "real") return [from, to];
  const ends = [from, to].map((end) => Math.max(field.name === "gas" ? 1 : 0, Math.round(end)));
  return field.kind === "quantity" ? ends.map((end) => hex(BigInt(end))) : ends;
}

/** The parameters of `feemodel_curve` for a point. */
export function curveOf(point) {
  const [from, to] = range();
  return { ...point, axis: state.axis, from, to, points: POINTS, scale: xScale() };
}

const chart = new Chart("curve", {
  label: "Fee, and recovery of its L1 cost, along one input", pointLabel: "Point of the curve", cells,
  rows: () => {
    const last = runs[0].curve.values.length - 1, step = Math.max(1, Math.floor(last / TABLE_ROWS));
    return runs[0].curve.values.map((_, index) => index).filter((index) => index % step === 0 || index === last);
  },
});

function cells(index) {
  const { axis, values, feeWei, feePerGas, recovery: [found] } = runs[0].curve, field = fields.get(axis);
  const recovered = found && [
    { name: "Recovery", value: times(found.recovery[index]) },
    { name: "From the size alone", value: times(found.sizeRecovery[index]) },
  ];
  return [
    { name: field.label, value: nearly(field, values[index]) },
    { name: "Fee", value: money(feeWei[index]) },
    { name: "Priority fee, wei / gas", value: grouped(feePerGas.priority[index]) },
    ...(recovered ?? []),
  ];
}

/** Draw the curves of the runs, the first of which is that of now. */
export function drawCurve(all) {
  runs = all.filter(({ curve }) => curve);
  const [{ curve, fee }, ...pinned] = runs, field = fields.get(curve.axis), [found] = curve.recovery;
  const present = STACK.filter((name) => curve.feePerGas[name].some((part) => wei(part) !== 0));
  const x = curve.values.map((value) => inShown(field, value));
  const totals = runs.flatMap((run) => run.curve.feeWei.map(wei));
  const isLog = state.y === "log" && totals.some((total) => total > 0), highest = Math.max(...totals);
  const unit = unitFor(isLog ? Math.sqrt(highest * Math.max(1, Math.min(...totals))) : highest);
  const amounts = totals.filter((total) => total > 0).map((total) => total / unit.size);
  const logEnds = logRange([...amounts, Math.min(...amounts) / 10]); // smaller parts would press the fees together
  const panels = [{
    title: `fee [${unit.name}]`, height: found ? 250 : 380, log: isLog, range: isLog ? logEnds : undefined,
    lines: [
      ...partLines(curve, fee, present, unit, isLog),
      { values: curve.feeWei.map((total) => wei(total) / unit.size), color: color("ink"), width: 2 },
      ...pinnedLines(pinned, (run) => run.curve.feeWei.map((total) => wei(total) / unit.size)),
    ],
  }];
  if (found) panels.push(recoveryPanel(found, pinned));
  const here = inShown(field, fee.inputs[curve.axis]);
  const nearest = x.reduce((best, value, index) => (Math.abs(value - here) < Math.abs(x[best] - here) ? index : best), 0);
  const title = `${lower(field.label)}${field.unit === "1" ? "" : ` [${field.shown}]`}`;
  chart.draw({ x, scale: xScale(), label: title, panels, here, index: nearest });
  $("legend").replaceChildren(el("li", {}, el("span", { className: "line" }), "whole fee"),
    ...present.map((name) => key(name, PARTS[name].toLowerCase())),
    ...(found ? [key("size", "recovery from the size alone")] : []),
    ...pinned.map(({ letter }) => el("li", { className: `run-key run-${letter.toLowerCase()}` }, el("i"), letter)));
}

/** Parts above each other, drawn from the top down; on a log scale, where a stack would mislead, each by itself. */
function partLines(curve, fee, present, unit, isLog) {
  const gas = curve.values.map((value) => wei(curve.axis === "gas" ? value : fee.inputs.gas));
  const inUnits = (name) => curve.feePerGas[name].map((part, index) => (wei(part) * gas[index]) / unit.size);
  if (isLog) return present.map((name) => ({ values: inUnits(name), color: color(name) }));
  const totals = curve.feeWei.map((total) => wei(total) / unit.size);
  let below = totals.map(() => 0);
  const areas = present.map((name) => {
    const part = inUnits(name); // what a margin below 1 takes away leaves the top of the stack empty
    below = below.map((value, index) => Math.min(value + Math.max(0, part[index]), Math.max(totals[index], value)));
    return { values: below, width: 0, fill: color(name, 80) };
  });
  return areas.reverse();
}

const pinnedLines = (pinned, values) => pinned.map((run) =>
  ({ values: values(run), color: color(`run-${run.letter.toLowerCase()}`), width: 2, dash: [6, 4] }));

function recoveryPanel(found, pinned) {
  const lines = [
    { values: found.recovery.map(() => 1), color: color("bad"), width: 1.25, dash: [3, 3] },
    { values: found.sizeRecovery, color: color("size") },
    { values: found.recovery, color: color("ink"), width: 2 },
    ...pinnedLines(pinned.filter(({ curve }) => curve.recovery[0]), (run) => run.curve.recovery[0].recovery),
  ];
  return { title: `recovery [× L1 cost] – ${found.basis}`, height: 130, log: isWide(lines.flatMap(({ values }) => values)), lines };
}

export function saveCsv() {
  const [{ curve }] = runs, field = fields.get(curve.axis), parts = [...STACK, "priority"];
  const plain = (value) => (typeof value === "string" && /^-?0x/.test(value) ? big(value).toString() : (value ?? ""));
  const head = ["run", `${field.name} [${field.unit}]`, ...parts.map((name) => `${name} [wei / gas]`), "fee [wei]", "l1_cost [wei]",
    "recovery [1]", "size_recovery [1]", "l1_cost_of", "inputs"];
  const rows = runs.flatMap(({ letter, point, curve: { values, feePerGas, feeWei, recovery: [found] } }) => {
    const inputs = Object.entries(point).filter(([name]) => name !== curve.axis).map(([name, value]) => `${name}=${plain(value)}`);
    return values.map((value, index) => [
      letter || "now", plain(value), ...parts.map((name) => plain(feePerGas[name][index])), plain(feeWei[index]),
      plain(found?.cost[index]), plain(found?.recovery[index]), plain(found?.sizeRecovery[index]), found?.basis ?? "", inputs.join("; "),
    ]);
  });
  const text = [head, ...rows].map((row) => row.join(",")).join("\r\n");
  const address = URL.createObjectURL(new Blob([text, "\r\n"], { type: "text/csv" }));
  el("a", { href: address, download: `fee-along-${curve.axis}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
