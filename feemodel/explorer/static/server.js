/** Call the server's JSON-RPC methods, and keep a card up to date. */

import { $, say } from "./dom.js";
import { onChange } from "./state.js";

const TIMEOUT = 90000, PAUSE = 4000; // milliseconds

/** Call methods `[name, ...params]` in one batch; return their answers, each `{ result }` or `{ error }`. */
export async function call(calls) {
  const batch = calls.map(([method, ...params], id) => ({ jsonrpc: "2.0", id, method, params }));
  for (;;) {
    try {
      const response = await fetch(location.pathname, {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(batch),
        signal: AbortSignal.timeout(TIMEOUT),
      });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const answers = await response.json();
      showAway(false);
      return batch.map(({ id }) => answers.find((answer) => answer.id === id));
    } catch {
      showAway(true);
      await new Promise((resolve) => {
        setTimeout(resolve, PAUSE);
        addEventListener("online", resolve, { once: true });
      });
    }
  }
}

function showAway(isAway) {
  $("banner").hidden = !isAway;
  document.body.classList.toggle("offline", isAway);
}

/**
 * Call methods whenever their parameters change, and show the answers in a card.
 *
 * `callsOf` returns the calls, or null while there is nothing to ask; it may throw an error. `show` takes the results;
 * calls after the first one may have failed; their result is `{ error }`.
 */
export function keepUpToDate(card, callsOf, show) {
  let last = "null", isRunning = false;
  async function ask(calls) {
    const answers = await call(calls);
    showError(card, answers[0].error?.message ?? "");
    if (!answers[0].error) await show(answers.map(({ result, error }) => result ?? { error }));
  }
  onChange(async () => {
    if (isRunning) return; // the loop below sees the change
    isRunning = true;
    card.ariaBusy = "true";
    try {
      for (let calls = callsOf(); JSON.stringify(calls) !== last; calls = callsOf()) {
        last = JSON.stringify(calls);
        if (calls) await ask(calls);
      }
    } catch (error) {
      last = "null";
      showError(card, error.message);
    } finally {
      isRunning = false;
      card.ariaBusy = null;
    }
  });
}

/** Show an error of the server; the path of a field is replaced by the label of the field. */
function showError(card, message) {
  const [, name, reason] = /^\w+\.(\w+)(?:\[\d+\])?: (.*)$/s.exec(message) ?? [];
  const label = name && $(name)?.labels?.[0].textContent;
  say(card.querySelector(".error[role=alert]"), label ? `${label}: ${reason}` : message);
  card.classList.toggle("stale", Boolean(message));
}
