// @eth-optimism/core-utils, which has the fee before Ecotone, and the contract GasPriceOracle of
// @eth-optimism/contracts-bedrock, run on the storage of L1Block. Both take an unsigned transaction.
import { createRequire } from "node:module";
import { parseTransaction, serializeTransaction } from "viem";
import { deployed } from "./evm.mjs";
import { answer } from "./lines.mjs";

const load = createRequire(import.meta.url);
const ORACLE = "0x420000000000000000000000000000000000000f", BLOCK = "0x4200000000000000000000000000000000000015";
const before = (upgrade) => ["bedrock", "regolith", "canyon"].includes(upgrade);

function artifact(name) {
  const { abi, deployedBytecode, storageLayout } = load(`@eth-optimism/contracts-bedrock/forge-artifacts/${name}.sol/${name}.json`);
  return { abi, code: deployedBytecode.object, storage: storageLayout.storage };
}

function unsigned(raw) {
  const { r, s, v, yParity, ...fields } = parseTransaction(raw);
  return serializeTransaction(fields);
}

function coreUtils({ transaction, ...row }, upgrade) {
  if (!before(upgrade)) return null;
  const { calculateL1Fee } = load("@eth-optimism/core-utils");
  return String(calculateL1Fee(unsigned(transaction), row.overhead, row.l1_base_fee, row.scalar, 6));
}

async function oracle({ transaction, ...row }, upgrade) {
  const { write, call } = await deployed({ [ORACLE]: artifact("GasPriceOracle"), [BLOCK]: artifact("L1Block") });
  const scalars = { baseFeeScalar: row.base_fee_scalar, blobBaseFeeScalar: row.blob_base_fee_scalar };
  const until = { l1FeeOverhead: row.overhead, l1FeeScalar: row.scalar };
  await write(BLOCK, { basefee: row.l1_base_fee, blobBaseFee: row.blob_base_fee, ...scalars, ...until });
  await write(ORACLE, { isEcotone: !before(upgrade), isFjord: !before(upgrade) && upgrade !== "ecotone" });
  return call(ORACLE, "getL1Fee", unsigned(transaction));
}

await answer({ l1_fee_of_transaction: process.argv[2] === "contract" ? oracle : coreUtils });
