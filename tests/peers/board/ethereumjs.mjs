// @ethereumjs/block and @ethereumjs/tx: what a header and a transaction say of the next fees and of intrinsic gas.
import { createBlockHeader } from "@ethereumjs/block";
import { Common, Mainnet } from "@ethereumjs/common";
import { createFeeMarket1559Tx, createEOACode7702Tx } from "@ethereumjs/tx";
import { answer } from "./lines.mjs";

const FORKS = { london: "london", paris: "paris", shanghai: "shanghai", cancun: "cancun", prague: "prague", osaka: "osaka", bpo1: "bpo1", bpo2: "bpo2" };
const LARGEST = 2n ** 64n;
const common = (upgrade) => new Common({ chain: Mainnet, hardfork: FORKS[upgrade] });
const header = (fields, upgrade) =>
  createBlockHeader({ gasLimit: 30_000_000n, baseFeePerGas: 7n, ...fields }, { common: common(upgrade), skipConsensusFormatValidation: true });
const small = (...words) => words.every((word) => BigInt(word) < LARGEST);
const address = "0x" + "11".repeat(20);

function nextBaseFee(row, upgrade) {
  if (!(upgrade in FORKS) || !small(row.gas_used, row.gas_limit)) return null;
  const fields = { gasUsed: BigInt(row.gas_used), gasLimit: BigInt(row.gas_limit), baseFeePerGas: BigInt(row.base_fee) };
  return header(fields, upgrade).calcNextBaseFee();
}

function blobBaseFee(row, upgrade) {
  return small(row.excess_blob_gas) ? header({ excessBlobGas: BigInt(row.excess_blob_gas) }, upgrade).getBlobGasPrice() : null;
}

function nextExcess(row, upgrade) {
  if (!small(row.excess_blob_gas, row.blob_gas_used)) return null;
  const fields = { excessBlobGas: BigInt(row.excess_blob_gas), blobGasUsed: BigInt(row.blob_gas_used), baseFeePerGas: BigInt(row.base_fee) };
  const parent = header(fields, upgrade);
  return parent.calcNextExcessBlobGas(parent.common);
}

function intrinsicGas(row, upgrade) {
  const accessList = Array.from({ length: Number(row.addresses) }, (_, place) => ({
    address, storageKeys: place ? [] : Array(Number(row.slots)).fill("0x" + "00".repeat(32)),
  }));
  const fields = { data: row.data, accessList, gasLimit: 16_777_216n, maxFeePerGas: 10n, to: row.creates === "1" ? undefined : address };
  if (row.authorizations === "0") return createFeeMarket1559Tx(fields, { common: common(upgrade) }).getIntrinsicGas();
  if (row.creates === "1" || !common(upgrade).isActivatedEIP(7702)) return null;
  const authorization = { chainId: "0x1", address, nonce: "0x0", yParity: "0x0", r: "0x1", s: "0x1" };
  const authorizationList = Array(Number(row.authorizations)).fill(authorization);
  return createEOACode7702Tx({ ...fields, authorizationList }, { common: common(upgrade) }).getIntrinsicGas();
}

const block = { next_base_fee: nextBaseFee, blob_base_fee: blobBaseFee, next_excess_blob_gas: nextExcess };
await answer(process.argv[2] === "tx" ? { intrinsic_gas: intrinsicGas } : block);
