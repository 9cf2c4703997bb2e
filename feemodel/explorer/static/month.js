/** A month of a pricing policy, simulated by the server. */

import { drawChart } from "./chart.js";
import { $, announce, fact } from "./dom.js";
import { digits, share, times } from "./numbers.js";
import { keepUpToDate } from "./server.js";
import { changed } from "./state.js";

const BLOB = 130048; // usable bytes
const HIGHEST_RECOVERY = 4; // that the bars show

export function startMonth() {
  const { elements } = $("month-ask"), isAsked = elements.namedItem("month"); // in the address, so that a link shows its month
  $("month-ask").addEventListener("submit", (event) => {
    event.preventDefault();
    isAsked.value = "shown";
    changed();
  });
  keepUpToDate($("month-card"), () => {
    const chosen = (name) => elements.namedItem(`month-${name}`).value;
    $("month-slaHours").disabled = chosen("posting") === "fill";
    const choices = { pricing: chosen("pricing"), posting: chosen("posting"), slaHours: Number(chosen("slaHours")), elasticity: Number(chosen("elasticity")) };
    return isAsked.value ? [["feemodel_simulateMonth", choices]] : null;
  }, ([month]) => drawMonth(month));
}

function drawMonth({ start, seconds, series: { price, l1Cost, backlog, balance }, days, ...month }) {
  $("month-facts").replaceChildren(
    fact("Recovery of the month", times(month.recovery), "data fees over posting cost"),
    fact("Days below their cost", `${month.underRecoveryDays} of ${month.wholeDays}`, "on accrued cost"),
    fact("Mean wait of a byte", `${digits(month.meanWaitHours, 3)} h`, "until it is posted"),
    fact("Lost demand", share(month.lostDemand), "against the break-even price"));
  $("month-source").textContent = `L1 fees: ${month.l1Fees}. Recovery of a day: the data fees of the day over the cost of posting its bytes. `
    + `Not counted: ${month.notCounted}.`;
  const x = price.values.map((_, index) => Date.parse(start) / 1000 + index * seconds);
  const dayOf = (time) => new Date(time * 1000).toISOString().slice(0, 10);
  const recoveries = new Map(days.map(({ date, recovery }) => [date, recovery])), ofHour = x.map((time) => recoveries.get(dayOf(time)) ?? null);
  const whole = days.filter(({ recovery }) => recovery !== null);
  const bars = (isShort, part) => ({ key: part, fill: 85, width: 0, bars: true,
    values: whole.map(({ recovery }) => (recovery < 1 === isShort ? Math.min(recovery, HIGHEST_RECOVERY) : null)) });
  drawChart($("month"), {
    x, xName: "Hour from, UTC", xText: (time) => new Date(time * 1000).toISOString().slice(0, 16).replace("T", " "), scale: "time",
    panels: [
      { title: "price, and what a byte costs on L1 at that time", unit: "gwei / byte", height: 110, log: true, lines: [
        { name: "L1 cost", values: l1Cost.values, key: "margin", width: 1 },
        { name: "Price", values: price.values, key: "fixed" },
      ] },
      { title: "backlog, largest of the hour", unit: "blobs", height: 90, lines: [
        { name: "Backlog", values: backlog.values.map((bytes) => bytes / BLOB), key: "size", width: 1.25 },
      ] },
      { title: "balance", unit: "ETH", height: 90, lines: [{ name: "Balance", values: balance.values, key: "floor" }] },
      { title: "recovery of a day, on accrued cost", unit: "×", height: 90, x: whole.map(({ date }) => Date.parse(`${date}T12:00:00Z`) / 1000), lines: [
        bars(true, "bad"), bars(false, "good"),
        { name: "Recovery of the day", numbers: ofHour, values: whole.map(() => 1), key: "ink", width: 1, dash: [3, 3] },
      ] },
    ],
  });
  announce(`The month recovers ${times(month.recovery)} of its posting cost.`);
}
