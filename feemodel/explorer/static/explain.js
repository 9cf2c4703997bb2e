/** A pasted transaction or call explained, and its fee on other rollups. */

import { isValid, point } from "./controls.js";
import { $, announce, details, el, fact, key, say, scrolling, table } from "./dom.js";
import { PARTS } from "./fee.js";
import { big, digits, grouped, money, times, wei } from "./numbers.js";
import { call, keepUpToDate } from "./server.js";
import { changed } from "./state.js";

const LAST_PRECOMPILE = 0x1ffn; // EIP-7587: there is no code at a precompile, and yet it is executed

export function startExplain({ examples, chainId }) {
  let asked = {};
  const explain = () => {
    asked = Object.fromEntries(new FormData($("ask")));
    if (!asked.subject) $("told").hidden = $("subject-warning").hidden = true;
    changed();
  };
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    explain();
  });
  $("clear").addEventListener("click", () => {
    for (const input of $("ask").elements) input.value = "";
    explain();
    $("subject").focus();
  });
  addEventListener("hashchange", explain);
  $("examples").append(...examples.map(({ name, label, subject }) => {
    const button = el("button", { type: "button", className: "plain", "data-example": name }, label);
    button.addEventListener("click", () => {
      $("subject").value = typeof subject === "string" ? subject : JSON.stringify(subject, null, 2);
      $("gasEstimate").value = $("gasUsed").value = "";
      explain();
    });
    return button;
  }));
  keepUpToDate($("explain-card"), () => (asked.subject && isValid() ? callsOf(asked) : null), async ([answer, compared]) => {
    drawTransaction(answer, compared);
    say($("subject-warning"), await warningOf(answer.decoded, chainId));
  });
  explain();
}

function callsOf({ subject: pasted, gasEstimate, gasUsed, at }) {
  const { compressedSize, gas, ...options } = point(), { l1BaseFee, blobBaseFee } = options;
  const quantity = (text) => `0x${BigInt(text).toString(16)}`, subject = subjectOf(pasted.trim());
  const estimate = gasEstimate ? { gas: quantity(gasEstimate) } : {}, used = gasUsed ? { gasUsed: quantity(gasUsed) } : {};
  return [
    ["feemodel_explain", subject, { ...options, ...estimate, ...used }],
    ["feemodel_compare", subject, { l1BaseFee, blobBaseFee, ...estimate, ...(at ? { at } : {}) }],
  ];
}

function subjectOf(pasted) {
  if (!pasted.startsWith("{")) return pasted;
  try {
    return JSON.parse(pasted);
  } catch (problem) {
    throw new Error(`The call is not JSON: ${problem.message}`);
  }
}

/** Why the gas of a transaction may differ on its own chain; "" if there is no reason. */
async function warningOf({ chainId: own, to, dataBytes }, chainId) {
  if (own !== null && big(own) !== big(chainId)) {
    return `This transaction is of chain ${big(own)}; the server answers for chain ${big(chainId)}.`;
  }
  if (to === null || !dataBytes || BigInt(to) <= LAST_PRECOMPILE) return "";
  const [{ result }] = await call([["eth_getCode", to, "latest"]]);
  return result === "0x" ? `There is no code at ${to} on this chain: the data is sent, but nothing is executed.` : "";
}

function drawTransaction(answer, compared) {
  $("told").replaceChildren(
    el("div", { className: "span" }, factsOf(answer)),
    el("div", { className: "span" }, scrolling("Checks of a node", checksOf(answer)),
      answer.gas.used ? null : el("p", { className: "hint" }, "The check after execution needs the gas used.")),
    partsOf(answer),
    scrolling("Wallets", walletsOf(answer)),
    el("div", { className: "span stack" }, ...(compared.error ? [el("p", { className: "error" }, compared.error.message)] : otherRollups(compared))));
  $("told").hidden = false;
  announce(`Explained: fee ${money(answer.totalWei)}, ${answer.stages.map((one) => `${one.stage}: ${one.outcome}`).join(", ")}.`);
}

function factsOf({ gas, recovery, totalWei, ...answer }) {
  return el("dl", { className: "facts" },
    fact("Fee", money(totalWei), `${grouped(answer.priorityFeePerGas)} wei / gas priority fee`),
    fact("Compressed size", `${grouped(answer.compressedSize)} bytes`,
      `of ${grouped(answer.measuredBytes)}, ${answer.codec} of ${answer.form.replaceAll("_", " ‖ ")}`),
    fact("Gas", grouped(gas.estimated), `estimated, limit ${grouped(gas.limit)}${gas.used ? `, used ${grouped(gas.used)}` : ""}`),
    recovery ? fact("Whole fee / L1 cost", times(recovery.totalRecovery), `of ${money(recovery.cost)} on L1`) : null);
}

function checksOf({ offeredPricePerGas: offered, stages }) {
  const verdict = ({ accepted, outcome }) => {
    const [look, sign] = accepted ? ["good", "✓"] : outcome.startsWith("refused") ? ["bad", "✗"] : ["wait", "…"];
    return el("span", { className: `verdict ${look}` }, `${sign}\u00a0${outcome}`);
  };
  const price = offered === null ? "the suggested price" : `the ${grouped(offered)} wei / gas that it offers`;
  return table(`Checks of a node, at ${price}`, ["Check", "Margin", "Requires, wei / gas", "Result"],
    stages.map((one) => [one.stage, String(one.margin), grouped(one.requiredPricePerGas), verdict(one)]), "checks");
}

const partsOf = ({ feePerGas, feeWei }) => table("Parts of the fee", ["Part", "wei / gas", "Fee"],
  Object.keys(PARTS).filter((name) => big(feePerGas[name]) !== 0n)
    .map((name) => [[key(name), PARTS[name]], grouped(feePerGas[name]), money(feeWei[name])]));

const walletsOf = ({ wallets }) => table("What a wallet would set", ["Wallet", "Max priority fee, wei / gas", "Max fee, wei / gas"],
  wallets.map((one) => [one.wallet, grouped(one.maxPriorityFeePerGas), grouped(one.maxFeePerGas)]));

/** Both parts of a fee as lengths of a bar, in ETH; empty if the price of the token is unknown. */
function barOf({ l1Fee, l2Fee, total, totalEth }, most) {
  const perToken = totalEth ? wei(totalEth) / wei(total) : 0;
  return el("div", {}, ...[["size", l1Fee], ["fixed", l2Fee]].map(([part, fee]) => {
    const piece = el("div", { className: `part-${part}` });
    piece.style.width = `${((wei(fee) * perToken) / most) * 100}%`;
    return piece;
  }));
}

function otherRollups({ rules, at, pubdata }) {
  const priced = rules.filter(({ error }) => !error), unpriced = rules.filter(({ error }) => error);
  const reference = priced.some(({ rule }) => rule === "linea") ? "linea" : priced[0].rule;
  const most = Math.max(1, ...priced.map(({ totalEth }) => (totalEth ? wei(totalEth) : 0)));
  const amount = (fee, token) => (token === "ETH" ? money(fee) : `${digits(wei(fee) / 1e18)} ${token}`);
  const inEth = ({ token, totalEth }) => (token === "ETH" || totalEth === null ? "" : ` = ${money(totalEth)}`);
  const rows = priced.map((one) => [one.rule, barOf(one, most), amount(one.l1Fee, one.token), amount(one.l2Fee, one.token),
    amount(one.total, one.token) + inEth(one), one.ratio === null ? "" : times(one.ratio)]);
  const head = ["Rule", [key("size"), "Data and ", key("fixed"), "execution fee"], "Data fee (L1 part)", "Execution fee (L2 part)", "Total", `Relative to ${reference}`];
  const note = reference === "linea" ? "Linea's row is its rule at the L1 fees above; this transaction's fee above is at the costs that you chose." : "";
  const whose = at ? `The same transaction under the rules of ${at}` : "The same transaction on other rollups";
  const sources = rules.map(({ rule, error, source, date, remarks = [] }) => [rule, [error ? source : `${source} (${date})`, ...remarks].join("; ")]);
  return [
    el("p", { className: "hint" }, note),
    scrolling("The other rollups", table(`${whose}, at the L1 fees above`, head, rows, "rules")),
    details(`${unpriced.length} rollups without a fee for this transaction`, table("Why there is no fee", null, unpriced.map(({ rule, error }) => [rule, error]), "texts")),
    details("Parameters of each rule, and their sources", table(`Assumed: zkSync publishes ${pubdata} bytes of state for this transaction.`, null, sources, "texts")),
  ];
}
