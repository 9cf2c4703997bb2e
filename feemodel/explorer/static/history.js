/** The fee of the chosen transaction over a month of L1 fees. */

import { Chart, color, isWide, padded } from "./chart.js";
import { inCurrency } from "./currency.js";
import { $, fact, say, whenSeen } from "./dom.js";
import { big, hex, inUnit, money, times, unitFor, wei } from "./numbers.js";
import { ask, newest } from "./server.js";
import { pointOf } from "./state.js";

const HOURS_OF_A_DAY = 24;
let answer = null, isSeen = false;

const chart = new Chart("history", {
  label: "Fee and L1 cost, recovery, and deficit so far over a month", pointLabel: "Time", cells,
  rows: () => answer.times.map((_, index) => index).filter((index) => index % HOURS_OF_A_DAY === 0 || index === answer.times.length - 1),
});

const refresh = newest($("history-card"), async (isWanted) => {
  const { l1BaseFee, blobBaseFee, ...point } = pointOf();
  const answers = await ask([["feemodel_feeHistory", point]], isWanted);
  if (!answers) return;
  const [{ result, error }] = answers;
  say("history-error", error?.message ?? "");
  $("history-shown").classList.toggle("stale", Boolean(error));
  if (error) return;
  answer = result;
  $("history-shown").hidden = false;
  drawHistory();
});

/** Show the history of the chosen inputs, once its card has been in sight. */
export function refreshHistory() {
  if (isSeen) refresh();
}

export function wireHistory() {
  whenSeen("history-card", () => {
    isSeen = true;
    refresh();
  });
}

function cells(index) {
  const { times: when, feeWei, recovery: [first] } = answer;
  const deficit = first.deficit[index];
  return [
    { name: "Time, UTC", value: when[index].slice(0, 16).replace("T", " ") },
    { name: "Fee", value: money(feeWei[index]), more: inCurrency(feeWei[index]) },
    { name: "L1 cost", value: money(first.cost[index]) },
    { name: "Recovery", value: times(first.recovery[index]) },
    { name: "Deficit so far", value: big(deficit) < 0n ? `−${money(deficit.slice(1))}` : money(deficit) },
  ];
}

export function drawHistory() {
  if (!answer) return;
  const { times: when, feeWei, recovery: [first] } = answer, fees = feeWei.map(big);
  const least = hex(fees.reduce((one, other) => (other < one ? other : one)));
  const most = hex(fees.reduce((one, other) => (other > one ? other : one)));
  const unit = unitFor(wei(most)), left = first.deficit.at(-1), isSurplus = big(left) < 0n;
  const amount = isSurplus ? left.slice(1) : left;
  $("history-facts").replaceChildren(
    fact("Fee", `${least === most ? "" : `${inUnit(least, unit)} to `}${money(most)}`, `in ${when.length} hours`),
    fact("Recovery of all", times(first.recoveryOfAll), "fees over L1 costs"),
    fact("Below L1 cost", `${first.below} of ${when.length}`, first.basis),
    fact(isSurplus ? "Surplus at the end" : "Deficit at the end", money(amount),
      [inCurrency(amount), "one such transaction an hour"].filter(Boolean).join("; ")));
  chart.draw({ x: when.map((time) => Date.parse(time) / 1000), scale: "time", panels: panels(feeWei.map(wei), first) });
}

function panels(fees, { cost, recovery, deficit }) {
  const costs = cost.map(wei), unit = unitFor(Math.max(...fees, ...costs));
  const deficits = deficit.map(wei), ofDeficit = unitFor(Math.max(...deficits.map(Math.abs)));
  const inUnits = (values, { size }) => values.map((value) => value / size);
  const missing = inUnits(deficits, ofDeficit);
  const isLog = isWide(recovery);
  return [
    { title: `fee, L1 cost [${unit.name}], log`, height: 130, log: true, lines: [
      { values: inUnits(costs, unit), color: color("margin"), width: 1.5 },
      { values: inUnits(fees, unit), color: color("ink"), width: 2 },
    ] },
    { title: `recovery [× L1 cost]${isLog ? ", log" : ""}`, height: 130, log: isLog, lines: [
      { values: recovery.map(() => 1), color: color("bad"), width: 1.25, dash: [3, 3] },
      { values: recovery, color: color("ink") },
    ] },
    { title: `deficit so far [${ofDeficit.name}], below 0 a surplus`, height: 130, range: padded([0, ...missing]), lines: [
      { values: missing.map((value) => Math.max(0, value)), width: 0, fill: color("bad", 20) },
      { values: missing.map((value) => Math.min(0, value)), width: 0, fill: color("good", 20) },
      { values: missing, color: color("ink") },
    ] },
  ];
}
