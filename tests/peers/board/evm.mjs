// Contracts on an EVM, with storage that is written by the names of their variables.
import { createEVM } from "@ethereumjs/evm";
import { createAccount, createAddressFromString, hexToBytes, setLengthLeft } from "@ethereumjs/util";
import { decodeFunctionResult, encodeFunctionData, numberToBytes } from "viem";

const SIZES = { t_bool: 1, t_uint32: 4, t_uint256: 32 };

/** An EVM with contracts: address → artifact with `abi`, `code` and `storage`. */
export async function deployed(contracts) {
  const evm = await createEVM();
  const at = Object.fromEntries(Object.keys(contracts).map((address) => [address, createAddressFromString(address)]));
  for (const [address, { code }] of Object.entries(contracts)) {
    await evm.stateManager.putAccount(at[address], createAccount({}));
    await evm.stateManager.putCode(at[address], hexToBytes(code));
  }
  async function write(address, values) {
    for (const { label, slot, offset, type } of contracts[address].storage.filter((one) => one.label in values)) {
      const key = numberToBytes(BigInt(slot), { size: 32 }), end = 32 - offset;
      const stored = setLengthLeft(await evm.stateManager.getStorage(at[address], key), 32);
      stored.set(numberToBytes(BigInt(values[label]), { size: SIZES[type] }), end - SIZES[type]);
      await evm.stateManager.putStorage(at[address], key, stored);
    }
  }
  async function call(address, functionName, ...args) {
    const { abi } = contracts[address];
    const data = hexToBytes(encodeFunctionData({ abi, functionName, args }));
    const { execResult } = await evm.runCall({ to: at[address], data, gasLimit: 10n ** 12n });
    if (execResult.exceptionError) throw new Error(`${functionName}: ${execResult.exceptionError.error}`);
    return decodeFunctionResult({ abi, functionName, data: execResult.returnValue.length ? toHex(execResult.returnValue) : "0x" });
  }
  return { write, call };
}

const toHex = (bytes) => "0x" + Buffer.from(bytes).toString("hex");
