/** The fee explorer. Every number on the page is an answer of the server that served the page. */

import { buildControls, fields, withUnit } from "./controls.js";
import { $, fillTable, say } from "./dom.js";
import { startExplain } from "./explain.js";
import { startFee } from "./fee.js";
import { call } from "./server.js";
import { startState } from "./state.js";

$("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash is the state
  $("answer").focus();
});

const [{ result, error }] = await call([["feemodel_presets"]]);
if (error) $("about").textContent = `This page cannot start: ${error.message}`;
else start(result);

function start(presets) {
  buildControls(presets);
  const { chain, chainId, version, reason } = presets;
  $("about").textContent = `${chain ?? "A chain"}, id ${Number(chainId)}; feemodel ${version}.`;
  say($("unpriced"), reason && `This server has no prices yet: ${reason}. The costs below are those of ${presets.chains[0].name}.`);
  const sources = presets.fields.map(({ name, source }) => {
    const { input } = fields.get(name);
    return [fields.get(name).label, input.value ? withUnit(fields.get(name), input.valueAsNumber) : "none", source];
  });
  fillTable($("defaults"), "Every default", ["Input", "Default", "Source of the default"], sources);
  startState();
  startFee();
  startExplain(presets);
}
