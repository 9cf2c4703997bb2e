/** The fee explorer. Every number on the page is an answer of the server that served the page. */

import { buildControls, fields, withUnit } from "./controls.js";
import { $, fillTable } from "./dom.js";
import { startExplain } from "./explain.js";
import { startFee } from "./fee.js";
import { startHistory } from "./history.js";
import { call } from "./server.js";
import { startState } from "./state.js";

$("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash is the state
  $("answer").focus();
});

const [{ result: presets }] = await call([["feemodel_presets"]]);
buildControls(presets);
const sources = presets.fields.map(({ name, source }) => {
  const { input } = fields.get(name);
  return [fields.get(name).label, input.value ? withUnit(fields.get(name), input.valueAsNumber) : "none", source];
});
fillTable($("defaults"), "Every default", ["Input", "Default", "Source of the default"], sources);
startState();
startFee();
startHistory();
startExplain(presets);
