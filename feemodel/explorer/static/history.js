/** The fee of the chosen transaction over a month of L1 fees. */

import { drawChart, isWide } from "./chart.js";
import { isValid, point } from "./controls.js";
import { $, fact } from "./dom.js";
import { big, inCurrency, inUnit, money, times, unitFor, wei } from "./numbers.js";
import { keepUpToDate } from "./server.js";
import { changed } from "./state.js";

export function startHistory() {
  let isSeen = false;
  const watch = new IntersectionObserver((entries) => {
    isSeen ||= entries.some(({ isIntersecting }) => isIntersecting);
    if (isSeen) watch.disconnect();
    changed();
  });
  watch.observe($("history-card"));
  keepUpToDate($("history-card"), () => {
    const { l1BaseFee, blobBaseFee, ...rest } = point();
    return isSeen && isValid() ? [["feemodel_feeHistory", rest]] : null;
  }, ([history]) => drawHistory(history));
}

function drawHistory({ times: when, feeWei, recovery: [{ cost, recovery, deficit, recoveryOfAll, below, basis }] }) {
  const ordered = [...feeWei].sort((one, other) => wei(one) - wei(other)), least = ordered[0], most = ordered.at(-1);
  const left = deficit.at(-1), isSurplus = big(left) < 0n, amount = isSurplus ? left.slice(1) : left;
  $("history-facts").replaceChildren(
    fact("Fee", `${least === most ? "" : `${inUnit(least, unitFor(wei(most)))} to `}${money(most)}`, `in ${when.length} hours`),
    fact("Recovery of all", times(recoveryOfAll), "fees over L1 costs"),
    fact("Below L1 cost", `${below} of ${when.length}`, basis),
    fact(isSurplus ? "Surplus at the end" : "Deficit at the end", money(amount), [inCurrency(amount), "one such transaction an hour"].filter(Boolean).join("; ")));
  const fees = feeWei.map(wei), costs = cost.map(wei), deficits = deficit.map(wei);
  const unit = unitFor(Math.max(...fees, ...costs)), ofDeficit = unitFor(Math.max(...deficits.map(Math.abs)));
  const inUnits = (amounts, { size }) => amounts.map((one) => one / size), missing = inUnits(deficits, ofDeficit);
  drawChart($("history"), {
    x: when.map((time) => Date.parse(time) / 1000), xName: "Time, UTC", scale: "time",
    xText: (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " "),
    panels: [
      { title: "fee and L1 cost", unit: unit.name, height: 130, log: true, lines: [
        { name: "L1 cost", values: inUnits(costs, unit), key: "margin", width: 1.5 },
        { name: "Fee", values: inUnits(fees, unit), key: "ink", width: 2 },
      ] },
      { title: "recovery", unit: "× L1 cost", height: 130, log: isWide(recovery), lines: [
        { values: recovery.map(() => 1), key: "bad", width: 1.25, dash: [3, 3] },
        { name: "Recovery", values: recovery, key: "ink" },
      ] },
      { title: "deficit so far, below 0 a surplus", unit: ofDeficit.name, height: 130, lines: [
        { values: missing.map((one) => Math.max(0, one)), width: 0, key: "bad", fill: 20 },
        { values: missing.map((one) => Math.min(0, one)), width: 0, key: "good", fill: 20 },
        { name: "Deficit so far", values: missing, key: "ink" },
      ] },
    ],
  });
}
