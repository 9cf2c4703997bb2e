/** The fee of the chosen inputs, its parts, and what it recovers of its L1 cost. */

import { showError } from "./controls.js";
import { inCurrency } from "./currency.js";
import { curveOf, drawCurve } from "./curve.js";
import { $, announce, el, say, tableContent } from "./dom.js";
import { digits, exactEth, grouped, inUnit, lower, money, share, textOf, times, unitFor, wei, withUnit } from "./numbers.js";
import { drawRuns } from "./runs.js";
import { ask, newest } from "./server.js";
import { activeFields, applies, defaultValues, fields, known, PARTS, pointOf, state } from "./state.js";

/** The runs that were drawn last, the chosen inputs first: `{ letter, point, fee, curve }`, answers of the server. */
let runs = [];

/** Ask for the fee and the curve of the chosen inputs and of each pinned run, and draw them. */
export const refreshFee = newest($("main"), async (isWanted) => {
  const asked = [{ letter: "", point: pointOf() }, ...state.pins], axis = fields.get(state.axis);
  const hasAxis = ({ point }) => applies(axis, point);
  const calls = asked.flatMap((run) =>
    [["feemodel_fee", run.point], ...(hasAxis(run) ? [["feemodel_curve", curveOf(run.point)]] : [])]);
  const answers = await ask(calls, isWanted);
  if (!answers || (!isWanted() && asked[0].point.pricing !== state.pricing)) return; // of a form that is gone
  const [fee, curve] = answers, remaining = [...answers];
  const found = asked.map((run) => ({
    ...run, fee: remaining.shift().result, curve: hasAxis(run) ? remaining.shift().result : undefined,
  }));
  say("fee-error", showError(fee.error?.message ?? curve.error?.message));
  $("answer").classList.toggle("stale", Boolean(fee.error));
  $("curve").classList.toggle("stale", Boolean(fee.error ?? curve.error));
  if (!fee.result) return;
  runs = found;
  drawFee();
  if (curve.result) drawCurve(runs);
  drawRuns(runs);
  const [first] = fee.result.recovery;
  announce(`Fee ${money(fee.result.feeWei.total)}${first ? `, recovers ${times(first.recovery)} of its L1 cost` : ""}.`, 700);
});

export function drawFee() {
  const fee = runs[0]?.fee;
  if (!fee) return;
  const { total } = fee.feeWei, unit = unitFor(wei(total)), [first] = fee.recovery;
  const parts = Object.keys(PARTS).filter((name) => wei(fee.feePerGas[name]) !== 0);
  $("fee-figure").textContent = inUnit(total, unit);
  $("fee-unit").textContent = unit.name;
  $("fee-eth").textContent = `${exactEth(total)} ${inCurrency(total)}`;
  $("fee-sub").textContent = `${grouped(fee.feePerGas.total)} wei / gas × ${grouped(fee.inputs.gas)} gas`;
  $("parts").replaceChildren(el("caption", { className: "reader" }, "Parts of the fee"), ...tableContent(
    ["Part", "wei / gas", unit.name, "Share"],
    [...parts.map((name) => [[el("span", { className: `key part-${name}` }), PARTS[name]], grouped(fee.feePerGas[name]),
      inUnit(fee.feeWei[name], unit), share(fee.shares[name])]),
    ["Total", grouped(fee.feePerGas.total), inUnit(total, unit), ""]],
  ));
  drawBar(fee.shares);
  $("recovery").replaceChildren(...recoveryOf(fee));
  $("mini").replaceChildren(el("strong", {}, money(total)), first ? ` · recovers ${times(first.recovery)} of L1` : "");
  $("working").replaceChildren(...tableContent(["Step", "How", "Gives"],
    fee.working.map(({ gives, how, value, unit: of }) => [gives, how, [`${value} `, el("span", { className: "muted" }, of)]]), { left: [1] }));
  drawDefaults();
}

/** The positive parts as a bar; a margin below 1 takes its hatched share away from the end. */
function drawBar(shares) {
  const names = Object.keys(PARTS), positive = names.filter((name) => shares[name] > 0);
  const whole = positive.reduce((sum, name) => sum + shares[name], 0) || 1;
  const piece = (className, width, margin = 0) => {
    const node = el("i", { className });
    Object.assign(node.style, { width: `${(width / whole) * 100}%`, marginLeft: `${(margin / whole) * 100}%` });
    return node;
  };
  const less = names.filter((name) => shares[name] < 0).map((name) => piece("part-less", -shares[name], shares[name]));
  $("bar").replaceChildren(...positive.map((name) => piece(`part-${name}`, shares[name])), ...less);
}

function recoveryOf({ recovery, variableCost }) {
  const blocks = recovery.map(({ basis, cost, costPerByte, recovery: recovered, sizeRecovery, breakEvenMargin }) => {
    const isCovered = recovered === null || recovered >= 1;
    const row = (name, value) => [el("dt", {}, name), el("dd", {}, value)];
    return el("div", { className: "recovered" },
      el("p", { className: "figure" }, times(recovered), " ",
        el("span", { className: `verdict ${isCovered ? "good" : "bad"}` }, isCovered ? "✓ covers L1" : "✗ falls short of L1")),
      el("p", { className: "sub" }, `of ${[money(cost), inCurrency(cost)].filter(Boolean).join(" ")}: ${basis}`),
      el("dl", {}, ...row("From the size alone", times(sizeRecovery)),
        ...row("Breaks even at a margin of", breakEvenMargin === null ? "none" : String(breakEvenMargin)),
        ...row("L1 cost of a byte", `${digits(costPerByte / 1e9, 5)} gwei`)));
  });
  if (!blocks.length) blocks.push(el("p", { className: "sub" }, "No L1 fees are given."));
  if (variableCost) {
    const { heldBy, recorded } = variableCost, field = fields.get("variableCost");
    const bound = heldBy ? `, held by the ${lower(fields.get(heldBy).label)}` : "";
    blocks.unshift(el("p", { className: "sub" }, `Variable cost from L1: ${textOf(field, recorded)} ${field.shown}${bound}`));
  }
  return blocks;
}

function drawDefaults() {
  const usual = defaultValues();
  const rows = activeFields().map((field) => {
    const now = withUnit(field, state.values[field.name]), before = withUnit(field, usual[field.name]);
    return [field.label, before, [el("span", { className: now === before ? "muted" : "differs" }, now)], field.source];
  });
  $("defaults").replaceChildren(el("caption", {}, "Every default"),
    ...tableContent(["Input", "Default", "Now", "Source of the default"], rows, { left: [3] }));
  $("formula").replaceChildren(...known.formulas[state.pricing].flatMap(({ gives, how }) => [el("dt", {}, gives), el("dd", {}, how)]));
}
