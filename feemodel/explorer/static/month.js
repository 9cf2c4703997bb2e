/** A month of a pricing policy, simulated by the server. */

import { Chart, color, padded } from "./chart.js";
import { $, announce, el, fact, key, say } from "./dom.js";
import { digits, grouped, share, times, written } from "./numbers.js";
import { ask, newest } from "./server.js";
import { changed, known, state } from "./state.js";

const LABELS = {
  fixed: "Fixed at break-even", linea: "Linea’s coordinator", "linea-unbounded": "Linea, without bounds",
  "op-stack": "OP Stack", arbitrum: "Arbitrum’s controller", "vault-p": "Vault, P", "vault-pi": "Vault, PI",
  "feed-forward": "Feed-forward", "vault-eip1559": "Vault, EIP-1559", fill: "When a blob is full",
  deadline: "Full, or after the wait", "price-cap": "Linea’s price cap",
  forecast: "Best moment by forecast", clairvoyant: "Cheapest within the wait",
};
const BLOB = 130048; // usable bytes
const HOURS_OF_A_DAY = 24;
const HIGHEST_RECOVERY = 4; // that the bars show
let month = null;

const select = (name) => $(`month-${name}`);
const timeOf = (index) => new Date(Date.parse(month.start) + index * month.seconds * 1000).toISOString();

const chart = new Chart("month", {
  label: "Price, backlog, balance and recovery along the month", pointLabel: "Hour of the month", cells,
  rows: () => month.series.price.values.map((_, index) => index).filter((index) => index % HOURS_OF_A_DAY === 0),
});

function cells(index) {
  const { series: { price, backlog, balance }, days } = month, time = timeOf(index);
  const day = days.find(({ date }) => date === time.slice(0, 10));
  return [
    { name: "Hour from, UTC", value: time.slice(0, 16).replace("T", " ") },
    { name: "Price", value: `${digits(price.values[index])} gwei / byte` },
    { name: "Backlog", value: `${grouped(Math.round(backlog.values[index]))} bytes` },
    { name: "Balance", value: `${written(balance.values[index], { minimumFractionDigits: 4, maximumFractionDigits: 4 })} ETH` },
    { name: "Recovery of the day", value: times(day?.recovery ?? null) },
  ];
}

const refresh = newest($("month-card"), async (isWanted) => {
  const answers = await ask([["feemodel_simulateMonth", state.month]], isWanted);
  if (!answers || !isWanted()) return;
  const [{ result, error }] = answers;
  say("month-error", error?.message ?? "");
  $("month-shown").classList.toggle("stale", Boolean(error));
  if (error) return;
  month = result;
  $("month-shown").hidden = false;
  drawMonth();
  announce(`${LABELS[month.pricing]}: recovers ${times(month.recovery)} of the month’s posting cost.`);
});

/** Take the choices of the form, and simulate the month. */
function simulate() {
  state.month = Object.fromEntries(Object.entries(known.month.choices).map(([name, values]) =>
    [name, values.find((value) => String(value) === select(name).value)]));
  changed();
  refresh();
}

const disableUnused = () => { select("slaHours").disabled = select("posting").value === "fill"; };

export function wireMonth() {
  for (const [name, values] of Object.entries(known.month.choices)) {
    select(name).replaceChildren(...values.map((value) => el("option", { value: String(value) }, LABELS[value] ?? String(value))));
    select(name).value = String(known.month.defaults[name]);
    select(name).addEventListener("input", () => {
      disableUnused();
      if (month) simulate();
    });
  }
  disableUnused();
  $("month-ask").addEventListener("submit", (event) => {
    event.preventDefault();
    simulate();
  });
}

/** Simulate the month that a link names. */
export function showMonth() {
  if (!state.month) return;
  for (const [name, value] of Object.entries(state.month)) select(name).value = String(value);
  disableUnused();
  refresh();
}

function drawMonth() {
  $("month-facts").replaceChildren(
    fact("Recovery of the month", times(month.recovery), "data fees over posting cost"),
    fact("Days below their cost", `${month.underRecoveryDays} of ${month.wholeDays}`, "on accrued cost"),
    fact("Mean wait of a byte", `${digits(month.meanWaitHours, 3)} h`, "until it is posted"),
    fact("Lost demand", share(month.lostDemand), "against the break-even price"));
  $("month-legend").replaceChildren(key("fixed", "price"), key("margin", "what a byte costs on L1 at that time"),
    key("size", "backlog, largest of the hour"), key("floor", "balance"));
  $("month-source").textContent = `L1 fees: ${month.l1Fees}. Each day’s recovery: its data fees over what its bytes cost to post. `
    + `Not counted: ${month.notCounted}.`;
  const x = month.series.price.values.map((_, index) => Date.parse(timeOf(index)) / 1000);
  chart.draw({ x, scale: "time", panels: panels(month.series) });
}

function panels({ price, l1Cost, backlog, balance }) {
  const days = month.days.filter(({ recovery }) => recovery !== null);
  const noons = days.map(({ date }) => Date.parse(`${date}T12:00:00Z`) / 1000);
  const bars = (isShort, name) => ({ color: color(name), fill: color(name, 85), width: 0, bars: true,
    values: days.map(({ recovery }) => (recovery < 1 === isShort ? Math.min(recovery, HIGHEST_RECOVERY) : null)) });
  return [
    { title: "price [gwei / byte], log", height: 110, log: true, lines: [
      { values: l1Cost.values, color: color("margin"), width: 1 },
      { values: price.values, color: color("fixed") },
    ] },
    { title: "backlog [blobs]", height: 90, lines: [
      { values: backlog.values.map((bytes) => bytes / BLOB), color: color("size"), width: 1.25 },
    ] },
    { title: "balance [ETH]", height: 90, range: padded(balance.values), lines: [{ values: balance.values, color: color("floor") }] },
    { title: "recovery of a day, on accrued cost", height: 90, x: noons, lines: [
      bars(true, "bad"), bars(false, "good"),
      { values: days.map(() => 1), color: color("ink"), width: 1, dash: [3, 3] },
    ] },
  ];
}
