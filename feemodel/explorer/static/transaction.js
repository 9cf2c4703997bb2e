/** A pasted transaction or call explained, and its fee on other rollups. */

import { showControls } from "./controls.js";
import { inCurrency } from "./currency.js";
import { $, announce, captioned, el, fact, key, say, scrolling } from "./dom.js";
import { big, exactEth, grouped, money, quantityOf, times, wei } from "./numbers.js";
import { ask, newest } from "./server.js";
import { changed, known, PARTS, pointOf, state } from "./state.js";

const INPUTS = ["subject", "gasEstimate", "gasUsed", "at", "given", "starknet"];
const LAST_PRECOMPILE = 0x1ffn; // EIP-7587: below it there is no code, and yet something is executed

/** What was explained last: `{ answer, compared }`; null for nothing. */
let told = null;

const text = (id) => $(id).value.trim();

function subjectOf(pasted) {
  if (!pasted.startsWith("{")) return pasted;
  try {
    return JSON.parse(pasted);
  } catch (problem) {
    throw new Error(`The call is not JSON: ${problem.message}`);
  }
}

/** Chain → parameters of text such as mantle.token_ratio=3114; the server reads the values. */
function parametersOf(typed) {
  const found = {};
  for (const piece of typed.split(/[\s;]+/).filter(Boolean)) {
    const [, chain, name, value] = /^([\w-]+)\.(\w+)=(\S+)$/.exec(piece) ?? [];
    if (!chain) throw new Error(`Parameters of chains: expected CHAIN.PARAMETER=VALUE, got ${piece.slice(0, 40)}.`);
    (found[chain] ??= {})[name] = value.replaceAll(",", "");
  }
  return found;
}

function starknetOf(typed) {
  if (!typed) return {};
  const amounts = typed.split(/[,;\s]+/).filter(Boolean);
  if (amounts.length !== 2) throw new Error("Starknet: expected two amounts of gas, such as 256, 1100000.");
  const [l1DataGas, l2Gas] = amounts.map((amount) => quantityOf(amount, "Starknet"));
  return { starknet: { l1DataGas, l2Gas } };
}

/** The parameters of both methods; throws an error that says what cannot be read. */
function requestOf() {
  const { compressedSize, gas, ...options } = pointOf(), at = text("at");
  const moment = {
    l1BaseFee: state.values.l1BaseFee, blobBaseFee: state.values.blobBaseFee, ...(at ? { at } : {}),
    parameters: parametersOf(text("given")), ...starknetOf(text("starknet")),
  };
  if (text("gasEstimate")) options.gas = quantityOf(text("gasEstimate"), "Gas estimate");
  else if (told) options.gas = told.answer.gas.estimated; // only prices have moved since
  if (text("gasUsed")) options.gasUsed = quantityOf(text("gasUsed"), "Gas used");
  return { subject: subjectOf(text("subject")), options, moment };
}

const refresh = newest($("explain-card"), async (isWanted) => {
  if (!text("subject")) return;
  const isNew = told === null;
  let request;
  try {
    request = requestOf();
  } catch (problem) {
    forget(problem.message);
    return;
  }
  const { subject, options, moment } = request;
  const explained = await ask([["feemodel_explain", subject, options]], isWanted);
  if (!explained || !isWanted()) return;
  const [{ result, error }] = explained;
  if (error) {
    forget(error.message);
    return;
  }
  const { decoded: { to, dataBytes } } = result, isCode = to !== null && dataBytes > 0 && BigInt(to) > LAST_PRECOMPILE;
  const calls = [["feemodel_compare", subject, { ...moment, gas: result.gas.estimated }]];
  if (isCode) calls.push(["eth_getCode", to, "latest"]);
  const answers = await ask(calls, isWanted);
  if (!answers || !isWanted()) return;
  told = { answer: result, compared: answers[0] };
  say("subject-error", "");
  say("subject-warning", warningOf(result.decoded, answers[1]?.result));
  drawTransaction();
  if (isNew) announce(`Explained: fee ${money(result.totalWei)}, ${result.stages.map((one) => `${one.stage}: ${one.outcome}`).join(", ")}.`);
});

/** Explain the pasted transaction anew. */
export function explain() {
  forget("");
  refresh();
}

/** Explain it at other prices. */
export function explainAgain() {
  if (told) refresh();
}

function forget(message) {
  told = null;
  $("told").hidden = true;
  say("subject-error", message);
  say("subject-warning", "");
}

/** Why the gas of a transaction may be another where it belongs; "" for no reason. */
function warningOf({ chainId, to }, code) {
  if (chainId !== null && big(chainId) !== big(known.chainId)) {
    return `This transaction is of chain ${big(chainId)}; the server answers for chain ${big(known.chainId)}.`;
  }
  return code === "0x" ? `There is no code at ${to} on this chain: the data is sent, but nothing is executed.` : "";
}

export function wireTransaction() {
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    explain();
    changed();
  });
  $("clear").addEventListener("click", () => {
    for (const id of INPUTS) $(id).value = "";
    forget("");
    changed();
    $("subject").focus();
  });
  for (const { name, label, subject } of known.examples) {
    const button = el("button", { type: "button", className: "plain", "data-example": name }, label);
    button.addEventListener("click", () => {
      $("subject").value = typeof subject === "string" ? subject : JSON.stringify(subject, null, 2);
      $("gasEstimate").value = $("gasUsed").value = "";
      $("ask").requestSubmit();
    });
    $("examples").append(button);
  }
}

function verdict({ accepted, outcome }) {
  const [look, sign] = accepted ? ["good", "✓"] : outcome.startsWith("refused") ? ["bad", "✗"] : ["wait", "…"];
  return el("span", { className: `verdict ${look}` }, `${sign} ${outcome}`);
}

export function drawTransaction() {
  if (!told) return;
  const { answer, compared } = told;
  const use = el("button", { type: "button" }, "Use its size and gas above");
  use.addEventListener("click", () => {
    Object.assign(state.values, { compressedSize: answer.compressedSize, gas: answer.gas.estimated });
    showControls();
    changed();
    $("answer").focus({ preventScroll: true });
    $("answer-title").scrollIntoView({ block: "start" });
  });
  const later = answer.gas.used ? "" : el("p", { className: "hint" }, "The check after execution needs the gas used.");
  $("told").replaceChildren(
    el("div", { className: "span" }, factsOf(answer), use),
    el("div", { className: "span" }, scrolling("Checks of a node", checksOf(answer)), later),
    el("div", { className: "stack" }, partsOf(answer), scrolling("Wallets", walletsOf(answer))),
    decodedOf(answer),
    el("div", { className: "span" }, compared.error ? el("p", { className: "error" }, compared.error.message) : otherRollups(compared.result)),
  );
  $("told").hidden = false;
}

function factsOf(answer) {
  const { gas, recovery: [first], totalWei } = answer;
  const perGas = `${grouped(answer.priorityFeePerGas)} wei / gas priority fee`;
  const limits = `estimated, limit ${grouped(gas.limit)}${gas.used ? `, used ${grouped(gas.used)}` : ""}`;
  return el("dl", { className: "facts" },
    fact("Fee", money(totalWei), [inCurrency(totalWei), perGas].filter(Boolean).join("; ")),
    fact("Compressed size", `${grouped(answer.compressedSize)} bytes`,
      `of ${grouped(answer.measuredBytes)}, ${answer.codec} of ${answer.form.replaceAll("_", " ‖ ")}`),
    fact("Gas", grouped(gas.estimated), limits),
    first ? fact("Recovery", times(first.recovery), `of ${money(first.cost)} on L1`) : null);
}

function checksOf({ offeredPricePerGas: offered, stages }) {
  const price = offered === null ? "the suggested price" : `the ${grouped(offered)} wei / gas that it offers`;
  const rows = stages.map((one) => [one.stage, String(one.margin),
    [grouped(one.requiredPricePerGas), el("span", { className: "narrow-only muted" }, " wei / gas")], verdict(one)]);
  return captioned(`Checks of a node, at ${price}`, ["Check", "Margin", "Requires, wei / gas", "Result"], rows, { left: [3], className: "checks" });
}

function partsOf({ feePerGas, feeWei }) {
  const rows = Object.keys(PARTS).filter((name) => wei(feePerGas[name]) !== 0)
    .map((name) => [[el("span", { className: `key part-${name}` }), PARTS[name]], grouped(feePerGas[name]), money(feeWei[name])]);
  return captioned("Parts of the fee", ["Part", "wei / gas", "Fee"], rows);
}

const walletsOf = ({ wallets }) => captioned("What a wallet would set", ["Wallet", "Max priority fee, wei / gas", "Max fee, wei / gas"],
  wallets.map((one) => [one.wallet, grouped(one.maxPriorityFeePerGas), grouped(one.maxFeePerGas)]));

function decodedOf({ subject, decoded }) {
  const rows = {
    type: String(decoded.type), from: decoded.from, to: decoded.to ?? "creates a contract", value: exactEth(decoded.value),
    nonce: grouped(decoded.nonce), "chain id": decoded.chainId === null ? "none" : grouped(decoded.chainId),
    "gas limit": grouped(decoded.gasLimit), data: `${grouped(decoded.dataBytes)} bytes`,
  };
  return captioned(`The ${subject}`, null, Object.entries(rows).map(([name, value]) => [name, el("span", { className: "mono" }, value)]));
}

/** Both parts of a fee as lengths of a bar, in ETH; empty where the price of the token is unknown. */
function barOf({ l1Fee, l2Fee, total, totalEth }, most) {
  const perToken = totalEth ? wei(totalEth) / wei(total) : 0;
  return el("div", {}, ...[["size", l1Fee], ["fixed", l2Fee]].map(([part, fee]) => {
    const piece = el("div", { className: `part-${part}` });
    piece.style.width = `${((wei(fee) * perToken) / most) * 100}%`;
    return piece;
  }));
}

function otherRollups({ rules, without = {}, at, reference, pubdata }) {
  const priced = rules.filter((one) => !one.error), unpriced = rules.filter((one) => one.error);
  const most = Math.max(1, ...priced.map(({ totalEth }) => (totalEth ? wei(totalEth) : 0)));
  const rows = priced.map((one) => {
    const amount = (fee) => (one.token === "ETH" ? money(fee) : `${big(fee) === 0n ? "0" : (wei(fee) / 1e18).toPrecision(6)} ${one.token}`);
    const inEth = one.token !== "ETH" && one.totalEth ? ` = ${money(one.totalEth)}` : "";
    return [one.rule, barOf(one, most), amount(one.l1Fee), amount(one.l2Fee), amount(one.total) + inEth, one.ratio === null ? "" : times(one.ratio)];
  });
  const head = ["Rule", "Data and execution fee", "Data fee (L1 part)", "Execution fee (L2 part)", "Total", `Relative to ${reference}`];
  const whose = at ? `The same transaction under the rules of ${at}` : "The same transaction on other rollups";
  const listed = new Set(rules.map(({ rule }) => rule));
  const sources = [
    ...rules.map((one) => `${one.rule}: ${[one.source + (one.error ? "" : ` (${one.date})`), ...(one.remarks ?? [])].join("; ")}`),
    `zkSync publishes ${pubdata} bytes of state for it: an assumption.`,
    ...Object.entries(without).filter(([name]) => !listed.has(name)).map(([name, reason]) => `Without ${name}: ${reason}`),
  ];
  const others = captioned("Rules without a fee for it", null, unpriced.map(({ rule, error }) => [rule, error]), { className: "unpriced" });
  return el("div", { className: "stack" },
    scrolling("The other rollups", captioned(`${whose}, at the L1 fees above`, head, rows, { className: "rules" })),
    el("ul", { className: "legend wide-only" }, key("size", "data fee (L1 part)"), key("fixed", "execution fee (L2 part)")),
    unpriced.length ? others : "",
    el("details", {}, el("summary", {}, "Parameters of each rule, and their sources"),
      el("div", { className: "prose" }, el("ul", {}, ...sources.map((source) => el("li", {}, source))))));
}
