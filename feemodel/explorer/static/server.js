/** The server's JSON-RPC methods, asked again while the server is away. */

import { $, announce } from "./dom.js";

const TIMEOUT = 20000; // milliseconds
const LONGEST_PAUSE = 15; // seconds between two attempts

class Unreachable extends Error {
  constructor(message, pause = 0) {
    super(message);
    this.pause = pause;
  }
}

let lastId = 0, failures = 0, timer = 0, waiting = [];

/** Send calls `[method, ...params]` in one request; resolve to their answers, each `{ result }` or `{ error }`. */
async function send(calls) {
  const batch = calls.map(([method, ...params]) => ({ jsonrpc: "2.0", id: ++lastId, method, params }));
  let response, reply;
  try {
    response = await fetch(location.pathname, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(batch), cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    if (response.ok) reply = await response.json();
  } catch {
    throw new Unreachable("no answer from the server");
  }
  if (response.status >= 500 || response.status === 429) {
    throw new Unreachable(`the server answers ${response.status}`, Number(response.headers.get("retry-after")) || 0);
  }
  reconnected();
  const failed = (message) => calls.map(() => ({ error: { message } }));
  if (!response.ok) return failed(`The server refuses this request (${response.status}).`);
  if (!Array.isArray(reply)) return failed(reply.error?.message ?? "The server’s answer cannot be read.");
  const answers = new Map(reply.map((answer) => [answer.id, answer]));
  return batch.map(({ id }) => answers.get(id) ?? { error: { message: "The server left this call unanswered." } });
}

/** Ask until there is an answer; null once it is no longer wanted. */
export async function ask(calls, isWanted = () => true) {
  for (;;) {
    try {
      return await send(calls);
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      if (!isWanted()) return null;
      await pause(error);
      if (!isWanted()) return null;
    }
  }
}

/** Wait for the next attempt: longer each time, but not after `retry` was called. */
function pause(error) {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (timer) return;
    const jitter = 0.85 + 0.3 * Math.random();
    const seconds = Math.min(LONGEST_PAUSE, Math.max(error.pause, 0.5 * 2 ** failures++)) * jitter;
    const due = performance.now() + seconds * 1000;
    document.body.classList.add("offline");
    $("banner-text").textContent = `This page shows its last answer (${error.message}).`;
    $("banner").hidden = false;
    const tick = () => {
      const left = due - performance.now();
      if (left <= 0) return retry();
      $("countdown").textContent = `Trying again in ${Math.ceil(left / 1000)} s.`;
      timer = setTimeout(tick, Math.min(left, 1000));
    };
    tick();
  });
}

/** Try again now. */
export function retry() {
  clearTimeout(timer);
  timer = 0;
  for (const resolve of waiting.splice(0)) resolve();
}

function reconnected() {
  if (failures === 0) return;
  failures = 0;
  retry();
  $("banner").hidden = true;
  document.body.classList.remove("offline");
  announce("The server answers again.");
}

/**
 * Return a function that runs `work` now, or once more after the run that is under way, so that the newest state is
 * always shown last. `work` takes a function that tells whether its answer is still wanted. The element is marked as
 * busy meanwhile.
 */
export function newest(node, work) {
  let isRunning = false, isStale = false;
  return async () => {
    isStale = true;
    if (isRunning) return;
    isRunning = true;
    node.setAttribute("aria-busy", "true");
    try {
      while (isStale) {
        isStale = false;
        await work(() => !isStale);
      }
    } finally {
      isRunning = false;
      node.removeAttribute("aria-busy");
    }
  };
}
