/** The fee explorer. Every number on it is an answer of the server that it came from. */

import { redrawCharts } from "./chart.js";
import { buildControls, showControls } from "./controls.js";
import { showCurrency } from "./currency.js";
import { saveCsv } from "./curve.js";
import { $, el, say } from "./dom.js";
import { drawFee, refreshFee } from "./fee.js";
import { drawHistory, refreshHistory, wireHistory } from "./history.js";
import { copyLink, readLink, rememberLink } from "./link.js";
import { showMonth, wireMonth } from "./month.js";
import { wireRuns } from "./runs.js";
import { ask, retry } from "./server.js";
import { known, learn, onChange } from "./state.js";
import { drawTransaction, explain, explainAgain, wireTransaction } from "./transaction.js";

const THEME = "feemodel-theme"; // in the browser's storage

function wireTheme() {
  const root = document.documentElement;
  const apply = (theme) => {
    root.dataset.theme = theme;
    redrawCharts();
  };
  let saved = "auto";
  try { saved = localStorage.getItem(THEME) ?? "auto"; } catch { /* without storage the choice is not kept */ }
  for (const input of document.querySelectorAll('input[name="theme"]')) {
    input.checked = input.value === saved;
    input.addEventListener("input", () => {
      try { localStorage.setItem(THEME, input.value); } catch { /* as above */ }
      apply(input.value);
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);
  apply(saved);
}

function wireCurrency() {
  for (const id of ["rate", "currency"]) {
    $(id).addEventListener("input", () => {
      showCurrency();
      rememberLink();
      drawFee();
      drawTransaction();
      drawHistory();
    });
  }
}

/** Keep the fee in sight at the bottom while its inputs are and it is not. */
function wireMini() {
  const seen = new Map();
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) seen.set(entry.target.id, entry.isIntersecting);
    $("mini").hidden = seen.get("answer") || !seen.get("main");
  });
  for (const id of ["answer", "main"]) watch.observe($(id));
}

function show() {
  readLink();
  if ($("given").value || $("starknet").value) $("others").open = true;
  showCurrency();
  showControls();
  refreshFee();
  explain();
  refreshHistory();
  showMonth();
}

async function start() {
  wireTheme();
  $("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the hash is the state
    $("answer").focus();
  });
  $("retry").addEventListener("click", retry);
  addEventListener("online", retry);
  const [{ result, error }] = await ask([["feemodel_presets"]]);
  if (error) {
    say("fee-error", error.message);
    return;
  }
  learn(result);
  $("assumptions").replaceChildren(...known.assumptions.map((text) => el("li", {}, text)));
  buildControls();
  wireRuns();
  wireTransaction();
  wireHistory();
  wireMonth();
  wireCurrency();
  wireMini();
  $("copy").addEventListener("click", copyLink);
  $("csv").addEventListener("click", saveCsv);
  onChange(rememberLink);
  onChange(refreshFee);
  onChange(explainAgain);
  onChange(refreshHistory);
  addEventListener("hashchange", show);
  show();
}

start();
