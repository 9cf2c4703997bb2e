// hardhat-gas-reporter: the L1 fee behind its table, in doubles. Its latest hardfork is Ecotone, which is its default.
import { createRequire } from "node:module";
import { parseTransaction } from "viem";
import { answer } from "./lines.mjs";

const { getCalldataGasForNetwork, getCalldataCostForNetwork } = createRequire(import.meta.url)("hardhat-gas-reporter/dist/utils/gas.js");
const hex = (value) => "0x" + BigInt(value ?? 0).toString(16);

function l1Fee(row, upgrade) {
  const optimismHardfork = ["bedrock", "regolith", "canyon"].includes(upgrade) ? "bedrock" : "ecotone";
  if (optimismHardfork === "bedrock" && (row.overhead !== "188" || row.scalar !== "684000")) return null; // its constants
  const parsed = parseTransaction(row.transaction);
  const transaction = { ...parsed, data: parsed.data ?? "0x", value: hex(parsed.value), gas: hex(parsed.gas), nonce: parsed.nonce ?? 0,
    maxFeePerGas: hex(parsed.maxFeePerGas ?? parsed.gasPrice), maxPriorityFeePerGas: hex(parsed.maxPriorityFeePerGas) };
  const options = { L2: "optimism", optimismHardfork, baseFee: Number(row.l1_base_fee),
    blobBaseFee: Number(row.blob_base_fee), opStackBaseFeeScalar: Number(row.base_fee_scalar), opStackBlobBaseFeeScalar: Number(row.blob_base_fee_scalar) };
  return BigInt(Math.round(getCalldataCostForNetwork(options, getCalldataGasForNetwork(options, transaction))));
}

await answer({ l1_fee_of_transaction: l1Fee });
