// The contract L1GasPriceOracle of @scroll-tech/contracts, compiled with the compiler that it names.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import solc from "solc-0.8.24";
import { deployed } from "./evm.mjs";
import { answer } from "./lines.mjs";

const load = createRequire(import.meta.url);
const ORACLE = "0x5300000000000000000000000000000000000002";
const PATH = "@scroll-tech/contracts/L2/predeploys/L1GasPriceOracle.sol";
const FORKS = ["bernoulli", "curie", "feynman", "galileo"];
const LONGEST = 1 << 14, LARGEST = 10n ** 18n; // bytes that are tried; what the contract accepts as a scalar

function compiled() {
  const settings = { outputSelection: { "*": { "*": ["abi", "evm.deployedBytecode.object", "storageLayout"] } } };
  const input = { language: "Solidity", sources: { [PATH]: { content: readFileSync(load.resolve(PATH), "utf8") } }, settings };
  const found = (path) => ({ contents: readFileSync(load.resolve(path), "utf8") });
  const { abi, evm, storageLayout } = JSON.parse(solc.compile(JSON.stringify(input), { import: found })).contracts[PATH].L1GasPriceOracle;
  return { abi, code: "0x" + evm.deployedBytecode.object, storage: storageLayout.storage };
}

const { write, call } = await deployed({ [ORACLE]: compiled() });

/** Bytes of which only the number, or those of zero and others, count. */
function data(row) {
  const zeros = Number(row.size ?? row.length ?? row.zero_bytes), others = Number(row.nonzero_bytes ?? 0);
  return zeros + others > LONGEST ? null : "0x" + "00".repeat(zeros) + "01".repeat(others);
}

async function l1Fee(row, upgrade) {
  const variables = { l1BaseFee: row.l1_base_fee, l1BlobBaseFee: row.blob_base_fee, overhead: row.overhead, scalar: row.scalar,
    commitScalar: row.commit_scalar ?? row.exec_scalar, blobScalar: row.blob_scalar, penaltyFactor: row.penalty_factor };
  const known = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined));
  const payload = data(row), scalars = [known.scalar, known.commitScalar, known.blobScalar].filter(Boolean);
  if (payload === null || known.penaltyFactor === "0" || scalars.some((one) => BigInt(one) > LARGEST)) return null;
  const place = FORKS.indexOf(upgrade);
  await write(ORACLE, { ...known, isCurie: place > 0, isFeynman: place > 1, isGalileo: place > 2 });
  return call(ORACLE, "getL1Fee", payload);
}

await answer({ l1_fee: (row, upgrade) => (FORKS.includes(upgrade) ? l1Fee(row, upgrade) : null) });
