/** Amounts in the currency whose price of one ETH was typed. */

import { $, refuse } from "./dom.js";
import { digits, priceOf, wei } from "./numbers.js";

/** An amount in that currency; "" without a price. */
export function inCurrency(quantity) {
  const price = priceOf($("rate").value);
  return price ? `≈ ${digits((wei(quantity) / 1e18) * price, 3)} ${$("currency").value.trim().toUpperCase()}` : "";
}

export function showCurrency() {
  const isRefused = Number.isNaN(priceOf($("rate").value));
  refuse($("rate"), "rate-error", isRefused ? "Expected a number above 0." : "");
}
