/** The fee explorer. Every number on the page is an answer of the server that served the page. */

import { buildControls, fields, fromServer, isActive, withUnit } from "./controls.js";
import { $, fillTable, say } from "./dom.js";
import { startExplain } from "./explain.js";
import { startFee } from "./fee.js";
import { call } from "./server.js";
import { onChange, startState } from "./state.js";

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
  $("about").textContent = `${chain ?? (Number(chainId) === 1337 ? "Development chain" : "A chain")}, id ${Number(chainId)}; feemodel ${version}.`;
  say($("unpriced"), reason && `This server has no prices yet: ${reason}. The costs below are those of ${presets.chains[0].name}.`);
  onChange(() => {
    const active = presets.fields.filter(({ name }) => isActive(fields.get(name)));
    fillTable($("defaults"), "Every default", ["Input", "Default", "Source of the default"], active.map(({ name, default: value, source }) =>
      [fields.get(name).label, value === null ? "none" : withUnit(fields.get(name), fromServer(fields.get(name), value)), source]));
  });
  startState();
  startFee();
  startExplain(presets);
}
